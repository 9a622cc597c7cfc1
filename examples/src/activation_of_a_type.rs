//! An activation as a function of a type: the type alone chooses it, there is no value to pass around.
//!
//! It replaces this Numba program, which does not compile (numba-cuda 0.30.4: `Untyped global name 'Model': Cannot determine Numba type
//! of <class 'type'>`), while Numba's simulator runs it:
//!
//! ```python
//! class Model:
//!     @staticmethod
//!     @cuda.jit(device=True)
//!     def activation(x): return max(x, 0)
//!
//! @cuda.jit
//! def apply(x, y):
//!     i = cuda.grid(1)
//!     if i < x.size: y[i] = Model.activation(x[i])
//! ```

use warpsmith::activations::{Relu, Tanh};
use warpsmith::kernels::map_forward;
use warpsmith::ops::Ops;
use warpsmith::{Activation, Has, Kernels, Runtime};

use crate::{Outcome, expect_close};

/// A model that says which activation it uses.
trait Model {
    type Activation: Activation;
    const ACTIVATION: Self::Activation;
}

struct Perceptron;
struct Recurrent;

impl Model for Perceptron {
    type Activation = Relu;
    const ACTIVATION: Relu = Relu;
}

impl Model for Recurrent {
    type Activation = Tanh;
    const ACTIVATION: Tanh = Tanh;
}

pub fn run(runtime: &Runtime) -> Outcome {
    show::<Perceptron>(runtime, |x| x.max(0.0))?;
    show::<Recurrent>(runtime, f64::tanh)
}

/// Nothing but the type `M` says what is computed.
fn show<M: Model>(runtime: &Runtime, formula: fn(f64) -> f64) -> Outcome
where
    Kernels: Has<map_forward<M::Activation, f32>>,
{
    let before = [-3.0f32, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    let x = runtime.buffer_from(&before)?;
    let mut y = runtime.zeros(x.len())?;
    Ops::new(runtime).map_forward(M::ACTIVATION, &x, &mut y)?;
    let (name, after) = (M::Activation::NAME, y.to_vec()?);
    println!("{name:<6} before {before:?}\n{:<6} after  {after:?}", "");
    expect_close(name, &after, &before.map(|x| formula(x.into())), 1e-6)
}
