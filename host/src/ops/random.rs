//! Dropout and the randomised leaky ReLU.

use cuda_std::Has;
use warpsmith_gpu::elementwise::Extents;
use warpsmith_gpu::kernels::{dropout, rrelu_backward, rrelu_forward};
use warpsmith_gpu::random::{Dropout, RandomRelu, RandomReluBackward};
use warpsmith_gpu::{Element, Packed};

use super::{Ops, expect_equal, native};
use crate::{Result, View, ViewMut};

/// # Random functions
impl<L: cuda_std::Library> Ops<L> {
    /// `y[i] = dropout(x[i])`. The gradient is the same function of dy: the mask depends on the seed and on i alone.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), and those of a launch.
    pub fn dropout<'a, T>(&self, mask: Dropout, x: impl Into<View<'a, T>>, y: impl Into<ViewMut<'a, T>>) -> Result<()>
    where
        T: Element,
        L: Has<dropout<T>>,
    {
        let (x, y) = (x.into(), y.into());
        expect_equal("dropout", ("x", x.len()), ("y", y.len()))?;
        if !self.runtime().runs_kernels() {
            native::map([self.slice("dropout", x)?], self.slice_mut("dropout", y)?, mask);
            return Ok(());
        }
        let shape = self.covering(Extents::flat(y.len()), T::Pack::LANES);
        self.kernel::<dropout<T>>()?.launch(&self.stream, shape, (mask, x, y))
    }

    /// `y[i] = x[i]` for `x[i] > 0`, a drawn slope times `x[i]` otherwise.
    ///
    /// # Errors
    /// As [`dropout`](Self::dropout).
    pub fn rrelu_forward<'a, T>(
        &self,
        relu: RandomRelu,
        x: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        T: Element,
        L: Has<rrelu_forward<T>>,
    {
        let (x, y) = (x.into(), y.into());
        expect_equal("rrelu_forward", ("x", x.len()), ("y", y.len()))?;
        if !self.runtime().runs_kernels() {
            native::map([self.slice("rrelu_forward", x)?], self.slice_mut("rrelu_forward", y)?, relu);
            return Ok(());
        }
        let shape = self.covering(Extents::flat(y.len()), T::Pack::LANES);
        self.kernel::<rrelu_forward<T>>()?.launch(&self.stream, shape, (relu, x, y))
    }

    /// The gradient of [`rrelu_forward`](Self::rrelu_forward), with the slopes that it drew.
    ///
    /// # Errors
    /// As [`dropout`](Self::dropout).
    pub fn rrelu_backward<'a, T>(
        &self,
        relu: RandomRelu,
        x: impl Into<View<'a, T>>,
        dy: impl Into<View<'a, T>>,
        dx: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        T: Element,
        L: Has<rrelu_backward<T>>,
    {
        const OPERATION: &str = "rrelu_backward";
        let (x, dy, dx) = (x.into(), dy.into(), dx.into());
        expect_equal(OPERATION, ("x", x.len()), ("dx", dx.len()))?;
        expect_equal(OPERATION, ("dy", dy.len()), ("dx", dx.len()))?;
        if !self.runtime().runs_kernels() {
            let inputs = [self.slice(OPERATION, x)?, self.slice(OPERATION, dy)?];
            native::map(inputs, self.slice_mut(OPERATION, dx)?, RandomReluBackward(relu));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(dx.len()), T::Pack::LANES);
        self.kernel::<rrelu_backward<T>>()?.launch(&self.stream, shape, (relu, x, dy, dx))
    }
}
