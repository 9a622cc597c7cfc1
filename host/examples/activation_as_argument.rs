//! An activation handed to a kernel as an argument: any value that implements `Activation`, one launch for each.

use warpsmith::activations::{GeluTanh, Relu, Sigmoid};
use warpsmith::kernels::map_forward;
use warpsmith::ops::Ops;
use warpsmith::{Activation, Has, Kernels, Runtime};

fn main() -> warpsmith::Result<()> {
    let runtime = Runtime::new();
    println!("on {runtime}");
    show(&runtime, Relu)?;
    show(&runtime, Sigmoid)?;
    show(&runtime, GeluTanh)
}

/// The kernel is compiled for each activation that it's called with, and the activation is inlined into it.
fn show<A: Activation>(runtime: &Runtime, activation: A) -> warpsmith::Result<()>
where
    Kernels: Has<map_forward<A, f32>>,
{
    let before = [-3.0f32, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    let x = runtime.buffer_from(&before)?;
    let mut y = runtime.zeros(x.len())?;
    Ops::new(runtime).map_forward(activation, &x, &mut y)?;
    println!("{:<10} before {before:?}\n{:<10} after  {:?}", A::NAME, "", y.to_vec()?);
    Ok(())
}
