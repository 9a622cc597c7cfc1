//! Matrix products on every device: all transposes, odd shapes, alpha and beta, empty extents, against f64; where kernels run also bit
//! for bit against sums in the promised order.

use rand::RngExt;
use warpsmith::ops::Ops;
use warpsmith::{Error, Matrix, Runtime};
use warpsmith_tests::{TestResult, Tests, random, same_bits, uniform};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("all_transposes", all_transposes),
        ("empty_extents", empty_extents),
        ("shapes_must_agree", shapes_must_agree),
    ],
    heavy: &[("more_tiles_than_blocks_along_y", many_columns)],
    ..Tests::NONE
};

/// The factors of one product.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    transposed: (bool, bool),
    alpha: f32,
    beta: f32,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Product {
    fn run(&self, runtime: &Runtime) -> warpsmith::Result<Vec<f32>> {
        let &Self { m, n, k, alpha, beta, .. } = self;
        let shape = |transposed, rows, columns| if transposed { (columns, rows) } else { (rows, columns) };
        let ((a_rows, a_columns), (b_rows, b_columns)) =
            (shape(self.transposed.0, m, k), shape(self.transposed.1, k, n));
        let a = Matrix::from_columns(runtime, a_rows, a_columns, &self.a)?;
        let b = Matrix::from_columns(runtime, b_rows, b_columns, &self.b)?;
        let mut c = Matrix::from_columns(runtime, m, n, &self.c)?;
        let ops = Ops::new(runtime);
        match self.transposed {
            (false, false) => ops.gemm(alpha, &a, &b, beta, &mut c)?,
            (false, true) => ops.gemm(alpha, &a, b.t(), beta, &mut c)?,
            (true, false) => ops.gemm(alpha, a.t(), &b, beta, &mut c)?,
            (true, true) => ops.gemm(alpha, a.t(), b.t(), beta, &mut c)?,
        }
        c.as_view().to_vec()
    }

    fn factors(&self, element: usize) -> impl Iterator<Item = (f32, f32)> {
        let (row, column) = (element % self.m, element / self.m);
        (0..self.k).map(move |i| {
            let a = if self.transposed.0 { self.a[i + row * self.k] } else { self.a[row + i * self.m] };
            let b = if self.transposed.1 { self.b[column + i * self.n] } else { self.b[i + column * self.k] };
            (a, b)
        })
    }

    /// Each element within k·2⁻²⁴ (and the roundings of alpha and beta) of the exact one, relative to the sum of magnitudes.
    fn compare_with_f64(&self, got: &[f32]) -> TestResult {
        for (element, &got) in got.iter().enumerate() {
            let old = if self.beta == 0.0 { 0.0 } else { f64::from(self.beta) * f64::from(self.c[element]) };
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for (a, b) in self.factors(element) {
                let product = f64::from(a) * f64::from(b);
                sum += product;
                magnitude += product.abs();
            }
            let exact = f64::from(self.alpha) * sum + old;
            let bound = (self.k + 2) as f64 * 2f64.powi(-24) * (f64::from(self.alpha).abs() * magnitude + old.abs());
            let error = (f64::from(got) - exact).abs();
            if error.is_nan() || error > bound {
                let Self { m, n, k, transposed, .. } = self;
                return Err(format!(
                    "{m}x{n}x{k} {transposed:?}: [{element}] = {got}, expected {exact} within {bound}"
                )
                .into());
            }
        }
        Ok(())
    }

    /// In order of k with fused multiply-add, as the GPU's kernels promise.
    fn ordered(&self) -> Vec<f32> {
        (0..self.m * self.n)
            .map(|element| {
                let sum = self.factors(element).fold(0.0f32, |sum, (a, b)| a.mul_add(b, sum));
                let product = self.alpha * sum;
                if self.beta == 0.0 { product } else { self.beta.mul_add(self.c[element], product) }
            })
            .collect()
    }
}

fn all_transposes(runtime: &Runtime) -> TestResult {
    let mut random = random("matmul");
    let mut shapes = vec![(1, 1, 1), (64, 64, 64), (65, 129, 17), (127, 1, 300), (1, 200, 33), (256, 100, 1)];
    shapes.extend(
        (0..6).map(|_| (random.random_range(1..150), random.random_range(1..150), random.random_range(1..150))),
    );
    for (m, n, k) in shapes {
        for transposed in [(false, false), (false, true), (true, false), (true, true)] {
            for (alpha, beta) in [(1.0, 0.0), (-0.5, 2.0)] {
                let (a, b) = (uniform(&mut random, m * k), uniform(&mut random, k * n));
                let c = if beta == 0.0 { vec![f32::NAN; m * n] } else { uniform(&mut random, m * n) };
                let product = Product { m, n, k, transposed, alpha, beta, a, b, c };
                let got = product.run(runtime)?;
                product.compare_with_f64(&got)?;
                if runtime.runs_kernels() {
                    same_bits(&format!("{m}x{n}x{k} {transposed:?}"), &got, &product.ordered())?;
                }
            }
        }
    }
    Ok(())
}

fn empty_extents(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    // k = 0: the product is zero, and beta still counts.
    let (a, b) = (Matrix::zeros(runtime, 3, 0)?, Matrix::zeros(runtime, 0, 2)?);
    let mut c = Matrix::from_columns(runtime, 3, 2, &[f32::NAN; 6])?;
    ops.matmul(&a, &b, &mut c)?;
    assert_eq!(c.as_view().to_vec()?, [0.0; 6]);
    let mut c = Matrix::from_columns(runtime, 3, 2, &[2.0; 6])?;
    ops.gemm(1.0, &a, &b, 3.0, &mut c)?;
    assert_eq!(c.as_view().to_vec()?, [6.0; 6]);
    // m = 0 or n = 0: nothing to do.
    for (m, n) in [(0, 4), (4, 0), (0, 0)] {
        let (a, b) = (Matrix::zeros(runtime, m, 5)?, Matrix::zeros(runtime, 5, n)?);
        ops.matmul(&a, &b, &mut Matrix::zeros(runtime, m, n)?)?;
    }
    Ok(())
}

fn shapes_must_agree(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (a, b) = (Matrix::zeros(runtime, 2, 3)?, Matrix::zeros(runtime, 4, 5)?);
    let mut c = Matrix::zeros(runtime, 2, 5)?;
    let error = ops.matmul(&a, &b, &mut c).unwrap_err();
    assert!(matches!(error, Error::ShapeMismatch { left: (2, 3), right: (4, 5), .. }), "{error}");
    let b = Matrix::zeros(runtime, 3, 4)?;
    let error = ops.matmul(&a, &b, &mut c).unwrap_err();
    assert!(matches!(error, Error::ShapeMismatch { left: (2, 4), right: (2, 5), .. }), "{error}");
    Ok(())
}

/// n so large that its tiles don't fit a grid's y axis.
fn many_columns(runtime: &Runtime) -> TestResult {
    let (m, k, n) = (1, 1, 65536 * 64);
    let columns: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let a = Matrix::from_columns(runtime, m, k, &[2.0])?;
    let b = Matrix::from_columns(runtime, k, n, &columns)?;
    let mut c = Matrix::from_columns(runtime, m, n, &vec![f32::NAN; n])?;
    Ops::new(runtime).matmul(&a, &b, &mut c)?;
    let want: Vec<f32> = columns.iter().map(|x| 2.0 * x).collect();
    same_bits("2 x", &c.as_view().to_vec()?, &want)
}
