//! Exponentials: e^x = 2^k e^r with k the integer nearest x / ln 2, and e^r a polynomial in |r| <= ln(2)/2.
//! Hazards: k = 128 and subnormal results need the power of two in two steps; e^x - 1 cancels for small x.

use super::machine::{
    abs, add_exponent, at_least, at_most, copy_sign, fma, late_power_of_two, power_of_two, round_product, scale,
};
use super::pair::{Pair, fast_two_sum, two_product, two_sum};
use core::f32::consts::{LN_2, LOG2_E};

/// ln 2 = LN_2_HIGH + LN_2_LOW with an error of 2^-53.
const LN_2_HIGH: f32 = LN_2;
const LN_2_LOW: f32 = -1.904_654_2e-9;

/// (e^r - 1 - r) / r^2. Degree 4 on |r| <= ln(2)/2; largest error 2^-28.2 of e^r.
const EXP: [f32; 5] = [0.499_999_94, 0.166_665_17, 0.041_668_12, 0.008_369_18, 0.001_383_691_3];

#[inline(always)]
fn exp_polynomial(r: f32) -> f32 {
    let q = fma(r, EXP[4], EXP[3]);
    let q = fma(r, q, EXP[2]);
    let q = fma(r, q, EXP[1]);
    fma(r, q, EXP[0])
}

/// (e^r - 1 - r) / r^2. Degree 5 on |r| <= ln(2)/2; largest error 2^-31.2 of e^r.
#[inline(always)]
fn exp_pair_polynomial(r: f32) -> f32 {
    let q = fma(r, 0.000_173_372_17, 0.001_393_332_5);
    let q = fma(r, q, 0.008_337_869);
    let q = fma(r, q, 0.041_666_48);
    let q = fma(r, q, 0.166_666_48);
    fma(r, q, 0.5)
}

/// (2^r - 1) / r. Degree 5 on |r| <= 1/2; largest error 2^-27.5 of 2^r.
#[inline(always)]
fn exp2_polynomial(r: f32) -> f32 {
    let q = fma(r, 0.000_158_237_13, 0.001_341_774_4);
    let q = fma(r, q, 0.009_617_065);
    let q = fma(r, q, 0.055_502_728);
    let q = fma(r, q, 0.240_226_55);
    fma(r, q, 0.693_147_24)
}

/// x = k ln 2 + (high + low) with |high| < 1/2, given x = hi + lo.
#[inline(always)]
fn reduce(hi: f32, lo: f32) -> (i32, f32, f32) {
    let (whole, k) = round_product(hi, LOG2_E);
    // Exact: a multiple of 2^-25 (or of hi's last place) below 1/2.
    let high = fma(-whole, LN_2_HIGH, hi);
    (k, high, fma(-whole, LN_2_LOW, lo))
}

/// e^(hi + lo) = 2^k pair, for |hi| <= 170 with |lo| <= |hi| 2^-22; the pair is normalized and has about 30 bits.
#[inline(always)]
pub(super) fn exp_pair(hi: f32, lo: f32) -> (i32, Pair) {
    let (k, high, low) = reduce(hi, lo);
    let r = high + low;
    let one = fast_two_sum(1.0, high);
    (k, fast_two_sum(one.hi, fma(r * r, exp_pair_polynomial(r), one.lo + low)))
}

/// e^x = 2^k p for |x| <= 170, p rounded to f32 with an error of at most 0.9 ulp.
#[inline(always)]
fn exp_single(x: f32) -> (i32, f32) {
    let (k, high, low) = reduce(x, 0.0);
    let r = high + low;
    (k, 1.0 + (high + fma(r * r, exp_polynomial(r), low)))
}

/// A number times a power of two that is applied last, where it rounds a subnormal result once (`late_power_of_two`).
#[derive(Clone, Copy)]
pub(super) struct Late<T> {
    pub value: T,
    pub factor: f32,
}

/// e^(hi + lo) for -140 <= hi <= 0, as a normalized pair.
#[inline(always)]
pub(super) fn exp_tail_pair(hi: f32, lo: f32) -> Late<Pair> {
    let (k, e) = exp_pair(hi, lo);
    let (first, factor) = late_power_of_two(k);
    Late { value: e.scaled(first), factor }
}

/// `2^k e` with the power of two in two parts. The first is added to the exponent: e = NaN may become a number.
#[inline(always)]
fn late(e: f32, k: i32) -> Late<f32> {
    let first = k.max(-90);
    Late { value: add_exponent(e, first), factor: power_of_two(k.wrapping_sub(first)) }
}

/// e^x for -140 <= x <= 0, rounded to f32 with an error of at most 0.9 ulp: shorter than the pair, for results that may
/// be 2 ulp off. NaN is lost.
#[inline(always)]
pub(super) fn exp_tail(x: f32) -> Late<f32> {
    let (k, e) = exp_single(x);
    late(e, k)
}

/// 2^(hi + lo) for -200 <= hi <= 0, likewise.
#[inline(always)]
pub(super) fn exp2_tail(hi: f32, lo: f32) -> Late<f32> {
    let (whole, k) = round_product(hi, 1.0);
    let r = (hi - whole) + lo;
    late(fma(r, exp2_polynomial(r), 1.0), k)
}

/// e^(-t^2/2) for 0 <= t <= 16, likewise. The halving is in the constants: r = t^2 - 2 k ln 2 and the coefficients of
/// `exp_polynomial` times powers of -1/2.
#[inline(always)]
pub(super) fn gaussian_tail(t: f32) -> Late<f32> {
    let square = two_product(t, t);
    let (whole, k) = round_product(square.hi, -0.5 * LOG2_E);
    let high = fma(whole, 2.0 * LN_2_HIGH, square.hi);
    let low = fma(whole, 2.0 * LN_2_LOW, square.lo);
    let r = high + low;
    let q = fma(r, -0.031_25 * EXP[4], 0.062_5 * EXP[3]);
    let q = fma(r, q, -0.125 * EXP[2]);
    let q = fma(r, q, 0.25 * EXP[1]);
    let q = fma(r, q, -0.5 * EXP[0]);
    late(fma(-0.5, high + fma(r * r, q, low), 1.0), k)
}

/// e^x, at most 1 ulp.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let (k, e) = exp_single(at_least(at_most(x, 89.0), -104.0));
    scale(e, k)
}

/// e^(hi + lo) for |lo| <= |hi| 2^-23, at most 1 ulp of the sum's exponential.
#[inline(always)]
pub fn exp_hilo(hi: f32, lo: f32) -> f32 {
    let limited = at_least(at_most(hi, 89.0), -104.0);
    // Beyond the limits the result is 0 or infinity whatever lo is; lo may be NaN there (infinity - infinity).
    let (k, e) = exp_pair(limited, if limited == hi { lo } else { 0.0 });
    scale(e.hi, k)
}

/// 2^x, at most 1 ulp; exact for integers.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    let x = at_least(at_most(x, 129.0), -151.0);
    let (whole, k) = round_product(x, 1.0);
    let r = x - whole;
    scale(fma(r, exp2_polynomial(r), 1.0), k)
}

/// e^x - 1, at most 1 ulp, also for small x.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let (k, e) = exp_pair(at_least(at_most(x, 89.0), -20.0), 0.0);
    // 2^128 is no number: the last factor is 2 then, and the 1 subtracted too early does not matter.
    let first = k.min(127);
    let e = e.scaled(power_of_two(first));
    let difference = two_sum(e.hi, -1.0);
    let result = difference.hi + (difference.lo + e.lo);
    copy_sign(result * power_of_two(k.wrapping_sub(first)), x)
}

/// 1 - e^x for -20 <= x <= 0 as a normalized pair, relatively precise also for small x.
#[inline(always)]
pub(super) fn one_minus_exp(x: f32) -> Pair {
    let (k, e) = exp_pair(x, 0.0);
    let e = e.scaled(power_of_two(k));
    let difference = fast_two_sum(1.0, -e.hi);
    fast_two_sum(difference.hi, difference.lo - e.lo)
}

/// e^(-x^2), at most 1 ulp: the square is kept as high and low part.
#[inline(always)]
pub fn exp_neg_square(x: f32) -> f32 {
    let t = at_most(abs(x), 10.25);
    let square = two_product(t, t);
    let e = exp_tail_pair(-square.hi, -square.lo);
    e.value.hi * e.factor
}

/// d/dx e^(-x^2) = -2x e^(-x^2), at most 1 ulp: the power of two comes last, where e^(-x^2) itself is subnormal.
#[inline(always)]
pub fn exp_neg_square_derivative(x: f32) -> f32 {
    let t = at_most(abs(x), 10.75);
    let square = two_product(t, t);
    let e = exp_tail_pair(-square.hi, -square.lo);
    -copy_sign(e.value.times_f32(2.0 * t).value() * e.factor, x)
}

/// e^(-(hi + lo)^2) for |lo| <= |hi| 2^-23, at most 1 ulp of the sum's value.
#[inline(always)]
pub fn exp_neg_square_hilo(hi: f32, lo: f32) -> f32 {
    let t = at_most(abs(hi), 10.25);
    // Beyond the limit lo does not matter; it may be NaN there (infinity - infinity).
    let twice = if abs(hi) > t { 0.0 } else { 2.0 * hi * lo };
    let square = two_product(t, t);
    let e = exp_tail_pair(-square.hi, -(square.lo + twice));
    e.value.hi * e.factor
}

#[cfg(test)]
mod tests {
    use super::super::f64 as exact;
    use super::super::ulp::{assert_within, ulp_error};
    use super::*;

    #[test]
    fn within_one_ulp() {
        assert_within(1.0, exp, exact::exp);
        assert_within(1.0, exp2, exact::exp2);
        assert_within(1.0, exp_m1, exact::exp_m1);
        assert_within(1.0, exp_neg_square, exact::exp_neg_square);
        assert_within(1.0, exp_neg_square_derivative, exact::exp_neg_square_derivative);
    }

    #[test]
    fn low_part_counts() {
        for x in [-87.3_f32, -20.0, -1.5, 3.0, 88.0] {
            let lo = x * f32::EPSILON / 3.0;
            let want = exact::exp(f64::from(x) + f64::from(lo));
            assert!(ulp_error(exp_hilo(x, lo), want) <= 1.0, "{x}");
        }
        for x in [-9.2_f32, -3.7, -0.6, 1.0, 8.5] {
            let lo = x * f32::EPSILON / 3.0;
            let want = exact::exp_neg_square(f64::from(x) + f64::from(lo));
            assert!(ulp_error(exp_neg_square_hilo(x, lo), want) <= 1.0, "{x}");
        }
        assert_eq!(exp_neg_square_hilo(f32::NEG_INFINITY, f32::NAN), 0.0);
        assert_eq!(exp_hilo(f32::NEG_INFINITY, f32::NAN), 0.0);
        assert_eq!(exp_hilo(f32::INFINITY, f32::NAN), f32::INFINITY);
    }

    #[test]
    fn limits_and_exact_values() {
        assert_eq!((exp(f32::INFINITY), exp(f32::NEG_INFINITY), exp(0.0)), (f32::INFINITY, 0.0, 1.0));
        assert_eq!((exp_m1(f32::INFINITY), exp_m1(f32::NEG_INFINITY)), (f32::INFINITY, -1.0));
        assert_eq!(exp_m1(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(exp_m1(1e-40), 1e-40);
        assert_eq!(
            (exp2(-149.0), exp2(127.0), exp2(128.0)),
            (f32::from_bits(1), f32::MAX / 2.0 + 2_f32.powi(103), f32::INFINITY)
        );
        assert_eq!((exp_neg_square(0.0), exp_neg_square(f32::NEG_INFINITY)), (1.0, 0.0));
        for f in [exp, exp2, exp_m1, exp_neg_square] {
            assert!(f(f32::NAN).is_nan());
        }
    }
}
