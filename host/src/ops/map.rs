//! An activation applied to each element, and its gradient.

use cuda_std::Has;
use warpsmith_gpu::elementwise::{Backward, Extents, Forward};
use warpsmith_gpu::kernels::{map_backward, map_forward, map_in_place};
use warpsmith_gpu::{Activation, Element, Packed};

use super::{Ops, expect_equal, native};
use crate::{Result, View, ViewMut};

/// # Activations
impl<L: cuda_std::Library> Ops<L> {
    /// `y[i] = f(x[i])`, for views of any offset and one length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), and those of [`Ops::kernel`] and a launch.
    pub fn map_forward<'a, A, T>(
        &self,
        activation: A,
        x: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        A: Activation,
        T: Element,
        L: Has<map_forward<A, T>>,
    {
        let (x, y) = (x.into(), y.into());
        expect_equal("map_forward", ("x", x.len()), ("y", y.len()))?;
        if !self.runtime().runs_kernels() {
            let (x, y) = (self.slice("map_forward", x)?, self.slice_mut("map_forward", y)?);
            native::map([x], y, Forward::<T::Math, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(y.len()), T::Pack::LANES);
        self.kernel::<map_forward<A, T>>()?.launch(&self.stream, shape, (activation, x, y))
    }

    /// `x[i] = f(x[i])`
    ///
    /// # Errors
    /// As [`map_forward`](Self::map_forward).
    pub fn map_in_place<'a, A, T>(&self, activation: A, x: impl Into<ViewMut<'a, T>>) -> Result<()>
    where
        A: Activation,
        T: Element,
        L: Has<map_in_place<A, T>>,
    {
        let x = x.into();
        if !self.runtime().runs_kernels() {
            native::map_in_place(self.slice_mut("map_in_place", x)?, Forward::<T::Math, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(x.len()), T::Pack::LANES);
        self.kernel::<map_in_place<A, T>>()?.launch(&self.stream, shape, (activation, x))
    }

    /// `dx[i] = dy[i] * f'(x[i])`: the gradient with respect to x, given the one with respect to f(x).
    ///
    /// # Errors
    /// As [`map_forward`](Self::map_forward).
    pub fn map_backward<'a, A, T>(
        &self,
        activation: A,
        x: impl Into<View<'a, T>>,
        dy: impl Into<View<'a, T>>,
        dx: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        A: Activation,
        T: Element,
        L: Has<map_backward<A, T>>,
    {
        let (x, dy, dx) = (x.into(), dy.into(), dx.into());
        expect_equal("map_backward", ("x", x.len()), ("dx", dx.len()))?;
        expect_equal("map_backward", ("dy", dy.len()), ("dx", dx.len()))?;
        if !self.runtime().runs_kernels() {
            let (x, dy) = (self.slice("map_backward", x)?, self.slice("map_backward", dy)?);
            native::map([x, dy], self.slice_mut("map_backward", dx)?, Backward::<T::Math, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(dx.len()), T::Pack::LANES);
        self.kernel::<map_backward<A, T>>()?.launch(&self.stream, shape, (activation, x, dy, dx))
    }
}
