//! Matrix multiplication in true f32.
//!
//! On a GPU the sums run in order of k with fused multiply-add, so that the tiled kernel gives the bits of the naive one. On the
//! CPU the crate `matrixmultiply` does it, in an order of its own: each sum is within k·2⁻²⁴ of the exact one, relative to the
//! sum of the products' magnitudes, but not bit for bit the GPU's.

use cuda_std::Has;
use warpsmith_gpu::Kernels;
use warpsmith_gpu::kernels::{MatmulShape, Normal, Orientation, TILE, Transposed, matmul_naive, matmul_tiled};

use super::Ops;
use crate::{Error, Matrix, Result, Shape, View};

/// A matrix as a factor: as it is (`&m`) or transposed (`m.t()`).
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    matrix: &'a Matrix<f32>,
    transposed: bool,
}

impl<'a> From<&'a Matrix<f32>> for Operand<'a> {
    fn from(matrix: &'a Matrix<f32>) -> Self {
        Self { matrix, transposed: false }
    }
}

impl Matrix<f32> {
    /// The transpose, as a factor of [`Ops::matmul`]; nothing is moved.
    pub fn t(&self) -> Operand<'_> {
        Operand { matrix: self, transposed: true }
    }
}

impl Operand<'_> {
    fn shape(&self) -> (usize, usize) {
        let (rows, columns) = self.matrix.shape();
        if self.transposed { (columns, rows) } else { (rows, columns) }
    }

    /// Distances in memory between rows and between columns.
    fn strides(&self) -> (isize, isize) {
        let leading = self.matrix.rows() as isize;
        if self.transposed { (leading, 1) } else { (1, leading) }
    }
}

/// # Matrix products
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
    /// [`Error::ShapeMismatch`], and those of a launch.
    pub fn matmul<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, c: &mut Matrix<f32>) -> Result<()> {
        self.gemm(1.0, a, b, 0.0, c)
    }

    /// c = alpha * a · b + beta * c. With beta = 0 the old c isn't read; with an empty sum (k = 0) the product is zero.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    pub fn gemm<'a>(
        &self,
        alpha: f32,
        a: impl Into<Operand<'a>>,
        b: impl Into<Operand<'a>>,
        beta: f32,
        c: &mut Matrix<f32>,
    ) -> Result<()> {
        let (a, b) = (a.into(), b.into());
        let shape = product_shape(alpha, a, b, beta, c)?;
        if c.is_empty() {
            return Ok(());
        }
        if !self.runtime().runs_kernels() {
            return self.native_gemm(shape, a, b, c);
        }
        match (a.transposed, b.transposed) {
            (false, false) => self.launch_gemm::<Normal, Normal>(shape, a, b, c),
            (false, true) => self.launch_gemm::<Normal, Transposed>(shape, a, b, c),
            (true, false) => self.launch_gemm::<Transposed, Normal>(shape, a, b, c),
            (true, true) => self.launch_gemm::<Transposed, Transposed>(shape, a, b, c),
        }
    }

    fn launch_gemm<A: Orientation, B: Orientation>(
        &self,
        shape: MatmulShape,
        a: Operand<'_>,
        b: Operand<'_>,
        c: &mut Matrix<f32>,
    ) -> Result<()>
    where
        Kernels: Has<matmul_tiled<A, B>> + Has<matmul_naive<A, B>>,
    {
        let (a, b) = (View::from(a.matrix), View::from(b.matrix));
        let MatmulShape { m, n, .. } = shape;
        // Tiles along n are blocks along y, of which there are at most 65535: beyond, the kernel that strides takes over.
        match Shape::for_extents([m.div_ceil(TILE), n.div_ceil(TILE), 1], [1, 1, 1]) {
            Ok(tiles) => {
                let grid = Shape { block: [256, 1, 1], ..tiles };
                self.kernel::<matmul_tiled<A, B>>()?.launch(&self.stream, grid, (shape, a, b, c))
            }
            Err(_) => {
                let grid = self.strided(m * n, 1)?;
                self.kernel::<matmul_naive<A, B>>()?.launch(&self.stream, grid, (shape, a, b, c))
            }
        }
    }

    fn native_gemm(&self, shape: MatmulShape, a: Operand<'_>, b: Operand<'_>, c: &mut Matrix<f32>) -> Result<()> {
        let MatmulShape { m, n, k, alpha, beta } = shape;
        let ((a_row, a_column), (b_row, b_column)) = (a.strides(), b.strides());
        let a = self.slice("matmul", a.matrix.as_view())?;
        let b = self.slice("matmul", b.matrix.as_view())?;
        let c = self.slice_mut("matmul", c.as_view_mut())?;
        // SAFETY: the strides address exactly the elements of the three matrices, whose shapes agree.
        unsafe {
            matrixmultiply::sgemm(
                m,
                k,
                n,
                alpha,
                a.as_ptr(),
                a_row,
                a_column,
                b.as_ptr(),
                b_row,
                b_column,
                beta,
                c.as_mut_ptr(),
                1,
                m as isize,
            );
        }
        Ok(())
    }
}

fn product_shape(alpha: f32, a: Operand<'_>, b: Operand<'_>, beta: f32, c: &Matrix<f32>) -> Result<MatmulShape> {
    let ((m, k), (b_rows, n)) = (a.shape(), b.shape());
    let mismatch = |left_name, left, right_name, right, rule| Error::ShapeMismatch {
        operation: "matmul",
        left_name,
        left,
        right_name,
        right,
        rule,
    };
    if k != b_rows {
        return Err(mismatch("a", a.shape(), "b", b.shape(), "the columns of a must equal the rows of b"));
    }
    if c.shape() != (m, n) {
        return Err(mismatch(
            "a · b",
            (m, n),
            "c",
            c.shape(),
            "the result must have the rows of a and the columns of b",
        ));
    }
    Ok(MatmulShape { m, n, k, alpha, beta })
}
