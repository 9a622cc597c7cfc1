//! The gradient of an activation's own parameters.

use cuda_std::Has;
use rayon::prelude::*;
use warpsmith_gpu::kernels::{SUM_BLOCK, SUM_BLOCKS, contribution, parameter_partials, parameter_sums, sum_pairwise};
use warpsmith_gpu::{Element, Kernels, Trainable};

use super::{Ops, expect_equal};
use crate::{Result, Shape, View, ViewMut};

/// # Trainable activations
impl<L: cuda_std::Library> Ops<L> {
    /// `gradient[k]` = the sum over i of `dy[i]·∂f(x[i])/∂parameter k`: in f64, in a fixed order, rounded once.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), and those of a launch.
    pub fn parameter_gradient<'a, A, T, const N: usize>(
        &self,
        activation: A,
        x: impl Into<View<'a, T>>,
        dy: impl Into<View<'a, T>>,
        gradient: impl Into<ViewMut<'a, f32>>,
    ) -> Result<()>
    where
        A: Trainable<N>,
        T: Element<Compute = f32>,
        L: Has<parameter_partials<A, T, N>>,
    {
        const OPERATION: &str = "parameter_gradient";
        let (x, dy, gradient) = (x.into(), dy.into(), gradient.into());
        expect_equal(OPERATION, ("x", x.len()), ("dy", dy.len()))?;
        expect_equal(OPERATION, ("gradient", gradient.len()), ("the parameters", N))?;
        if !self.runtime().runs_kernels() {
            let (x, dy) = (self.slice(OPERATION, x)?, self.slice(OPERATION, dy)?);
            let sums = native_sums(&activation, x, dy);
            for (gradient, sum) in self.slice_mut(OPERATION, gradient)?.iter_mut().zip(sums) {
                *gradient = sum as f32;
            }
            return Ok(());
        }
        let mut partials = self.runtime().zeros::<f64>(N * SUM_BLOCKS)?;
        let shape = |blocks: usize| Shape::new([blocks as u32, 1, 1], [SUM_BLOCK as u32, 1, 1]);
        let kernel = self.kernel::<parameter_partials<A, T, N>>()?;
        kernel.launch(&self.stream, shape(SUM_BLOCKS), (activation, x, dy, &mut partials))?;
        let kernel = self.of::<Kernels>().kernel::<parameter_sums>()?;
        kernel.launch(&self.stream, shape(N), (&partials, gradient))
    }
}

/// In the order of the kernels.
fn native_sums<A: Trainable<N>, T: Element<Compute = f32>, const N: usize>(
    activation: &A,
    x: &[T],
    dy: &[T],
) -> [f64; N] {
    let of_block = |block: usize| -> [f64; N] {
        let mut sums = [[0.0; SUM_BLOCK]; N];
        let stride = SUM_BLOCK * SUM_BLOCKS;
        for start in (block * SUM_BLOCK..x.len()).step_by(stride) {
            for t in 0..SUM_BLOCK.min(x.len() - start) {
                let parts = contribution::<A, T, N>(activation, x[start + t], dy[start + t]);
                for k in 0..N {
                    sums[k][t] += parts[k];
                }
            }
        }
        sums.map(|mut sums| sum_pairwise(&mut sums))
    };
    let blocks: Vec<[f64; N]> = (0..SUM_BLOCKS).into_par_iter().map(of_block).collect();
    std::array::from_fn(|k| {
        let mut sums = [0.0; SUM_BLOCK];
        for (block, parts) in blocks.iter().enumerate() {
            sums[block % SUM_BLOCK] += parts[k];
        }
        sum_pairwise(&mut sums)
    })
}
