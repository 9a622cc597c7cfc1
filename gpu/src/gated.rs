//! Gated units: an activation of one half of the features times the other half. Dauphin et al., arXiv:1612.08083; Shazeer,
//! arXiv:2002.05202.

use cuda_std::DeviceCopy;

use crate::activations::{GeluErf, GeluTanh, Relu, Sigmoid, Silu};
use crate::{Activation, Dual, Real};

/// A function of a gate and a value.
pub trait GatedUnit: DeviceCopy + Send + Sync + 'static {
    /// The name in tables and messages.
    const NAME: &'static str;

    /// f(gate, value). NaN in either must give NaN.
    fn forward<R: Real>(&self, gate: R, value: R) -> R;

    /// The derivatives with respect to the gate and to the value, by dual numbers unless overridden.
    #[inline(always)]
    fn derivatives<R: Real>(&self, gate: R, value: R) -> [R; 2] {
        let (variable, fixed) = (Dual::<R, true>::variable, Dual::<R, true>::independent);
        [self.forward(variable(gate), fixed(value)).derivative, self.forward(fixed(gate), variable(value)).derivative]
    }

    /// The gradients with respect to the gate and to the value. NaN where either is NaN.
    #[inline(always)]
    fn backward<R: Real>(&self, gate: R, value: R, upstream: R) -> [R; 2] {
        let poison = gate.is_nan() || value.is_nan();
        self.derivatives(gate, value).map(|slope| R::select(poison, gate + value, slope * upstream))
    }
}

/// f(gate)·value
///
/// ```
/// use warpsmith_gpu::activations::Relu;
/// use warpsmith_gpu::{Gated, GatedUnit};
///
/// let reglu = Gated { activation: Relu };
/// assert_eq!(reglu.forward(2.0_f32, 5.0), 10.0);
/// assert_eq!(reglu.derivatives(2.0_f32, 5.0), [5.0, 2.0]); // with respect to gate and value
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Gated<A> {
    /// f.
    pub activation: A,
}

// SAFETY: a plain value, laid out as in C.
unsafe impl<A: DeviceCopy> DeviceCopy for Gated<A> {}

impl<A: Activation> GatedUnit for Gated<A> {
    const NAME: &'static str = A::NAME;

    #[inline(always)]
    fn forward<R: Real>(&self, gate: R, value: R) -> R {
        self.activation.forward(gate) * value
    }

    #[inline(always)]
    fn derivatives<R: Real>(&self, gate: R, value: R) -> [R; 2] {
        [self.activation.derivative(gate) * value, self.activation.forward(gate)]
    }
}

/// σ(gate)·value
pub type Glu = Gated<Sigmoid>;
/// relu(gate)·value
pub type Reglu = Gated<Relu>;
/// gelu_erf(gate)·value
pub type GegluErf = Gated<GeluErf>;
/// gelu_tanh(gate)·value
pub type GegluTanh = Gated<GeluTanh>;
/// silu(gate)·value
pub type Swiglu = Gated<Silu>;

/// g·σ(alpha·g)·(v + 1) with g = min(gate, limit) and v = value limited to ±limit: the unit of OpenAI's gpt-oss, 2025. The
/// gradient at and beyond the limits is 0.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct ClampedSwiglu {
    /// The steepness of the gate.
    pub alpha: f32,
    /// Where gate and value are cut.
    pub limit: f32,
}

impl Default for ClampedSwiglu {
    fn default() -> Self {
        Self { alpha: 1.702, limit: 7.0 }
    }
}

impl GatedUnit for ClampedSwiglu {
    const NAME: &'static str = "clamped_swiglu";

    #[inline(always)]
    fn forward<R: Real>(&self, gate: R, value: R) -> R {
        gate.min(self.limit).swish(self.alpha) * value.clamp(-self.limit, self.limit).shift(1.0)
    }

    #[inline(always)]
    fn derivatives<R: Real>(&self, gate: R, value: R) -> [R; 2] {
        let zero = R::constant(0.0);
        let (g, v) = (gate.min(self.limit), value.clamp(-self.limit, self.limit));
        let (open, free) = (g < R::constant(self.limit), v.abs() < R::constant(self.limit));
        [
            R::select(open, g.swish_derivative(self.alpha) * v.shift(1.0), zero),
            R::select(free, g.swish(self.alpha), zero),
        ]
    }
}
