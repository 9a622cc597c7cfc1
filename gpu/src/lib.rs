//! What Warpsmith runs on the device, written once for the GPU and for the host.
//!
//! * [`Real`], [`Scalar`], [`Dual`]: numbers that a function can be generic over, so that its derivative follows from it.
//! * [`Activation`], [`activation!`], [`activations`]: activation functions, their state and their gradients.
//! * [`Element`]: how numbers are stored, `f32 f64 f16 bf16`.
//! * [`Epilogue`], [`epilogue`]: what a matrix product does to each element before it is stored.
//! * [`kernels`]: kernels generic over all of these; [`Kernels`]: the instances that Warpsmith compiles itself.
//!
//! ```
//! use warpsmith_gpu::{Activation, activation};
//!
//! activation! { pub struct Snake { a: f32 = 1.0 } |x| x + (x * a).sin().squared() / a }
//!
//! let snake = Snake::new(2.0);
//! assert_eq!(snake.forward(0.0_f32), 0.0);
//! assert_eq!(snake.derivative(0.0_f64), 1.0); // from the same body, by a dual number
//! ```
#![cfg_attr(target_os = "cuda", no_std)]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch, core_float_math))]

mod access;
pub mod accuracy;
mod activation;
pub mod activations;
mod dual;
mod element;
pub mod elementwise;
pub mod epilogue;
mod fast;
mod from_output;
mod gated;
mod instances;
pub mod kernels;
pub mod math;
pub mod philox;
pub mod random;
mod real;
mod scalar;

pub use activation::{Activation, Clamped, Residual, Scaled, Shifted, Sum, Then, Trainable, automatic_derivative};
pub use cuda_std::{DeviceCopy, Has, Kernel, Library, bf16, f16};
pub use dual::Dual;
pub use element::{Element, Packed};
pub use epilogue::Epilogue;
pub use fast::Fast;
pub use from_output::FromOutput;
pub use gated::{ClampedSwiglu, Gated, GatedUnit, GegluErf, GegluTanh, Glu, Reglu, Swiglu};
pub use instances::Kernels;
pub use philox::Philox;
pub use real::Real;
pub use scalar::Scalar;

/// What the macros expand to; not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use cuda_std_macros::__activation;
}

/// Defines activations: a struct with its state, and one body that is generic over [`Real`].
///
/// ```
/// # use warpsmith_gpu::{Activation, Trainable, activation};
/// activation! {
///     /// x ↦ max(x, slope·x)
///     pub struct Leaky { slope: f32 = 0.01 } |x| if x > 0.0 { x } else { x * slope };
///     /// Its slope is learned.
///     pub struct Learned { trainable slope: f32 = 0.25 } |x| if x > 0.0 { x } else { x * slope };
///     /// The derivative is given, where dual numbers would be less exact.
///     pub struct Logistic |x| x.sigmoid(), derivative |x| x.sigmoid() * (-x).sigmoid();
/// }
/// assert_eq!(Leaky { slope: 0.5 }.forward(-2.0_f32), -1.0);
/// assert_eq!(Learned::default().parameter_derivatives(-2.0_f32), [-2.0]);
/// ```
///
/// The body may use the operators, [`Real`]'s functions, `if` on comparisons, and the fields by name. Fields are `f32` or
/// `f64`; one with a default after `=` can be left out by `Default`. Floating-point literals and plain fields are
/// [`Scalar`]s, which scale and shift a number without being lifted to a dual one: that keeps derivatives right where a
/// lifted constant would give 0 * inf. Fields marked `trainable` also get a gradient, through [`Trainable`].
#[macro_export]
macro_rules! activation {
    ($($tokens:tt)*) => { $crate::__private::__activation! { [$crate] $($tokens)* } };
}
