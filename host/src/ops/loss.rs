//! Softmax and cross-entropy.

use cuda_std::Has;
use rayon::prelude::*;
use warpsmith_gpu::kernels::{cross_entropy, softmax_cross_entropy};
use warpsmith_gpu::{Element, Kernels};

use super::{Ops, expect_equal};
use crate::{Error, Matrix, Result, View, ViewMut};

/// # Losses
impl Ops<Kernels> {
    /// For each sample j, a column of `logits`: `loss[j] = ln Σₖ exp(z[k, j]) - z[label, j]`, and `gradient[k, j]` =
    /// (softmax(z)[k, j] - [k = label]) * `scale`. With `scale` = 1 / samples the gradient is that of the mean loss.
    ///
    /// A label that is no class gives NaN.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ShapeMismatch`], and those of a launch.
    pub fn softmax_cross_entropy<'a, T>(
        &self,
        logits: &Matrix<T>,
        labels: impl Into<View<'a, u32>>,
        scale: f32,
        loss: impl Into<ViewMut<'a, f32>>,
        gradient: &mut Matrix<T>,
    ) -> Result<()>
    where
        T: Element<Compute = f32>,
        Kernels: Has<softmax_cross_entropy<T>>,
    {
        let (labels, loss) = (labels.into(), loss.into());
        let samples = logits.columns();
        expect_equal("softmax_cross_entropy", ("labels", labels.len()), ("the columns of logits", samples))?;
        expect_equal("softmax_cross_entropy", ("loss", loss.len()), ("the columns of logits", samples))?;
        if logits.shape() != gradient.shape() {
            return Err(Error::ShapeMismatch {
                operation: "softmax_cross_entropy",
                left_name: "logits",
                left: logits.shape(),
                right_name: "gradient",
                right: gradient.shape(),
                rule: "both have one row a class and one column a sample",
            });
        }
        if samples == 0 {
            return Ok(());
        }
        if !self.runtime().runs_kernels() {
            let operation = "softmax_cross_entropy";
            let classes = logits.rows();
            let (logits, labels) = (self.slice(operation, logits.as_view())?, self.slice(operation, labels)?);
            let (loss, gradient) =
                (self.slice_mut(operation, loss)?, self.slice_mut(operation, gradient.as_view_mut())?);
            let columns = logits.par_chunks_exact(classes).zip(gradient.par_chunks_exact_mut(classes));
            columns.zip(labels).zip(loss).with_min_len(64).for_each(|(((logits, gradient), &label), loss)| {
                let emit = |class: usize, slope: f32| gradient[class] = T::store(slope * scale);
                *loss = cross_entropy(classes, label as usize, |class| logits[class].load(), emit);
            });
            return Ok(());
        }
        let shape = self.strided(samples, 1)?;
        let kernel = self.kernel::<softmax_cross_entropy<T>>()?;
        kernel.launch(&self.stream, shape, (logits, labels, scale, loss, gradient))
    }
}
