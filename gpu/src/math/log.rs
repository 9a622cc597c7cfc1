//! Logarithms: x = 2^k (1 + f) with 0.6875 <= 1 + f < 1.375, then k ln 2 + f + f^2 q(f).
//! Hazards: k ln 2 + f cancels for k = -1 and k = 1, so that sum keeps its rounding error; subnormal x have no leading 1.

use super::machine::fma;
use super::pair::{Pair, fast_two_sum, pair};

/// ln 2, the first part of 15 bits: its product with any exponent is exact.
pub(super) const LN_2: Pair = Pair { hi: 0.693_145_75, lo: 1.428_606_8e-6 };
/// 1 / ln 2 = LOG2_E_HIGH + LOG2_E_LOW.
const LOG2_E_HIGH: f32 = core::f32::consts::LOG2_E;
const LOG2_E_LOW: f32 = 1.925_963e-8;
/// The bits of 0.6875. Within 0.6875 .. 1.375 the curved part of ln(1 + f) stays below 1/16, and so its rounding small.
const LEAST_BITS: i32 = 0x3f30_0000;

/// (ln(1 + f) - f) / f^2. Degree 9 on -0.3125 <= f <= 0.375; largest error 2^-28.6. of ln(1 + f).
#[inline(always)]
fn ln_polynomial(f: f32) -> f32 {
    let q = fma(f, 0.135_400_27, -0.144_001_04);
    let q = fma(f, q, 0.104_703_926);
    let q = fma(f, q, -0.118_379_7);
    let q = fma(f, q, 0.143_210_41);
    let q = fma(f, q, -0.167_070_42);
    let q = fma(f, q, 0.199_992_67);
    let q = fma(f, q, -0.249_990_4);
    let q = fma(f, q, 0.333_333_37);
    fma(f, q, -0.500_000_06)
}

/// (ln(1 + f) - f) / (f^2 ln 2). Degree 9 on -0.3125 <= f <= 0.375; largest error 2^-28.5. of log2(1 + f).
#[inline(always)]
fn log2_polynomial(f: f32) -> f32 {
    let q = fma(f, 0.198_735_73, -0.210_377_45);
    let q = fma(f, q, 0.150_355_38);
    let q = fma(f, q, -0.170_105_74);
    let q = fma(f, q, 0.206_655_03);
    let q = fma(f, q, -0.241_092_41);
    let q = fma(f, q, 0.288_527_4);
    let q = fma(f, q, -0.360_657_78);
    let q = fma(f, q, 0.480_898_4);
    fma(f, q, -0.721_347_63)
}

/// x = 2^k (1 + f) of a positive normal x: (k, 1 + f).
#[inline(always)]
fn split(x: f32) -> (i32, f32) {
    let offset = (x.to_bits() as i32).wrapping_sub(LEAST_BITS);
    (offset >> 23, f32::from_bits(((offset & 0x007f_ffff) + LEAST_BITS) as u32))
}

/// The same for a positive x that may be subnormal.
#[inline(always)]
fn split_any(x: f32) -> (f32, f32) {
    let subnormal = x < f32::MIN_POSITIVE;
    let (k, m) = split(if subnormal { x * 8_388_608.0 } else { x });
    ((k - if subnormal { 23 } else { 0 }) as f32, m)
}

/// whole + ln(1 + f + correction), where whole is 0 or larger than f, and correction below the last place of 1 + f.
#[inline(always)]
pub(super) fn ln_core(whole: Pair, f: f32, correction: f32) -> Pair {
    let sum = fast_two_sum(whole.hi, f);
    let curve = fma(f * f, ln_polynomial(f), whole.lo);
    // correction / (1 + f), to its first bits.
    pair(sum.hi, fma(correction, fma(f, f - 1.0, 1.0), sum.lo) + curve)
}

/// The limits: -infinity at 0, NaN below, x for infinity and NaN.
#[inline(always)]
fn with_limits(x: f32, zero: f32, result: f32) -> f32 {
    let result = if x < f32::INFINITY { result } else { x };
    let result = if x == zero { f32::NEG_INFINITY } else { result };
    if x < zero { f32::NAN } else { result }
}

/// The natural logarithm, at most 1 ulp.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let (k, m) = split_any(x);
    with_limits(x, 0.0, ln_core(LN_2.scaled(k), m - 1.0, 0.0).value())
}

/// ln(1 + x), at most 1 ulp, also for small x.
#[inline(always)]
pub fn ln_1p(x: f32) -> f32 {
    let sum = 1.0 + x;
    let rest = if x < 1.0 { x - (sum - 1.0) } else { 1.0 - (sum - x) };
    let (k, m) = split(sum);
    // 2^-k; 0 for k = 128, where rest does not matter.
    let inverse_scale = f32::from_bits(((127 - k).max(0) as u32) << 23);
    // Without a power of two, x itself is f: nothing was rounded.
    let (f, rest) = if k == 0 { (x, 0.0) } else { (m - 1.0, rest * inverse_scale) };
    let result = ln_core(LN_2.scaled(k as f32), f, rest).value();
    // The sign of zero.
    with_limits(x, -1.0, if x == 0.0 { x } else { result })
}

/// The binary logarithm, at most 1 ulp; exact for powers of two.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    let (k, m) = split_any(x);
    let f = m - 1.0;
    let linear = f * LOG2_E_HIGH;
    let linear_rest = fma(f, LOG2_E_LOW, fma(f, LOG2_E_HIGH, -linear));
    let sum = fast_two_sum(k, linear);
    let rest = sum.lo + fma(f * f, log2_polynomial(f), linear_rest);
    with_limits(x, 0.0, sum.hi + rest)
}

#[cfg(test)]
mod tests {
    use super::super::f64 as exact;
    use super::super::ulp::assert_within;
    use super::*;

    #[test]
    fn within_one_ulp() {
        assert_within(1.0, ln, exact::ln);
        assert_within(1.0, ln_1p, exact::ln_1p);
        assert_within(1.0, log2, exact::log2);
    }

    #[test]
    fn limits_and_exact_values() {
        for f in [ln, log2] {
            assert_eq!((f(0.0), f(-0.0)), (f32::NEG_INFINITY, f32::NEG_INFINITY));
            assert_eq!((f(1.0), f(f32::INFINITY)), (0.0, f32::INFINITY));
            assert!(f(-1.0).is_nan() && f(f32::NEG_INFINITY).is_nan() && f(f32::NAN).is_nan());
        }
        for k in -149..128_i16 {
            assert_eq!(log2(super::super::exp2(f32::from(k))), f32::from(k));
        }
        assert_eq!((ln_1p(-1.0), ln_1p(f32::INFINITY)), (f32::NEG_INFINITY, f32::INFINITY));
        assert_eq!(ln_1p(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(ln_1p(1e-40), 1e-40);
        assert!(ln_1p(-1.000_000_1).is_nan() && ln_1p(f32::NAN).is_nan());
    }
}
