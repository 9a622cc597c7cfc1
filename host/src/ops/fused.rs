//! A bias, an activation and dropout in one pass; PReLU with a slope for each row.

use cuda_std::{Global, GlobalMut, Has};
use cust_core::DeviceCopy;
use warpsmith_gpu::elementwise::{Extents, Lines};
use warpsmith_gpu::kernels::{
    BiasedBackward, BiasedForward, ChannelPrelu, ChannelPreluBackward, bias_activation_backward,
    bias_activation_dropout_backward, bias_activation_dropout_forward, bias_activation_forward, column_sum,
    prelu_backward, prelu_forward,
};
use warpsmith_gpu::random::{Dropout, Dropped};
use warpsmith_gpu::{Activation, Element, Packed};

use super::{Ops, expect_equal, expect_same_shape, native};
use crate::{Matrix, Result, View, ViewMut};

fn extents<T: DeviceCopy>(x: &Matrix<T>) -> Extents {
    Extents { len: x.rows(), lines: x.columns() }
}

/// # Bias and activation in one pass
impl<L: cuda_std::Library> Ops<L> {
    /// `y[i, j] = f(x[i, j] + bias[i])`
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), [`Error::ShapeMismatch`](crate::Error::ShapeMismatch), and those
    /// of a launch.
    pub fn bias_activation_forward<'a, A, T>(
        &self,
        activation: A,
        x: &Matrix<T>,
        bias: impl Into<View<'a, T>>,
        y: &mut Matrix<T>,
    ) -> Result<()>
    where
        A: Activation,
        T: Element,
        L: Has<bias_activation_forward<A, T>>,
    {
        const OPERATION: &str = "bias_activation_forward";
        let (bias, extents) = (bias.into(), self.check(OPERATION, x, y)?);
        expect_equal(OPERATION, ("bias", bias.len()), ("the rows of x", x.rows()))?;
        if !self.runtime().runs_kernels() {
            let inputs =
                [self.lines(OPERATION, x.as_view(), extents.len, extents)?, self.lines(OPERATION, bias, 0, extents)?];
            let outputs = [self.lines_mut(OPERATION, y, extents)?];
            // SAFETY: the output is exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, BiasedForward::<T::Math, A>::new(activation)) };
            return Ok(());
        }
        let kernel = self.kernel::<bias_activation_forward<A, T>>()?;
        kernel.launch(&self.stream, self.covering(extents, T::Pack::LANES), (activation, extents, x, bias, y))
    }

    /// `dx[i, j] = f'(x[i, j] + bias[i])·dy[i, j]`. The bias's gradient is the sum of dx's columns.
    ///
    /// # Errors
    /// As [`bias_activation_forward`](Self::bias_activation_forward).
    pub fn bias_activation_backward<'a, A, T>(
        &self,
        activation: A,
        x: &Matrix<T>,
        bias: impl Into<View<'a, T>>,
        dy: &Matrix<T>,
        dx: &mut Matrix<T>,
    ) -> Result<()>
    where
        A: Activation,
        T: Element,
        L: Has<bias_activation_backward<A, T>>,
    {
        const OPERATION: &str = "bias_activation_backward";
        let (bias, extents) = (bias.into(), self.check(OPERATION, x, dx)?);
        expect_same_shape(OPERATION, ("x", x), ("dy", dy))?;
        expect_equal(OPERATION, ("bias", bias.len()), ("the rows of x", x.rows()))?;
        if !self.runtime().runs_kernels() {
            let pitch = extents.len;
            let inputs = [
                self.lines(OPERATION, x.as_view(), pitch, extents)?,
                self.lines(OPERATION, bias, 0, extents)?,
                self.lines(OPERATION, dy.as_view(), pitch, extents)?,
            ];
            let outputs = [self.lines_mut(OPERATION, dx, extents)?];
            // SAFETY: the output is exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, BiasedBackward::<T::Math, A>::new(activation)) };
            return Ok(());
        }
        let kernel = self.kernel::<bias_activation_backward<A, T>>()?;
        kernel.launch(&self.stream, self.covering(extents, T::Pack::LANES), (activation, extents, x, bias, dy, dx))
    }

    /// `y[i, j] = dropout(f(x[i, j] + bias[i]))`
    ///
    /// # Errors
    /// As [`bias_activation_forward`](Self::bias_activation_forward).
    pub fn bias_activation_dropout_forward<'a, A, T>(
        &self,
        activation: A,
        dropout: Dropout,
        x: &Matrix<T>,
        bias: impl Into<View<'a, T>>,
        y: &mut Matrix<T>,
    ) -> Result<()>
    where
        A: Activation,
        T: Element,
        L: Has<bias_activation_dropout_forward<A, T>>,
    {
        const OPERATION: &str = "bias_activation_dropout_forward";
        let (bias, extents) = (bias.into(), self.check(OPERATION, x, y)?);
        expect_equal(OPERATION, ("bias", bias.len()), ("the rows of x", x.rows()))?;
        if !self.runtime().runs_kernels() {
            let inputs =
                [self.lines(OPERATION, x.as_view(), extents.len, extents)?, self.lines(OPERATION, bias, 0, extents)?];
            let outputs = [self.lines_mut(OPERATION, y, extents)?];
            let function = Dropped { function: BiasedForward::<T::Math, A>::new(activation), dropout };
            // SAFETY: the output is exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, function) };
            return Ok(());
        }
        let kernel = self.kernel::<bias_activation_dropout_forward<A, T>>()?;
        kernel.launch(&self.stream, self.covering(extents, T::Pack::LANES), (activation, dropout, extents, x, bias, y))
    }

    /// The gradient of [`bias_activation_dropout_forward`](Self::bias_activation_dropout_forward) with respect to x + bias, with
    /// the mask of the forward pass.
    ///
    /// # Errors
    /// As [`bias_activation_forward`](Self::bias_activation_forward).
    pub fn bias_activation_dropout_backward<'a, A, T>(
        &self,
        activation: A,
        dropout: Dropout,
        x: &Matrix<T>,
        bias: impl Into<View<'a, T>>,
        dy: &Matrix<T>,
        dx: &mut Matrix<T>,
    ) -> Result<()>
    where
        A: Activation,
        T: Element,
        L: Has<bias_activation_dropout_backward<A, T>>,
    {
        const OPERATION: &str = "bias_activation_dropout_backward";
        let (bias, extents) = (bias.into(), self.check(OPERATION, x, dx)?);
        expect_same_shape(OPERATION, ("x", x), ("dy", dy))?;
        expect_equal(OPERATION, ("bias", bias.len()), ("the rows of x", x.rows()))?;
        if !self.runtime().runs_kernels() {
            let pitch = extents.len;
            let inputs = [
                self.lines(OPERATION, x.as_view(), pitch, extents)?,
                self.lines(OPERATION, bias, 0, extents)?,
                self.lines(OPERATION, dy.as_view(), pitch, extents)?,
            ];
            let outputs = [self.lines_mut(OPERATION, dx, extents)?];
            let function = Dropped { function: BiasedBackward::<T::Math, A>::new(activation), dropout };
            // SAFETY: the output is exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, function) };
            return Ok(());
        }
        let kernel = self.kernel::<bias_activation_dropout_backward<A, T>>()?;
        let shape = self.covering(extents, T::Pack::LANES);
        kernel.launch(&self.stream, shape, (activation, dropout, extents, x, bias, dy, dx))
    }

    /// `y[i, j] = x[i, j]` where that is above 0, `slope[i]·x[i, j]` elsewhere: PReLU with a slope for each row.
    ///
    /// # Errors
    /// As [`bias_activation_forward`](Self::bias_activation_forward).
    pub fn prelu_forward<'a, T>(&self, x: &Matrix<T>, slope: impl Into<View<'a, T>>, y: &mut Matrix<T>) -> Result<()>
    where
        T: Element,
        L: Has<prelu_forward<T>>,
    {
        const OPERATION: &str = "prelu_forward";
        let (slope, extents) = (slope.into(), self.check(OPERATION, x, y)?);
        expect_equal(OPERATION, ("slope", slope.len()), ("the rows of x", x.rows()))?;
        if !self.runtime().runs_kernels() {
            let inputs =
                [self.lines(OPERATION, x.as_view(), extents.len, extents)?, self.lines(OPERATION, slope, 0, extents)?];
            let outputs = [self.lines_mut(OPERATION, y, extents)?];
            // SAFETY: the output is exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, ChannelPrelu) };
            return Ok(());
        }
        let kernel = self.kernel::<prelu_forward<T>>()?;
        kernel.launch(&self.stream, self.covering(extents, T::Pack::LANES), (extents, x, slope, y))
    }

    /// The gradients of [`prelu_forward`](Self::prelu_forward): with respect to x, and to each slope, summed over the columns in a
    /// fixed order.
    ///
    /// # Errors
    /// As [`bias_activation_forward`](Self::bias_activation_forward).
    pub fn prelu_backward<'a, T>(
        &self,
        x: &Matrix<T>,
        slope: impl Into<View<'a, T>>,
        dy: &Matrix<T>,
        dx: &mut Matrix<T>,
        dslope: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        T: Element<Compute = f32>,
        L: Has<prelu_backward<T>>,
        warpsmith_gpu::Kernels: Has<column_sum<T>>,
    {
        const OPERATION: &str = "prelu_backward";
        let (slope, extents) = (slope.into(), self.check(OPERATION, x, dx)?);
        expect_same_shape(OPERATION, ("x", x), ("dy", dy))?;
        expect_equal(OPERATION, ("slope", slope.len()), ("the rows of x", x.rows()))?;
        let mut parts = Matrix::zeros(self.runtime(), x.rows(), x.columns())?;
        if self.runtime().runs_kernels() {
            let kernel = self.kernel::<prelu_backward<T>>()?;
            let shape = self.covering(extents, T::Pack::LANES);
            kernel.launch(&self.stream, shape, (extents, x, slope, dy, dx, &mut parts))?;
        } else {
            let pitch = extents.len;
            let inputs = [
                self.lines(OPERATION, x.as_view(), pitch, extents)?,
                self.lines(OPERATION, slope, 0, extents)?,
                self.lines(OPERATION, dy.as_view(), pitch, extents)?,
            ];
            let outputs = [self.lines_mut(OPERATION, dx, extents)?, self.lines_mut(OPERATION, &mut parts, extents)?];
            // SAFETY: both outputs are exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, ChannelPreluBackward) };
        }
        self.of::<warpsmith_gpu::Kernels>().column_sum(&parts, dslope)
    }

    /// The extents of x, after checking that the result has them too.
    fn check<T: DeviceCopy>(&self, operation: &'static str, x: &Matrix<T>, y: &Matrix<T>) -> Result<Extents> {
        expect_same_shape(operation, ("x", x), ("the result", y))?;
        Ok(extents(x))
    }

    /// A view on the CPU as an operand.
    fn lines<'a, T: Element>(
        &self,
        operation: &'static str,
        view: View<'a, T>,
        pitch: usize,
        extents: Extents,
    ) -> Result<Lines<*const T>> {
        Ok(Lines::read(&Global::from_slice(self.slice(operation, view)?), 0, pitch, extents))
    }

    /// A result on the CPU as an operand.
    fn lines_mut<T: Element>(
        &self,
        operation: &'static str,
        y: &mut Matrix<T>,
        extents: Extents,
    ) -> Result<Lines<*mut T>> {
        let y = self.slice_mut(operation, y.as_view_mut())?;
        Ok(Lines::written(&GlobalMut::from_slice(y), 0, extents.len, extents))
    }
}
