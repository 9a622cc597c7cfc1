//! Type parameters without their bounds, and types that are something else.

use warpsmith::prelude::*;
use warpsmith::DeviceCopy;

fn no_activation<A: DeviceCopy>(runtime: &Runtime, activation: A, x: &Buffer<f32>, y: &mut Buffer<f32>) -> warpsmith::Result<()> {
    Ops::new(runtime).map_forward(activation, x, y)
}

fn no_element(runtime: &Runtime, x: &Buffer<i32>, y: &mut Buffer<i32>) -> warpsmith::Result<()> {
    Ops::new(runtime).map_forward(Relu, x, y)
}

fn no_instance<A: Activation>(runtime: &Runtime, activation: A, x: &Buffer<f32>, y: &mut Buffer<f32>) -> warpsmith::Result<()> {
    Ops::new(runtime).map_forward(activation, x, y)
}

fn no_epilogue(ops: &Ops, w: &Matrix<f32>, x: &Matrix<f32>) {
    let _ = ops.linear::<f32, f32, _, _>(w, x).epilogue(Relu);
}

fn no_real_number() -> i32 {
    Relu.forward(3)
}

fn main() {}
