//! Kernels written for Rust-CUDA run here: on a GPU by a typed launch, elsewhere in the simulator.

use std::process::ExitCode;

use cuda_std::simulator;
use test_kernels::TestKernels;
use test_kernels::rust_cuda::{gemm_naive, vecadd};
use warpsmith::{Runtime, Shape};
use warpsmith_tests::{TEST_KERNELS, Test, TestResult, on_each_device, random, same_bits, uniform};

fn main() -> ExitCode {
    const TESTS: &[Test] = &[("vecadd", test_vecadd), ("gemm_naive", test_gemm_naive)];
    on_each_device(TESTS)
}

fn test_vecadd(runtime: &Runtime) -> TestResult {
    let n = 1001;
    let (a, b) = (uniform(&mut random("a"), n), uniform(&mut random("b"), n));
    let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let mut c = vec![f32::NAN; n];
    if runtime.is_cuda() {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let (a, b, mut device_c) = (runtime.buffer_from(&a)?, runtime.buffer_from(&b)?, runtime.buffer_from(&c)?);
        let shape = Shape::for_elements(n, 128)?;
        // SAFETY: three buffers of n elements.
        unsafe {
            let kernel = runtime.kernel::<TestKernels, vecadd>()?;
            kernel.launch_unchecked(&runtime.default_stream(), shape, (&a, &b, &mut device_c))?;
        }
        c = device_c.to_vec()?;
    } else {
        // SAFETY: three slices of n elements.
        unsafe {
            simulator::launch_unchecked::<vecadd>(simulator::Shape::new(8, 128), (&a[..], &b[..], c.as_mut_ptr()))?;
        }
    }
    same_bits("vecadd", &c, &want)
}

fn test_gemm_naive(runtime: &Runtime) -> TestResult {
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
    let mut c = old.clone();
    if runtime.is_cuda() {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let (a, b, mut device_c) = (runtime.buffer_from(&a)?, runtime.buffer_from(&b)?, runtime.buffer_from(&c)?);
        let shape = Shape::for_extents([m, n, 1], [8, 8, 1])?;
        // SAFETY: the buffers hold the matrices.
        unsafe {
            let kernel = runtime.kernel::<TestKernels, gemm_naive>()?;
            let arguments = (&a, &b, &mut device_c, m, n, k, alpha, beta);
            kernel.launch_unchecked(&runtime.default_stream(), shape, arguments)?;
        }
        c = device_c.to_vec()?;
    } else {
        let shape = simulator::Shape { grid: [3, 5, 1], block: [8, 8, 1], dynamic_shared_bytes: 0 };
        let arguments = (&a[..], &b[..], c.as_mut_ptr(), m, n, k, alpha, beta);
        // SAFETY: the slices hold the matrices.
        unsafe { simulator::launch_unchecked::<gemm_naive>(shape, arguments)? };
    }
    same_bits("gemm_naive", &c, &want)
}
