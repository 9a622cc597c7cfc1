//! Square root, reciprocal and whole powers. The first two are single IEEE operations. A whole power is a chain of
//! products, kept as a pair with its own power of two: nothing overflows on the way to a result that does not.

use super::machine;
use super::pair::{Pair, pair};

/// The square root, correctly rounded.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    machine::sqrt(x)
}

/// 1 / x, correctly rounded.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    1.0 / x
}

/// A positive number as 2^k pair with 1/2 <= pair < 2.
#[derive(Clone, Copy)]
struct Wide {
    pair: Pair,
    k: i32,
}

impl Wide {
    /// `self * other`, brought back near 1. The power of two saturates.
    #[inline(always)]
    fn times(self, other: Wide) -> Wide {
        let product = self.pair.times(other.pair).normalized();
        let k = ((product.hi.to_bits() >> 23) as i32) - 127;
        let pair = product.scaled(machine::power_of_two(-k));
        Wide { pair, k: self.k.saturating_add(other.k).saturating_add(k) }
    }
}

/// x^n, at most 1 ulp for |n| <= 2^16; x^0 = 1 also for NaN, as in IEEE 754's pown.
#[inline(always)]
pub fn powi(x: f32, n: i32) -> f32 {
    let magnitude = machine::abs(x);
    let odd = n & 1 != 0;
    if n == 0 {
        return 1.0;
    }
    let sign = if odd { x } else { 1.0 };
    if magnitude == 0.0 || !magnitude.is_finite() {
        let result = if (magnitude == 0.0) == (n > 0) { 0.0 } else { f32::INFINITY };
        return if x.is_nan() { x } else { machine::copy_sign(result, sign) };
    }
    let subnormal = magnitude < f32::MIN_POSITIVE;
    let bits = (if subnormal { magnitude * 8_388_608.0 } else { magnitude }).to_bits();
    let k = (bits >> 23) as i32 - 127 - if subnormal { 23 } else { 0 };
    let mut base = Wide { pair: pair(f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000), 0.0), k };
    let mut result = Wide { pair: pair(1.0, 0.0), k: 0 };
    let mut rest = n.unsigned_abs();
    loop {
        if rest & 1 != 0 {
            result = result.times(base);
        }
        rest >>= 1;
        if rest == 0 {
            break;
        }
        base = base.times(base);
    }
    if n < 0 {
        result =
            Wide { pair: pair(1.0, 0.0).divided_by(result.pair, 1.0 / result.pair.hi), k: result.k.saturating_neg() };
    }
    let value = machine::scale(result.pair.value(), result.k.clamp(-200, 200));
    machine::copy_sign(value, sign)
}

#[cfg(test)]
mod tests {
    use super::super::ulp::assert_within;
    use super::*;

    #[test]
    fn within_one_ulp() {
        assert_within(0.5, sqrt, super::super::f64::sqrt);
        assert_within(0.5, recip, super::super::f64::recip);
        for n in [-7, -1, 1, 2, 3, 10] {
            assert_within(1.0, |x| powi(x, n), |x| super::super::f64::powi(x, n));
        }
    }

    #[test]
    fn exact_values_and_limits() {
        assert_eq!((powi(3.0, 4), powi(-2.0, 3), powi(2.0, -149)), (81.0, -8.0, f32::from_bits(1)));
        // On the way to 2^-149, 2^149 would overflow; here the power of two saturates instead.
        assert_eq!((powi(0.5, i32::MAX), powi(-2.0, i32::MAX)), (0.0, f32::NEG_INFINITY));
        assert_eq!(powi(0.5, i32::MIN), f32::INFINITY);
        assert_eq!(
            (powi(0.0, -2), powi(-0.0, -3), powi(f32::NEG_INFINITY, 3)),
            (f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY)
        );
        assert_eq!(powi(-0.0, 3).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(powi(f32::NAN, 0), 1.0);
        assert!(powi(f32::NAN, 1).is_nan());
    }
}
