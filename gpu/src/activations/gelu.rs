//! The Gaussian error linear unit: the exact one, and its two approximations, each under its own name.

use crate::activation;

activation! {
    /// x ↦ x·Φ(x) with the normal distribution function Φ; Hendrycks and Gimpel, arXiv:1606.08415.
    pub struct GeluErf |x| x.gelu_erf(), derivative |x| x.gelu_erf_derivative();

    /// x ↦ x·Φ(x) approximated by x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2; Hendrycks and Gimpel, arXiv:1606.08415.
    pub struct GeluTanh |x| x.gelu_tanh(), derivative |x| x.gelu_tanh_derivative();

    /// x ↦ x·Φ(x) approximated by x·σ(1.702·x); Hendrycks and Gimpel, arXiv:1606.08415.
    pub struct QuickGelu |x| x.swish(1.702), derivative |x| x.swish_derivative(1.702);
}
