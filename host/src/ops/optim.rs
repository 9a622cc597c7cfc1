//! Optimizer steps.

use cuda_std::Has;
use warpsmith_gpu::elementwise::{Accumulate, Descend, Extents};
use warpsmith_gpu::kernels::{sgd, sgd_momentum};
use warpsmith_gpu::{Element, Kernels, Packed};

use super::{Ops, expect_equal, native};
use crate::{Result, View, ViewMut};

/// # Optimizers
impl Ops<Kernels> {
    /// Gradient descent: `w[i] -= rate * g[i]`.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), and those of a launch.
    pub fn sgd<'a, T: Element>(
        &self,
        rate: f32,
        gradient: impl Into<View<'a, T>>,
        parameters: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        Kernels: Has<sgd<T>>,
    {
        let (gradient, parameters) = (gradient.into(), parameters.into());
        expect_equal("sgd", ("gradient", gradient.len()), ("parameters", parameters.len()))?;
        let step = Descend { rate };
        if !self.runtime().runs_kernels() {
            native::update(self.slice_mut("sgd", parameters)?, self.slice("sgd", gradient)?, step);
            return Ok(());
        }
        let shape = self.covering(Extents::flat(parameters.len()), T::Pack::LANES);
        self.kernel::<sgd<T>>()?.launch(&self.stream, shape, (step, gradient, parameters))
    }

    /// Gradient descent with momentum: `v[i] = momentum * v[i] + g[i]`, then `w[i] -= rate * v[i]`.
    ///
    /// # Errors
    /// As [`sgd`](Self::sgd).
    pub fn sgd_momentum<'a, T: Element>(
        &self,
        rate: f32,
        momentum: f32,
        gradient: impl Into<View<'a, T>>,
        velocity: impl Into<ViewMut<'a, T>>,
        parameters: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        Kernels: Has<sgd_momentum<T>>,
    {
        let (gradient, velocity, parameters) = (gradient.into(), velocity.into(), parameters.into());
        expect_equal("sgd_momentum", ("gradient", gradient.len()), ("parameters", parameters.len()))?;
        expect_equal("sgd_momentum", ("velocity", velocity.len()), ("parameters", parameters.len()))?;
        let (step, momentum) = (Descend { rate }, Accumulate { momentum });
        if !self.runtime().runs_kernels() {
            let velocity = self.slice_mut("sgd_momentum", velocity)?;
            native::update(velocity, self.slice("sgd_momentum", gradient)?, momentum);
            native::update(self.slice_mut("sgd_momentum", parameters)?, velocity, step);
            return Ok(());
        }
        let shape = self.strided(parameters.len(), 1)?;
        let kernel = self.kernel::<sgd_momentum<T>>()?;
        kernel.launch(&self.stream, shape, (step, momentum, gradient, velocity, parameters))
    }
}
