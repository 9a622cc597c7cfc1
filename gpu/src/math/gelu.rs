//! GELU in both forms and their first derivatives. Both are x f(x) with f(t) + f(-t) = 1, so for t = |x| they are
//! -t f(-t) below 0 and x - t f(-t) above: the tail f(-t) keeps its relative precision, and infinity times zero never
//! appears. At most 2 ulp (near a root: 2 ulp of the largest term), with the exponential rounded once on the way.
//! Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

use super::exp::{Late, exp2_tail, gaussian_tail};
use super::machine::{abs, at_most, fma};
use super::normal::{INV_SQRT_TAU, TAIL_END, mills};
use super::pair::{Pair, fast_two_sum, pair, two_product};
use super::sigmoid::sigmoid_tail;

/// 2u(11) = 112 makes even 2u' t sigmoid(-2u) zero.
const TANH_TAIL_END: f32 = 11.0;
/// A cubic in t: t (linear + cubic t^2), each coefficient in two parts, the first of linear a multiple of 2^-19.
struct Cubic {
    linear: Pair,
    cubic: Pair,
}

/// 2u / ln 2 with 2u = 2 sqrt(2/pi) (t + 0.044715 t^3): sigmoid(-2u) = 1 / (1 + 2^(2u / ln 2)).
const ARGUMENT: Cubic =
    Cubic { linear: Pair { hi: 2.302_208, lo: 2.513_669_7e-7 }, cubic: Pair { hi: 0.102_943_24, lo: -2.016_198_5e-9 } };
/// t times the derivative of 2u.
const SLOPE: Cubic = Cubic {
    linear: Pair { hi: 1.595_769_9, lo: -7.605_964_4e-7 },
    cubic: Pair { hi: 0.214_064_45, lo: -2.540_834_2e-10 },
};

impl Cubic {
    /// The value at t as a pair, given t^2 as a pair.
    #[inline(always)]
    fn at(&self, t: f32, square: Pair) -> Pair {
        let hi = self.cubic.hi * square.hi;
        let lo = fma(self.cubic.hi, square.lo, fma(self.cubic.hi, square.hi, -hi));
        let lo = fma(self.cubic.lo, square.hi, lo) + self.linear.lo;
        // The first part of linear has so few bits that this sum's error is exact in either order of size.
        let sum = fast_two_sum(self.linear.hi, hi);
        pair(sum.hi, sum.lo + lo).times_f32(t)
    }
}

/// x f(x) given y = t f(-t).
#[inline(always)]
pub(super) fn gated(x: f32, y: Late<f32>) -> f32 {
    if x < 0.0 { -(y.value * y.factor) } else { x - y.value }
}

/// t times a tail.
#[inline(always)]
pub(super) fn times_t(t: f32, tail: Late<Pair>) -> Late<f32> {
    Late { value: tail.value.times_f32(t).value(), factor: tail.factor }
}

/// The derivative f'(x) of an f with f'(-t) + f'(t) = 1, given the one at -t.
#[inline(always)]
pub(super) fn gated_slope(x: f32, y: Late<f32>) -> f32 {
    if x < 0.0 { y.value * y.factor } else { 1.0 - y.value }
}

/// x normal_cdf(x).
#[inline(always)]
pub fn gelu_erf(x: f32) -> f32 {
    let t = at_most(abs(x), TAIL_END);
    let Late { value: e, factor } = gaussian_tail(t);
    let product = two_product(e, t);
    let mills = mills::<false>(t, 0.0);
    let value = fma(product.hi, mills.hi, fma(product.hi, mills.lo, product.lo * mills.hi));
    gated(x, Late { value, factor })
}

/// d/dx x normal_cdf(x) = normal_cdf(x) + x e^(-x^2/2) / sqrt(2 pi); at -t it is e^(-t^2/2) (mills(t) - t / sqrt(2 pi)).
#[inline(always)]
pub fn gelu_erf_derivative(x: f32) -> f32 {
    let t = at_most(abs(x), TAIL_END);
    let Late { value: e, factor } = gaussian_tail(t);
    let mills = mills::<true>(t, 0.0);
    let hi = fma(-t, INV_SQRT_TAU.hi, mills.hi);
    let lost = fma(-t, INV_SQRT_TAU.hi, -hi) + mills.hi;
    let lo = fma(-t, INV_SQRT_TAU.lo, mills.lo + lost);
    gated_slope(x, Late { value: fma(e, hi, e * lo), factor })
}

/// x (1 + tanh(u)) / 2 = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
#[inline(always)]
pub fn gelu_tanh(x: f32) -> f32 {
    let t = at_most(abs(x), TANH_TAIL_END);
    let v = ARGUMENT.at(t, two_product(t, t));
    gated(x, times_t(t, sigmoid_tail(exp2_tail(-v.hi, -v.lo))))
}

/// d/dx x sigmoid(v(x)) at -t, given q = sigmoid(-v) and w = t v'(t): q (1 - w (1 - q)) = q ((1 - w) + w q). The low
/// part of w comes as `low` = w.lo (1 - q).
#[inline(always)]
pub(super) fn gated_sigmoid_slope(q: Late<Pair>, w: f32, low: f32) -> Late<f32> {
    let Late { value: q, factor } = q;
    let rest = fast_two_sum(1.0, -w);
    let low = fma(w, q.hi, fma(w, q.lo, rest.lo - low));
    let value = fma(q.hi, rest.hi, fma(q.hi, low, q.lo * (rest.hi + low)));
    Late { value, factor }
}

/// d/dx x sigmoid(2u) = sigmoid(2u) + x 2u' sigmoid(2u) sigmoid(-2u).
#[inline(always)]
pub fn gelu_tanh_derivative(x: f32) -> f32 {
    let t = at_most(abs(x), TANH_TAIL_END);
    let square = two_product(t, t);
    let v = ARGUMENT.at(t, square);
    let w = SLOPE.at(t, square);
    let q = sigmoid_tail(exp2_tail(-v.hi, -v.lo));
    gated_slope(x, gated_sigmoid_slope(q, w.hi, fma(-w.lo, q.value.hi, w.lo)))
}

#[cfg(test)]
mod tests {
    use super::super::f64 as exact;
    use super::super::ulp::{assert_within, assert_within_term};
    use super::*;

    #[test]
    fn within_two_ulp() {
        assert_within(2.0, gelu_erf, exact::gelu_erf);
        assert_within(2.0, gelu_tanh, exact::gelu_tanh);
        assert_within_term(2.0, gelu_erf_derivative, |x| (exact::gelu_erf_derivative(x), exact::normal_cdf(x)));
        assert_within_term(2.0, gelu_tanh_derivative, |x| (exact::gelu_tanh_derivative(x), gelu_tanh_gate(x)));
    }

    /// sigmoid(2u).
    fn gelu_tanh_gate(x: f64) -> f64 {
        if x.is_finite() && x != 0.0 { exact::gelu_tanh(x) / x } else { 0.0 }
    }

    #[test]
    fn limits_and_reported_failures() {
        assert_eq!((gelu_erf(f32::NEG_INFINITY), gelu_erf(f32::INFINITY)), (0.0, f32::INFINITY));
        assert_eq!((gelu_tanh(f32::NEG_INFINITY), gelu_tanh(f32::INFINITY)), (0.0, f32::INFINITY));
        assert_eq!((gelu_erf(-0.0).to_bits(), gelu_tanh(-0.0).to_bits()), (0x8000_0000, 0x8000_0000));
        for f in [gelu_erf_derivative, gelu_tanh_derivative] {
            assert_eq!((f(f32::NEG_INFINITY), f(0.0), f(f32::INFINITY)), (0.0, 0.5, 1.0));
            assert!(f(f32::NAN).is_nan());
        }
        assert!(gelu_erf(f32::NAN).is_nan() && gelu_tanh(f32::NAN).is_nan());
        for x in [-13.24, -11.0, 11.0, 13.24, 40.0] {
            assert_eq!(gelu_tanh(x), if x < 0.0 { 0.0 } else { x });
        }
    }
}
