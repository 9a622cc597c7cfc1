"""Minimax polynomials of the precise math, with coefficients rounded to f32.

Needs mpmath and numpy. `python3 coefficients.py` prints every polynomial as Rust constants (lowest power first) with
its interval, degree and largest error. Method: weighted Remez exchange on a dense grid; then the coefficients are
rounded to f32 one by one, from the lowest power, and the rest is fitted again after each rounding.
"""
import sys
import mpmath as mp
import numpy as np

mp.mp.dps = 40


def exact(x):
    """A long double as an mpf."""
    high = float(x)
    return mp.mpf(high) + mp.mpf(float(x - np.longdouble(high)))


def remez(values, columns, weight):
    """Coefficients c that minimise max |values - columns @ c| * weight on the grid (long doubles), and that maximum."""
    n = columns.shape[1]
    points = len(values)
    reference = np.unique(np.round((1 - np.cos(np.pi * np.arange(n + 1) / n)) / 2 * (points - 1)).astype(int))
    best = None
    for _ in range(30):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for i, p in enumerate(reference):
            for j in range(n):
                a[i, j] = exact(columns[p, j])
            a[i, n] = (-1) ** i / exact(weight[p])
            b[i] = exact(values[p])
        solution = mp.lu_solve(a, b)
        c = np.array([np.longdouble(mp.nstr(solution[j], 25)) for j in range(n)])
        error = (values - columns @ c) * weight
        worst = np.max(np.abs(error))
        if best is None or worst < best[1]:
            best = (c, worst)
        if worst < abs(float(solution[n])) * 1.01:
            break
        # One extremum per run of equal sign; keep the n + 1 neighbours of the largest.
        sign = error >= 0
        cuts = np.flatnonzero(sign[1:] != sign[:-1]) + 1
        runs = np.split(np.arange(points), cuts)
        extrema = [r[np.argmax(np.abs(error[r]))] for r in runs]
        while len(extrema) > n + 1:
            if len(extrema) == n + 2:
                extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
            else:
                i = min(range(len(extrema) - 1), key=lambda i: max(abs(error[extrema[i]]), abs(error[extrema[i + 1]])))
                del extrema[i:i + 2]
        if len(extrema) < n + 1:
            break
        reference = extrema
    return best


def fit(function, low, high, degree, relative_to=None, points=1500, pairs=0):
    """f32 coefficients of a polynomial in x for function(x); the error is multiplied by 1 / relative_to(x).
    The first `pairs` coefficients are sums of two f32 (both are listed)."""
    x = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / points) for i in range(points)]
    ld = lambda v: np.longdouble(mp.nstr(v, 25))
    values = np.array([ld(function(v)) for v in x])
    weight = np.array([ld(1 / relative_to(v)) if relative_to else np.longdouble(1) for v in x])
    grid = np.array([ld(v) for v in x])
    fixed = []
    rest = values.copy()
    for j in range(degree + 1):
        columns = np.stack([grid ** k for k in range(j, degree + 1)], axis=1)
        c, worst = remez(rest, columns, weight)
        for part in range(2 if j < pairs else 1):
            fixed.append(np.float32(c[0]))
            c[0] -= np.longdouble(fixed[-1])
            rest = rest - np.longdouble(fixed[-1]) * grid ** j
    return fixed, float(np.max(np.abs(rest * weight)))


def show(name, interval, result):
    c, worst = result
    print(f"/// {len(c)} numbers on {interval}, largest error 2^{np.log2(worst):.1f}.")
    print(f"const {name}: [f32; {len(c)}] = [" + ", ".join(str(v) for v in c) + "];")


def split(name, value, parts=2):
    out = []
    for _ in range(parts):
        out.append(np.float32(mp.nstr(value, 25)))
        value -= mp.mpf(float(out[-1]))
    print(f"// {name}: " + " + ".join(str(v) for v in out))


half_ln2 = mp.log(2) / 2 * mp.mpf("1.0001")
tiny = lambda f, series: lambda x: f(x) if abs(x) > mp.mpf(10) ** -9 else series
log_low, log_high = -mp.mpf("0.3125"), mp.mpf("0.375")
quarter_pi = mp.pi / 4 * mp.mpf("1.0001")


def mills(t):
    """exp(t^2/2) * normal_cdf(-t), by erfc."""
    return mp.exp(t * t / 2) * mp.erfc(t / mp.sqrt(2)) / 2


JOBS = {
    # e^r = 1 + r + r^2 q(r); error relative to e^r.
    "EXP": lambda: show("EXP", "|r| <= ln(2)/2", fit(
        tiny(lambda r: (mp.exp(r) - 1 - r) / r**2, mp.mpf(1) / 2), -half_ln2, half_ln2, 4, lambda r: mp.exp(r) / r**2)),
    "EXP_PAIR": lambda: show("EXP_PAIR", "|r| <= ln(2)/2", fit(
        tiny(lambda r: (mp.exp(r) - 1 - r) / r**2, mp.mpf(1) / 2), -half_ln2, half_ln2, 5, lambda r: mp.exp(r) / r**2)),
    # 2^r = 1 + r q(r).
    "EXP2": lambda: show("EXP2", "|r| <= 1/2", fit(
        tiny(lambda r: (mp.mpf(2)**r - 1) / r, mp.log(2)), -mp.mpf(1) / 2, mp.mpf(1) / 2, 5, lambda r: mp.mpf(2)**r / r)),
    # ln(1 + f) = f + f^2 q(f); error relative to ln(1 + f).
    "LN": lambda: show("LN", "-0.3125 <= f <= 0.375", fit(
        tiny(lambda f: (mp.log(1 + f) - f) / f**2, -mp.mpf(1) / 2), log_low, log_high, 9, lambda f: mp.log(1 + f) / f**2)),
    "LOG2": lambda: show("LOG2", "-0.3125 <= f <= 0.375", fit(
        tiny(lambda f: (mp.log(1 + f) - f) / f**2 / mp.log(2), -mp.mpf(1) / 2 / mp.log(2)), log_low, log_high, 9,
        lambda f: mp.log(1 + f) / f**2 / mp.log(2))),
    # sin(r) = r + r^3 q(r^2), cos(r) = 1 - r^2/2 + r^4 q(r^2), as polynomials in z = r^2.
    "SIN": lambda: show("SIN", "0 <= r^2 <= (pi/4)^2", fit(
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(10)**-12, quarter_pi**2, 3,
        lambda z: mp.sin(mp.sqrt(z)) / mp.sqrt(z) / z)),
    "COS": lambda: show("COS", "0 <= r^2 <= (pi/4)^2", fit(
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(10)**-9, quarter_pi**2, 3,
        lambda z: mp.cos(mp.sqrt(z)) / z**2)),
    # erf(x) = x (2/sqrt(pi) + z q(z)), z = x^2.
    "ERF": lambda: show("ERF", "0 <= x^2 <= 1", fit(
        lambda z: (mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 2 / mp.sqrt(mp.pi)) / z, mp.mpf(10)**-12, mp.mpf(1), 6,
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) / z)),
    # erfc(t) = exp(-q(t)); error of q relative to what makes an error of erf.
    "ERFC_EXPONENT": lambda: show("ERFC_EXPONENT", "0.87 <= t <= 4", fit(
        lambda t: -mp.log(mp.erfc(t)), mp.mpf("0.87"), mp.mpf(4), 8, lambda t: 1 / mp.erfc(t))),
    # exp(t^2/2) normal_cdf(-t) = r q(r - 1/8), r = 1 / (t + 3), 0 <= t <= 14.5; the first two coefficients as pairs.
    "MILLS": lambda: show("MILLS", "0 <= t <= 14.5", fit(
        lambda z: mills(1 / (z + mp.mpf(1) / 8) - 3) / (z + mp.mpf(1) / 8), 1 / mp.mpf("17.5") - mp.mpf(1) / 8,
        mp.mpf(1) / 3 - mp.mpf(1) / 8, 10, lambda z: mills(1 / (z + mp.mpf(1) / 8) - 3) / (z + mp.mpf(1) / 8), pairs=2)),
}

if __name__ == "__main__":
    for job in sys.argv[1:] or JOBS:
        JOBS[job]()
        sys.stdout.flush()
    split("ln 2", mp.log(2), 3)
    split("1 / ln 2", 1 / mp.log(2))
    split("pi / 2", mp.pi / 2, 4)
    split("2 / sqrt(pi)", 2 / mp.sqrt(mp.pi))
    split("sqrt(2)", mp.sqrt(2))
    split("1 / sqrt(2 pi)", 1 / mp.sqrt(2 * mp.pi))
    linear = 2 * mp.sqrt(2 / mp.pi)
    cubic = linear * mp.mpf("0.044715")
    for name, scale, factor in [("2u / ln 2", 1 / mp.log(2), 1), ("2u' t", 1, 3)]:
        # The first part is a multiple of 2^-19: its sum with the quadratic part then has an exact error.
        first = mp.nint(scale * linear * 2**19) / 2**19
        print(f"// {name}: linear {float(first)!r} + {np.float32(float(scale * linear - first))}")
        split(f"{name}: cubic", factor * scale * cubic)
