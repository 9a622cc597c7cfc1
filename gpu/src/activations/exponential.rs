//! Activations with an exponential or a square root.
//! Hazards: e^x - 1 cancels near 0, e^x overflows, x² overflows long before its square root does.

use super::fixed;
use crate::{Real, Scalar, activation};

/// Klambauer et al., arXiv:1706.02515, equation 14: alpha = 1.6732632423543772848, and scale below; the product of both.
const SELU_SCALED_ALPHA: f64 = 1.758_099_340_847_376_859_9;
/// 1.0507009873554804934
const SELU_SCALE: f64 = 1.050_700_987_355_480_493_4;

activation! {
    /// x ↦ x for x > 0, alpha·(eˣ - 1) otherwise; Clevert, Unterthiner and Hochreiter, arXiv:1511.07289.
    pub struct Elu {
        /// Minus the limit for negative x.
        alpha: f32 = 1.0,
    } |x| if x > 0.0 { x } else { x.exp_m1() * alpha };

    /// x ↦ x for x > 0, alpha·(exp(x / alpha) - 1) otherwise: smooth for every alpha; Barron, arXiv:1704.07483.
    pub struct Celu {
        /// Minus the limit for negative x.
        alpha: f32 = 1.0,
    } |x| if x > 0.0 { x } else { (x * alpha.recip()).exp_m1() * alpha },
        derivative |x| if x > 0.0 { fixed(x, 1.0) } else { x.exp_scaled(alpha.recip()) };

    /// x ↦ scale·x for x > 0, scale·alpha·(eˣ - 1) otherwise, with the alpha and scale that keep mean 0 and variance 1;
    /// Klambauer et al., arXiv:1706.02515.
    pub struct Selu |x| if x > 0.0 { x * Scalar::new(SELU_SCALE) } else { x.exp_m1() * Scalar::new(SELU_SCALED_ALPHA) };

    /// x ↦ eˣ
    pub struct Exponential |x| x.exp();

    /// x ↦ exp(-x²)
    pub struct Gaussian |x| x.exp_neg_square(), derivative |x| x.exp_neg_square_derivative();

    /// x ↦ ln(1 + exp(beta·x)) / beta, and x where beta·x > threshold; Dugas et al., 2001. PyTorch's form and defaults.
    pub struct Softplus {
        /// The steepness.
        beta: f32 = 1.0,
        /// Beyond it the function is x.
        threshold: f32 = 20.0,
    } |x| if x * beta > threshold { x } else { x.softplus_scaled(beta) / beta },
        derivative |x| if x * beta > threshold { fixed(x, 1.0) } else { x.sigmoid_scaled(beta) };

    /// x ↦ (x + √(x² + b)) / 2; Barron, arXiv:2112.11687. b up to 1e12.
    pub struct Squareplus {
        /// The square of twice the value at 0.
        b: f32 = 4.0,
    } |x| { let (_, half) = squareplus_parts(x, b); if x < 0.0 { half.recip() * (b * 0.25) } else { half } },
        derivative |x| squareplus_derivative(x, b);
}

/// (s, (s + |x|) / 2) with s = √(x² + b). Below 0 the function is b/4 divided by the second: there x + s would cancel.
#[inline(always)]
fn squareplus_parts<R: Real>(x: R, b: Scalar) -> (R, R) {
    let t = x.abs();
    let root = R::select(t > Scalar::new(SQUAREPLUS_STRAIGHT), t, x.mul_add(x, R::constant(b)).sqrt());
    (root, root.scale(0.5) + t.scale(0.5))
}

/// (1 + x / s) / 2 as f(x) / s.
#[inline(always)]
fn squareplus_derivative<R: Real>(x: R, b: Scalar) -> R {
    let (root, half) = squareplus_parts(x, b);
    let below = (half.recip() / root).scale(b * Scalar::new(0.25));
    let above = R::select(x > Scalar::new(SQUAREPLUS_STRAIGHT), fixed(x, Scalar::new(1.0)), half / root);
    R::select(x < Scalar::new(0.0), below, above)
}

/// Beyond it √(x² + b) is |x| in f64.
const SQUAREPLUS_STRAIGHT: f64 = 1e15;
