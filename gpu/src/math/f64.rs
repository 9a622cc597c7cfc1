//! The same functions in f64: the `libm` crate where it has them, otherwise composed so that nothing overflows or cancels.
//! `libm` is plain Rust, so both machines return the same bits.

use super::machine::{fma_f64 as fma, sqrt_f64};

pub use libm::{cos, erf, erfc, exp, exp2, expm1 as exp_m1, log as ln, log1p as ln_1p, log2, sin, tanh};

const SQRT_HALF: f64 = core::f64::consts::FRAC_1_SQRT_2;
/// sqrt(1/2) - SQRT_HALF.
const SQRT_HALF_LOW: f64 = -4.833_646_656_726_457e-17;
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;
const TWO_OVER_SQRT_PI: f64 = core::f64::consts::FRAC_2_SQRT_PI;
/// 2 sqrt(2/pi).
const LINEAR: f64 = 1.595_769_121_605_730_7;
/// 2 sqrt(2/pi) 0.044715.
const CUBIC: f64 = 0.071_354_816_272_600_25;

/// The square root, correctly rounded.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    sqrt_f64(x)
}

/// 1 / x, correctly rounded.
#[inline(always)]
pub fn recip(x: f64) -> f64 {
    1.0 / x
}

/// x^n by repeated squaring: the relative error is about |n| 2^-53.
#[inline(always)]
pub fn powi(x: f64, n: i32) -> f64 {
    let mut base = if n < 0 { 1.0 / x } else { x };
    let mut rest = n.unsigned_abs();
    let mut result = 1.0;
    loop {
        if rest & 1 != 0 {
            result *= base;
        }
        rest >>= 1;
        if rest == 0 {
            return result;
        }
        base *= base;
    }
}

/// e^(hi + lo) for small lo.
#[inline(always)]
pub fn exp_hilo(hi: f64, lo: f64) -> f64 {
    let e = exp(hi);
    // Beyond the range e is 0 or infinity, and lo may be NaN.
    if e > 0.0 && e < f64::INFINITY { fma(e, lo, e) } else { e }
}

/// e^(-x^2), the square as high and low part.
#[inline(always)]
pub fn exp_neg_square(x: f64) -> f64 {
    let square = x * x;
    exp_hilo(-square, -fma(x, x, -square))
}

/// d/dx e^(-x^2) = -2x e^(-x^2).
#[inline(always)]
pub fn exp_neg_square_derivative(x: f64) -> f64 {
    // Infinity times zero.
    -2.0 * x.clamp(-40.0, 40.0) * exp_neg_square(x)
}

/// e^(-(hi + lo)^2) for small lo.
#[inline(always)]
pub fn exp_neg_square_hilo(hi: f64, lo: f64) -> f64 {
    let square = hi * hi;
    exp_hilo(-square, -fma(2.0 * hi, lo, fma(hi, hi, -square)))
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    sigmoid_hilo(x, 0.0)
}

/// sigmoid(hi + lo) for small lo.
#[inline(always)]
pub fn sigmoid_hilo(hi: f64, lo: f64) -> f64 {
    let e = if hi < 0.0 { exp_hilo(hi, lo) } else { exp_hilo(-hi, -lo) };
    (if hi < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// d/dx sigmoid(x) = sigmoid(x) sigmoid(-x).
#[inline(always)]
pub fn sigmoid_derivative(x: f64) -> f64 {
    sigmoid(x) * sigmoid(-x)
}

/// d/dx tanh(x) = 4 sigmoid(2x) sigmoid(-2x), which keeps relative accuracy where tanh is near ±1.
#[inline(always)]
pub fn tanh_derivative(x: f64) -> f64 {
    4.0 * sigmoid_derivative(2.0 * x)
}

/// ln(1 + e^x).
#[inline(always)]
pub fn softplus(x: f64) -> f64 {
    (if x < 0.0 { 0.0 } else { x }) + ln_1p(exp(-x.abs()))
}

/// softplus(hi + lo) for small lo.
#[inline(always)]
pub fn softplus_hilo(hi: f64, lo: f64) -> f64 {
    let value = softplus(hi);
    // At the infinities lo may be NaN.
    if value > 0.0 && value < f64::INFINITY { fma(sigmoid(hi), lo, value) } else { value }
}

/// ln(1 / (1 + e^-x)).
#[inline(always)]
pub fn log_sigmoid(x: f64) -> f64 {
    -softplus(-x)
}

/// The distribution function of the standard normal distribution. The rounding of x sqrt(1/2), which erfc would
/// magnify x^2 times, is put right by erfc's derivative.
#[inline(always)]
pub fn normal_cdf(x: f64) -> f64 {
    let x = x.clamp(-40.0, 40.0);
    let y = -x * SQRT_HALF;
    let lost = fma(-x, SQRT_HALF_LOW, fma(-x, SQRT_HALF, -y));
    0.5 * fma(-TWO_OVER_SQRT_PI * exp(-y * y), lost, erfc(y))
}

/// normal_cdf(hi + lo) for small lo.
#[inline(always)]
pub fn normal_cdf_hilo(hi: f64, lo: f64) -> f64 {
    let value = normal_cdf(hi);
    let density = INV_SQRT_TAU * exp(-0.5 * hi * hi);
    // Where the density is 0, lo may be NaN (infinity - infinity).
    if density > 0.0 { fma(density, lo, value) } else { value }
}

/// x normal_cdf(x).
#[inline(always)]
pub fn gelu_erf(x: f64) -> f64 {
    // Infinity times zero.
    (if x < -40.0 { -40.0 } else { x }) * normal_cdf(x)
}

/// normal_cdf(x) + x e^(-x^2/2) / sqrt(2 pi).
#[inline(always)]
pub fn gelu_erf_derivative(x: f64) -> f64 {
    let limited = x.clamp(-40.0, 40.0);
    fma(limited * INV_SQRT_TAU, exp_neg_square(limited * SQRT_HALF), normal_cdf(x))
}

/// 2u = 2 sqrt(2/pi) (x + 0.044715 x^3) as high and low part, and x times its derivative.
#[inline(always)]
fn tanh_argument(x: f64) -> (f64, f64, f64) {
    let square = x * x;
    let factor = fma(CUBIC, square, LINEAR);
    let factor_low = fma(CUBIC, square, LINEAR - factor) + CUBIC * fma(x, x, -square);
    let hi = factor * x;
    (hi, fma(factor_low, x, fma(factor, x, -hi)), x * fma(3.0 * CUBIC, square, LINEAR))
}

/// x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
#[inline(always)]
pub fn gelu_tanh(x: f64) -> f64 {
    let limited = x.clamp(-30.0, 30.0);
    let (hi, lo, _) = tanh_argument(limited);
    (if x < 0.0 { limited } else { x }) * sigmoid_hilo(hi, lo)
}

/// sigmoid(2u) + x 2u' sigmoid(2u) sigmoid(-2u).
#[inline(always)]
pub fn gelu_tanh_derivative(x: f64) -> f64 {
    let limited = x.clamp(-30.0, 30.0);
    let (hi, lo, slope) = tanh_argument(limited);
    let gate = sigmoid_hilo(hi, lo);
    fma(slope * gate, sigmoid_hilo(-hi, -lo), gate)
}

/// x sigmoid(x).
#[inline(always)]
pub fn silu(x: f64) -> f64 {
    (if x < -800.0 { -800.0 } else { x }) * sigmoid(x)
}

/// sigmoid(x) + x sigmoid(x) sigmoid(-x).
#[inline(always)]
pub fn silu_derivative(x: f64) -> f64 {
    let limited = x.clamp(-800.0, 800.0);
    let gate = sigmoid(x);
    fma(limited * gate, sigmoid(-x), gate)
}

/// x sigmoid(hi + lo) for small lo.
#[inline(always)]
pub fn swish(x: f64, hi: f64, lo: f64) -> f64 {
    let gate = sigmoid_hilo(hi, lo);
    // Infinity times zero.
    if gate == 0.0 { gate.copysign(x) } else { x * gate }
}

/// The derivative of x sigmoid(x) at hi + lo, for small lo.
#[inline(always)]
pub fn silu_derivative_hilo(hi: f64, lo: f64) -> f64 {
    let limited = hi.clamp(-800.0, 800.0);
    let gate = sigmoid_hilo(hi, lo);
    fma(limited * gate, sigmoid_hilo(-hi, -lo), gate)
}

/// An infinite hi whose lo is a number is an angle that overflowed; it is taken for the largest number, so that it gives
/// some sine, not NaN.
#[inline(always)]
fn angle(hi: f64, lo: f64) -> (f64, f64) {
    let limited = if lo.is_nan() { hi } else { hi.clamp(-f64::MAX, f64::MAX) };
    (limited, if limited == hi { lo } else { 0.0 })
}

/// sin(hi + lo) for small lo; beyond 2^26, where lo is no longer small, of hi.
#[inline(always)]
pub fn sin_hilo(hi: f64, lo: f64) -> f64 {
    let (hi, lo) = angle(hi, lo);
    let value = sin(hi);
    if hi.abs() < SMALL_LOW { fma(cos(hi), lo, value) } else { value }
}

/// cos(hi + lo) for small lo; beyond 2^26, where lo is no longer small, of hi.
#[inline(always)]
pub fn cos_hilo(hi: f64, lo: f64) -> f64 {
    let (hi, lo) = angle(hi, lo);
    let value = cos(hi);
    if hi.abs() < SMALL_LOW { fma(-sin(hi), lo, value) } else { value }
}

/// Here the square of the low part, 2^-54, is below the last place of 1.
const SMALL_LOW: f64 = 67_108_864.0;

/// x c as high and low part, for the functions that take those.
#[inline(always)]
pub fn product(x: f64, c: f64) -> (f64, f64) {
    let hi = x * c;
    (hi, fma(x, c, -hi))
}

/// tanh(ln(1 + e^x)) from E = e^-|x|.
#[inline(always)]
fn mish_gate(x: f64) -> f64 {
    let e = exp(-x.abs());
    if x < 0.0 { e * (2.0 + e) / (2.0 + e * (2.0 + e)) } else { (1.0 + 2.0 * e) / (1.0 + 2.0 * e * (1.0 + e)) }
}

/// x tanh(ln(1 + e^x)).
#[inline(always)]
pub fn mish(x: f64) -> f64 {
    (if x < -800.0 { -800.0 } else { x }) * mish_gate(x)
}

/// d/dx x tanh(ln(1 + e^x)), the closed form of the f32 version.
#[inline(always)]
pub fn mish_derivative(x: f64) -> f64 {
    let e = exp(-x.abs());
    let limited = x.clamp(-800.0, 800.0);
    let (four, six) = (4.0 * limited + 4.0, 4.0 * limited + 6.0);
    if x < 0.0 {
        let denominator = 2.0 + e * (2.0 + e);
        e * (four + e * (six + e * (4.0 + e))) / (denominator * denominator)
    } else {
        let denominator = 1.0 + 2.0 * e * (1.0 + e);
        (1.0 + e * (4.0 + e * (six + e * four))) / (denominator * denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative error over (input, value) pairs; the values come from mpmath with 60 digits.
    fn check(f: impl Fn(f64) -> f64, values: &[(f64, f64)]) {
        for &(x, want) in values {
            let error = (f(x) / want - 1.0).abs();
            assert!(error < 2e-14, "f({x}) = {:e} instead of {want:e}: {error:e}", f(x));
        }
    }

    #[test]
    fn agrees_with_high_precision_values() {
        check(
            normal_cdf,
            &[
                (-20.0, 2.7536241186062337e-89),
                (-5.0, 2.866515718791939e-07),
                (-1.5, 0.06680720126885807),
                (0.75, 0.7733726476231318),
                (6.0, 0.9999999990134123),
            ],
        );
        check(
            gelu_erf,
            &[
                (-20.0, -5.507248237212468e-88),
                (-5.0, -1.4332578593959695e-06),
                (-1.5, -0.1002108019032871),
                (0.75, 0.5800294857173488),
                (6.0, 5.999999994080474),
            ],
        );
        check(
            gelu_erf_derivative,
            &[
                (-20.0, -1.1014360483133464e-86),
                (-5.0, -7.146946001792295e-06),
                (-1.5, -0.12746919222997952),
                (0.75, 0.9992257217392351),
                (6.0, 1.0000000354687095),
            ],
        );
        check(
            gelu_tanh,
            &[
                (-10.0, -1.204092348209806e-37),
                (-5.0, -2.291796196629506e-07),
                (-1.5, -0.10042842301976708),
                (0.75, 0.5799605551656203),
                (6.0, 5.9999999999156035),
            ],
        );
        check(
            gelu_tanh_derivative,
            &[
                (-10.0, -2.7576380638540315e-36),
                (-5.0, -1.5463619875325946e-06),
                (-1.5, -0.12771079315143308),
                (0.75, 0.9989382561374143),
                (6.0, 1.0000000007709975),
            ],
        );
        check(
            sigmoid,
            &[
                (-20.0, 2.0611536181902037e-09),
                (-5.0, 0.0066928509242848554),
                (-1.5, 0.18242552380635635),
                (0.75, 0.679178699175393),
                (6.0, 0.9975273768433652),
            ],
        );
        check(
            softplus,
            &[
                (-20.0, 2.061153620314381e-09),
                (-5.0, 0.006715348489118068),
                (-1.5, 0.2014132779827524),
                (0.75, 1.1368710061148999),
                (6.0, 6.00247568513773),
            ],
        );
        check(
            silu,
            &[
                (-20.0, -4.122307236380407e-08),
                (-5.0, -0.03346425462142428),
                (-1.5, -0.2736382857095345),
                (0.75, 0.5093840243815447),
                (6.0, 5.985164261060191),
            ],
        );
        check(
            silu_derivative,
            &[
                (-20.0, -3.9161918660646786e-08),
                (-5.0, -0.02654743242966592),
                (-1.5, -0.041294154299142946),
                (0.75, 0.8425999444967535),
                (6.0, 1.0123264325915255),
            ],
        );
        check(
            mish,
            &[
                (-20.0, -4.122307240628761e-08),
                (-5.0, -0.033576237730161704),
                (-1.5, -0.29809974216680674),
                (0.75, 0.6100183352182934),
                (6.0, 5.999926634065253),
            ],
        );
        check(
            mish_derivative,
            &[
                (-20.0, -3.916191874348969e-08),
                (-5.0, -0.026747498019901932),
                (-1.5, -0.06409781589225864),
                (0.75, 0.985758355716688),
                (6.0, 1.0001341405062099),
            ],
        );
        check(
            exp_neg_square,
            &[
                (-20.0, 1.9151695967140057e-174),
                (-5.0, 1.3887943864964021e-11),
                (-1.5, 0.10539922456186433),
                (0.75, 0.569782824730923),
                (6.0, 2.3195228302435696e-16),
            ],
        );
    }

    #[test]
    fn infinities_give_the_limits() {
        for f in [gelu_erf, gelu_tanh, silu, mish] {
            assert_eq!((f(f64::NEG_INFINITY), f(f64::INFINITY)), (0.0, f64::INFINITY));
            assert!(f(f64::NAN).is_nan());
        }
        for f in [normal_cdf, sigmoid, gelu_erf_derivative, gelu_tanh_derivative, silu_derivative, mish_derivative] {
            assert_eq!((f(f64::NEG_INFINITY), f(f64::INFINITY)), (0.0, 1.0));
            assert!(f(f64::NAN).is_nan());
        }
        assert_eq!((softplus(f64::NEG_INFINITY), softplus(f64::INFINITY)), (0.0, f64::INFINITY));
        assert_eq!((exp_neg_square(f64::INFINITY), log_sigmoid(f64::NEG_INFINITY)), (0.0, f64::NEG_INFINITY));
        assert_eq!((powi(2.0, -3), powi(f64::NAN, 0)), (0.125, 1.0));
    }
}
