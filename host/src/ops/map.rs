//! An activation applied to each element, and its gradient.

use cuda_std::Has;
use warpsmith_gpu::elementwise::{Backward, BackwardFromOutput, Extents, Forward};
use warpsmith_gpu::kernels::{
    map_backward, map_backward_convert, map_backward_fast, map_backward_from_output, map_convert, map_forward,
    map_forward_fast, map_in_place,
};
use warpsmith_gpu::{Activation, Element, Fast, FromOutput, Packed};

use super::{Ops, expect_equal, native};
use crate::{Error, Result, View, ViewMut};

/// # Activations
impl<L: cuda_std::Library> Ops<L> {
    /// `y[i] = f(x[i])`, for views of any offset and one length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], and those of [`Ops::kernel`] and a launch.
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

    /// `dx[i] = dy[i] * f'(x)`, given `y[i] = f(x)`: the input need not be kept. Less exact than
    /// [`map_backward`](Self::map_backward) where f is flat: see [`FromOutput`].
    ///
    /// # Errors
    /// [`Error::NoDerivativeFromOutput`] if the output doesn't tell the derivative; otherwise as
    /// [`map_forward`](Self::map_forward).
    pub fn map_backward_from_output<'a, A, T>(
        &self,
        activation: A,
        y: impl Into<View<'a, T>>,
        dy: impl Into<View<'a, T>>,
        dx: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        A: FromOutput,
        T: Element,
        L: Has<map_backward_from_output<A, T>>,
    {
        const OPERATION: &str = "map_backward_from_output";
        let (y, dy, dx) = (y.into(), dy.into(), dx.into());
        if let Some(reason) = activation.refusal() {
            return Err(Error::NoDerivativeFromOutput { activation: A::NAME, reason });
        }
        expect_equal(OPERATION, ("y", y.len()), ("dx", dx.len()))?;
        expect_equal(OPERATION, ("dy", dy.len()), ("dx", dx.len()))?;
        if !self.runtime().runs_kernels() {
            let (y, dy) = (self.slice(OPERATION, y)?, self.slice(OPERATION, dy)?);
            native::map([y, dy], self.slice_mut(OPERATION, dx)?, BackwardFromOutput::<T::Math, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(dx.len()), T::Pack::LANES);
        self.kernel::<map_backward_from_output<A, T>>()?.launch(&self.stream, shape, (activation, y, dy, dx))
    }

    /// `y[i] = f(x[i])` with y of another element type than x.
    ///
    /// # Errors
    /// As [`map_forward`](Self::map_forward).
    pub fn map_convert<'a, A, I, O>(
        &self,
        activation: A,
        x: impl Into<View<'a, I>>,
        y: impl Into<ViewMut<'a, O>>,
    ) -> Result<()>
    where
        A: Activation,
        I: Element<Compute = O::Compute>,
        O: Element,
        L: Has<map_convert<A, I, O>>,
    {
        let (x, y) = (x.into(), y.into());
        expect_equal("map_convert", ("x", x.len()), ("y", y.len()))?;
        if !self.runtime().runs_kernels() {
            let (x, y) = (self.slice("map_convert", x)?, self.slice_mut("map_convert", y)?);
            native::map([x], y, Forward::<O::Math, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(y.len()), O::Quad::LANES);
        self.kernel::<map_convert<A, I, O>>()?.launch(&self.stream, shape, (activation, x, y))
    }

    /// `dx[i] = dy[i] * f'(x[i])` with dx of another element type than x and dy: a gradient in f32 of 16-bit tensors, to be summed up.
    ///
    /// # Errors
    /// As [`map_forward`](Self::map_forward).
    pub fn map_backward_convert<'a, A, I, O>(
        &self,
        activation: A,
        x: impl Into<View<'a, I>>,
        dy: impl Into<View<'a, I>>,
        dx: impl Into<ViewMut<'a, O>>,
    ) -> Result<()>
    where
        A: Activation,
        I: Element<Compute = O::Compute>,
        O: Element,
        L: Has<map_backward_convert<A, I, O>>,
    {
        const OPERATION: &str = "map_backward_convert";
        let (x, dy, dx) = (x.into(), dy.into(), dx.into());
        expect_equal(OPERATION, ("x", x.len()), ("dx", dx.len()))?;
        expect_equal(OPERATION, ("dy", dy.len()), ("dx", dx.len()))?;
        if !self.runtime().runs_kernels() {
            let (x, dy) = (self.slice(OPERATION, x)?, self.slice(OPERATION, dy)?);
            native::map([x, dy], self.slice_mut(OPERATION, dx)?, Backward::<O::Math, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(dx.len()), O::Quad::LANES);
        self.kernel::<map_backward_convert<A, I, O>>()?.launch(&self.stream, shape, (activation, x, dy, dx))
    }

    /// [`map_forward`](Self::map_forward) in f32 with [`Fast`] mathematics.
    ///
    /// # Errors
    /// As there.
    pub fn map_forward_fast<'a, A>(
        &self,
        activation: A,
        x: impl Into<View<'a, f32>>,
        y: impl Into<ViewMut<'a, f32>>,
    ) -> Result<()>
    where
        A: Activation,
        L: Has<map_forward_fast<A>>,
    {
        let (x, y) = (x.into(), y.into());
        expect_equal("map_forward_fast", ("x", x.len()), ("y", y.len()))?;
        if !self.runtime().runs_kernels() {
            let (x, y) = (self.slice("map_forward_fast", x)?, self.slice_mut("map_forward_fast", y)?);
            native::map([x], y, Forward::<Fast, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(y.len()), <f32 as Element>::Pack::LANES);
        self.kernel::<map_forward_fast<A>>()?.launch(&self.stream, shape, (activation, x, y))
    }

    /// [`map_backward`](Self::map_backward) in f32 with [`Fast`] mathematics.
    ///
    /// # Errors
    /// As there.
    pub fn map_backward_fast<'a, A>(
        &self,
        activation: A,
        x: impl Into<View<'a, f32>>,
        dy: impl Into<View<'a, f32>>,
        dx: impl Into<ViewMut<'a, f32>>,
    ) -> Result<()>
    where
        A: Activation,
        L: Has<map_backward_fast<A>>,
    {
        const OPERATION: &str = "map_backward_fast";
        let (x, dy, dx) = (x.into(), dy.into(), dx.into());
        expect_equal(OPERATION, ("x", x.len()), ("dx", dx.len()))?;
        expect_equal(OPERATION, ("dy", dy.len()), ("dx", dx.len()))?;
        if !self.runtime().runs_kernels() {
            let (x, dy) = (self.slice(OPERATION, x)?, self.slice(OPERATION, dy)?);
            native::map([x, dy], self.slice_mut(OPERATION, dx)?, Backward::<Fast, A>::new(activation));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(dx.len()), <f32 as Element>::Pack::LANES);
        self.kernel::<map_backward_fast<A>>()?.launch(&self.stream, shape, (activation, x, dy, dx))
    }
}
