//! Maxout: the largest of several pieces of the features.

use cuda_std::{Global, GlobalMut, Has};
use warpsmith_gpu::elementwise::{Extents, Lines};
use warpsmith_gpu::kernels::{Largest, LargestBackward, maxout_forward, maxout2_backward, maxout4_backward};
use warpsmith_gpu::{Element, Packed};

use super::{Ops, expect_same_shape, native};
use crate::{Error, Matrix, Result};

/// # Maxout
impl<L: cuda_std::Library> Ops<L> {
    /// `y[i, j]` = the largest of `x[i, j], x[i + n, j], ...` with the n rows of y: x has `K` times as many.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], and those of a launch.
    pub fn maxout_forward<T, const K: usize>(&self, x: &Matrix<T>, y: &mut Matrix<T>) -> Result<()>
    where
        T: Element,
        L: Has<maxout_forward<T, K>>,
    {
        const OPERATION: &str = "maxout_forward";
        let extents = extents::<T, K>(OPERATION, x, y)?;
        if !self.runtime().runs_kernels() {
            let x = Global::from_slice(self.slice(OPERATION, x.as_view())?);
            let inputs: [_; K] = std::array::from_fn(|k| Lines::read(&x, k * extents.len, K * extents.len, extents));
            let y = GlobalMut::from_slice(self.slice_mut(OPERATION, y.as_view_mut())?);
            let outputs = [Lines::written(&y, 0, extents.len, extents)];
            // SAFETY: the output is exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, Largest) };
            return Ok(());
        }
        let kernel = self.kernel::<maxout_forward<T, K>>()?;
        kernel.launch(&self.stream, self.covering(extents, T::Pack::LANES), (extents, x, y))
    }
}

macro_rules! backward {
    ($($name:ident: $pieces:literal, $inputs:literal, $($index:literal)*;)*) => {
        /// # Maxout's gradient
        impl<L: cuda_std::Library> Ops<L> {$(
            #[doc = concat!("The gradient of maxout with ", stringify!($pieces), " pieces: dy goes to the largest, the first of equal ones.")]
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`], and those of a launch.
            pub fn $name<T>(&self, x: &Matrix<T>, dy: &Matrix<T>, dx: &mut Matrix<T>) -> Result<()>
            where
                T: Element,
                L: Has<$name<T>>,
            {
                const OPERATION: &str = stringify!($name);
                let extents = extents::<T, $pieces>(OPERATION, x, dy)?;
                expect_same_shape(OPERATION, ("x", x), ("dx", dx))?;
                let pitch = $pieces * extents.len;
                if !self.runtime().runs_kernels() {
                    let x = Global::from_slice(self.slice(OPERATION, x.as_view())?);
                    let dy = Global::from_slice(self.slice(OPERATION, dy.as_view())?);
                    let inputs: [_; $inputs] = [
                        $(Lines::read(&x, $index * extents.len, pitch, extents),)*
                        Lines::read(&dy, 0, extents.len, extents),
                    ];
                    let dx = GlobalMut::from_slice(self.slice_mut(OPERATION, dx.as_view_mut())?);
                    let outputs: [_; $pieces] = [$(Lines::written(&dx, $index * extents.len, pitch, extents)),*];
                    // SAFETY: the output is exclusively borrowed, and its pieces don't overlap.
                    unsafe { native::each(inputs, outputs, extents, LargestBackward) };
                    return Ok(());
                }
                let kernel = self.kernel::<$name<T>>()?;
                kernel.launch(&self.stream, self.covering(extents, T::Pack::LANES), (extents, x, dy, dx))
            }
        )*}
    };
}
backward! {
    maxout2_backward: 2, 3, 0 1;
    maxout4_backward: 4, 5, 0 1 2 3;
}

fn extents<T: Element, const K: usize>(operation: &'static str, x: &Matrix<T>, y: &Matrix<T>) -> Result<Extents> {
    if x.rows() != K * y.rows() || x.columns() != y.columns() {
        return Err(Error::ShapeMismatch {
            operation,
            left_name: "x",
            left: x.shape(),
            right_name: "the result",
            right: y.shape(),
            rule: "x has a whole number of pieces of the result's rows, and as many columns",
        });
    }
    Ok(Extents { len: y.rows(), lines: y.columns() })
}
