//! Matrix multiplication in true f32: C = alpha * op(A) * op(B) + beta * C, all matrices column-major.
//!
//! [`matmul_naive()`] computes one element a thread and is the oracle; [`matmul_tiled()`] goes through shared memory. Both add
//! the products in order of k with fused multiply-add, so they give the same bits.

use cuda_std::{DeviceCopy, Global, GlobalMut, kernel, shared_array, thread};

use crate::math::machine::fma;

/// Sizes and factors of a product: C is m x n, op(A) m x k, op(B) k x n.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct MatmulShape {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// The length of the sums.
    pub k: usize,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of what C held before; at 0 it isn't read.
    pub beta: f32,
}

/// Whether a matrix is used as it is or transposed.
pub trait Orientation: 'static {
    /// Whether it is transposed.
    const TRANSPOSED: bool;
}

/// The matrix as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Normal;

/// The transpose of the matrix that is stored.
#[derive(Clone, Copy, Debug)]
pub struct Transposed;

impl Orientation for Normal {
    const TRANSPOSED: bool = false;
}

impl Orientation for Transposed {
    const TRANSPOSED: bool = true;
}

/// Where element (row, column) of op(X) lies, X column-major and op(X) `rows` x `columns`.
#[inline(always)]
fn offset<X: Orientation>(row: usize, column: usize, rows: usize, columns: usize) -> usize {
    if X::TRANSPOSED { column + row * columns } else { row + column * rows }
}

impl MatmulShape {
    /// The element of C, given the sum of products and what C held.
    #[inline(always)]
    fn finish(&self, sum: f32, old: impl FnOnce() -> f32) -> f32 {
        let product = self.alpha * sum;
        if self.beta == 0.0 { product } else { fma(self.beta, old(), product) }
    }

    /// Traps unless the views hold the matrices.
    #[inline(always)]
    fn check(&self, a: &Global<f32>, b: &Global<f32>, c: &GlobalMut<f32>) {
        if a.len() < self.m * self.k || b.len() < self.k * self.n || c.len() < self.m * self.n {
            cuda_std::trap();
        }
    }
}

/// One thread for each element of C.
#[kernel(module = "matmul")]
pub fn matmul_naive<A: Orientation, B: Orientation>(
    shape: MatmulShape,
    a: Global<f32>,
    b: Global<f32>,
    mut c: GlobalMut<f32>,
) {
    let MatmulShape { m, n, k, .. } = shape;
    shape.check(&a, &b, &c);
    if m == 0 {
        return;
    }
    for element in thread::elements(m * n) {
        let (row, column) = (element.get() % m, element.get() / m);
        let mut sum = 0.0;
        for i in 0..k {
            sum = fma(a[offset::<A>(row, i, m, k)], b[offset::<B>(i, column, k, n)], sum);
        }
        let value = shape.finish(sum, || c[element]);
        c.set(element, value);
    }
}

/// Rows and columns of the part of C that one block of [`matmul_tiled()`] computes.
pub const TILE: usize = 64;
/// How much of k is in shared memory at a time.
const DEPTH: usize = 16;
/// Rows and columns that one thread computes.
const PER_THREAD: usize = 4;
/// A row of a tile in shared memory, padded so that its columns fall into different banks.
const PITCH: usize = TILE + 4;

/// One block for each [`TILE`] x [`TILE`] part of C: `grid = (⌈m / 64⌉, ⌈n / 64⌉)`.
#[kernel(module = "matmul", block = 256)]
#[expect(clippy::needless_range_loop, reason = "an iterator over the sums would send them to local memory")]
pub fn matmul_tiled<A: Orientation, B: Orientation>(
    shape: MatmulShape,
    a: Global<f32>,
    b: Global<f32>,
    mut c: GlobalMut<f32>,
) {
    let MatmulShape { m, n, k, .. } = shape;
    shape.check(&a, &b, &c);
    // a_tile[i][r] = op(A)[r, i] and b_tile[i][s] = op(B)[i, s], relative to the tile.
    let a_tile = shared_array![f32; DEPTH * PITCH];
    let b_tile = shared_array![f32; DEPTH * PITCH];
    let first_row = thread::block_idx_x() as usize * TILE;
    let first_column = thread::block_idx_y() as usize * TILE;
    let t = thread::thread_idx_x() as usize;
    let (row, column) = (t % 16 * PER_THREAD, t / 16 * PER_THREAD);
    let mut sums = [[0.0; PER_THREAD]; PER_THREAD];

    let mut done = 0;
    while done < k {
        for step in 0..TILE * DEPTH / 256 {
            let number = t + step * 256;
            // Neighbouring threads read neighbouring addresses: along the tile or along k, as the matrix is stored.
            let (along, depth) = split(number, !A::TRANSPOSED);
            let (r, i) = (first_row + along, done + depth);
            // SAFETY: inside op(A), which lies inside `a` by `check`. Each thread writes its own elements of the tile.
            unsafe {
                let value = if r < m && i < k { a.get_unchecked(offset::<A>(r, i, m, k)) } else { 0.0 };
                a_tile.write(depth * PITCH + along, value);
            }
            let (along, depth) = split(number, B::TRANSPOSED);
            let (s, i) = (first_column + along, done + depth);
            // SAFETY: as above, for op(B) in `b`.
            unsafe {
                let value = if s < n && i < k { b.get_unchecked(offset::<B>(i, s, k, n)) } else { 0.0 };
                b_tile.write(depth * PITCH + along, value);
            }
        }
        thread::sync_threads();
        // The last part of k may be shorter; adding zeros instead would turn a sum of -0.0 into +0.0.
        let depth = (k - done).min(DEPTH);
        for i in 0..depth {
            // SAFETY: written before the barrier; written again only after the next one.
            let (a_part, b_part): ([f32; PER_THREAD], [f32; PER_THREAD]) = unsafe {
                (
                    core::array::from_fn(|r| a_tile.read(i * PITCH + row + r)),
                    core::array::from_fn(|s| b_tile.read(i * PITCH + column + s)),
                )
            };
            for s in 0..PER_THREAD {
                for r in 0..PER_THREAD {
                    sums[s][r] = fma(a_part[r], b_part[s], sums[s][r]);
                }
            }
        }
        thread::sync_threads();
        done += DEPTH;
    }

    for s in 0..PER_THREAD {
        for r in 0..PER_THREAD {
            let (i, j) = (first_row + row + r, first_column + column + s);
            if i < m && j < n {
                // SAFETY: the element belongs to this thread alone.
                unsafe {
                    let value = shape.finish(sums[s][r], || c.read(i + j * m));
                    c.write(i + j * m, value);
                }
            }
        }
    }
}

/// Splits a thread's element of a tile into (along the tile, along k); the first varies fastest if `tile_first`.
#[inline(always)]
fn split(number: usize, tile_first: bool) -> (usize, usize) {
    if tile_first { (number % TILE, number / TILE) } else { (number / DEPTH, number % DEPTH) }
}
