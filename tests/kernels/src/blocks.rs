//! Barriers that count, reductions and scans over a block, and arrays carved out of dynamic shared memory.

use cuda_std::reduce::{BlockReduce, WarpReductionOp, block_reduce, block_scan_exclusive, block_scan_inclusive};
use cuda_std::shared::{Dynamic, Layout};
use cuda_std::{DeviceCopy, Global, GlobalMut, kernel, thread};

/// How many numbers [`barriers()`] writes for each thread.
pub const BARRIERS: usize = 3;

/// For each thread: how many threads of the block have an odd input, whether all have, whether any has.
#[kernel(module = "blocks")]
pub fn barriers(input: Global<u32>, mut output: GlobalMut<u32>) {
    let t = thread::index();
    let odd = input[t] & 1;
    let results = [thread::sync_threads_count(odd), thread::sync_threads_and(odd), thread::sync_threads_or(odd)];
    thread::block_fence();
    thread::device_fence();
    thread::system_fence();
    thread::nanosleep(20);
    for (i, result) in results.into_iter().enumerate() {
        // SAFETY: each thread has a range of its own.
        unsafe { output.write(t * BARRIERS + i, result) };
    }
}

/// For each thread: sum, minimum and maximum over the block, inclusive and exclusive scan. Twice, as the arrays are reused.
#[kernel(module = "blocks")]
pub fn block_operations<T: BlockReduce + DeviceCopy>(input: Global<T>, mut output: GlobalMut<T>) {
    let t = thread::index();
    let value = input[t];
    for round in 0..2 {
        let results = [
            block_reduce(value, WarpReductionOp::Add),
            block_reduce(value, WarpReductionOp::Min),
            block_reduce(value, WarpReductionOp::Max),
            block_scan_inclusive(value),
            block_scan_exclusive(value),
        ];
        for (i, result) in results.into_iter().enumerate() {
            // SAFETY: each thread has a range of its own.
            unsafe { output.write((t * 2 + round) * 5 + i, result) };
        }
    }
}

/// The dynamic shared memory that [`carved()`] takes, in blocks of `threads`.
pub const fn carved_bytes(threads: usize) -> usize {
    Layout::new().and::<u8>(threads).and::<f64>(threads).and::<u32>(2 * threads).bytes()
}

/// `output[t]` = what the mirrored thread of the block put into three arrays of different types.
#[kernel(module = "blocks")]
pub fn carved(input: Global<u32>, mut output: GlobalMut<u32>) {
    let (t, threads) = (thread::index_in_block() as usize, thread::threads_per_block() as usize);
    let mut dynamic = Dynamic::new();
    let bytes = dynamic.take::<u8>(threads);
    let doubles = dynamic.take::<f64>(threads);
    let words = dynamic.take::<u32>(2 * threads);
    let i = thread::index();
    let value = input[i];
    let mirrored = threads - 1 - t;
    // SAFETY: own elements before the barrier, another thread's after it; the output element is this thread's own.
    unsafe {
        bytes.write(t, value as u8);
        doubles.write(t, f64::from(value) * 0.5);
        words.write(2 * t, value);
        words.write(2 * t + 1, value ^ 0xffff);
        thread::sync_threads();
        let sum = u32::from(bytes.read(mirrored))
            .wrapping_add((doubles.read(mirrored) * 2.0) as u32)
            .wrapping_add(words.read(2 * mirrored).wrapping_mul(3))
            .wrapping_add(words.read(2 * mirrored + 1));
        output.write(i, sum);
    }
}
