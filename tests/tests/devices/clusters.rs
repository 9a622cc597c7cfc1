//! Clusters of blocks and the barrier of a grid, against plain loops.

use cuda_std::shared::Layout;
use test_kernels::TestKernels;
use test_kernels::clusters::{
    BOX, CLUSTER_ATOMICS, INDICES, cluster_atomics, cluster_exchange, cluster_indices, leave_after_arrival, multicast,
    neighbour_sums,
};
use warpsmith::{DeviceCopy, Error, Has, Runtime, Shape, TensorMap, Tiling, bf16, f16};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random, same_bits, uniform};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("indices", indices),
        ("shared_memory_of_other_blocks", shared_memory_of_other_blocks),
        ("threads_that_leave_after_arrival", threads_that_leave_after_arrival),
        ("atomics_of_a_cluster", atomics_of_a_cluster),
        ("boxes_for_all_blocks", boxes_for_all_blocks),
        ("grids_that_wait", grids_that_wait),
        ("too_many_blocks_to_wait", too_many_blocks_to_wait),
    ],
    ..Tests::NONE
};

/// Whether the device lacks clusters; it then says so.
fn lacks_clusters(runtime: &Runtime) -> bool {
    let old = runtime.device().cuda().is_some_and(|properties| properties.compute_capability.0 < 9);
    if old {
        eprintln!("SKIPPED: {runtime} has no clusters");
    }
    old
}

fn indices(runtime: &Runtime) -> TestResult {
    if lacks_clusters(runtime) {
        return Ok(());
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, cluster_indices>()?;
    let grid = [4, 6, 2];
    let mut output = runtime.zeros::<u32>(48 * INDICES)?;
    kernel.launch(&runtime.default_stream(), Shape::new(grid, [32, 1, 1]), (&mut output,))?;
    let output = output.to_vec()?;
    for block in 0..48u32 {
        let [x, y, z] = [block % 4, block / 4 % 6, block / 24];
        let want = [x / 2, y / 3, z, 2, 2, 2, x % 2, y % 3, 0, 2, 3, 1, x % 2 + 2 * (y % 3), 6];
        assert_eq!(output[block as usize * INDICES..][..INDICES], want, "block {x} {y} {z}");
    }
    let error = kernel.launch(&runtime.default_stream(), Shape::new([3, 6, 1], [32, 1, 1]), (&mut runtime.zeros(1)?,));
    let error = error.unwrap_err();
    assert!(matches!(error, Error::LaunchShape { got: 1, limit: 0, .. }), "{error}");
    Ok(())
}

fn shared_memory_of_other_blocks(runtime: &Runtime) -> TestResult {
    if lacks_clusters(runtime) {
        return Ok(());
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, cluster_exchange>()?;
    let input: Vec<u32> = (0..8 * 32).map(|i| i * 7 + 1).collect();
    let (source, mut output) = (runtime.buffer_from(&input)?, runtime.zeros::<u32>(3 * input.len())?);
    kernel.launch(&runtime.default_stream(), Shape::new([8, 1, 1], [32, 1, 1]), (&source, &mut output))?;
    let want: Vec<u32> = (0..input.len())
        .flat_map(|i| {
            let (block, t) = (i / 32, i % 32);
            let next = input[(block / 4 * 4 + (block + 1) % 4) * 32 + t];
            [3 * next, 2 * next, 128]
        })
        .collect();
    assert_eq!(output.to_vec()?, want);
    Ok(())
}

/// The arrival of a thread that has ended doesn't stand for another one's.
fn threads_that_leave_after_arrival(runtime: &Runtime) -> TestResult {
    if lacks_clusters(runtime) {
        return Ok(());
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, leave_after_arrival>()?;
    let input: Vec<u32> = (0..8 * 32).map(|i| i * 5 + 2).collect();
    let (source, mut output) = (runtime.buffer_from(&input)?, runtime.zeros::<u32>(input.len())?);
    kernel.launch(&runtime.default_stream(), Shape::new([8, 1, 1], [64, 1, 1]), (&source, &mut output))?;
    let want: Vec<u32> = (0..input.len()).map(|i| input[i ^ 32]).collect();
    assert_eq!(output.to_vec()?, want);
    Ok(())
}

fn atomics_of_a_cluster(runtime: &Runtime) -> TestResult {
    fn check<T>(runtime: &Runtime, from: fn(i32) -> T, to: fn(T) -> f64) -> TestResult
    where
        T: DeviceCopy + Default + cuda_std::atomic::AtomicValue + 'static,
        TestKernels: Has<cluster_atomics<T>>,
    {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let kernel = runtime.kernel::<TestKernels, cluster_atomics<T>>()?;
        // Small enough that every sum is exact in 16 bits, in any order: at most 128 * 3 less than 0 or more.
        let numbers: Vec<i32> = (0..128).map(|i| i * 5 % 4).collect();
        let input: Vec<T> = numbers.iter().map(|&i| from(i)).collect();
        let (source, mut output) = (runtime.buffer_from(&input)?, runtime.zeros::<T>(CLUSTER_ATOMICS)?);
        let bytes = Layout::new().and::<T>(CLUSTER_ATOMICS).bytes();
        let shape = Shape::new([4, 1, 1], [32, 1, 1]).with_shared_bytes(bytes);
        kernel.launch(&runtime.default_stream(), shape, (&source, &mut output))?;
        let got: Vec<f64> = output.to_vec()?.into_iter().map(to).collect();
        let sum = f64::from(numbers.iter().sum::<i32>());
        assert_eq!(got[..3], [sum, 0.0, 3.0]);
        // In which order they came is not known: what was replaced and what came last are all numbers and the first one.
        assert_eq!((got[3], got[4] + got[5]), (-sum, sum), "{got:?}");
        Ok(())
    }
    if lacks_clusters(runtime) {
        return Ok(());
    }
    check::<i32>(runtime, |i| i, f64::from)?;
    check::<i64>(runtime, i64::from, |x| x as f64)?;
    check::<u32>(runtime, |i| i as u32, |x| f64::from(x as i32))?;
    check::<u64>(runtime, |i| i as u64, |x| x as i64 as f64)?;
    check::<f32>(runtime, |i| i as f32, f64::from)?;
    check::<f64>(runtime, f64::from, |x| x)?;
    check::<f16>(runtime, |i| f16::from_f32(i as f32), |x| f64::from(x.to_f32()))?;
    check::<bf16>(runtime, |i| bf16::from_f32(i as f32), |x| f64::from(x.to_f32()))
}

fn boxes_for_all_blocks(runtime: &Runtime) -> TestResult {
    if lacks_clusters(runtime) {
        return Ok(());
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, multicast>()?;
    let rounds = 5;
    let columns = 2 * BOX;
    let x = uniform(&mut random("boxes_for_all_blocks"), rounds * BOX * columns);
    let (source, mut output) = (runtime.buffer_from(&x)?, runtime.zeros::<f32>(4 * 2 * BOX * BOX)?);
    let map = TensorMap::new(&source, &Tiling::new([columns, rounds * BOX], [BOX as u32; 2]))?;
    let shape = Shape::new([4, 1, 1], [32, 1, 1]);
    kernel.launch(&runtime.default_stream(), shape, (&map, rounds as u32, &mut output))?;
    let element = |i: usize| {
        let (half, row, column) = (i / (BOX * BOX), i / BOX % BOX, i % BOX);
        (0..rounds).fold(0.0, |sum, round| sum + x[(round * BOX + row) * columns + half * BOX + column])
    };
    let one: Vec<f32> = (0..2 * BOX * BOX).map(element).collect();
    same_bits("boxes", &output.to_vec()?, &one.repeat(4))
}

fn grids_that_wait(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, neighbour_sums>()?;
    let len = 1000;
    let mut counter = runtime.zeros::<u32>(1)?;
    for (blocks, rounds) in [(1, 3), (7, 4), (16, 9)] {
        let mut want: Vec<u32> = (0..len as u32).map(|i| i * i % 97).collect();
        let (mut x, mut y) = (runtime.buffer_from(&want)?, runtime.zeros::<u32>(len)?);
        let shape = Shape::new([blocks, 1, 1], [64, 1, 1]);
        // The counter is as the launch before left it.
        kernel.launch_cooperative(&runtime.default_stream(), shape, (rounds, &mut x, &mut y, &mut counter))?;
        for _ in 0..rounds {
            want = (0..len).map(|i| want[(i + len - 1) % len].wrapping_add(want[(i + 1) % len])).collect();
        }
        let got = if rounds % 2 == 0 { x } else { y };
        assert_eq!(got.to_vec()?, want, "{blocks} blocks, {rounds} rounds");
    }
    Ok(())
}

fn too_many_blocks_to_wait(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, neighbour_sums>()?;
    let (mut x, mut y, mut counter) = (runtime.zeros::<u32>(8)?, runtime.zeros(8)?, runtime.zeros(1)?);
    let shape = Shape::new([100_000, 1, 1], [64, 1, 1]);
    let arguments = (1, &mut x, &mut y, &mut counter);
    let error = kernel.launch_cooperative(&runtime.default_stream(), shape, arguments).unwrap_err();
    assert!(matches!(error, Error::LaunchShape { got: 100_000, .. }), "{error}");
    Ok(())
}
