//! Matrices on a runtime's device, column-major as nalgebra's: a sample is a column.

use std::ops::Range;

use cust_core::DeviceCopy;
use nalgebra::{DMatrix, DVector, Scalar};

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::view::{View, ViewMut};

/// `rows` x `columns` elements, column after column without gaps: element (r, c) is number `r + c * rows`.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// use warpsmith::{Matrix, Runtime};
///
/// let runtime = Runtime::new();
/// let a = Matrix::from_columns(&runtime, 2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(a.column(2)?.to_vec()?, [5.0, 6.0]);
/// let b = nalgebra::DMatrix::from_row_slice(2, 3, &[1.0f32, 3.0, 5.0, 2.0, 4.0, 6.0]);
/// assert_eq!(Matrix::from_nalgebra(&runtime, &b)?.as_view().to_vec()?, a.as_view().to_vec()?);
/// # Ok(())
/// # }
/// ```
pub struct Matrix<T> {
    elements: Buffer<T>,
    rows: usize,
    columns: usize,
}

/// The number of elements, if it can be counted.
fn count<T>(operation: &'static str, rows: usize, columns: usize) -> Result<usize> {
    rows.checked_mul(columns).ok_or(Error::SizeOverflow {
        operation,
        count: rows,
        element_bytes: columns.saturating_mul(size_of::<T>()),
    })
}

impl<T: DeviceCopy> Matrix<T> {
    /// A matrix of `T::default()`, which for numbers is zero.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`], [`Error::Driver`]
    pub fn zeros(runtime: &Runtime, rows: usize, columns: usize) -> Result<Self>
    where
        T: Default,
    {
        let elements = runtime.zeros(count::<T>("make a matrix", rows, columns)?)?;
        Ok(Self { elements, rows, columns })
    }

    /// A matrix with any contents.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    ///
    /// # Safety
    /// Every element must be written before it is read, on the device or on the host.
    pub unsafe fn uninitialized(runtime: &Runtime, rows: usize, columns: usize) -> Result<Self> {
        // SAFETY: by the caller.
        let elements = unsafe { runtime.uninitialized(count::<T>("make a matrix", rows, columns)?) }?;
        Ok(Self { elements, rows, columns })
    }

    /// A matrix from its elements, column after column.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are `rows * columns` of them; [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn from_columns(runtime: &Runtime, rows: usize, columns: usize, elements: &[T]) -> Result<Self> {
        let expected = count::<T>("make a matrix", rows, columns)?;
        expect_count(elements.len(), expected)?;
        Ok(Self { elements: runtime.buffer_from(elements)?, rows, columns })
    }

    /// A buffer seen as a matrix.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless it has `rows * columns` elements.
    pub fn from_buffer(elements: Buffer<T>, rows: usize, columns: usize) -> Result<Self> {
        expect_count(elements.len(), count::<T>("make a matrix", rows, columns)?)?;
        Ok(Self { elements, rows, columns })
    }

    /// A copy of a nalgebra matrix; the layout is the same.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`]
    pub fn from_nalgebra(runtime: &Runtime, matrix: &DMatrix<T>) -> Result<Self>
    where
        T: Scalar,
    {
        Self::from_columns(runtime, matrix.nrows(), matrix.ncols(), matrix.as_slice())
    }

    /// A copy of a nalgebra vector, as a matrix of one column.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`]
    pub fn from_nalgebra_vector(runtime: &Runtime, vector: &DVector<T>) -> Result<Self>
    where
        T: Scalar,
    {
        Self::from_columns(runtime, vector.len(), 1, vector.as_slice())
    }

    /// A copy as a nalgebra matrix, after waiting for the work that writes it.
    ///
    /// # Errors
    /// [`Error::Driver`], also for errors of earlier kernels.
    pub fn to_nalgebra(&self) -> Result<DMatrix<T>>
    where
        T: Scalar,
    {
        Ok(DMatrix::from_vec(self.rows, self.columns, self.elements.to_vec()?))
    }

    /// A copy of all elements as a nalgebra vector, column after column.
    ///
    /// # Errors
    /// As [`to_nalgebra`](Self::to_nalgebra).
    pub fn to_nalgebra_vector(&self) -> Result<DVector<T>>
    where
        T: Scalar,
    {
        Ok(DVector::from_vec(self.elements.to_vec()?))
    }

    /// Rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows and columns.
    #[inline]
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The runtime on whose device it lies.
    pub fn runtime(&self) -> &Runtime {
        self.elements.runtime()
    }

    /// The elements, column after column.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.elements
    }

    /// The elements, column after column.
    pub fn buffer_mut(&mut self) -> &mut Buffer<T> {
        &mut self.elements
    }

    /// Gives up the shape.
    pub fn into_buffer(self) -> Buffer<T> {
        self.elements
    }

    /// All elements, column after column.
    pub fn as_view(&self) -> View<'_, T> {
        self.elements.as_view()
    }

    /// All elements, column after column, to write.
    pub fn as_view_mut(&mut self) -> ViewMut<'_, T> {
        self.elements.as_view_mut()
    }

    /// One column.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn column(&self, column: usize) -> Result<View<'_, T>> {
        self.columns_range(column..column.saturating_add(1))
    }

    /// One column, to write.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn column_mut(&mut self, column: usize) -> Result<ViewMut<'_, T>> {
        self.columns_range_mut(column..column.saturating_add(1))
    }

    /// Some neighbouring columns, one after the other: a batch of samples.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn columns_range(&self, columns: Range<usize>) -> Result<View<'_, T>> {
        let elements = self.elements_of(columns)?;
        self.elements.slice(elements)
    }

    /// Some neighbouring columns, to write.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn columns_range_mut(&mut self, columns: Range<usize>) -> Result<ViewMut<'_, T>> {
        let elements = self.elements_of(columns)?;
        self.elements.slice_mut(elements)
    }

    fn elements_of(&self, columns: Range<usize>) -> Result<Range<usize>> {
        let columns = crate::view::resolve("take columns", columns, self.columns)?;
        // No overflow: both ends are at most the matrix's own number of elements.
        Ok(columns.start * self.rows..columns.end * self.rows)
    }

    /// A copy in new memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`]
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self { elements: self.elements.try_clone()?, ..*self })
    }
}

fn expect_count(elements: usize, expected: usize) -> Result<()> {
    let (left_name, right_name) = ("the data", "the shape");
    if elements == expected {
        Ok(())
    } else {
        let operation = "make a matrix";
        Err(Error::LengthMismatch { operation, left_name, left: elements, right_name, right: expected })
    }
}

impl<T: DeviceCopy> std::fmt::Debug for Matrix<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let element = std::any::type_name::<T>();
        write!(f, "Matrix<{element}>({}x{} on {})", self.rows, self.columns, self.runtime())
    }
}

impl<'a, T: DeviceCopy> From<&'a Matrix<T>> for View<'a, T> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        matrix.as_view()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut Matrix<T>> for ViewMut<'a, T> {
    fn from(matrix: &'a mut Matrix<T>) -> Self {
        matrix.as_view_mut()
    }
}

#[cfg(feature = "ndarray")]
mod ndarray_conversions {
    //! ndarray's arrays are row-major by default, and may have any strides: elements are taken by index, never as they lie.

    use ndarray::{Array2, ArrayView2, ShapeBuilder};

    use super::*;

    impl<T: DeviceCopy> Matrix<T> {
        /// A copy of an ndarray array of any layout: element `[r, c]` becomes row r, column c.
        ///
        /// # Errors
        /// [`Error::OutOfMemory`], [`Error::Driver`]
        pub fn from_ndarray(runtime: &Runtime, array: ArrayView2<'_, T>) -> Result<Self> {
            let (rows, columns) = array.dim();
            let elements: Vec<T> = array.t().iter().copied().collect();
            Self::from_columns(runtime, rows, columns, &elements)
        }

        /// A copy as an ndarray array, column-major.
        ///
        /// # Errors
        /// As [`to_nalgebra`](Self::to_nalgebra).
        pub fn to_ndarray(&self) -> Result<Array2<T>> {
            let elements = self.as_view().to_vec()?;
            Ok(Array2::from_shape_vec(self.shape().f(), elements).expect("a matrix has rows * columns elements"))
        }
    }
}

#[cfg(all(test, feature = "ndarray"))]
mod tests {
    use ndarray::{Array2, ShapeBuilder, s};

    use super::*;

    #[test]
    fn arrays_of_every_layout_keep_their_elements() {
        let runtime = Runtime::cpu();
        let rows = Array2::from_shape_fn((3, 4), |(r, c)| (10 * r + c) as f32);
        let columns = Array2::from_shape_fn((3, 4).f(), |(r, c)| (10 * r + c) as f32);
        for array in [
            rows.view(),
            columns.view(),
            rows.slice(s![.., ..;2]),
            rows.slice(s![1.., ..2]),
            rows.t(),
            rows.slice(s![..;-1, ..]),
        ] {
            let matrix = Matrix::from_ndarray(&runtime, array).unwrap();
            assert_eq!(matrix.shape(), array.dim());
            assert_eq!(matrix.to_ndarray().unwrap(), array);
            assert_eq!(matrix.column(0).unwrap().to_vec().unwrap(), array.column(0).to_vec());
        }
    }
}
