#!/usr/bin/env python3
"""Writes reference.csv: each activation with its first and second derivative, by mpmath with 60 digits, rounded to 17.

Columns: activation as `Any` reads it, x, f(x), f'(x), f''(x). Points are exact in f32; kinks are left out, where the
derivatives are conventions and not mathematics. Run: python3 reference.py > reference.csv
"""

import struct

from mpmath import diff, erfc, exp, expm1, fabs, log, mp, mpf, nstr, pi, sin, sqrt, tanh

mp.dps = 60


def sigmoid(x):
    return 1 / (1 + exp(-x))


def softplus(x):
    # ln(1 + e^x) with 60 digits also where e^x is far below 1.
    e = exp(-fabs(x))
    return max(x, mpf(0)) + (log(1 + e) if e > mpf(10) ** -20 else e - e**2 / 2 + e**3 / 3)


def f32(text):
    """The f32 nearest to a decimal, exactly."""
    return mpf(struct.unpack("f", struct.pack("f", float(text)))[0])


def piecewise(*pieces):
    """(below, f) pairs: the first f whose bound x is below."""

    def f(x):
        for below, piece in pieces:
            if below is None or x < below:
                return piece(x)
        raise AssertionError

    return f


def snake(a):
    return lambda x: x + sin(a * x) ** 2 / a


def swish(beta):
    return lambda x: x * sigmoid(beta * x)


def elu(alpha, unit=1, scale=1):
    return piecewise((0, lambda x: scale * alpha * expm1(x / unit)), (None, lambda x: scale * x))


def softplus_beta(beta, threshold):
    return piecewise((threshold / beta, lambda x: softplus(beta * x) / beta), (None, lambda x: x))


def squareplus(b):
    return lambda x: (x + sqrt(x * x + b)) / 2 if x >= 0 else b / 2 / (sqrt(x * x + b) - x)


def leaky(slope):
    return piecewise((0, lambda x: slope * x), (None, lambda x: x))


def hardtanh(low, high):
    return piecewise((low, lambda x: mpf(low)), (high, lambda x: x), (None, lambda x: mpf(high)))


def softshrink(k):
    return piecewise((-k, lambda x: x + k), (k, lambda x: mpf(0)), (None, lambda x: x - k))


def hardshrink(k):
    return piecewise((-k, lambda x: x), (k, lambda x: mpf(0)), (None, lambda x: x))


def rounded(y, value):
    """17 digits; 0 for what is below f64, or the noise of a difference where a piece is straight."""
    return nstr(y, 17) if fabs(y) > max(mpf(10) ** -330, fabs(value) * mpf(10) ** -45) else "0.0"


ZERO = lambda x: mpf(0)
SELU_ALPHA = mpf("1.6732632423543772848170429916717")
SELU_SCALE = mpf("1.0507009873554804934193349852946")
FORMULAS = {
    "identity": (lambda x: x, []),
    "threshold(threshold=0, value=0)": (leaky(0), [0]),
    "threshold(threshold=0.5, value=20)": (piecewise((0.5, lambda x: mpf(20)), (None, lambda x: x)), [0.5]),
    "relu": (leaky(0), [0]),
    "relu6": (piecewise((0, ZERO), (6, lambda x: x), (None, lambda x: mpf(6))), [0, 6]),
    "leaky_relu(alpha=0.01)": (leaky(f32("0.01")), [0]),
    "prelu(alpha=-0.3)": (leaky(f32("-0.3")), [0]),
    "rrelu(lower=0.1, upper=0.2)": (leaky((f32("0.1") + f32("0.2")) / 2), [0]),
    "squared_relu": (piecewise((0, ZERO), (None, lambda x: x * x)), [0]),
    "hardtanh(low=-1, high=1)": (hardtanh(-1, 1), [-1, 1]),
    "hardtanh(low=-0.5, high=2)": (hardtanh(mpf(-0.5), 2), [-0.5, 2]),
    "hardsigmoid": (piecewise((-3, ZERO), (3, lambda x: (x + 3) / 6), (None, lambda x: mpf(1))), [-3, 3]),
    "hardswish": (piecewise((-3, ZERO), (3, lambda x: x * (x + 3) / 6), (None, lambda x: x)), [-3, 3]),
    "hardshrink(lambda=0.5)": (hardshrink(0.5), [-0.5, 0.5]),
    "softshrink(lambda=0.5)": (softshrink(0.5), [-0.5, 0.5]),
    "tanhshrink": (lambda x: x - tanh(x), []),
    "sigmoid": (sigmoid, []),
    "log_sigmoid": (lambda x: -softplus(-x), []),
    "tanh": (tanh, []),
    "softsign": (lambda x: x / (1 + fabs(x)), [0]),
    "silu": (swish(1), []),
    "mish": (lambda x: x * tanh(softplus(x)), []),
    "swish(beta=1)": (swish(1), []),
    "swish(beta=0.3)": (swish(f32("0.3")), []),
    "swish(beta=-2)": (swish(-2), []),
    "gelu_erf": (lambda x: x * erfc(-x / sqrt(mpf(2))) / 2, []),
    "gelu_tanh": (lambda x: x * sigmoid(2 * sqrt(2 / pi) * (x + mpf("0.044715") * x**3)), []),
    "quick_gelu": (swish(mpf("1.702")), []),
    "elu(alpha=1)": (elu(1), [0]),
    "elu(alpha=0.7)": (elu(f32("0.7")), [0]),
    "celu(alpha=1)": (elu(1, 1), [0]),
    "celu(alpha=0.7)": (elu(f32("0.7"), f32("0.7")), [0]),
    "selu": (elu(SELU_ALPHA, 1, SELU_SCALE), [0]),
    "exponential": (exp, []),
    "gaussian": (lambda x: exp(-x * x), []),
    "softplus(beta=1, threshold=20)": (softplus_beta(1, 20), [20]),
    "softplus(beta=5, threshold=20)": (softplus_beta(5, 20), [4]),
    "softplus(beta=0.3, threshold=50)": (softplus_beta(f32("0.3"), 50), []),
    "squareplus(b=4)": (squareplus(4), []),
    "squareplus(b=0.1)": (squareplus(f32("0.1")), []),
    "sine(omega=30)": (lambda x: sin(30 * x), []),
    "sine(omega=1)": (sin, []),
    "snake(a=1)": (snake(1), []),
    "snake(a=0.3)": (snake(f32("0.3")), []),
}
POINTS = (
    "-300 -89 -60 -27.2899 -20 -13.24 -10 -6 -5 -3.5 -2 -1.5 -1.28125 -1.19 -0.75 -0.3 -0.01 -1e-4 -1e-7 -1e-10 "
    "0 1e-8 1e-3 0.1 0.45 0.6 0.9 1.25 1.75 2.5 3.5 5 8 11 19.5 50 88 300"
).split()

if __name__ == "__main__":
    print("activation;x;value;first;second")
    for name, (f, kinks) in FORMULAS.items():
        for point in POINTS:
            x = f32(point)
            if any(x == kink for kink in kinks):
                continue
            # A step relative to the nearest kink, so that both sides of the difference lie on one piece.
            room = min([fabs(x - kink) for kink in kinks] + [mpf(1)])
            mp.dps = 120
            h = room * mpf(10) ** -30
            first, second = diff(f, x, 1, h=h), diff(f, x, 2, h=h)
            mp.dps = 60
            numbers = [f(x), first, second]
            if x == 0:
                numbers = [y if fabs(y) > h else mpf(0) for y in numbers]
            print(name, nstr(x, 17), *(rounded(y, numbers[0]) for y in numbers), sep=";")
