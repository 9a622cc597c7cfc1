//! The gradient of an activation's own parameters: a sum over all elements, in f64 and in an order that depends on the number of
//! elements alone. It repeats bit for bit, on every device.

use cuda_std::{Global, GlobalMut, kernel, shared_array, thread};

use crate::{Element, Real, Trainable};

/// Threads of a block, and partial sums that are added pairwise at a time.
pub const SUM_BLOCK: usize = 256;
/// Blocks of the first step. Element i goes to partial sum i mod ([`SUM_BLOCK`] · [`SUM_BLOCKS`]).
pub const SUM_BLOCKS: usize = 512;

/// What one element adds to the gradients, in f64.
#[inline(always)]
pub fn contribution<A: Trainable<N>, T: Element, const N: usize>(activation: &A, x: T, dy: T) -> [f64; N]
where
    T::Compute: Into<f64>,
{
    let dy = dy.load();
    activation.parameter_derivatives(x.load()).map(|slope| {
        // A gradient of 0 from above stops even an infinite slope.
        let zero = T::Compute::constant(0.0);
        let product: T::Compute = slope * dy;
        T::Compute::select(dy == zero && !slope.is_nan(), zero, product).into()
    })
}

/// Adds the second half to the first until one is left.
pub fn sum_pairwise(partials: &mut [f64; SUM_BLOCK]) -> f64 {
    let mut width = SUM_BLOCK / 2;
    while width > 0 {
        for i in 0..width {
            partials[i] += partials[i + width];
        }
        width /= 2;
    }
    partials[0]
}

/// [`sum_pairwise`] of the block's values; the result is thread 0's.
#[inline(always)]
fn sum_of_block(value: f64) -> f64 {
    let partials = shared_array![f64; SUM_BLOCK];
    let t = thread::thread_idx_x() as usize;
    // SAFETY: each thread writes its own element.
    unsafe { partials.write(t, value) };
    let mut width = SUM_BLOCK / 2;
    while width > 0 {
        thread::sync_threads();
        if t < width {
            // SAFETY: written before the barrier; elements below `width` have one reader and writer each.
            unsafe { partials.write(t, partials.read(t) + partials.read(t + width)) };
        }
        width /= 2;
    }
    thread::sync_threads();
    // SAFETY: written before the barrier, and not again before the next call's.
    let sum = unsafe { partials.read(0) };
    thread::sync_threads();
    sum
}

/// The first step: `partials[k * SUM_BLOCKS + b]` = block b's part of parameter k's gradient. [`SUM_BLOCKS`] blocks.
#[kernel(module = "parameters", block = 256)]
#[expect(clippy::needless_range_loop, reason = "an iterator over the sums would send them to local memory")]
pub fn parameter_partials<A: Trainable<N>, T: Element<Compute = f32>, const N: usize>(
    activation: A,
    x: Global<T>,
    dy: Global<T>,
    mut partials: GlobalMut<f64>,
) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let mut sums = [0.0; N];
    let mut i = block * SUM_BLOCK + thread::thread_idx_x() as usize;
    while i < x.len() {
        let parts = contribution::<A, T, N>(&activation, x[i], dy[i]);
        for k in 0..N {
            sums[k] += parts[k];
        }
        i += blocks * SUM_BLOCK;
    }
    for k in 0..N {
        let sum = sum_of_block(sums[k]);
        if thread::thread_idx_x() == 0 {
            // SAFETY: this block's element, written by one thread.
            unsafe { partials.write(k * blocks + block, sum) };
        }
    }
}

/// The second step: `gradient[k]` = the sum of parameter k's partial sums. One block for each parameter.
#[kernel(module = "parameters", block = 256)]
pub fn parameter_sums(partials: Global<f64>, mut gradient: GlobalMut<f32>) {
    let k = thread::block_idx_x() as usize;
    let count = if gradient.is_empty() { 0 } else { partials.len() / gradient.len() };
    let mut sum = 0.0;
    let mut i = thread::thread_idx_x() as usize;
    while i < count {
        sum += partials[k * count + i];
        i += SUM_BLOCK;
    }
    let sum = sum_of_block(sum);
    if thread::thread_idx_x() == 0 && k < gradient.len() {
        // SAFETY: this block's element, written by one thread.
        unsafe { gradient.write(k, sum as f32) };
    }
}
