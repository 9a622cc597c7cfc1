//! c = a · bᵀ three times: as the formula says, with tiles in shared memory, and by tensor cores.
//!
//! All row-major: a is m x k, b is n x k, c is m x n, so that k is contiguous in both factors. No size needs to be a multiple of
//! anything: outside the matrices the kernels take zeros and store nothing.

use cuda_std::matrix::multiply_add;
use cuda_std::prelude::*;
use cuda_std::wgmma::Bf16;
use warpsmith_gpu::{Real, bf16};

/// The extents of a product.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Sizes {
    /// Rows of a and c.
    pub m: usize,
    /// Rows of b, columns of c.
    pub n: usize,
    /// Columns of a and b.
    pub k: usize,
}

/// One thread for each element: 2 k loads for 2 k operations.
#[kernel]
pub fn matmul_naive(sizes: Sizes, a: Global<f32>, b: Global<f32>, mut c: GlobalMut<f32>) {
    let Sizes { m, n, k } = sizes;
    for element in thread::elements(m * n) {
        let (row, column) = (element.get() / n, element.get() % n);
        let mut sum = 0.0f32;
        for i in 0..k {
            sum = Real::mul_add(a[row * k + i], b[column * k + i], sum);
        }
        c.set(element, sum);
    }
}

/// Rows and columns of a tile, and threads of a block along x and y.
pub const TILE: usize = 16;
/// A line of a tile in shared memory: one more, so that the elements of a column lie in different banks.
const PITCH: usize = TILE + 1;

/// One block for each tile of c. It brings tiles of a and b to shared memory, where each element is used [`TILE`] times.
///
/// # Safety
/// The grid must be two-dimensional at most: otherwise several blocks write one tile.
#[kernel(block = (16, 16))]
pub unsafe fn matmul_tiled(sizes: Sizes, a: Global<f32>, b: Global<f32>, mut c: GlobalMut<f32>) {
    let Sizes { m, n, k } = sizes;
    let (left, right) = (shared_array![f32; TILE * PITCH], shared_array![f32; TILE * PITCH]);
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (first_row, first_column) = (thread::block_idx_y() as usize * TILE, thread::block_idx_x() as usize * TILE);
    let mut sum = 0.0f32;
    for start in (0..k).step_by(TILE) {
        let at = |factor: &Global<f32>, line: usize, lines: usize| match line < lines && start + x < k {
            true => factor[line * k + start + x],
            false => 0.0,
        };
        // SAFETY: each thread writes its own element of the tiles, and barriers lie between all writes and all reads.
        unsafe {
            left.write(y * PITCH + x, at(&a, first_row + y, m));
            right.write(y * PITCH + x, at(&b, first_column + y, n));
            thread::sync_threads();
            for i in 0..TILE {
                sum = Real::mul_add(left.read(y * PITCH + i), right.read(x * PITCH + i), sum);
            }
            thread::sync_threads();
        }
    }
    let (row, column) = (first_row + y, first_column + x);
    if row < m && column < n {
        // SAFETY: each block has its own tile, by the caller, and each thread its own element of it.
        unsafe { c.write(row * n + column, sum) };
    }
}

/// Rows and columns of what one warp computes with one instruction for 16 steps of k.
pub const WARP_TILE: (usize, usize) = (16, 8);

/// One warp for each 16 x 8 elements: [`multiply_add`] says which lane holds what. Factors in bf16, sums in f32.
///
/// # Safety
/// The grid must be two-dimensional at most: otherwise several warps write one tile.
#[kernel(arch = "sm_80", block = 32)]
pub unsafe fn matmul_tensor_cores(sizes: Sizes, a: Global<bf16>, b: Global<bf16>, mut c: GlobalMut<f32>) {
    let Sizes { m, n, k } = sizes;
    let (group, member) = (warp::lane_id() as usize / 4, warp::lane_id() as usize % 4);
    let row = thread::block_idx_y() as usize * WARP_TILE.0 + group;
    let column = thread::block_idx_x() as usize * WARP_TILE.1;
    // Two neighbours along k, as one register holds them.
    let pair = |factor: &Global<bf16>, line: usize, lines: usize, i: usize| {
        let bits = |i: usize| match line < lines && i < k {
            true => u32::from(factor[line * k + i].to_bits()),
            false => 0,
        };
        bits(i) | bits(i + 1) << 16
    };
    let mut sums = [0.0f32; 4];
    for start in (0..k).step_by(16) {
        let i = start + member * 2;
        let left = [pair(&a, row, m, i), pair(&a, row + 8, m, i), pair(&a, row, m, i + 8), pair(&a, row + 8, m, i + 8)];
        let right = [pair(&b, column + group, n, i), pair(&b, column + group, n, i + 8)];
        // SAFETY: all lanes of the warp are here: the loop is the same for all of them.
        unsafe { multiply_add::<Bf16>(&mut sums, left, right) };
    }
    for (i, sum) in sums.into_iter().enumerate() {
        let (row, column) = (row + i / 2 * 8, column + member * 2 + i % 2);
        if row < m && column < n {
            // SAFETY: each warp has its own tile, by the caller, and each lane its own four elements.
            unsafe { c.write(row * n + column, sum) };
        }
    }
}
