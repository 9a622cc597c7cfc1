//! An activation handed to a kernel as an argument: any value that implements `Activation`, one launch for each.
//!
//! It replaces this Numba program, which compiles and then fails at the launch (numba-cuda 0.30.4: `NotImplementedError`, a device
//! function can't be packed as an argument), while Numba's simulator runs it:
//!
//! ```python
//! @cuda.jit(device=True)
//! def relu(x): return max(x, 0)
//!
//! @cuda.jit
//! def apply(f, x, y):
//!     i = cuda.grid(1)
//!     if i < x.size: y[i] = f(x[i])
//!
//! apply[blocks, threads](relu, x, y)
//! ```

use warpsmith::activations::{GeluTanh, Relu, Sigmoid};
use warpsmith::kernels::map_forward;
use warpsmith::ops::Ops;
use warpsmith::{Activation, Has, Kernels, Runtime};

use crate::{Outcome, expect_close};

pub fn run(runtime: &Runtime) -> Outcome {
    show(runtime, Relu, |x| x.max(0.0))?;
    show(runtime, Sigmoid, |x| 1.0 / (1.0 + (-x).exp()))?;
    let gelu = |x: f64| 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
    show(runtime, GeluTanh, gelu)
}

/// The kernel is compiled for each activation that it's called with, and the activation is inlined into it.
fn show<A: Activation>(runtime: &Runtime, activation: A, formula: fn(f64) -> f64) -> Outcome
where
    Kernels: Has<map_forward<A, f32>>,
{
    let before = [-3.0f32, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    let x = runtime.buffer_from(&before)?;
    let mut y = runtime.zeros(x.len())?;
    Ops::new(runtime).map_forward(activation, &x, &mut y)?;
    let after = y.to_vec()?;
    println!("{:<10} before {before:?}\n{:<10} after  {after:?}", A::NAME, "");
    expect_close(A::NAME, &after, &before.map(|x| formula(x.into())), 1e-6)
}
