//! Sigmoids, and inputs gated by them.
//! Hazards: saturation loses the tail's digits, so each side has its own form; infinity times zero in the gates.

use super::fixed;
use crate::{Real, Scalar, Trainable, activation};

activation! {
    /// x ↦ 1 / (1 + e⁻ˣ)
    pub struct Sigmoid |x| x.sigmoid();

    /// x ↦ ln(1 / (1 + e⁻ˣ))
    pub struct LogSigmoid |x| -(-x).softplus();

    /// x ↦ tanh x
    pub struct Tanh |x| x.tanh();

    /// x ↦ x / (1 + |x|); Turian, Bergstra and Bengio, 2009.
    pub struct Softsign |x| { let x = x.clamp(-1e18, 1e18); x / (x.abs() + 1.0) }, derivative |x| softsign_derivative(x);

    /// x ↦ x·σ(x), known as SiLU or Swish; Elfwing et al., arXiv:1702.03118.
    pub struct Silu |x| x.silu(), derivative |x| x.silu_derivative();

    /// x ↦ x·tanh(ln(1 + eˣ)); Misra, arXiv:1908.08681.
    pub struct Mish |x| x.mish(), derivative |x| x.mish_derivative();

    /// x ↦ x·σ(beta·x) with a beta that can be learned; Ramachandran, Zoph and Le, arXiv:1710.05941.
    // `Trainable` is written by hand, because the precise form takes beta as a scalar.
    pub struct Swish {
        /// The steepness of the gate.
        beta: f32 = 1.0,
    } |x| x.swish(beta), derivative |x| x.swish_derivative(beta);
}

impl Trainable<1> for Swish {
    fn parameters(&self) -> [f64; 1] {
        [f64::from(self.beta)]
    }

    fn with_parameters(self, [beta]: [f64; 1]) -> Self {
        Self::new(beta as f32)
    }

    #[inline(always)]
    fn forward_of_parameters<R: Real>(&self, [beta]: [R; 1], x: R) -> R {
        x * (x * beta).sigmoid()
    }

    /// x²·σ(beta·x)·σ(-beta·x)
    #[inline(always)]
    fn parameter_derivatives<R: Real>(&self, x: R) -> [R; 1] {
        let (low, high) = (x.sigmoid_scaled(-self.beta), x.sigmoid_scaled(self.beta));
        let product = (x * low) * (x * high);
        // Infinity times zero; at beta = 0 there is no tail.
        let ended = low == Scalar::new(0.0) || high == Scalar::new(0.0);
        [R::select(ended, fixed(x, Scalar::new(0.0)), product)]
    }
}

/// 1 / (1 + |x|)² from a rounded reciprocal r of a rounded sum: both errors are known, and enter to first order.
#[inline(always)]
fn softsign_derivative<R: Real>(x: R) -> R {
    let t = x.abs();
    let sum = t.shift(1.0);
    let one = Scalar::new(1.0);
    let lost = R::select(t < one, t - (sum - one), (t - sum) + one);
    let r = sum.recip();
    let correction = (-r).mul_add(lost, (-r).mul_add(sum, fixed(x, one))).scale(2.0);
    let square = r.squared();
    // From 2^60 on nothing corrects (and at infinity it would be NaN).
    R::select(t < Scalar::new(1e18), square.mul_add(correction, square), square)
}
