//! An activation as a layer.

use std::fmt;
use std::marker::PhantomData;

use cuda_std::Has;
use warpsmith_gpu::kernels::{map_backward, map_forward};
use warpsmith_gpu::{Activation, Kernels};

use super::layer::{Layer, Sgd, fit};
use crate::ops::Ops;
use crate::{Matrix, Result, Runtime};

/// y = f(x) for each element, with the kernel instances of the library `L`.
pub struct Activate<A, L = Kernels> {
    activation: A,
    output: Matrix<f32>,
    input_gradient: Matrix<f32>,
    library: PhantomData<fn() -> L>,
}

impl<A, L> Activate<A, L> {
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver)
    pub fn new(runtime: &Runtime, activation: A) -> Result<Self> {
        let (output, input_gradient) = (Matrix::zeros(runtime, 0, 0)?, Matrix::zeros(runtime, 0, 0)?);
        Ok(Self { activation, output, input_gradient, library: PhantomData })
    }
}

impl<A: Activation, L> fmt::Debug for Activate<A, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Activate({})", A::NAME)
    }
}

impl<A, L> Layer for Activate<A, L>
where
    A: Activation,
    L: cuda_std::Library + Has<map_forward<A, f32>> + Has<map_backward<A, f32>>,
{
    fn forward(&mut self, ops: &Ops, input: &Matrix<f32>) -> Result<()> {
        fit(&mut self.output, input.rows(), input.columns())?;
        ops.of::<L>().map_forward(self.activation, input, &mut self.output)
    }

    fn output(&self) -> &Matrix<f32> {
        &self.output
    }

    fn backward(&mut self, ops: &Ops, input: &Matrix<f32>, upstream: &Matrix<f32>, through: bool) -> Result<()> {
        if !through {
            return Ok(());
        }
        fit(&mut self.input_gradient, input.rows(), input.columns())?;
        ops.of::<L>().map_backward(self.activation, input, upstream, &mut self.input_gradient)
    }

    fn input_gradient(&self) -> &Matrix<f32> {
        &self.input_gradient
    }

    fn step(&mut self, _: &Ops, _: &Sgd) -> Result<()> {
        Ok(())
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec![<L as Has<map_forward<A, f32>>>::ENTRY, <L as Has<map_backward<A, f32>>>::ENTRY]
    }
}
