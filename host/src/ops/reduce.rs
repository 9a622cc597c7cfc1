//! Sums in a fixed order.

use cuda_std::Has;
use rayon::prelude::*;
use warpsmith_gpu::kernels::{COLUMN_PARTIALS, column_sum, combine_partials};
use warpsmith_gpu::{Element, Kernels};

use super::{Ops, expect_equal};
use crate::{Matrix, Result, Shape, ViewMut};

/// # Reductions
impl Ops<Kernels> {
    /// `sum[i] = x[i, 0] + x[i, 1] + ...`, the sum of the columns; with no columns, zero. The same bits on every device.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), and those of a launch.
    pub fn column_sum<'a, T>(&self, x: &Matrix<T>, sum: impl Into<ViewMut<'a, T>>) -> Result<()>
    where
        T: Element<Compute = f32>,
        Kernels: Has<column_sum<T>>,
    {
        let sum = sum.into();
        expect_equal("column_sum", ("the rows of x", x.rows()), ("sum", sum.len()))?;
        if !self.runtime().runs_kernels() {
            let (x, rows) = (self.slice("column_sum", x.as_view())?, x.rows());
            let sum = self.slice_mut("column_sum", sum)?;
            sum.par_iter_mut()
                .with_min_len(64)
                .enumerate()
                .for_each(|(row, sum)| *sum = T::store(sum_of_row(x, rows, row)));
            return Ok(());
        }
        let shape = Shape::for_extents([x.rows(), 1, 1], [32, 1, 1])?;
        let shape = Shape { block: [32, COLUMN_PARTIALS as u32, 1], ..shape };
        self.kernel::<column_sum<T>>()?.launch(&self.stream, shape, (x, sum))
    }
}

/// In the order of the kernel.
fn sum_of_row<T: Element<Compute = f32>>(x: &[T], rows: usize, row: usize) -> f32 {
    let mut partials = [0.0; COLUMN_PARTIALS];
    for (column, x) in x[row.min(x.len())..].iter().step_by(rows).enumerate() {
        partials[column % COLUMN_PARTIALS] += x.load();
    }
    combine_partials(partials)
}
