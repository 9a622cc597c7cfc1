//! Matrix products with anything done to each element on the way out.
//!
//! [`Ops::linear`] begins a call, and everything after it becomes one kernel:
//!
//! ```
//! use warpsmith::activations::GeluErf;
//! use warpsmith::{Matrix, Runtime, ops::Ops};
//!
//! # fn main() -> warpsmith::Result<()> {
//! let runtime = Runtime::new();
//! let ops = Ops::new(&runtime);
//! let w = Matrix::from_columns(&runtime, 2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let x = Matrix::from_columns(&runtime, 3, 2, &[1.0, 0.0, -1.0, 0.5, 0.5, 0.5])?;
//! let bias = runtime.buffer_from(&[4.0, -4.0])?;
//! let (mut y, mut z) = (Matrix::zeros(&runtime, 2, 2)?, Matrix::zeros(&runtime, 2, 2)?);
//! ops.linear(&w, &x).bias(&bias).activation(GeluErf).save_preactivation(&mut z).into(&mut y)?;
//! assert_eq!(z.as_view().to_vec()?, [0.0, -8.0, 8.5, 2.0]);
//! # Ok(())
//! # }
//! ```
//!
//! On a GPU and in the simulator the sums of `f32` and `f64` run in order of k with fused multiply-add. On the CPU the crate
//! `matrixmultiply` makes them, in an order of its own: each sum is within k·2⁻²⁴ (f64: k·2⁻⁵³) of the exact one, relative to the
//! sum of the products' magnitudes. What follows the sum is the same code everywhere.

mod backward;
mod dispatch;
mod factor;
mod heuristics;
mod linear;
mod mask;
mod native;
mod plan;
mod problem;
mod tensor_cores;

pub use backward::{LinearBackward, LinearGradients};
pub use dispatch::{Gemm, GemmElement, HasGemm};
pub use factor::{Factor, IntoFactor, IntoVector, OnDevice, OnHost, Package, Vector};
pub use linear::Linear;
pub use mask::ReluMask;
pub use plan::GemmPlan;
use warpsmith_gpu::Kernels;
use warpsmith_gpu::epilogue::Sum;

use super::Ops;
use crate::{Matrix, MatrixView, Result};

/// # Matrix products
impl<L: cuda_std::Library> Ops<L> {
    /// a · b, to be continued: see [`Linear`]. Each factor is a matrix or a view on the device, or host data.
    pub fn linear<'a, T, O, A, B>(&'a self, a: A, b: B) -> Linear<'a, L, T, O, Sum, A::Package>
    where
        T: GemmElement,
        O: warpsmith_gpu::Element<Compute = T::Compute>,
        A: IntoFactor<'a, T>,
        B: IntoFactor<'a, T>,
    {
        Linear::new(self, a, b)
    }
}

/// # Matrix products in f32
impl Ops<Kernels> {
    /// c = a · b
    ///
    /// ```
    /// # use warpsmith::{Matrix, Runtime, ops::Ops};
    /// # fn main() -> warpsmith::Result<()> {
    /// let runtime = Runtime::new();
    /// let a = Matrix::from_columns(&runtime, 2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let mut c = Matrix::zeros(&runtime, 2, 2)?;
    /// Ops::new(&runtime).matmul(&a, a.t(), &mut c)?;
    /// assert_eq!(c.as_view().to_vec()?, [35.0, 44.0, 44.0, 56.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch), and those of a launch.
    pub fn matmul<'a>(
        &'a self,
        a: impl Into<MatrixView<'a, f32>>,
        b: impl Into<MatrixView<'a, f32>>,
        c: &mut Matrix<f32>,
    ) -> Result<()> {
        self.linear(a.into(), b.into()).into(c)
    }

    /// c = alpha * a · b + beta * c. With beta = 0 the old c isn't read; with an empty sum (k = 0) the product is zero.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    pub fn gemm<'a>(
        &'a self,
        alpha: f32,
        a: impl Into<MatrixView<'a, f32>>,
        b: impl Into<MatrixView<'a, f32>>,
        beta: f32,
        c: &mut Matrix<f32>,
    ) -> Result<()> {
        let product = self.linear(a.into(), b.into()).scaled(alpha.into());
        if beta == 0.0 { product.into(c) } else { product.accumulate(beta.into()).into(c) }
    }
}
