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

fn no_epilogue(ops: &Ops, w: &Matrix<f32>, x: &Matrix<f32>, y: &mut Matrix<f32>) -> warpsmith::Result<()> {
    ops.linear(w, x).epilogue(Relu).into(y)
}

fn no_real_number() -> i32 {
    Relu.forward(3)
}

fn main() {}
