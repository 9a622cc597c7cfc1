//! The catalogue of activations, by kind.
//!
//! Conventions, tested for each: NaN gives NaN, forward and gradient; no finite input gives NaN; infinities give the limit
//! (NaN only where there is none: the sine); the gradient at a kink is 0, or the lower side's where the function is not flat
//! on either side (`leaky_relu`, `prelu`, `elu`); `relu(-0.0)` is `+0.0`. Where the formula of dual numbers would be less
//! exact, the derivative is given in closed form. Defaults are PyTorch's where it has the function.

mod exponential;
mod gelu;
mod learned;
mod periodic;
mod rectifiers;
mod shrink;
mod sigmoidal;

#[cfg(not(target_os = "cuda"))]
mod any;

pub use exponential::{Celu, Elu, Exponential, Gaussian, Selu, Softplus, Squareplus};
pub(crate) use exponential::{SELU_SCALE, SELU_SCALED_ALPHA};
pub use gelu::{GeluErf, GeluTanh, QuickGelu};
pub use learned::{PiecewiseLinear, Rational};
pub use periodic::{Sine, Snake};
pub use rectifiers::{
    Hardsigmoid, Hardswish, Hardtanh, Identity, LeakyRelu, Prelu, Relu, Relu6, Rrelu, SquaredRelu, Threshold,
};
pub use shrink::{Hardshrink, Softshrink, Tanhshrink};
pub use sigmoidal::{LogSigmoid, Mish, Sigmoid, Silu, Softsign, Swish, Tanh};

#[cfg(not(target_os = "cuda"))]
pub use any::{Any, AnyError, Visitor};

use crate::{Real, Scalar};

/// Calls a macro with the whole catalogue: each activation and its fields.
macro_rules! with_catalogue {
    ($callback:ident) => {
        $callback! {
            Identity {} Threshold { threshold, value } Relu {} Relu6 {} LeakyRelu { alpha } Prelu { alpha } Rrelu { lower, upper } SquaredRelu {}
            Hardtanh { low, high } Hardsigmoid {} Hardswish {}
            Hardshrink { lambda } Softshrink { lambda } Tanhshrink {}
            Sigmoid {} LogSigmoid {} Tanh {} Softsign {} Silu {} Mish {} Swish { beta }
            GeluErf {} GeluTanh {} QuickGelu {}
            Elu { alpha } Celu { alpha } Selu {} Exponential {} Gaussian {} Softplus { beta, threshold } Squareplus { b }
            Sine { omega } Snake { a }
        }
    };
}
pub(crate) use with_catalogue;

/// A constant of the type of `_like`.
#[inline(always)]
fn fixed<R: Real>(_like: R, value: impl Into<Scalar>) -> R {
    R::constant(value)
}
