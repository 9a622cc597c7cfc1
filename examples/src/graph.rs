//! A graph: launches recorded once, then repeated at the cost of one launch. Worth it for many short kernels in a row.

use example_kernels::ExampleKernels;
use example_kernels::closure::{Interpolate, zip_with};
use example_kernels::relu::relu_1d;
use warpsmith::{Runtime, Shape};

use crate::{DEVICE_CODE, Outcome, expect_close, numbers};

const LAUNCHES: usize = 20;
/// Exact in binary, so that plain Rust gives the same bits.
const T: f32 = 0.5;

pub fn run(runtime: &Runtime) -> Outcome {
    runtime.register::<ExampleKernels>(DEVICE_CODE)?;
    let (n, stream) = (1000, runtime.default_stream());
    let shape = Shape::for_elements(n, 256)?;
    let before = numbers(n, 1);
    // Kernels are loaded and buffers made before: neither can be recorded.
    let relu = runtime.kernel::<ExampleKernels, relu_1d>()?;
    let mix = runtime.kernel::<ExampleKernels, zip_with<Interpolate>>()?;
    let state = (runtime.buffer_from(&before)?, runtime.zeros(n)?, runtime.zeros(n)?);

    // Each repetition moves x half of the way to relu(x). The graph owns the buffers that it works on.
    let mut graph = stream.capture(state, move |(x, rectified, mixed), stream| {
        relu.launch(stream, shape, (&*x, &mut *rectified))?;
        mix.launch(stream, shape, (Interpolate { t: T }, &*x, &*rectified, &mut *mixed))?;
        stream.copy(&*mixed, x)
    })?;
    let start = stream.record()?;
    for _ in 0..LAUNCHES {
        graph.launch(&stream)?;
    }
    let duration = stream.record()?.elapsed_since(&start)?;
    println!("{LAUNCHES} launches of two kernels and a copy: {duration:.1?}");

    let after = |x: f32| (0..LAUNCHES).fold(x, |x, _| x + T * (x.max(0.0) - x));
    let expected: Vec<f64> = before.iter().map(|&x| after(x).into()).collect();
    expect_close("x after the last launch", &graph.state().0.to_vec()?, &expected, 1e-6)
}
