//! The fully connected layer: y = W·x + b.

use cuda_std::Has;
use rand::RngExt;
use warpsmith_gpu::Kernels;
use warpsmith_gpu::epilogue::Sum;
use warpsmith_gpu::kernels::{bias_add, column_sum, gemm_simt, sgd_momentum};

use super::layer::{Layer, Sgd, fit};
use crate::ops::Ops;
use crate::{Buffer, Matrix, Result, Runtime};

/// y = W·x + b, with W of `outputs` x `inputs`.
///
/// ```
/// use warpsmith::nn::{Layer, Linear};
/// use warpsmith::prelude::*;
///
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = Runtime::cpu();
/// let mut layer = Linear::new(&runtime, 3, 2, &mut rand::rng())?;
/// layer.forward(&Ops::new(&runtime), &Matrix::zeros(&runtime, 3, 5)?)?;
/// assert_eq!(layer.output().shape(), (2, 5));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Linear {
    weights: Parameter<Matrix<f32>>,
    bias: Parameter<Buffer<f32>>,
    output: Matrix<f32>,
    input_gradient: Matrix<f32>,
}

/// A parameter with its gradient and velocity.
#[derive(Debug)]
struct Parameter<M> {
    value: M,
    gradient: M,
    velocity: M,
}

impl Linear {
    /// With weights drawn uniformly from ±√(6 / inputs) (He et al., arXiv:1502.01852) and a bias of zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver)
    pub fn new(runtime: &Runtime, inputs: usize, outputs: usize, random: &mut impl rand::Rng) -> Result<Self> {
        let limit = (6.0 / inputs.max(1) as f32).sqrt();
        let weights: Vec<f32> = (0..inputs * outputs).map(|_| random.random_range(-limit..=limit)).collect();
        let zeros = || Matrix::zeros(runtime, outputs, inputs);
        Ok(Self {
            weights: Parameter {
                value: Matrix::from_columns(runtime, outputs, inputs, &weights)?,
                gradient: zeros()?,
                velocity: zeros()?,
            },
            bias: Parameter {
                value: runtime.zeros(outputs)?,
                gradient: runtime.zeros(outputs)?,
                velocity: runtime.zeros(outputs)?,
            },
            output: Matrix::zeros(runtime, 0, 0)?,
            input_gradient: Matrix::zeros(runtime, 0, 0)?,
        })
    }

    /// W
    pub fn weights(&self) -> &Matrix<f32> {
        &self.weights.value
    }

    /// W, to be changed.
    pub fn weights_mut(&mut self) -> &mut Matrix<f32> {
        &mut self.weights.value
    }

    /// b
    pub fn bias(&self) -> &Buffer<f32> {
        &self.bias.value
    }

    /// The gradient of W as the last backward pass left it.
    pub fn weights_gradient(&self) -> &Matrix<f32> {
        &self.weights.gradient
    }

    /// The gradient of b as the last backward pass left it.
    pub fn bias_gradient(&self) -> &Buffer<f32> {
        &self.bias.gradient
    }
}

impl Layer for Linear {
    fn forward(&mut self, ops: &Ops, input: &Matrix<f32>) -> Result<()> {
        fit(&mut self.output, self.weights.value.rows(), input.columns())?;
        ops.matmul(&self.weights.value, input, &mut self.output)?;
        ops.bias_add(&self.bias.value, &mut self.output)
    }

    fn output(&self) -> &Matrix<f32> {
        &self.output
    }

    fn backward(&mut self, ops: &Ops, input: &Matrix<f32>, upstream: &Matrix<f32>, through: bool) -> Result<()> {
        ops.matmul(upstream, input.t(), &mut self.weights.gradient)?;
        ops.column_sum(upstream, &mut self.bias.gradient)?;
        if through {
            fit(&mut self.input_gradient, input.rows(), input.columns())?;
            ops.matmul(self.weights.value.t(), upstream, &mut self.input_gradient)?;
        }
        Ok(())
    }

    fn input_gradient(&self) -> &Matrix<f32> {
        &self.input_gradient
    }

    fn step(&mut self, ops: &Ops, &Sgd { rate, momentum }: &Sgd) -> Result<()> {
        let Self { weights, bias, .. } = self;
        ops.sgd_momentum(rate, momentum, &weights.gradient, &mut weights.velocity, &mut weights.value)?;
        ops.sgd_momentum(rate, momentum, &bias.gradient, &mut bias.velocity, &mut bias.value)
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec![
            <Kernels as Has<gemm_simt<Sum, f32, f32>>>::ENTRY,
            <Kernels as Has<bias_add<f32>>>::ENTRY,
            <Kernels as Has<column_sum<f32>>>::ENTRY,
            <Kernels as Has<sgd_momentum<f32>>>::ENTRY,
        ]
    }
}
