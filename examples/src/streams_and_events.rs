//! Two streams whose work may overlap, and events: to wait for each other, and to measure.
//!
//! Work on one buffer is kept in order across streams without anything said. An event is needed for what no buffer shows, and for
//! time.

use example_kernels::ExampleKernels;
use example_kernels::closure::{Interpolate, zip_with};
use example_kernels::relu::relu_1d;
use warpsmith::{Runtime, Shape};

use crate::{DEVICE_CODE, Outcome, expect_close, numbers};

pub fn run(runtime: &Runtime) -> Outcome {
    runtime.register::<ExampleKernels>(DEVICE_CODE)?;
    let n = if runtime.is_cuda() { 1 << 24 } else { 1 << 12 };
    let shape = Shape::for_elements(n, 256)?;
    let (x, y) = (numbers(n, 1), numbers(n, 2));
    let (left, right) = (runtime.stream()?, runtime.stream()?);
    let relu = runtime.kernel::<ExampleKernels, relu_1d>()?;
    let mix = runtime.kernel::<ExampleKernels, zip_with<Interpolate>>()?;

    // Two chains that have nothing to do with each other: upload, then relu, each on its stream.
    let start = left.record()?;
    let (a, b) = (left.buffer_from(&x)?, right.buffer_from(&y)?);
    let (mut relu_a, mut relu_b) = (left.zeros(n)?, right.zeros(n)?);
    relu.launch(&left, shape, (&a, &mut relu_a))?;
    relu.launch(&right, shape, (&b, &mut relu_b))?;

    // The left stream needs both. It would wait by itself, since `relu_b` is the right one's; to say it does no harm.
    left.wait(&right.record()?)?;
    let mut out = left.zeros(n)?;
    mix.launch(&left, shape, (Interpolate { t: 0.5 }, &relu_a, &relu_b, &mut out))?;
    let end = left.record()?;
    // Up to here the host has waited for nothing but copies out of its own memory.
    println!("both chains and their mixture took {:.1?}", end.elapsed_since(&start)?);

    let relu = |x: f32| f64::from(x).max(0.0);
    let expected: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| 0.5 * (relu(x) + relu(y))).collect();
    expect_close("the mixture", &out.to_vec()?, &expected, 1e-6)
}
