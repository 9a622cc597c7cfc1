//! Matrices as they lie in a piece of a buffer: column- or row-major, with any leading dimension, one or a batch of them.

use cust_core::DeviceCopy;
use warpsmith_gpu::kernels::Strides;

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::runtime::Runtime;
use crate::view::{View, ViewMut};

/// A matrix to read: `rows` x `columns`, of which a batch may follow at a fixed distance.
///
/// ```
/// # use warpsmith::{MatrixView, Runtime};
/// # fn main() -> warpsmith::Result<()> {
/// let buffer = Runtime::cpu().buffer_from(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let rows = MatrixView::row_major(buffer.as_view(), (2, 3), 3)?; // 1 2 3 / 4 5 6
/// let left = MatrixView::row_major(buffer.as_view(), (2, 2), 3)?; // 1 2 / 4 5
/// assert_eq!((rows.t().shape(), left.shape()), ((3, 2), (2, 2)));
/// # Ok(())
/// # }
/// ```
pub struct MatrixView<'a, T> {
    elements: View<'a, T>,
    place: Place,
}

/// A matrix to write, as [`MatrixView`].
///
/// ```
/// use warpsmith::{MatrixViewMut, Runtime};
///
/// let mut buffer = Runtime::cpu().zeros::<f32>(8)?;
/// // Two rows of three, each four elements after the other.
/// let view = MatrixViewMut::row_major((&mut buffer).into(), (2, 3), 4)?;
/// assert_eq!(view.shape(), (2, 3));
/// # Ok::<(), warpsmith::Error>(())
/// ```
pub struct MatrixViewMut<'a, T> {
    elements: ViewMut<'a, T>,
    place: Place,
}

impl<T> Clone for MatrixView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for MatrixView<'_, T> {}

/// Sizes and strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) batch: usize,
    pub(crate) strides: Strides,
    /// Row after row; the strides alone don't say it of a single row or column.
    pub(crate) row_major: bool,
}

impl Place {
    /// One matrix, column after column.
    fn columns(rows: usize, columns: usize, leading: usize) -> Self {
        Self { rows, columns, batch: 1, strides: Strides::columns(leading), row_major: false }
    }

    /// Itself, if a view of this length holds it.
    fn within(self, len: usize) -> Result<Self> {
        let Self { rows, columns, batch, strides, .. } = self;
        if strides.extent(batch, rows, columns).is_some_and(|extent| extent <= len) {
            return Ok(self);
        }
        Err(Error::MatrixLayout {
            operation: "view a matrix",
            matrix: "the matrix",
            found: format!(
                "of {batch} x {rows} x {columns} elements with distances of {}, {} and {} reaches beyond the {len} that there are",
                strides.batch, strides.row, strides.column
            ),
            rule: "take a larger view, or a smaller leading dimension",
        })
    }

    fn expect_leading(along: usize, leading: usize) -> Result<()> {
        if leading >= along {
            return Ok(());
        }
        Err(Error::MatrixLayout {
            operation: "view a matrix",
            matrix: "the matrix",
            found: format!("has lines of {along} elements at a distance of {leading}"),
            rule: "the leading dimension must be at least the rows of a column-major or the columns of a row-major matrix",
        })
    }

    pub(crate) fn transposed(self) -> Self {
        let Self { rows, columns, batch, strides, row_major } = self;
        Self { rows: columns, columns: rows, batch, strides: strides.transposed(), row_major: !row_major }
    }
}

macro_rules! common {
    ($matrix:ident, $view:ident) => {
        impl<'a, T: DeviceCopy> $matrix<'a, T> {
            /// Column after column, `leading` elements from one to the next.
            ///
            /// # Errors
            /// [`Error::MatrixLayout`] if `leading` is less than the rows, or the view too short.
            pub fn column_major(
                elements: $view<'a, T>,
                (rows, columns): (usize, usize),
                leading: usize,
            ) -> Result<Self> {
                Place::expect_leading(rows, leading)?;
                let place = Place::columns(rows, columns, leading).within(elements.len())?;
                Ok(Self { elements, place })
            }

            /// Row after row, `leading` elements from one to the next.
            ///
            /// # Errors
            /// [`Error::MatrixLayout`] if `leading` is less than the columns, or the view too short.
            pub fn row_major(elements: $view<'a, T>, (rows, columns): (usize, usize), leading: usize) -> Result<Self> {
                Place::expect_leading(columns, leading)?;
                let place = Place::columns(columns, rows, leading).transposed().within(elements.len())?;
                Ok(Self { elements, place })
            }

            /// A vector as a matrix of one column.
            pub fn column(elements: $view<'a, T>) -> Self {
                let rows = elements.len();
                Self { elements, place: Place::columns(rows, 1, rows) }
            }

            /// A vector as a matrix of one row.
            pub fn row(elements: $view<'a, T>) -> Self {
                Self::column(elements).t()
            }

            /// `count` such matrices, `distance` elements from one to the next.
            ///
            /// # Errors
            /// [`Error::MatrixLayout`] if the view is too short.
            pub fn batch(mut self, count: usize, distance: usize) -> Result<Self> {
                self.place.batch = count;
                self.place.strides.batch = distance;
                self.place = self.place.within(self.elements.len())?;
                Ok(self)
            }

            /// The transpose; nothing is moved.
            #[must_use]
            pub fn t(mut self) -> Self {
                self.place = self.place.transposed();
                self
            }

            /// Rows and columns.
            pub fn shape(&self) -> (usize, usize) {
                (self.place.rows, self.place.columns)
            }

            /// How many matrices.
            pub fn count(&self) -> usize {
                self.place.batch
            }

            /// Where the elements lie.
            pub fn strides(&self) -> Strides {
                self.place.strides
            }

            /// The runtime on whose device it lies.
            pub fn runtime(&self) -> &'a Runtime {
                self.elements.runtime()
            }

            pub(crate) fn place(&self) -> Place {
                self.place
            }
        }

        impl<T: DeviceCopy> std::fmt::Debug for $matrix<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let (element, Place { rows, columns, batch, .. }) = (std::any::type_name::<T>(), self.place);
                write!(f, "{}<{element}>({batch} of {rows}x{columns} on {})", stringify!($matrix), self.runtime())
            }
        }
    };
}
common!(MatrixView, View);
common!(MatrixViewMut, ViewMut);

impl<'a, T: DeviceCopy> MatrixView<'a, T> {
    /// All elements of the view behind it.
    pub fn elements(&self) -> View<'a, T> {
        self.elements
    }
}

impl<'a, T: DeviceCopy> MatrixViewMut<'a, T> {
    /// All elements of the view behind it.
    pub fn into_elements(self) -> ViewMut<'a, T> {
        self.elements
    }

    /// The same for a shorter time, to hand over more than once.
    pub fn reborrow(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut { elements: self.elements.reborrow(), place: self.place }
    }
}

impl<'a, T: DeviceCopy> From<&'a Matrix<T>> for MatrixView<'a, T> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        let (rows, columns) = matrix.shape();
        Self { elements: matrix.as_view(), place: Place::columns(rows, columns, rows) }
    }
}

impl<'a, T: DeviceCopy> From<&MatrixView<'a, T>> for MatrixView<'a, T> {
    fn from(matrix: &MatrixView<'a, T>) -> Self {
        *matrix
    }
}

impl<'a, T: DeviceCopy> From<&'a mut Matrix<T>> for MatrixViewMut<'a, T> {
    fn from(matrix: &'a mut Matrix<T>) -> Self {
        let (rows, columns) = matrix.shape();
        Self { elements: matrix.as_view_mut(), place: Place::columns(rows, columns, rows) }
    }
}

impl<T: DeviceCopy> Matrix<T> {
    /// The transpose, as a factor of [`Ops::linear`](crate::ops::Ops::linear); nothing is moved.
    pub fn t(&self) -> MatrixView<'_, T> {
        MatrixView::from(self).t()
    }

    /// The transpose to write, as a result of [`Ops::linear`](crate::ops::Ops::linear): a row-major one.
    pub fn t_mut(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut::from(self).t()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_stay_inside_their_elements() {
        let buffer = Runtime::cpu().buffer_from(&[0.0f32; 10]).unwrap();
        let view = buffer.as_view();
        assert_eq!(MatrixView::column_major(view, (3, 3), 3).unwrap().shape(), (3, 3));
        assert_eq!(MatrixView::row_major(view, (2, 3), 7).unwrap().t().shape(), (3, 2));
        for refused in [
            MatrixView::column_major(view, (3, 3), 2).unwrap_err(),
            MatrixView::column_major(view, (3, 3), 4).unwrap_err(),
            MatrixView::row_major(view, (usize::MAX, 2), 2).unwrap_err(),
            MatrixView::row_major(view, (2, 2), 2).unwrap().batch(3, 4).unwrap_err(),
        ] {
            assert!(matches!(refused, Error::MatrixLayout { .. }), "{refused}");
        }
        // Without elements nothing is reached.
        assert_eq!(MatrixView::column_major(view, (0, 1 << 40), 0).unwrap().shape(), (0, 1 << 40));
    }
}
