//! The few operations whose spelling depends on the machine: the host has them in std, the device in `core::f32::math`.
//! All are IEEE 754 operations with one rounding, so both machines return the same bits.

/// `a * b + c` with one rounding.
#[cfg(not(target_os = "cuda"))]
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// `a * b + c` with one rounding.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    core::f32::math::mul_add(a, b, c)
}

/// `a * b + c` with one rounding.
#[cfg(not(target_os = "cuda"))]
#[inline(always)]
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

/// `a * b + c` with one rounding.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    core::f64::math::mul_add(a, b, c)
}

/// The square root, correctly rounded.
#[cfg(not(target_os = "cuda"))]
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    x.sqrt()
}

/// The square root, correctly rounded.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    core::f32::math::sqrt(x)
}

/// The square root, correctly rounded.
#[cfg(not(target_os = "cuda"))]
#[inline(always)]
pub fn sqrt_f64(x: f64) -> f64 {
    x.sqrt()
}

/// The square root, correctly rounded.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub fn sqrt_f64(x: f64) -> f64 {
    core::f64::math::sqrt(x)
}

/// 1.5 * 2^23: a number of this size has no fraction bits, so that adding it rounds to the nearest integer.
const ROUNDER: f32 = 12_582_912.0;

/// `a * b` rounded to the nearest integer, as a float and as an integer. Needs |a * b| < 2^22; otherwise, and for NaN,
/// the integer is arbitrary (but the float is NaN for NaN).
#[inline(always)]
pub fn round_product(a: f32, b: f32) -> (f32, i32) {
    let shifted = fma(a, b, ROUNDER);
    (shifted - ROUNDER, (shifted.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32))
}

/// `x * 2^k` with one rounding, also where the result is subnormal, for -252 <= k <= 254 and normal x. Other k give an
/// arbitrary factor: NaN stays NaN.
#[inline(always)]
pub fn scale(x: f32, k: i32) -> f32 {
    let half = k >> 1;
    x * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// `2^k` for -126 <= k <= 127.
#[inline(always)]
pub fn power_of_two(k: i32) -> f32 {
    f32::from_bits(((k as u32) << 23).wrapping_add(0x3f80_0000))
}

/// `2^k` for -216 <= k <= 127 as the product of a factor of at least 2^-90 and one that is 1 unless k is below -90.
/// Applied last, the second one rounds a subnormal result once; until then the numbers are normal.
#[inline(always)]
pub fn late_power_of_two(k: i32) -> (f32, f32) {
    let first = k.max(-90);
    (power_of_two(first), power_of_two(k.wrapping_sub(first)))
}

/// 1 / d with a relative error of 2^-19.5, for positive d up to 2^125, without the GPU's slow path or approximate
/// instruction: the bits give a guess whose product with d is within 1.5 % of 0.72, and a quadratic corrects it.
#[inline(always)]
pub fn near_reciprocal(d: f32) -> f32 {
    let guess = f32::from_bits(0x7eb5_0000_u32.wrapping_sub(d.to_bits()));
    let w = d * guess;
    guess * fma(w, fma(w, 2.704_798_2, -5.824_188_7), 4.180_136_7)
}

/// `x * 2^k` for normal numbers, in an integer addition; arbitrary for NaN.
#[inline(always)]
pub fn add_exponent(x: f32, k: i32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add((k as u32) << 23))
}

/// The smaller of `x` and `limit`; NaN stays NaN.
#[inline(always)]
pub fn at_most(x: f32, limit: f32) -> f32 {
    if x > limit { limit } else { x }
}

/// The larger of `x` and `limit`; NaN stays NaN.
#[inline(always)]
pub fn at_least(x: f32, limit: f32) -> f32 {
    if x < limit { limit } else { x }
}

/// The magnitude of `x`.
#[inline(always)]
pub fn abs(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0x7fff_ffff)
}

/// The magnitude of `x` with the sign of `sign`.
#[inline(always)]
pub fn copy_sign(x: f32, sign: f32) -> f32 {
    f32::from_bits((x.to_bits() & 0x7fff_ffff) | (sign.to_bits() & 0x8000_0000))
}
