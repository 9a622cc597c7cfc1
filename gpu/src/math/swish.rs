//! SiLU and Mish with their first derivatives, from E = e^-|x| so that nothing overflows, tails scaled by their power of
//! two last: silu(-90) is a normal number although e^-90 is not. At most 2 ulp (near a root: of the largest term).
//! Source: Elfwing, Uchibe and Doya, 2017 (SiLU); Misra, 2019 (Mish).

use super::exp::{Late, exp_tail};
use super::gelu::{gated, gated_sigmoid_slope, gated_slope, times_t};
use super::machine::{abs, at_least, at_most, copy_sign, fma, near_reciprocal};
use super::pair::{Pair, fast_two_sum, pair, two_sum};
use super::sigmoid::{TAIL_END, magnitude, sigmoid_tail, sigmoid_tail_hilo};

/// x sigmoid(x).
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    let t = at_most(abs(x), TAIL_END);
    gated(x, times_t(t, sigmoid_tail(exp_tail(-t))))
}

/// d/dx x sigmoid(x) = sigmoid(x) + x sigmoid(x) sigmoid(-x).
#[inline(always)]
pub fn silu_derivative(x: f32) -> f32 {
    let t = at_most(abs(x), TAIL_END);
    gated_slope(x, gated_sigmoid_slope(sigmoid_tail(exp_tail(-t)), t, 0.0))
}

/// x sigmoid(hi + lo) for |lo| <= |hi| 2^-23, where hi + lo is a multiple of x by 10^-5 or more: with less the tail ends
/// too early.
#[inline(always)]
pub fn swish(x: f32, hi: f32, lo: f32) -> f32 {
    let (t, low) = magnitude(hi, lo);
    let tail = sigmoid_tail_hilo(t, low);
    // Infinity would meet zero.
    let product = tail.value.times_f32(at_most(at_least(x, -f32::MAX), f32::MAX)).value();
    let beyond = t == TAIL_END;
    if hi < 0.0 {
        if beyond { copy_sign(0.0, x) } else { product * tail.factor }
    } else {
        if beyond { x } else { x - product }
    }
}

/// The derivative of x sigmoid(x) at hi + lo, for |lo| <= |hi| 2^-23.
#[inline(always)]
pub fn silu_derivative_hilo(hi: f32, lo: f32) -> f32 {
    let (t, low) = magnitude(hi, lo);
    let q = sigmoid_tail_hilo(t, low);
    gated_slope(hi, gated_sigmoid_slope(q, t, fma(-low, q.value.hi, low)))
}

/// tanh(ln(1 + e^x)) = numerator / denominator in terms of E = e^-|x|:
/// E (2 + E) / (2 + 2E + E^2) below 0, (1 + 2E) / (1 + 2E + 2E^2) above; the last factor is 1 above.
struct MishGate {
    e: f32,
    numerator: Pair,
    denominator: Pair,
    reciprocal: f32,
    factor: f32,
}

#[inline(always)]
fn mish_gate(x: f32) -> MishGate {
    let negative = x < 0.0;
    let Late { value: e, factor } = exp_tail(-at_most(abs(x), TAIL_END));
    let twice = 2.0 * e;
    let (square_root, linear) = if negative { (e, twice) } else { (0.0, twice + 1.0) };
    let numerator = fma(e, square_root, linear);
    let numerator = pair(numerator, fma(e, square_root, linear - numerator));
    let (base, rest) = if negative { (2.0, numerator.hi) } else { (numerator.hi, twice * e) };
    let denominator = fast_two_sum(base, rest);
    let reciprocal = near_reciprocal(denominator.hi);
    MishGate { e, numerator, denominator, reciprocal, factor: if negative { factor } else { 1.0 } }
}

/// x tanh(ln(1 + e^x)).
#[inline(always)]
pub fn mish(x: f32) -> f32 {
    let gate = mish_gate(x);
    // Minus infinity would meet zero; plus infinity has no low part.
    let limited = at_most(at_least(x, -TAIL_END), TAIL_END);
    let product = gate.numerator.times_f32(limited);
    let result = product.divided_by(gate.denominator, gate.reciprocal).value() * gate.factor;
    copy_sign(if x > TAIL_END { x } else { result }, x)
}

/// d/dx x tanh(ln(1 + e^x)) = (s / D) (B + X (1 + E) / D) with the denominator D above:
/// s = E, B = 2 + E, X = 4x below 0; s = 1, B = 1 + 2E, X = 4x E^2 above.
#[inline(always)]
pub fn mish_derivative(x: f32) -> f32 {
    let gate = mish_gate(x);
    let negative = x < 0.0;
    let limited = 4.0 * at_most(at_least(x, -TAIL_END), TAIL_END);
    let e = gate.e;
    let ratio = fast_two_sum(1.0, e).divided_by(gate.denominator, gate.reciprocal);
    let term = ratio.times_f32(if negative { limited } else { limited * (e * e) });
    let base = fast_two_sum(if negative { 2.0 } else { 1.0 }, if negative { e } else { 2.0 * e });
    let sum = two_sum(base.hi, term.hi);
    let low = sum.lo + (base.lo + term.lo);
    let outer = pair(if negative { e } else { 1.0 }, 0.0).divided_by(gate.denominator, gate.reciprocal);
    fma(outer.hi, sum.hi, fma(outer.hi, low, outer.lo * sum.hi)) * gate.factor
}

#[cfg(test)]
mod tests {
    use super::super::f64 as exact;
    use super::super::ulp::{assert_within, assert_within_term};
    use super::*;

    #[test]
    fn within_two_ulp() {
        assert_within(2.0, silu, exact::silu);
        assert_within(2.0, mish, exact::mish);
        assert_within_term(2.0, silu_derivative, |x| (exact::silu_derivative(x), exact::sigmoid(x)));
        assert_within_term(2.0, mish_derivative, |x| (exact::mish_derivative(x), exact::tanh(exact::softplus(x))));
    }

    #[test]
    fn multiples_of_the_argument() {
        for beta in [1.702_f32, 0.3, 5.0, -2.0, 1.0] {
            let wide = f64::from(beta);
            let product = |x: f32| (x * beta, fma(x, beta, -(x * beta)));
            let f = |x| swish(x, product(x).0, product(x).1);
            assert_within(2.0, f, |x| exact::swish(x, x * wide, 0.0));
            let f = |x| silu_derivative_hilo(product(x).0, product(x).1);
            assert_within_term(2.0, f, |x| (exact::silu_derivative(x * wide), exact::sigmoid(x * wide)));
        }
    }

    #[test]
    fn limits_and_reported_failures() {
        for f in [silu, mish] {
            assert_eq!(
                (f(f32::NEG_INFINITY), f(f32::INFINITY), f(5000.0), f(-5000.0)),
                (0.0, f32::INFINITY, 5000.0, 0.0)
            );
            assert_eq!(f(-0.0).to_bits(), (-0.0_f32).to_bits());
            assert!(f(f32::NAN).is_nan());
        }
        assert_eq!(silu_derivative(0.0), 0.5);
        assert!((mish_derivative(0.0) - 0.6).abs() < 1e-7);
        for f in [silu_derivative, mish_derivative] {
            assert_eq!((f(f32::NEG_INFINITY), f(f32::INFINITY)), (0.0, 1.0));
            assert!(f(f32::NAN).is_nan());
        }
        // A normal number, though e^-90 is subnormal.
        assert!((silu(-90.0) / -7.374_611e-38 - 1.0).abs() < 2e-7);
    }
}
