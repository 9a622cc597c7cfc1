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
    pub struct Tanhshrink |x| tanhshrink(x), derivative |x| x.tanh().squared();
}

/// x - tanh(x). For |x| < 3/2 by Lambert's continued fraction, tanh(x) = x / (1 + z / (3 + z / (5 + ... z / 19))) with
/// z = x²: x·z / (z + 3 + z / (5 + ...)), where all terms are positive. Relative error 2^-52.
#[inline(always)]
fn tanhshrink<R: Real>(x: R) -> R {
    const UNIT: f64 = 218_243_025.0;
    let polynomial = |z: R, coefficients: [f64; 3], first: f64| {
        let [a, b, c] = coefficients.map(|c| c / UNIT);
        let q = z.scale(1.0 / UNIT).shift(a);
        let q = (z * q).shift(b);
        ((z * q).shift(c) * z).shift(first)
    };
    let t = x.clamp(-1.5, 1.5);
    let z = t.squared();
    let numerator = polynomial(z, [1430.0, 289_575.0, 16_081_065.0], 1.0);
    let denominator = (z * polynomial(z, [1485.0, 315_315.0, 18_918_900.0], 310_134_825.0 / UNIT)).shift(3.0);
    R::select(x.abs() < Scalar::new(1.5), t * (z * numerator / denominator), x - x.tanh())
}
