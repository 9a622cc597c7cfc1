//! What a network asks of a layer.

use std::fmt::Debug;

use crate::ops::Ops;
use crate::{Matrix, Result};

/// A differentiable function with parameters.
///
/// A layer keeps its output and the gradient with respect to its input in matrices of its own, which are reused from step
/// to step as long as the batch has the same size: a training step then allocates nothing.
///
/// ```
/// use warpsmith::nn::{Activate, Layer};
/// use warpsmith::prelude::*;
///
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = Runtime::cpu();
/// let ops = Ops::new(&runtime);
/// let mut relu = Activate::<_, warpsmith::Kernels>::new(&runtime, Relu)?;
/// relu.forward(&ops, &Matrix::from_columns(&runtime, 2, 1, &[-1.0, 3.0])?)?;
/// assert_eq!(relu.output().buffer().to_vec()?, [0.0, 3.0]);
/// # Ok(())
/// # }
/// ```
pub trait Layer: Debug {
    /// Computes the output. Samples are columns.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) if the input has the wrong number of rows; errors of launches.
    fn forward(&mut self, ops: &Ops, input: &Matrix<f32>) -> Result<()>;

    /// What the last [`forward`](Self::forward) computed.
    fn output(&self) -> &Matrix<f32>;

    /// Computes the gradients of the parameters and, if `through` is set, of the input, given the input of the last
    /// [`forward`](Self::forward) and the gradient of its output.
    ///
    /// # Errors
    /// Errors of launches.
    fn backward(&mut self, ops: &Ops, input: &Matrix<f32>, upstream: &Matrix<f32>, through: bool) -> Result<()>;

    /// What the last [`backward`](Self::backward) computed for the input.
    fn input_gradient(&self) -> &Matrix<f32>;

    /// Moves the parameters along their gradients.
    ///
    /// # Errors
    /// Errors of launches.
    fn step(&mut self, ops: &Ops, optimizer: &Sgd) -> Result<()>;

    /// The kernels that it launches on a GPU, by entry point.
    fn kernels(&self) -> Vec<&'static str>;
}

/// Stochastic gradient descent: v = momentum·v + g, then w = w - rate·v.
///
/// ```
/// use warpsmith::nn::Sgd;
///
/// let optimizer = Sgd { rate: 0.1, momentum: 0.9 };
/// println!("{optimizer:?}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// The learning rate.
    pub rate: f32,
    /// How much of the velocity is kept from step to step; 0 for plain descent.
    pub momentum: f32,
}

/// Gives a matrix another shape. Nothing happens if it has that shape already; otherwise its contents are zero.
pub(super) fn fit(matrix: &mut Matrix<f32>, rows: usize, columns: usize) -> Result<()> {
    if matrix.shape() != (rows, columns) {
        *matrix = Matrix::zeros(matrix.runtime(), rows, columns)?;
    }
    Ok(())
}
