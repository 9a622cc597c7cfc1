//! The shrinking functions, which pull towards zero.
//! Hazard: x - tanh(x) cancels near 0, so there it is a quotient of polynomials without cancellation.

use super::fixed;
use crate::{Real, Scalar, activation};

activation! {
    /// x ↦ x for |x| > lambda, 0 otherwise; the gradient at ±lambda is 0.
    pub struct Hardshrink {
        /// Up to here the value is 0.
        lambda: f32 = 0.5,
    } |x| if x.abs() <= lambda { fixed(x, 0.0) } else { x };

    /// x ↦ x - lambda for x > lambda, x + lambda for x < -lambda, 0 otherwise; the gradient at ±lambda is 0.
    pub struct Softshrink {
        /// Up to here the value is 0.
        lambda: f32 = 0.5,
    } |x| if x.abs() <= lambda { fixed(x, 0.0) } else if x > 0.0 { x - lambda } else { x + lambda };

    /// x ↦ x - tanh x
    pub struct Tanhshrink |x| tanhshrink(x), derivative |x| squared_tanh(x);
}

/// x - tanh(x). For |x| < 1.1 by Lambert's continued fraction, tanh(x) = x / (1 + z / (3 + z / (5 + ... z / 19))) with
/// z = x², as x·z·(1 - w)/3 with w = z·p(z) / q(z): relative error 2^-52 and no cancellation. The roundings of the cube, the
/// quotient, the third and z enter to first order.
#[inline(always)]
fn tanhshrink<R: Real>(x: R) -> R {
    R::select(x.abs() < Scalar::new(LIMIT), small_tanhshrink(x.clamp(-LIMIT, LIMIT)), x - x.tanh())
}

/// tanh²(x), the derivative. For |x| < 1.1 tanh(x) is the difference of x and the above, with what its rounding loses; the square of a rounded
/// tanh would have twice its error, and above 1.1 has less, because the square lies in the binade of its root.
#[inline(always)]
fn squared_tanh<R: Real>(x: R) -> R {
    let t = x.clamp(-LIMIT, LIMIT);
    let shrunk = small_tanhshrink(t);
    let tanh = t - shrunk;
    let lost = (t - tanh) - shrunk;
    let small = tanh.mul_add(tanh, (tanh * lost).scale(2.0));
    R::select(x.abs() < Scalar::new(LIMIT), small, x.tanh().squared())
}

/// Up to here the continued fraction is taken.
const LIMIT: f64 = 1.1;

/// x - tanh(x) for |x| <= [`LIMIT`].
#[inline(always)]
fn small_tanhshrink<R: Real>(t: R) -> R {
    let one = fixed(t, 1.0);
    let z = t.squared();
    let z_low = t.mul_add(t, -z);
    let p = horner(z, [261_891_630.0, 18_050_175.0, 311_025.0, 1482.0, 1.0]);
    let q = (z * horner(z, [310_134_825.0, 18_918_900.0, 315_315.0, 1485.0, 1.0])).shift(3.0);
    let numerator = z * p;
    let w = numerator / q;
    let w_low = (-w).mul_add(q, numerator) / q + z_low * (p / q);
    let rest = one - w;
    let rest_low = (one - rest) - w - w_low;
    let third = fixed(t, 1.0 / 3.0);
    let third_low = third.mul_add(fixed(t, -3.0), one).scale(1.0 / 3.0);
    let factor = rest * third;
    let factor_low = rest.mul_add(third, -factor) + rest_low * third + rest * third_low;
    let cube = t * z;
    let lost = t.mul_add(z, -cube) + t * z_low;
    cube.mul_add(factor, cube.mul_add(factor_low, lost * factor))
}

/// The polynomial whose coefficients are these divided by a third of the constant one of q.
#[inline(always)]
fn horner<R: Real>(z: R, coefficients: [f64; 5]) -> R {
    let [a, b, c, d, e] = coefficients.map(|coefficient| coefficient / 218_243_025.0);
    let q = (z.scale(e)).shift(d);
    let q = (z * q).shift(c);
    let q = (z * q).shift(b);
    (z * q).shift(a)
}
