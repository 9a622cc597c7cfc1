//! Error function and normal distribution. Tails by normal_cdf(-t) = e^(-t^2/2) mills(t), never as 1 - ...: there the
//! plain forms lose every digit (gelu(-6) became 0). The exponent's square and the product are kept as pairs.

use super::exp::{Late, exp_pair, exp_tail_pair};
use super::machine::{abs, at_most, copy_sign, fma, near_reciprocal, power_of_two};
use super::pair::{Pair, fma_pair, pair, two_product};
use super::sigmoid::mirrored;

/// normal_cdf(-t) and its derivative have become 0, also if multiplied by t.
pub(super) const TAIL_END: f32 = 14.75;
/// 1 / sqrt(2 pi).
pub(super) const INV_SQRT_TAU: Pair = pair_const(0.398_942_3, -1.133_517e-8);
/// 2 / sqrt(pi).
const TWO_OVER_SQRT_PI: Pair = pair_const(core::f32::consts::FRAC_2_SQRT_PI, -5.863_538_3e-8);
/// The first two coefficients of `mills`.
const P_0: Pair = pair_const(0.615_354_4, 2.124_623_1e-8);
const P_1: Pair = pair_const(2.422_191_1, 1.140_416_05e-7);
const SQRT_2: Pair = pair_const(core::f32::consts::SQRT_2, 2.420_323_5e-8);

const fn pair_const(hi: f32, lo: f32) -> Pair {
    Pair { hi, lo }
}

/// erf(x) / x - 2/sqrt(pi), divided by z = x^2. Degree 6 on 0 <= z <= 1; largest error 2^-32.7 of erf(x).
#[inline(always)]
fn erf_polynomial(z: f32) -> f32 {
    let q = fma(z, -8.737_099e-6, 0.000_109_491_68);
    let q = fma(z, q, -0.000_844_202_76);
    let q = fma(z, q, 0.005_218_3);
    let q = fma(z, q, -0.026_864_542);
    let q = fma(z, q, 0.112_837_695);
    fma(z, q, -0.376_126_38)
}

/// -ln(erfc(t)). Degree 8 on 0.87 <= t <= 4; largest error of erf 2^-34.2.
#[inline(always)]
fn erfc_exponent(t: f32) -> Pair {
    let q = fma(t, 9.964_015e-7, 7.720_211e-6);
    let q = fma(t, q, -0.000_357_557_67);
    let q = fma(t, q, 0.003_923_597);
    let q = fma(t, q, -0.024_631_867);
    let q = fma(t, q, 0.107_677_58);
    let q = fma(t, q, 0.633_803_2);
    // The last two steps keep their rounding errors.
    let q = fma_pair(t, q, 1.129_321_2);
    let exponent = fma_pair(t, q.hi, -0.000_139_364_22);
    pair(exponent.hi, fma(t, q.lo, exponent.lo))
}

/// The error function, at most 1 ulp.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let t = at_most(abs(x), 4.0);
    let z = t * t;
    let small = fma(t, TWO_OVER_SQRT_PI.hi, t * fma(z, erf_polynomial(z), TWO_OVER_SQRT_PI.lo));
    let exponent = erfc_exponent(t);
    let (k, e) = exp_pair(-exponent.hi, -exponent.lo);
    let large = fma(-power_of_two(k), e.hi, 1.0);
    copy_sign(if t > 0.875 { large } else { small }, x)
}

/// mills(t + low) = exp(t^2/2) normal_cdf(-t) as a pair, for 0 <= t <= 14.75: r p(z) with r = 1 / (t + 3), z = r - 1/8.
/// p has degree 10 and its first coefficients are pairs; largest error 2^-28.1 of the result. `PRECISE` keeps the rounding
/// error of the last step but one, which for small t is 0.6 ulp.
#[inline(always)]
pub(super) fn mills<const PRECISE: bool>(t: f32, low: f32) -> Pair {
    // Any r near 1 / (t + 3) does, if it is taken as exact: then it stands for another t, and the derivative, which is
    // t mills(t) - 1 / sqrt(2 pi), leads back. With 20 bits 1 - 3 r and z are exact.
    let sum = t + 3.0;
    let r = f32::from_bits(near_reciprocal(sum).to_bits() & 0xffff_fff0);
    let z = r - 0.125;
    let q = fma(z, 2_935.291_3, -2_471.611_6);
    let q = fma(z, q, 295.653_23);
    let q = fma(z, q, 317.383_2);
    let q = fma(z, q, -46.068_39);
    let q = fma(z, q, -54.579_65);
    let q = fma(z, q, -1.818_355_4);
    let q = fma(z, q, 11.491_397);
    let q = fma(z, q, 6.903_854);
    let (q, q_low) = if PRECISE {
        let q = fma_pair(z, q, P_1.hi);
        (q.hi, q.lo + P_1.lo)
    } else {
        (fma(z, q, P_1.hi), P_1.lo)
    };
    let p = fma_pair(z, q, P_0.hi);
    let p_low = fma(z, q_low, p.lo + P_0.lo);
    let hi = r * p.hi;
    let rest = fma(r, p_low, fma(r, p.hi, -hi));
    let error = fma(-r, t, fma(-3.0, r, 1.0));
    pair(hi, fma(fma(t, hi, -INV_SQRT_TAU.hi), fma(-sum, error, low), rest))
}

/// The distribution function of the standard normal distribution, at most 1 ulp.
#[inline(always)]
pub fn normal_cdf(x: f32) -> f32 {
    let t = at_most(abs(x), TAIL_END);
    mirrored(x, 1.0, normal_tail(t, 0.0, two_product(t, t)))
}

/// normal_cdf(hi + lo) for |lo| <= |hi| 2^-23, at most 1 ulp of the sum's value.
#[inline(always)]
pub fn normal_cdf_hilo(hi: f32, lo: f32) -> f32 {
    let t = at_most(abs(hi), TAIL_END);
    let away_from_zero = if hi < 0.0 { -lo } else { lo };
    // Beyond the limit lo does not matter; it may be NaN there (infinity - infinity).
    let low = if abs(hi) > t { 0.0 } else { away_from_zero };
    let square = two_product(t, t);
    mirrored(hi, 1.0, normal_tail(t, low, pair(square.hi, fma(2.0 * t, low, square.lo))))
}

/// normal_cdf(-(t + low)) given (t + low)^2, for 0 <= t <= 14.75.
#[inline(always)]
fn normal_tail(t: f32, low: f32, square: Pair) -> Late<Pair> {
    let e = exp_tail_pair(-0.5 * square.hi, -0.5 * square.lo);
    Late { value: e.value.times(mills::<true>(t, low)), factor: e.factor }
}

/// 1 - erf(x), at most 1 ulp, also in the tail.
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    let t = at_most(abs(x), 10.25);
    let square = two_product(t, t);
    let e = exp_tail_pair(-square.hi, -square.lo);
    // erfc(t) = 2 normal_cdf(-t sqrt(2)).
    let product = two_product(t, SQRT_2.hi);
    let tail = e.value.times(mills::<true>(product.hi, fma(t, SQRT_2.lo, product.lo)));
    mirrored(-x, 2.0, Late { value: tail.scaled(2.0), factor: e.factor })
}

#[cfg(test)]
mod tests {
    use super::super::f64 as exact;
    use super::super::ulp::assert_within;
    use super::*;

    #[test]
    fn within_one_ulp() {
        assert_within(1.0, erf, exact::erf);
        assert_within(1.0, erfc, exact::erfc);
        assert_within(1.0, normal_cdf, exact::normal_cdf);
    }

    #[test]
    fn low_part_counts() {
        for x in [-13.5_f32, -7.3, -0.4, 0.9, 4.0] {
            let lo = x * f32::EPSILON / 3.0;
            let want = exact::normal_cdf(f64::from(x) + f64::from(lo));
            assert!(super::super::ulp::ulp_error(normal_cdf_hilo(x, lo), want) <= 1.0, "{x}");
            assert_eq!(exact::normal_cdf_hilo(f64::from(x), f64::from(lo)) as f32, want as f32);
        }
        assert_eq!(
            (normal_cdf_hilo(f32::NEG_INFINITY, f32::NAN), normal_cdf_hilo(f32::INFINITY, f32::NAN)),
            (0.0, 1.0)
        );
    }

    #[test]
    fn limits() {
        assert_eq!((erf(f32::NEG_INFINITY), erf(f32::INFINITY)), (-1.0, 1.0));
        assert_eq!(erf(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!((erfc(f32::NEG_INFINITY), erfc(0.0), erfc(f32::INFINITY)), (2.0, 1.0, 0.0));
        assert_eq!((normal_cdf(f32::NEG_INFINITY), normal_cdf(0.0), normal_cdf(f32::INFINITY)), (0.0, 0.5, 1.0));
        for f in [erf, erfc, normal_cdf] {
            assert!(f(f32::NAN).is_nan());
        }
    }
}
