//! An activation as a function of a type: the type alone chooses it, there is no value to pass around.

use warpsmith::activations::{Relu, Tanh};
use warpsmith::kernels::map_forward;
use warpsmith::ops::Ops;
use warpsmith::{Activation, Has, Kernels, Runtime};

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

/// Nothing but the type `M` says what is computed.
fn show<M: Model>(runtime: &Runtime) -> warpsmith::Result<()>
where
    Kernels: Has<map_forward<M::Activation, f32>>,
{
    let before = [-3.0f32, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    let x = runtime.buffer_from(&before)?;
    let mut y = runtime.zeros(x.len())?;
    Ops::new(runtime).map_forward(M::ACTIVATION, &x, &mut y)?;
    println!("{:<6} before {before:?}\n{:<6} after  {:?}", M::Activation::NAME, "", y.to_vec()?);
    Ok(())
}

fn main() -> warpsmith::Result<()> {
    let runtime = Runtime::new();
    println!("on {runtime}");
    show::<Perceptron>(&runtime)?;
    show::<Recurrent>(&runtime)
}
