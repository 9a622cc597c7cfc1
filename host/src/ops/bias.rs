//! A bias for each row, added to every column.

use cuda_std::Has;
use warpsmith_gpu::kernels::bias_add;
use warpsmith_gpu::{Element, Kernels};

use super::{Ops, expect_equal};
use crate::{Matrix, Result, View};

/// # Bias
impl Ops<Kernels> {
    /// `y[i, j] += bias[i]`
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), and those of a launch.
    pub fn bias_add<'a, T: Element>(&self, bias: impl Into<View<'a, T>>, y: &mut Matrix<T>) -> Result<()>
    where
        Kernels: Has<bias_add<T>>,
    {
        let bias = bias.into();
        expect_equal("bias_add", ("bias", bias.len()), ("the rows of y", y.rows()))?;
        if y.is_empty() {
            return Ok(());
        }
        if !self.runtime().runs_kernels() {
            let (bias, rows) = (self.slice("bias_add", bias)?, y.rows());
            for column in self.slice_mut("bias_add", y.as_view_mut())?.chunks_exact_mut(rows) {
                for (y, bias) in column.iter_mut().zip(bias) {
                    *y = T::store(y.load() + bias.load());
                }
            }
            return Ok(());
        }
        let shape = self.strided(y.len(), 1)?;
        self.kernel::<bias_add<T>>()?.launch(&self.stream, shape, (bias, y))
    }
}
