//! What may be multiplied: matrices and views on the device, and host data, which is copied there.

use cust_core::DeviceCopy;
use nalgebra::{DMatrix, DVector, Scalar};
use warpsmith_gpu::Element;

use crate::{Buffer, Matrix, MatrixView, MatrixViewMut, Result, Runtime, View};

/// A factor on the device.
#[derive(Debug)]
pub enum Factor<'a, T: DeviceCopy> {
    /// Borrowed.
    View(MatrixView<'a, T>),
    /// A copy of host data.
    Copied(Matrix<T>),
}

impl<T: DeviceCopy> Factor<'_, T> {
    pub(super) fn view(&self) -> MatrixView<'_, T> {
        match self {
            Self::View(view) => *view,
            Self::Copied(matrix) => MatrixView::from(matrix),
        }
    }
}

/// What can be a factor. Host data is copied to the device.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a factor of elements `{T}`",
    note = "a factor is a `&Matrix<T>`, a `MatrixView<T>` (`matrix.t()`), a nalgebra `&DMatrix<T>`, or, with the feature `ndarray`, an `&Array2<T>`"
)]
pub trait IntoFactor<'a, T: Element> {
    /// What a result is returned as if this is the first factor.
    type Package: Package<T>;

    /// The factor on the device.
    ///
    /// # Errors
    /// Those of the copy.
    fn into_factor(self, runtime: &Runtime) -> Result<Factor<'a, T>>;
}

/// The form in which a new result is returned.
pub trait Package<T> {
    /// Whether the result is row-major: then each row is a sample, otherwise each column.
    const ROW_MAJOR: bool;
    /// A result.
    type Matrix;

    /// The result from a matrix on the device, which holds its transpose if it is row-major.
    ///
    /// # Errors
    /// Those of the copy.
    fn package(result: Matrix<T>) -> Result<Self::Matrix>;
}

/// Results stay on the device, as [`Matrix`].
#[derive(Clone, Copy, Debug)]
pub struct OnDevice;

/// Results come back as host data of this type.
#[derive(Clone, Copy, Debug)]
pub struct OnHost<M>(std::marker::PhantomData<M>);

impl<T> Package<T> for OnDevice {
    const ROW_MAJOR: bool = false;
    type Matrix = Matrix<T>;

    fn package(result: Matrix<T>) -> Result<Matrix<T>> {
        Ok(result)
    }
}

impl<T: DeviceCopy + Scalar> Package<T> for OnHost<DMatrix<T>> {
    const ROW_MAJOR: bool = false;
    type Matrix = DMatrix<T>;

    fn package(result: Matrix<T>) -> Result<DMatrix<T>> {
        result.to_nalgebra()
    }
}

impl<'a, T: Element> IntoFactor<'a, T> for &'a Matrix<T> {
    type Package = OnDevice;

    fn into_factor(self, _: &Runtime) -> Result<Factor<'a, T>> {
        Ok(Factor::View(self.into()))
    }
}

impl<'a, T: Element> IntoFactor<'a, T> for MatrixView<'a, T> {
    type Package = OnDevice;

    fn into_factor(self, _: &Runtime) -> Result<Factor<'a, T>> {
        Ok(Factor::View(self))
    }
}

impl<'a, T: Element + Scalar> IntoFactor<'a, T> for &DMatrix<T> {
    type Package = OnHost<DMatrix<T>>;

    fn into_factor(self, runtime: &Runtime) -> Result<Factor<'a, T>> {
        Ok(Factor::Copied(Matrix::from_nalgebra(runtime, self)?))
    }
}

/// A vector on the device.
#[derive(Debug)]
pub enum Vector<'a, T: DeviceCopy> {
    /// Borrowed.
    View(View<'a, T>),
    /// A copy of host data.
    Copied(Buffer<T>),
}

impl<T: DeviceCopy> Vector<'_, T> {
    pub(super) fn view(&self) -> View<'_, T> {
        match self {
            Self::View(view) => *view,
            Self::Copied(buffer) => buffer.as_view(),
        }
    }
}

/// What can be a bias. Host data is copied to the device.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a vector of elements `{T}`",
    note = "a vector is a `&Buffer<T>`, a `View<T>`, a nalgebra `&DVector<T>`, a `&[T]` or, with the feature `ndarray`, an `&Array1<T>`"
)]
pub trait IntoVector<'a, T: DeviceCopy> {
    /// The vector on the device.
    ///
    /// # Errors
    /// Those of the copy.
    fn into_vector(self, runtime: &Runtime) -> Result<Vector<'a, T>>;
}

impl<'a, T: DeviceCopy> IntoVector<'a, T> for &'a Buffer<T> {
    fn into_vector(self, _: &Runtime) -> Result<Vector<'a, T>> {
        Ok(Vector::View(self.as_view()))
    }
}

impl<'a, T: DeviceCopy> IntoVector<'a, T> for View<'a, T> {
    fn into_vector(self, _: &Runtime) -> Result<Vector<'a, T>> {
        Ok(Vector::View(self))
    }
}

impl<'a, T: DeviceCopy> IntoVector<'a, T> for &[T] {
    fn into_vector(self, runtime: &Runtime) -> Result<Vector<'a, T>> {
        Ok(Vector::Copied(runtime.buffer_from(self)?))
    }
}

impl<'a, T: DeviceCopy + Scalar> IntoVector<'a, T> for &DVector<T> {
    fn into_vector(self, runtime: &Runtime) -> Result<Vector<'a, T>> {
        self.as_slice().into_vector(runtime)
    }
}

#[cfg(feature = "ndarray")]
mod ndarray_factors {
    use ndarray::{Array1, Array2};

    use super::*;

    impl<T: DeviceCopy> Package<T> for OnHost<Array2<T>> {
        const ROW_MAJOR: bool = true;
        type Matrix = Array2<T>;

        fn package(result: Matrix<T>) -> Result<Array2<T>> {
            let (columns, rows) = result.shape();
            let elements = result.as_view().to_vec()?;
            Ok(Array2::from_shape_vec((rows, columns), elements).expect("a matrix has rows * columns elements"))
        }
    }

    impl<'a, T: Element> IntoFactor<'a, T> for &Array2<T> {
        type Package = OnHost<Array2<T>>;

        fn into_factor(self, runtime: &Runtime) -> Result<Factor<'a, T>> {
            Ok(Factor::Copied(Matrix::from_ndarray(runtime, self.view())?))
        }
    }

    impl<'a, T: DeviceCopy> IntoVector<'a, T> for &Array1<T> {
        fn into_vector(self, runtime: &Runtime) -> Result<Vector<'a, T>> {
            let elements: Vec<T> = self.iter().copied().collect();
            Ok(Vector::Copied(runtime.buffer_from(&elements)?))
        }
    }
}

/// A result's place: with its elements column after column, or row after row if `row_major`.
pub(super) fn result_view<T: DeviceCopy>(result: &mut Matrix<T>, row_major: bool) -> MatrixViewMut<'_, T> {
    if row_major { result.t_mut() } else { result.into() }
}
