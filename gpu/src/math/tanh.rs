//! tanh(x) = m / (2 - m) with m = 1 - e^(-2|x|), which keeps its relative precision for small x; overflow cannot happen.

use super::exp::one_minus_exp;
use super::machine::{abs, at_most, copy_sign, near_reciprocal};
use super::pair::{fast_two_sum, pair};

/// The hyperbolic tangent, at most 1 ulp.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    // 1 - tanh(9.5) is below a quarter of the last place of 1.
    let m = one_minus_exp(-2.0 * at_most(abs(x), 9.5));
    let denominator = fast_two_sum(2.0, -m.hi);
    let reciprocal = near_reciprocal(denominator.hi);
    let quotient = m.divided_by(pair(denominator.hi, denominator.lo - m.lo), reciprocal);
    copy_sign(quotient.value(), x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_one_ulp() {
        super::super::ulp::assert_within(1.0, tanh, super::super::f64::tanh);
    }

    #[test]
    fn limits_and_exact_values() {
        assert_eq!((tanh(f32::NEG_INFINITY), tanh(f32::INFINITY), tanh(20.0)), (-1.0, 1.0, 1.0));
        assert_eq!(tanh(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(tanh(1e-40), 1e-40);
        assert!(tanh(f32::NAN).is_nan());
    }
}
