//! Matrix products with an epilogue. Every kernel takes the same arguments; [`gemm_naive()`] is the oracle of the others.
//!
//! out = epilogue(op(A) · op(B)), with op(A) m x k and op(B) k x n, for each matrix of a batch. The result lies column after
//! column; for a row-major result the launcher computes the transpose, op(B)ᵀ · op(A)ᵀ. The factors may lie in any way: whether
//! one is transposed is a matter of its strides.

mod mma;
mod naive;
mod output;
mod simt;
mod tensor_core;
mod wgmma;
mod wide;

use cuda_std::DeviceCopy;
pub use mma::{
    GEMM_MMA_BLOCK, GEMM_MMA_SHARED_BYTES, GEMM_MMA_TILE, gemm_mma, gemm_mma_blocks, gemm_mma_parts, mma_supports,
};
pub use naive::{gemm_naive, gemm_sums};
pub use output::{Output, RUN};
pub use simt::{Simt, gemm_simt, gemm_simt_blocks, gemm_simt_parts};
pub use tensor_core::{AlongK, AlongLines, TensorCore};
pub use wgmma::{
    PlainResult, SPLIT, SPLIT_CHUNK, SPLIT_COLUMNS, SPLIT_ROWS, SPLIT_THREADS, Tile, Tile128, Tile200, WGMMA_DEPTH,
    WGMMA_ROWS, WGMMA_THREADS, WgmmaLayout, WgmmaShape, gemm_wgmma, gemm_wgmma_split, split_shared_bytes,
    wgmma_shared_bytes, wgmma_supports,
};

use crate::epilogue::Sums;

/// Where the elements of a matrix lie: (row, column) of matrix number `b` is element `row * self.row + column * self.column +
/// b * self.batch`. A stride of 0 repeats the same elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct Strides {
    /// From one row to the next.
    pub row: usize,
    /// From one column to the next.
    pub column: usize,
    /// From one matrix of the batch to the next.
    pub batch: usize,
}

impl Strides {
    /// One matrix, column after column, `leading` elements apart.
    pub const fn columns(leading: usize) -> Self {
        Self { row: 1, column: leading, batch: 0 }
    }

    /// One matrix, row after row, `leading` elements apart.
    pub const fn rows(leading: usize) -> Self {
        Self { row: leading, column: 1, batch: 0 }
    }

    /// The transpose.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, batch: self.batch }
    }

    /// The element's number.
    #[inline(always)]
    pub fn offset(&self, batch: usize, row: usize, column: usize) -> usize {
        row * self.row + column * self.column + batch * self.batch
    }

    /// How many elements a batch of such matrices reaches over: 0 without elements, `None` if that can't be counted.
    #[inline(always)]
    pub fn extent(&self, batch: usize, rows: usize, columns: usize) -> Option<usize> {
        if batch == 0 || rows == 0 || columns == 0 {
            return Some(0);
        }
        let row = (rows - 1).checked_mul(self.row)?;
        let column = (columns - 1).checked_mul(self.column)?;
        let batch = (batch - 1).checked_mul(self.batch)?;
        row.checked_add(column)?.checked_add(batch)?.checked_add(1)
    }

    /// Whether `lanes` elements that begin at a multiple of `lanes` along a column (or a row, of the transpose) can be moved
    /// together, the first element being at this address.
    #[inline(always)]
    pub fn columns_are_aligned<T>(&self, address: usize, lanes: usize) -> bool {
        let bytes = lanes * size_of::<T>();
        self.row == 1
            && (self.column | self.batch).is_multiple_of(lanes)
            && address.is_multiple_of(if bytes > 16 { 16 } else { bytes })
    }
}

/// Sizes and places of a product. What the epilogue doesn't use is ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct GemmShape {
    /// Rows of op(A).
    pub m: usize,
    /// Columns of op(B).
    pub n: usize,
    /// The length of the sums.
    pub k: usize,
    /// How many such products.
    pub batch: usize,
    /// Of op(A), m x k.
    pub a: Strides,
    /// Of op(B), k x n.
    pub b: Strides,
    /// Of the result: `row` is 1. It is m x n, or m/2 x n if the epilogue joins pairs.
    pub out: Strides,
    /// Of the epilogue's source, m x n.
    pub source: Strides,
    /// Of what is kept for the gradient, m x n: `row` is 1.
    pub aux: Strides,
    /// Of the bytes of a mask, ⌈m/8⌉ x n: `row` is 1.
    pub mask: Strides,
    /// From the bias of one matrix of the batch to the next one's.
    pub bias_batch: usize,
    /// Whether the epilogue's source is what the result held before, in its place and with its strides.
    pub in_place: bool,
    /// Whether [`Sums::Factor`] means op(B), not op(A).
    pub sum_right: bool,
    /// Whether the sums along k must be added up in the same order in all places of the result.
    pub same_order: bool,
}

impl GemmShape {
    /// How many elements the vector of sums has.
    pub const fn sums_len(&self, sums: Sums) -> usize {
        match sums {
            Sums::None => 0,
            Sums::Rows => self.m,
            Sums::Columns => self.n,
            Sums::Factor => {
                if self.sum_right {
                    self.n
                } else {
                    self.m
                }
            }
        }
    }
}
