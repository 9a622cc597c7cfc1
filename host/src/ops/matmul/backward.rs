//! [`LinearBackward`]: the gradients of y = w · x + b, two products with everything else fused into them.

use cuda_std::Library;
use warpsmith_gpu::epilogue::{Sum, SumFactor, SumRows, TimesDerivative};
use warpsmith_gpu::{Activation, Element};

use super::{GemmElement, HasGemm};
use crate::ops::Ops;
use crate::{Buffer, Matrix, MatrixView, MatrixViewMut, Result, ViewMut};

/// The gradients of a linear layer, y = w · x + b with samples as columns; begun by [`Ops::linear_backward`].
///
/// | | |
/// | --- | --- |
/// | [`input`](Self::input) | dx = wᵀ · dy |
/// | [`input_through`](Self::input_through) | dz = (wᵀ · dy) ⊙ f'(z) where x = f(z), and the sum of dz over the samples: the bias gradient of the layer before, in the same kernel |
/// | [`weights`](Self::weights) | dw = dy · xᵀ, and db, the sum of dy over the samples, in the same kernel |
/// | [`run`](Self::run) | all of dx, dw and db, into new memory |
///
/// All matrices may be in any layout; dz and z must be in the same one.
#[derive(Debug)]
pub struct LinearBackward<'a, L, T: GemmElement> {
    ops: &'a Ops<L>,
    x: MatrixView<'a, T>,
    w: MatrixView<'a, T>,
    dy: MatrixView<'a, T>,
}

/// What [`LinearBackward::run`] returns.
#[derive(Debug)]
pub struct LinearGradients<T: GemmElement> {
    /// The gradient with respect to the input.
    pub dx: Matrix<T>,
    /// The gradient with respect to the weights.
    pub dw: Matrix<T>,
    /// The gradient with respect to the bias, in the precision of the arithmetic.
    pub db: Buffer<T::Compute>,
}

impl<L: Library> Ops<L> {
    /// The gradients of y = w · x + b, given the one with respect to y: see [`LinearBackward`].
    ///
    /// ```
    /// # use warpsmith::{Matrix, Runtime, ops::Ops};
    /// # fn main() -> warpsmith::Result<()> {
    /// let runtime = Runtime::new();
    /// let ops = Ops::new(&runtime);
    /// let w = Matrix::from_columns(&runtime, 1, 2, &[2.0f32, 3.0])?;
    /// let x = Matrix::from_columns(&runtime, 2, 2, &[1.0, 2.0, 3.0, 4.0])?;
    /// let dy = Matrix::from_columns(&runtime, 1, 2, &[1.0, -1.0])?;
    /// let gradients = ops.linear_backward(&x, &w, &dy).run()?;
    /// assert_eq!(gradients.dx.as_view().to_vec()?, [2.0, 3.0, -2.0, -3.0]);
    /// assert_eq!(gradients.dw.as_view().to_vec()?, [-2.0, -2.0]);
    /// assert_eq!(gradients.db.to_vec()?, [0.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn linear_backward<'a, T: GemmElement>(
        &'a self,
        x: impl Into<MatrixView<'a, T>>,
        w: impl Into<MatrixView<'a, T>>,
        dy: impl Into<MatrixView<'a, T>>,
    ) -> LinearBackward<'a, L, T> {
        LinearBackward { ops: self, x: x.into(), w: w.into(), dy: dy.into() }
    }
}

impl<L: Library, T: GemmElement> LinearBackward<'_, L, T> {
    /// dx = wᵀ · dy
    ///
    /// # Errors
    /// As [`Linear::into`](super::Linear::into).
    pub fn input<'o>(&self, dx: impl Into<MatrixViewMut<'o, T>>) -> Result<()>
    where
        L: HasGemm<Sum, T, T>,
    {
        self.ops.linear(self.w.t(), self.dy).into(dx)
    }

    /// dz = (wᵀ · dy) ⊙ f'(z), and its sum over the samples, before it is rounded. `z` is what the forward pass of the layer
    /// before [saved](super::Linear::save_preactivation). If dz is row-major, its samples are taken as rows.
    ///
    /// # Errors
    /// As [`Linear::into`](super::Linear::into).
    pub fn input_through<'o, A: Activation>(
        &self,
        activation: A,
        z: impl Into<MatrixView<'o, T>>,
        dz: impl Into<MatrixViewMut<'o, T>>,
        bias_gradient: impl Into<ViewMut<'o, T::Compute>>,
    ) -> Result<()>
    where
        L: HasGemm<SumRows<TimesDerivative<Sum, A>>, T, T>,
    {
        let (ops, w, dy) = (self.ops, self.w, self.dy);
        let call = ops.linear(w.t(), dy).times_derivative(activation, z.into());
        call.bias_gradient(bias_gradient.into()).into(dz)
    }

    /// dw = dy · xᵀ, and db, the sum of dy over the samples. The weights' gradient may be wider than the factors.
    ///
    /// # Errors
    /// As [`Linear::into`](super::Linear::into).
    pub fn weights<'o, O>(
        &self,
        dw: impl Into<MatrixViewMut<'o, O>>,
        db: impl Into<ViewMut<'o, T::Compute>>,
    ) -> Result<()>
    where
        O: Element<Compute = T::Compute>,
        L: HasGemm<SumFactor<Sum>, T, O>,
    {
        let (ops, dy, x) = (self.ops, self.dy, self.x);
        ops.linear(dy, x.t()).sum_left(db.into()).into(dw)
    }

    /// All three, into new memory: column-major.
    ///
    /// # Errors
    /// As [`Linear::into`](super::Linear::into).
    pub fn run(&self) -> Result<LinearGradients<T>>
    where
        L: HasGemm<Sum, T, T> + HasGemm<SumFactor<Sum>, T, T>,
    {
        let runtime = self.ops.runtime();
        let ((inputs, samples), (outputs, _)) = (self.x.shape(), self.w.shape());
        let mut dx = Matrix::zeros(runtime, inputs, samples)?;
        let mut dw = Matrix::zeros(runtime, outputs, inputs)?;
        let mut db = runtime.zeros(outputs)?;
        self.input(&mut dx)?;
        self.weights(&mut dw, &mut db)?;
        Ok(LinearGradients { dx, dw, db })
    }
}
