//! The catalogue of activations.
//!
//! Conventions, tested for each: NaN gives NaN, forward and gradient; no finite input gives NaN; infinities give the limit;
//! the gradient at a kink is 0; `relu(-0.0)` is `+0.0`.

use crate::activation;

activation! {
    /// x ↦ x
    pub struct Identity |x| x;

    /// x ↦ max(x, 0)
    pub struct Relu |x| x.max(0.0);

    /// x ↦ x for x > 0, alpha·x otherwise; the gradient at 0 is alpha.
    pub struct LeakyRelu {
        /// The slope for negative x.
        alpha: f32 = 0.01,
    } |x| if x > 0.0 { x } else { x * alpha };

    /// x ↦ 1 / (1 + e⁻ˣ)
    pub struct Sigmoid |x| x.sigmoid();

    /// x ↦ tanh x
    pub struct Tanh |x| x.tanh();

    /// x ↦ x·Φ(x) approximated by x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2; Hendrycks and Gimpel, arXiv:1606.08415.
    pub struct GeluTanh |x| x.gelu_tanh(), derivative |x| x.gelu_tanh_derivative();

    /// x ↦ x·σ(x), known as SiLU or Swish; Elfwing et al., arXiv:1702.03118.
    pub struct Silu |x| x.silu(), derivative |x| x.silu_derivative();
}
