//! In which order blocks take the tiles of the result.
//!
//! Tiles that are computed at the same time share rows of one factor and columns of the other, so that most of what they read is in the
//! L2 cache: bands of a few tiles along the rows, and inside a band all rows of one column of tiles before the next column.

use cuda_std::DeviceCopy;

use crate::kernels::gemm::Strides;

/// Sizes of a product and how its tiles are ordered. All counts are those of one matrix of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct WgmmaShape {
    /// Rows of the result.
    pub rows: u32,
    /// Columns of the result.
    pub columns: u32,
    /// Steps of [`WGMMA_DEPTH`](super::WGMMA_DEPTH) along k, at least the tile's `LEAST_STEPS`: beyond k the factors are read as zeros.
    pub steps: u32,
    /// Tiles along the rows.
    pub row_tiles: u32,
    /// Tiles along the columns.
    pub column_tiles: u32,
    /// Matrices.
    pub batch: u32,
    /// From the bias of one matrix to the next one's.
    pub bias_stride: u32,
    /// How the factors lie, if the epilogue is for [all layouts](crate::epilogue::Layouts::All): 1 if the left one's rows are contiguous, plus 2
    /// if the right one's columns are. Else it isn't used.
    pub layout: u32,
    /// Tiles along the rows that make a band.
    pub band: u32,
    /// 1: every second band walks its columns backwards, and each block walks k backwards in every second tile, which finds more in the L2
    /// cache. The order of a sum then depends on where its tile lies.
    pub snake: u32,
    /// Where the result lies, if TMA can't store it; for [`gemm_wgmma_split()`](super::gemm_wgmma_split()) only.
    pub plain: PlainResult,
}

/// Strides of a result that is stored element by element; all zero for one that TMA stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct PlainResult(Strides);

impl PlainResult {
    /// The result lies so; its rows must be contiguous.
    pub const fn new(strides: Strides) -> Self {
        Self(strides)
    }

    #[inline(always)]
    pub(super) fn get(self) -> Option<Strides> {
        (self.0.row != 0).then_some(self.0)
    }
}

/// Where a tile lies, in tiles.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) matrix: u32,
}

impl WgmmaShape {
    /// Tiles of all matrices.
    #[inline(always)]
    pub(super) fn tiles(&self) -> u32 {
        self.row_tiles * self.column_tiles * self.batch
    }

    /// The tile of this number.
    #[inline(always)]
    pub(super) fn tile(&self, number: u32) -> At {
        let per_matrix = self.row_tiles * self.column_tiles;
        let per_band = self.band * self.column_tiles;
        // SAFETY: the launcher makes all counts positive; without this the divisions would carry a panic.
        unsafe { core::hint::assert_unchecked(per_matrix != 0 && per_band != 0) };
        let matrix = number / per_matrix;
        let number = number - matrix * per_matrix;
        let band = number / per_band;
        let in_band = number - band * per_band;
        let height = (self.row_tiles - band * self.band).min(self.band);
        // SAFETY: a band that has a tile has rows.
        unsafe { core::hint::assert_unchecked(height != 0) };
        let column = in_band / height;
        let row = band * self.band + (in_band - column * height);
        let column = if self.snake & band & 1 != 0 { self.column_tiles - 1 - column } else { column };
        At { row, column, matrix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_taken_once() {
        for (row_tiles, column_tiles, batch, band, snake) in
            [(1, 1, 1, 8, 1), (5, 3, 2, 2, 1), (9, 7, 1, 8, 0), (8, 4, 3, 16, 1)]
        {
            let shape = WgmmaShape {
                rows: 1,
                columns: 1,
                steps: 1,
                row_tiles,
                column_tiles,
                batch,
                bias_stride: 0,
                layout: 0,
                band,
                snake,
                plain: PlainResult::default(),
            };
            let mut seen: Vec<_> =
                (0..shape.tiles()).map(|n| shape.tile(n)).map(|at| (at.matrix, at.column, at.row)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len() as u32, shape.tiles());
            assert_eq!(seen.last(), Some(&(batch - 1, column_tiles - 1, row_tiles - 1)));
        }
    }
}
