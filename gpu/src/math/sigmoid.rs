//! Sigmoid and its integral and tail, from E = e^-|x| <= 1 so that nothing overflows: sigmoid(-t) = E / (1 + E),
//! sigmoid(t) = 1 - sigmoid(-t), softplus(x) = max(x, 0) + ln(1 + E), log_sigmoid(x) = -softplus(-x).

use super::exp::{Late, exp_tail_pair};
use super::log::{LN_2, ln_core};
use super::machine::{abs, at_most, fma, near_reciprocal};
use super::pair::{Pair, fast_two_sum, pair};

/// Where t e^-t has long become 0.
pub(super) const TAIL_END: f32 = 120.0;

/// `tail` on the negative side, whole - `tail` on the positive one, rounded once; `whole` is a power of two.
#[inline(always)]
pub(super) fn mirrored(x: f32, whole: f32, tail: Late<Pair>) -> f32 {
    let below = tail.value.value() * tail.factor;
    // Here the factor does not matter: it is 1 or the tail invisible.
    let difference = fast_two_sum(whole, -tail.value.hi);
    let above = difference.hi + (difference.lo - tail.value.lo);
    if x < 0.0 { below } else { above }
}

/// 1 / (1 + e^-x), at most 1 ulp.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    sigmoid_hilo(x, 0.0)
}

/// sigmoid(hi + lo) for |lo| <= |hi| 2^-23, at most 1 ulp of the sum's sigmoid.
#[inline(always)]
pub fn sigmoid_hilo(hi: f32, lo: f32) -> f32 {
    let (t, low) = magnitude(hi, lo);
    mirrored(hi, 1.0, sigmoid_tail_hilo(t, low))
}

/// |hi + lo| limited to `TAIL_END`, as high and low part.
#[inline(always)]
pub(super) fn magnitude(hi: f32, lo: f32) -> (f32, f32) {
    let t = abs(hi);
    let limited = at_most(t, TAIL_END);
    // Beyond the limit lo does not matter; it may be NaN there (infinity - infinity).
    let away_from_zero = if hi < 0.0 { -lo } else { lo };
    (limited, if limited == t { away_from_zero } else { 0.0 })
}

/// sigmoid(-(t + low)) for 0 <= t <= TAIL_END.
#[inline(always)]
pub(super) fn sigmoid_tail_hilo(t: f32, low: f32) -> Late<Pair> {
    let e = exp_tail_pair(-t, -low);
    let sum = fast_two_sum(1.0, e.value.hi);
    let denominator = pair(sum.hi, sum.lo + e.value.lo);
    Late { value: e.value.divided_by(denominator, near_reciprocal(sum.hi)), factor: e.factor }
}

/// d/dx sigmoid(x) = sigmoid(x) sigmoid(-x), at most 1.5 ulp.
#[inline(always)]
pub fn sigmoid_derivative(x: f32) -> f32 {
    let (t, _) = magnitude(x, 0.0);
    bell(sigmoid_tail_hilo(t, 0.0), 1.0)
}

/// d/dx tanh(x) = 4 sigmoid(2x) sigmoid(-2x), at most 1.5 ulp.
#[inline(always)]
pub fn tanh_derivative(x: f32) -> f32 {
    let (t, _) = magnitude(2.0 * x, 0.0);
    bell(sigmoid_tail_hilo(t, 0.0), 4.0)
}

/// scale q (1 - q), the scale a power of two. A late factor other than 1 comes with a q that is invisible beside 1.
#[inline(always)]
fn bell(q: Late<Pair>, scale: f32) -> f32 {
    let Late { value: q, factor } = q;
    let (hi, lo) = (scale * q.hi, scale * q.lo);
    fma(lo, fma(-2.0, q.hi, 1.0), fma(-hi, q.hi, hi)) * factor
}

/// sigmoid(-t) of e^-t, as a pair: hardly less precise than that.
#[inline(always)]
pub(super) fn sigmoid_tail(e: Late<f32>) -> Late<Pair> {
    let denominator = fast_two_sum(1.0, e.value);
    let reciprocal = near_reciprocal(denominator.hi);
    Late { value: pair(e.value, 0.0).divided_by(denominator, reciprocal), factor: e.factor }
}

/// ln(1 + e^x), at most 1 ulp, also where it is nearly e^x or nearly x.
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    softplus_hilo(x, 0.0)
}

/// softplus(x + lo) for |lo| <= |x| 2^-23, at most 1 ulp of the sum's softplus.
#[inline(always)]
pub fn softplus_hilo(x: f32, lo: f32) -> f32 {
    let (t, low) = magnitude(x, lo);
    let e = exp_tail_pair(-t, -low);
    // 1 + E = 2^k (1 + f): for k = 0, E itself is f and nothing was rounded.
    let sum = fast_two_sum(1.0, e.value.hi);
    let halve = sum.hi >= 1.375;
    let f = if halve { 0.5 * sum.hi - 1.0 } else { e.value.hi };
    let rest = if halve { 0.5 * (sum.lo + e.value.lo) } else { e.value.lo };
    let curve = ln_core(if halve { LN_2 } else { pair(0.0, 0.0) }, f, rest);
    // x + curve, the larger one first.
    let (large, small) = if x > curve.hi { (x, curve.hi) } else { (curve.hi, x) };
    let sum = fast_two_sum(large, small);
    let above = sum.hi + (sum.lo + (curve.lo + low));
    let result = if x < 0.0 { curve.value() * e.factor } else { above };
    if x == f32::INFINITY { x } else { result }
}

/// ln(1 / (1 + e^-x)), at most 1 ulp.
#[inline(always)]
pub fn log_sigmoid(x: f32) -> f32 {
    -softplus(-x)
}

#[cfg(test)]
mod tests {
    use super::super::f64 as exact;
    use super::super::ulp::{assert_within, ulp_error};
    use super::*;

    #[test]
    fn within_one_ulp() {
        assert_within(1.0, sigmoid, exact::sigmoid);
        assert_within(1.5, sigmoid_derivative, exact::sigmoid_derivative);
        assert_within(1.5, tanh_derivative, exact::tanh_derivative);
        assert_within(1.0, softplus, exact::softplus);
        assert_within(1.0, log_sigmoid, exact::log_sigmoid);
    }

    #[test]
    fn low_part_counts() {
        for x in [-87.3_f32, -20.0, -1.5, 3.0, 12.0] {
            let lo = x * f32::EPSILON / 3.0;
            let want = exact::sigmoid(f64::from(x) + f64::from(lo));
            assert!(ulp_error(sigmoid_hilo(x, lo), want) <= 1.0, "{x}");
        }
        assert_eq!((sigmoid_hilo(f32::NEG_INFINITY, f32::NAN), sigmoid_hilo(f32::INFINITY, f32::NAN)), (0.0, 1.0));
        for x in [-87.3_f32, -20.0, -1.5, 3.0, 12.0] {
            let lo = x * f32::EPSILON / 3.0;
            let want = exact::softplus(f64::from(x) + f64::from(lo));
            assert!(ulp_error(softplus_hilo(x, lo), want) <= 1.0, "{x}");
        }
        assert_eq!(softplus_hilo(f32::INFINITY, f32::NAN), f32::INFINITY);
    }

    #[test]
    fn limits_and_reported_failures() {
        assert_eq!((sigmoid(f32::NEG_INFINITY), sigmoid(0.0), sigmoid(f32::INFINITY)), (0.0, 0.5, 1.0));
        assert_eq!((sigmoid(-1662.73), sigmoid(89.0)), (0.0, 1.0));
        assert!((sigmoid(-27.2899) / 1.406_523_6e-12 - 1.0).abs() < 2e-7);
        assert_eq!((softplus(20.0), softplus(100.0), softplus(f32::INFINITY)), (20.0, 100.0, f32::INFINITY));
        assert_eq!(softplus(f32::NEG_INFINITY), 0.0);
        assert_eq!((log_sigmoid(-300.0), log_sigmoid(f32::NEG_INFINITY)), (-300.0, f32::NEG_INFINITY));
        assert_eq!(log_sigmoid(f32::INFINITY), 0.0);
        for f in [sigmoid, softplus, log_sigmoid] {
            assert!(f(f32::NAN).is_nan());
        }
    }
}
