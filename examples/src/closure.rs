//! A closure captured on the host and run on the device: by value, one kernel for each kind of closure.
//!
//! What a kernel is compiled for must have a name, since host and device are two compilations that meet in it, and a fixed layout. A
//! Rust closure has neither: `kernels! { zip_with<?>; }` can't name its type, and where its captured variables lie is up to each
//! compiler. So the captured variables become the fields of a `repr(C)` struct and the body its method; `function!` in
//! `kernels/src/closure.rs` writes both from a closure's words, and `activation!` does it for activations. Passing a closure itself is
//! an error of the Rust compiler, never a wrong result.

use example_kernels::ExampleKernels;
use example_kernels::closure::{Function, Interpolate, Threshold, zip_with};
use warpsmith::{Has, Runtime, Shape};

use crate::{DEVICE_CODE, Outcome, expect_close, numbers};

pub fn run(runtime: &Runtime) -> Outcome {
    runtime.register::<ExampleKernels>(DEVICE_CODE)?;
    // What is captured is only known now.
    for t in [0.25f32, 0.75] {
        show(runtime, Interpolate { t }, move |x, y| x + t * (y - x))?;
    }
    let (least, most, otherwise) = (-0.5, 0.5, 9.0);
    let threshold = move |x, y| if (least..=most).contains(&y) { x } else { otherwise };
    show(runtime, Threshold { least, most, otherwise }, threshold)
}

/// The kernel, and the closure that it stands for on the host.
fn show<F: Function + std::fmt::Debug>(runtime: &Runtime, f: F, closure: impl Fn(f32, f32) -> f32) -> Outcome
where
    ExampleKernels: Has<zip_with<F>>,
{
    let (x, y) = (numbers(1000, 1), numbers(1000, 2));
    let expected: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| closure(x, y).into()).collect();
    let mut out = runtime.zeros(x.len())?;
    let shape = Shape::for_elements(x.len(), 256)?;
    let (left, right) = (runtime.buffer_from(&x)?, runtime.buffer_from(&y)?);
    let kernel = runtime.kernel::<ExampleKernels, zip_with<F>>()?;
    kernel.launch(&runtime.default_stream(), shape, (f, &left, &right, &mut out))?;
    let out = out.to_vec()?;
    println!("{f:?} of {:?} and {:?} is {:?}", &x[..3], &y[..3], &out[..3]);
    expect_close("zip_with", &out, &expected, 0.0)
}
