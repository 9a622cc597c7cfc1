//! Activations with an exponential or a square root.
//! Hazards: e^x - 1 cancels near 0, e^x overflows, x² overflows long before its square root does.

use super::fixed;
use crate::{Real, Scalar, activation};

/// Klambauer et al., arXiv:1706.02515, equation 14: alpha = 1.6732632423543772848 and scale =
/// 1.0507009873554804934; this is their product, 1.7580993408473768599, rounded to f64.
pub(crate) const SELU_SCALED_ALPHA: f64 = 1.758_099_340_847_376_9;
/// The scale, rounded to f64.
pub(crate) const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

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
    pub struct Exponential |x| x.exp(), derivative |x| x.exp();

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
    } |x| squareplus(x, b), derivative |x| squareplus_derivative(x, b);
}

/// Root s = √(x² + b) and half h = (s + |x|) / 2, each with its reciprocal and what the rounded numbers lack: relative
/// corrections of the reciprocals to first order. f(x) is h above 0 and b/4 / h below, where x + s would cancel.
struct Squares<R> {
    half: R,
    half_low: R,
    root_recip: R,
    root_correction: R,
}

#[inline(always)]
fn squares<R: Real>(x: R, b: Scalar) -> Squares<R> {
    // Not |x|, whose derivative at 0 is 0.
    let t = R::select(x < Scalar::new(0.0), -x, x);
    // Beyond it √(x² + b) is |x| in f64, and x² would overflow.
    let straight = t > Scalar::new(1e15);
    let zero = fixed(x, 0.0);
    let square = t * t;
    let sum = square.shift(b);
    let (large, small) = (R::select(square > b, square, fixed(x, b)), R::select(square > b, fixed(x, b), square));
    let lost = t.mul_add(t, -square) + (small - (sum - large));
    let root = R::select(straight, t, sum.sqrt());
    let root_recip = root.recip();
    let root_low = R::select(straight, zero, ((-root).mul_add(root, sum) + lost) * root_recip.scale(0.5));
    // s >= |x|.
    let half = root.scale(0.5) + t.scale(0.5);
    let half_low = t.scale(0.5) - (half - root.scale(0.5)) + root_low.scale(0.5);
    let root_correction = (-root_recip).mul_add(root_low, (-root_recip).mul_add(root, fixed(x, 1.0)));
    Squares { half, half_low, root_recip, root_correction }
}

/// The reciprocal of the half, and its relative correction.
#[inline(always)]
fn half_recip<R: Real>(parts: &Squares<R>) -> (R, R) {
    let recip = parts.half.recip();
    let one = fixed(recip, 1.0);
    (recip, (-recip).mul_add(parts.half_low, (-recip).mul_add(parts.half, one)))
}

#[inline(always)]
fn squareplus<R: Real>(x: R, b: Scalar) -> R {
    let parts = squares(x, b);
    let (recip, correction) = half_recip(&parts);
    let y = recip.scale(b * Scalar::new(0.25));
    let below = R::select(x < Scalar::new(-1e15), y, y.mul_add(correction, y));
    let above = R::select(x > Scalar::new(1e15), x, parts.half + parts.half_low);
    R::select(x < Scalar::new(0.0), below, above)
}

/// (1 + x / s) / 2 as f(x) / s.
#[inline(always)]
fn squareplus_derivative<R: Real>(x: R, b: Scalar) -> R {
    let parts = squares(x, b);
    let (recip, correction) = half_recip(&parts);
    let y = recip.scale(b * Scalar::new(0.25)) * parts.root_recip;
    let below = R::select(x < Scalar::new(-1e15), y, y.mul_add(correction + parts.root_correction, y));
    let y = parts.half * parts.root_recip;
    let low = parts.half.mul_add(parts.root_recip, -y) + parts.half_low * parts.root_recip;
    let above = R::select(x > Scalar::new(1e15), fixed(x, 1.0), y + y.mul_add(parts.root_correction, low));
    R::select(x < Scalar::new(0.0), below, above)
}
