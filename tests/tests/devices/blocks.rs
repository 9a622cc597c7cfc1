//! Barriers, reductions, scans and arrays of a block, against plain loops.

use cuda_std::reduce::WarpReductionOp;
use rand::RngExt;
use test_kernels::TestKernels;
use test_kernels::blocks::{BARRIERS, barriers, block_operations, carved, carved_bytes};
use warpsmith::{Has, Runtime};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random};

use crate::host_data::{floats, integers, reduced, scanned, shape};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("barriers_that_vote", barriers_that_vote),
        ("block_reductions_and_scans", block_reductions_and_scans),
        ("dynamic_arrays", dynamic_arrays),
    ],
    ..Tests::NONE
};

fn barriers_that_vote(runtime: &Runtime) -> TestResult {
    let mut random = random("barriers_that_vote");
    for threads in [1usize, 31, 64, 100, 1024] {
        let shape = shape(4, threads as u32);
        // Blocks of random numbers, of odd ones, of even ones, and one with a single odd number.
        let odd = |t: usize, random: &mut warpsmith_tests::ChaCha8Rng| match t / threads {
            0 => random.random::<u32>() & 1,
            1 => 1,
            2 => 0,
            _ => u32::from(t % threads == threads / 2),
        };
        let input: Vec<u32> = (0..4 * threads).map(|t| odd(t, &mut random)).collect();
        let mut output = vec![9u32; 4 * threads * BARRIERS];
        run!(runtime, barriers, shape, [input], [output]);
        for (t, results) in output.chunks(BARRIERS).enumerate() {
            let count: u32 = input[t / threads * threads..][..threads].iter().sum();
            assert_eq!(results, [count, u32::from(count == threads as u32), u32::from(count > 0)], "thread {t}");
        }
    }
    Ok(())
}

fn block_reductions_and_scans(runtime: &Runtime) -> TestResult {
    fn check<T>(runtime: &Runtime, threads: usize, input: Vec<T>) -> TestResult
    where
        T: cuda_std::reduce::BlockReduce + warpsmith::DeviceCopy + Default + 'static,
        TestKernels: Has<block_operations<T>>,
    {
        use WarpReductionOp::{Add, Max, Min};
        let shape = shape(2, threads as u32);
        let mut output = vec![T::default(); input.len() * 10];
        run!(runtime, block_operations<T>, shape, [input], [output]);
        for (block, values) in input.chunks(threads).enumerate() {
            let mask = |warp: &[T]| u32::MAX >> (32 - warp.len());
            let total = |op| {
                let warps = values.chunks(32).map(|warp| reduced(warp, mask(warp), op));
                warps.reduce(|a, b| a.combine(b, op)).expect("a warp")
            };
            let scans: Vec<Vec<T>> = values.chunks(32).map(scanned).collect();
            for t in 0..threads {
                let before = scans[..t / 32]
                    .iter()
                    .fold(T::identity(Add), |sum, scan| sum.combine(*scan.last().expect("a lane"), Add));
                let lower = if t % 32 == 0 { T::identity(Add) } else { scans[t / 32][t % 32 - 1] };
                let want = [
                    total(Add),
                    total(Min),
                    total(Max),
                    before.combine(scans[t / 32][t % 32], Add),
                    before.combine(lower, Add),
                ];
                for round in 0..2 {
                    for (i, want) in want.iter().enumerate() {
                        let got = output[((block * threads + t) * 2 + round) * 5 + i];
                        assert_eq!(got.to_raw_bits(), want.to_raw_bits(), "{threads} threads, thread {t}, result {i}");
                    }
                }
            }
        }
        Ok(())
    }
    let mut random = random("block_reductions");
    for threads in [1, 5, 32, 33, 96, 200, 1024] {
        let input = integers(&mut random, 2 * threads);
        check(runtime, threads, input.iter().map(|&x| x as i32).collect::<Vec<_>>())?;
        check(runtime, threads, input.iter().map(|&x| u64::from(x) << 31).collect::<Vec<_>>())?;
        check(runtime, threads, input.iter().map(|&x| i64::from(x as i32) << 31).collect::<Vec<_>>())?;
        check(runtime, threads, input)?;
        let input = floats(&mut random, 2 * threads);
        check(runtime, threads, input.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())?;
        check(runtime, threads, input)?;
    }
    Ok(())
}

fn dynamic_arrays(runtime: &Runtime) -> TestResult {
    let mut random = random("dynamic_arrays");
    for threads in [1, 33, 256, 1000] {
        let shape = shape(2, threads as u32).with_shared_bytes(carved_bytes(threads));
        let input: Vec<u32> = (0..2 * threads).map(|_| random.random_range(0..1 << 24)).collect();
        let mut output = vec![0u32; 2 * threads];
        run!(runtime, carved, shape, [input], [output]);
        for (t, got) in output.into_iter().enumerate() {
            let x = input[t / threads * threads + threads - 1 - t % threads];
            assert_eq!(got, (x & 0xff) + x + x * 3 + (x ^ 0xffff), "thread {t} of {threads}");
        }
    }
    Ok(())
}
