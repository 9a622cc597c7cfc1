//! Sine and cosine over all of f32's range: x = k pi/2 + r with r as a pair, then polynomials in |r| <= pi/4.
//! Hazard: r loses all its digits to cancellation, so pi/2 is subtracted in three parts (Cody and Waite, 1980), and for
//! large x only the bits of 2/pi that matter are multiplied, in integers (Payne and Hanek, 1983).

use super::machine::{abs, fma, round_product};
use super::pair::{Pair, pair, two_product, two_sum};
use core::f32::consts::{FRAC_2_PI, FRAC_PI_2};

/// Up to here Cody and Waite's reduction is precise enough, and `sin_moderate`, `cos_moderate` may be called.
pub const MODERATE_ANGLE: f32 = 131_072.0;

/// pi/2 in three parts, each the rounding of what the earlier ones leave.
const HALF_PI: [f32; 3] = [FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
/// 32 zero bits, then the first 224 bits of 2/pi.
const TWO_OVER_PI_BITS: [u32; 8] =
    [0, 0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab];

/// sin(r) / r - 1, divided by z = r^2. Degree 3 on 0 <= z <= (pi/4)^2; largest error 2^-32.5 of sin(r).
#[inline(always)]
fn sin_polynomial(z: f32) -> f32 {
    let q = fma(z, 2.832_579e-6, -0.000_198_530_64);
    let q = fma(z, q, 0.008_333_379);
    fma(z, q, -0.166_666_67)
}

/// (cos(r) - 1 + z/2) / z^2. Degree 3 on 0 <= z <= (pi/4)^2; largest error 2^-37.0 of cos(r).
#[inline(always)]
fn cos_polynomial(z: f32) -> f32 {
    let q = fma(z, -2.888_121_5e-7, 2.482_202_2e-5);
    let q = fma(z, q, -0.001_388_898);
    fma(z, q, 0.041_666_668)
}

/// x - k pi/2 for |x| <= MODERATE_ANGLE, and k. NaN for infinity and NaN.
#[inline(always)]
fn reduce_moderate(x: f32) -> (Pair, i32) {
    let (whole, k) = round_product(x, FRAC_2_PI);
    // Exact: the product is not rounded and the difference has at most 24 bits.
    let first = fma(-whole, HALF_PI[0], x);
    let second = two_product(-whole, HALF_PI[1]);
    let sum = two_sum(first, second.hi);
    (pair(sum.hi, fma(-whole, HALF_PI[2], sum.lo + second.lo)), k)
}

/// x in quarter turns modulo 4, in units of 2^-62, for finite x; off by a few units.
#[inline(always)]
fn quarter_turns(x: f32) -> u64 {
    let bits = x.to_bits();
    // |x| = significand 2^exponent; a subnormal is less than a unit.
    let significand = u64::from((bits & 0x007f_ffff) | 0x0080_0000);
    let exponent = ((bits >> 23) & 0xff) as i32 - 150;
    // The product with 96 bits of 2/pi 2^(exponent - 2) modulo 1: earlier bits add multiples of 4 quarter turns.
    let position = (exponent + 30).max(0) as u32;
    let index = (position >> 5) as usize;
    let shift = position & 31;
    let word = |i: usize| {
        let high = u64::from(TWO_OVER_PI_BITS[(index + i) & 7]);
        let low = u64::from(TWO_OVER_PI_BITS[(index + i + 1) & 7]);
        (((high << 32) | low) << shift) >> 32
    };
    let low = significand * word(2);
    let middle = significand * word(1) + (low >> 32);
    let high = (significand * word(0) + (middle >> 32)) & 0xffff_ffff;
    let turns = (high << 32) | (middle & 0xffff_ffff);
    // Below 2^-6 the product was taken with 2^(-32), and belongs further to the right.
    let turns = if exponent < -30 { turns >> (-30 - exponent).min(63) } else { turns };
    if x < 0.0 { turns.wrapping_neg() } else { turns }
}

/// The rest of so many quarter turns in radians, and how many whole ones, modulo 4.
#[inline(always)]
fn reduce_turns(turns: u64) -> (Pair, i32) {
    // Two bits of quarter turns, rounded to nearest; the rest is a signed fraction in units of 2^-62.
    let k = (turns.wrapping_add(1 << 61) >> 62) as i32;
    let fraction = turns.wrapping_sub((k as u64) << 62) as i64;
    let hi = fraction as f32;
    let lo = (fraction - hi as i64) as f32;
    // pi/2 2^-62; both scalings are exact.
    const UNIT: f32 = 1.0 / (1_u64 << 62) as f32;
    (pair(hi * UNIT, lo * UNIT).times(pair(HALF_PI[0], HALF_PI[1])).normalized(), k)
}

/// sin(r + k pi/2).
#[inline(always)]
fn sin_quadrant(r: Pair, k: i32) -> f32 {
    let z = r.hi * r.hi;
    let sin = r.hi + fma(r.hi * z, sin_polynomial(z), r.lo);
    let half = 0.5 * z;
    let one = 1.0 - half;
    let cos = one + (((1.0 - one) - half) + fma(z * z, cos_polynomial(z), -(r.hi * r.lo)));
    let result = if k & 1 == 0 { sin } else { cos };
    f32::from_bits(result.to_bits() ^ (((k & 2) as u32) << 30))
}

/// The sine of `x` radians, at most 1 ulp, for |x| <= MODERATE_ANGLE: without a branch, for loops that vectorise.
#[inline(always)]
pub fn sin_moderate(x: f32) -> f32 {
    let (r, k) = reduce_moderate(x);
    // The sign of zero.
    if x == 0.0 { x } else { sin_quadrant(r, k) }
}

/// The cosine of `x` radians, at most 1 ulp, for |x| <= MODERATE_ANGLE: without a branch, for loops that vectorise.
#[inline(always)]
pub fn cos_moderate(x: f32) -> f32 {
    let (r, k) = reduce_moderate(x);
    sin_quadrant(r, k.wrapping_add(1))
}

/// hi + lo - k pi/2 for |lo| <= |hi| 2^-23, and k modulo 4. An infinite hi whose lo is a number is an angle that
/// overflowed; it is taken for the largest number, so that it gives some sine, not NaN.
#[inline(always)]
fn reduce_hilo(hi: f32, lo: f32) -> (Pair, i32) {
    let limited = hi.clamp(-f32::MAX, f32::MAX);
    let lo = if limited == hi || lo.is_nan() { lo } else { 0.0 };
    if is_large(limited) && !lo.is_nan() {
        // Added as integers, because the parts may cancel down to their last digits.
        return reduce_turns(quarter_turns(limited).wrapping_add(quarter_turns(lo)));
    }
    let (r, k) = reduce_moderate(limited);
    // r.hi and lo may cancel, so what is small comes last.
    let sum = two_sum(r.hi, lo);
    (two_sum(sum.hi, sum.lo + r.lo), k)
}

/// sin(hi + lo) for |lo| <= |hi| 2^-23, at most 1 ulp of the sum's sine.
#[inline(always)]
pub fn sin_hilo(hi: f32, lo: f32) -> f32 {
    let (r, k) = reduce_hilo(hi, lo);
    // The sign of zero.
    if hi == 0.0 { hi } else { sin_quadrant(r, k) }
}

/// cos(hi + lo) for |lo| <= |hi| 2^-23, at most 1 ulp of the sum's cosine.
#[inline(always)]
pub fn cos_hilo(hi: f32, lo: f32) -> f32 {
    let (r, k) = reduce_hilo(hi, lo);
    sin_quadrant(r, k.wrapping_add(1))
}

/// Whether the angle needs the integer reduction; infinity and NaN do not, they become NaN by themselves.
#[inline(always)]
fn is_large(x: f32) -> bool {
    abs(x) > MODERATE_ANGLE && abs(x) < f32::INFINITY
}

/// The sine of `x` radians, at most 1 ulp for every x; NaN at infinity.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    if is_large(x) {
        let (r, k) = reduce_turns(quarter_turns(x));
        return sin_quadrant(r, k);
    }
    sin_moderate(x)
}

/// The cosine of `x` radians, at most 1 ulp for every x; NaN at infinity.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    if is_large(x) {
        let (r, k) = reduce_turns(quarter_turns(x));
        return sin_quadrant(r, k.wrapping_add(1));
    }
    cos_moderate(x)
}

#[cfg(test)]
mod tests {
    use super::super::f64 as exact;
    use super::super::ulp::{assert_within, ulp_error};
    use super::*;

    #[test]
    fn within_one_ulp() {
        assert_within(1.0, sin, exact::sin);
        assert_within(1.0, cos, exact::cos);
    }

    /// The f32 nearest to a multiple of pi/2 for every whole multiple up to 2^17, and both sides of the change of method.
    #[test]
    fn near_the_roots() {
        let inputs = (1..83_443_u32).map(|k| (f64::from(k) * core::f64::consts::FRAC_PI_2) as f32);
        for x in inputs.chain([MODERATE_ANGLE, f32::from_bits(MODERATE_ANGLE.to_bits() + 1), f32::MAX]) {
            assert!(ulp_error(sin(x), exact::sin(f64::from(x))) <= 1.0, "sin({x:e})");
            assert!(ulp_error(cos(x), exact::cos(f64::from(x))) <= 1.0, "cos({x:e})");
        }
    }

    /// Factor times x as hi + lo, for the x nearest to roots near and far: there what the two parts leave is all that counts.
    #[test]
    fn products_near_the_roots() {
        let factor = 30.0_f32;
        let near = (1..400_000_u32).map(|k| f64::from(k) * core::f64::consts::FRAC_PI_2 / f64::from(factor));
        // Far ones: of many neighbours some lie near a root.
        let far = (0..92_000_u32).map(|i| f64::from(f32::from_bits(0x4580_0000 + i * 9973)));
        for x in near.chain(far).map(|x| x as f32).chain([3.794_939_2e3, -3.195_575_7e3]) {
            let Pair { hi, lo } = two_product(x, factor);
            // Exact: 24 + 5 bits.
            let angle = f64::from(x) * f64::from(factor);
            let (sin, cos) = (sin_hilo(hi, lo), cos_hilo(hi, lo));
            assert!(ulp_error(sin, exact::sin(angle)) <= 1.0, "sin({factor} * {x:e}) = {sin:e}");
            assert!(ulp_error(cos, exact::cos(angle)) <= 1.0, "cos({factor} * {x:e}) = {cos:e}");
        }
    }

    #[test]
    fn limits_and_exact_values() {
        assert_eq!(sin(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!((sin(1e-40), cos(0.0)), (1e-40, 1.0));
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(sin(x).is_nan() && cos(x).is_nan());
        }
    }
}
