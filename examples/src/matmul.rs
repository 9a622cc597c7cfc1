//! One matrix product by three kernels, from the formula to tensor cores, with the time that each takes.
//!
//! All three are for reading. The library's own kernels ([`fused_linear`](crate::fused_linear)) are what to use.

use example_kernels::ExampleKernels;
use example_kernels::matmul::{Sizes, TILE, WARP_TILE, matmul_naive, matmul_tensor_cores, matmul_tiled};
use warpsmith::{Runtime, Shape, bf16};

use crate::{DEVICE_CODE, Outcome, expect_close, numbers, time};

pub fn run(runtime: &Runtime) -> Outcome {
    runtime.register::<ExampleKernels>(DEVICE_CODE)?;
    let stream = runtime.default_stream();
    // Not multiples of a tile, so that the edges are shown to be right.
    let (m, n, k) = if runtime.is_cuda() { (1000, 1500, 700) } else { (50, 37, 41) };
    let sizes = Sizes { m, n, k };
    // Few digits, so that they are the same numbers in bf16.
    let few_digits = |x: f32| bf16::from_f32(x).to_f32();
    let a: Vec<f32> = numbers(m * k, 1).into_iter().map(few_digits).collect();
    let b: Vec<f32> = numbers(n * k, 2).into_iter().map(few_digits).collect();
    let product = |row: usize, column: usize| -> f64 {
        (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[column * k + i])).sum()
    };
    let expected: Vec<f64> = (0..m * n).map(|i| product(i / n, i % n)).collect();
    // A sum of k products of up to 1 each.
    let tolerance = (k * k) as f64 * f64::from(f32::EPSILON);
    let (left, right) = (runtime.buffer_from(&a)?, runtime.buffer_from(&b)?);
    let mut c = runtime.zeros(m * n)?;
    let report = |name: &str, duration: std::time::Duration| {
        let rate = 2e-9 * (m * n * k) as f64 / duration.as_secs_f64();
        println!("{name:<14} {duration:>12.1?}  {rate:>10.3} GFLOP/s");
    };

    let kernel = runtime.kernel::<ExampleKernels, matmul_naive>()?;
    let shape = Shape::for_elements(m * n, 256)?;
    report("naive", time(&stream, || kernel.launch(&stream, shape, (sizes, &left, &right, &mut c)))?);
    expect_close("naive", &c.to_vec()?, &expected, tolerance)?;

    c.fill(f32::NAN)?;
    let kernel = runtime.kernel::<ExampleKernels, matmul_tiled>()?;
    let shape = Shape::for_extents([n, m, 1], [TILE as u32, TILE as u32, 1])?;
    // SAFETY: a two-dimensional grid.
    let launch = || unsafe { kernel.launch_unchecked(&stream, shape, (sizes, &left, &right, &mut c)) };
    report("tiled", time(&stream, launch)?);
    expect_close("tiled", &c.to_vec()?, &expected, tolerance)?;

    c.fill(f32::NAN)?;
    let in_bf16 = |x: &[f32]| runtime.buffer_from(&x.iter().map(|&x| bf16::from_f32(x)).collect::<Vec<_>>());
    let (left, right) = (in_bf16(&a)?, in_bf16(&b)?);
    let kernel = runtime.kernel::<ExampleKernels, matmul_tensor_cores>()?;
    let shape = Shape::new([n.div_ceil(WARP_TILE.1) as u32, m.div_ceil(WARP_TILE.0) as u32, 1], [32, 1, 1]);
    // SAFETY: a two-dimensional grid.
    let launch = || unsafe { kernel.launch_unchecked(&stream, shape, (sizes, &left, &right, &mut c)) };
    report("tensor cores", time(&stream, launch)?);
    expect_close("tensor cores", &c.to_vec()?, &expected, tolerance)
}
