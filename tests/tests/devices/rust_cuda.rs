//! Kernels written in Rust-CUDA's style, by typed launches.

use test_kernels::TestKernels;
use test_kernels::rust_cuda::{gemm_naive, vecadd};
use warpsmith::{Runtime, Shape};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random, same_bits, uniform};

pub const TESTS: Tests = Tests { kernels: &[("vecadd", test_vecadd), ("gemm_naive", test_gemm_naive)], ..Tests::NONE };

fn test_vecadd(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let n = 1001;
    let (a, b) = (uniform(&mut random("a"), n), uniform(&mut random("b"), n));
    let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let (a, b, mut c) = (runtime.buffer_from(&a)?, runtime.buffer_from(&b)?, runtime.filled(n, f32::NAN)?);
    let kernel = runtime.kernel::<TestKernels, vecadd>()?;
    // SAFETY: three buffers of n elements.
    unsafe { kernel.launch_unchecked(&runtime.default_stream(), Shape::for_elements(n, 128)?, (&a, &b, &mut c)) }?;
    same_bits("vecadd", &c.to_vec()?, &want)
}

fn test_gemm_naive(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let (m, n, k) = (17, 33, 5);
    let (a, b) = (uniform(&mut random("a"), m * k), uniform(&mut random("b"), k * n));
    let old = uniform(&mut random("c"), m * n);
    let (alpha, beta) = (0.5, -2.0);
    let element = |element: usize| {
        let (row, col) = (element / n, element % n);
        // Multiplied and added with two roundings, as the kernel says.
        let sum = (0..k).fold(0.0f32, |sum, i| sum + a[row * k + i] * b[i * n + col]);
        alpha * sum + beta * old[element]
    };
    let want: Vec<f32> = (0..m * n).map(element).collect();
    let (a, b, mut c) = (runtime.buffer_from(&a)?, runtime.buffer_from(&b)?, runtime.buffer_from(&old)?);
    let kernel = runtime.kernel::<TestKernels, gemm_naive>()?;
    let (shape, arguments) = (Shape::for_extents([m, n, 1], [8, 8, 1])?, (&a, &b, &mut c, m, n, k, alpha, beta));
    // SAFETY: the buffers hold the matrices.
    unsafe { kernel.launch_unchecked(&runtime.default_stream(), shape, arguments) }?;
    same_bits("gemm_naive", &c.to_vec()?, &want)
}
