//! The gradients of a linear layer: against finite differences in f64, and against closed sums; and products in all element types.

use test_kernels::TestKernels;
use warpsmith::ops::{HasGemm, Ops};
use warpsmith::{Element, Matrix, Runtime, bf16, f16};
use warpsmith_gpu::Activation;
use warpsmith_gpu::activations::{GeluErf, Tanh};
use warpsmith_gpu::epilogue::{Activated, Biased, Saved, Sum};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random, uniform};

pub const TESTS: Tests = Tests {
    everywhere: &[("finite_differences", finite_differences), ("sixteen_bits_round_once", sixteen_bits)],
    ..Tests::NONE
};

fn test_ops(runtime: &Runtime) -> warpsmith::Result<Ops<TestKernels>> {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    Ok(Ops::on(runtime.default_stream()))
}

/// Two layers, y = v · tanh(w · x + b), with loss = Σ g ⊙ y.
struct Network {
    x: Vec<f64>,
    w: Vec<f64>,
    b: Vec<f64>,
    v: Vec<f64>,
    g: Vec<f64>,
}

const INPUTS: usize = 5;
const HIDDEN: usize = 17;
const OUTPUTS: usize = 3;
const SAMPLES: usize = 9;

impl Network {
    fn loss(&self) -> f64 {
        let mut loss = 0.0;
        for s in 0..SAMPLES {
            for h in 0..HIDDEN {
                let z = (0..INPUTS).fold(self.b[h], |z, i| z + self.w[h + i * HIDDEN] * self.x[i + s * INPUTS]);
                let upstream: f64 = (0..OUTPUTS).map(|o| self.g[o + s * OUTPUTS] * self.v[o + h * OUTPUTS]).sum();
                loss += z.tanh() * upstream;
            }
        }
        loss
    }

    /// (loss(p + h) - loss(p - h)) / 2h for each element of one parameter.
    fn differences(&mut self, parameter: fn(&mut Self) -> &mut Vec<f64>) -> Vec<f64> {
        const STEP: f64 = 1e-5;
        (0..parameter(self).len())
            .map(|i| {
                let mut moved = |step| {
                    parameter(self)[i] += step;
                    self.loss()
                };
                let (above, below) = (moved(STEP), moved(-2.0 * STEP));
                moved(STEP);
                (above - below) / (2.0 * STEP)
            })
            .collect()
    }
}

fn expect_near(what: &str, got: &[f64], want: &[f64]) -> TestResult {
    if got.len() != want.len() {
        return Err(format!("{what}: {} elements, expected {}", got.len(), want.len()).into());
    }
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        // The differences' own error: step² and the loss's rounding over the step.
        let error = (got - want).abs();
        if error.is_nan() || error > 1e-8 {
            return Err(format!("{what}: [{i}] is {got}, finite differences give {want}").into());
        }
    }
    Ok(())
}

fn finite_differences(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    let mut random = random("network");
    let mut draw = |count| uniform(&mut random, count).into_iter().map(f64::from).collect::<Vec<_>>();
    let mut network = Network {
        x: draw(INPUTS * SAMPLES),
        w: draw(HIDDEN * INPUTS),
        b: draw(HIDDEN),
        v: draw(OUTPUTS * HIDDEN),
        g: draw(OUTPUTS * SAMPLES),
    };
    let x = Matrix::from_columns(runtime, INPUTS, SAMPLES, &network.x)?;
    let w = Matrix::from_columns(runtime, HIDDEN, INPUTS, &network.w)?;
    let v = Matrix::from_columns(runtime, OUTPUTS, HIDDEN, &network.v)?;
    let g = Matrix::from_columns(runtime, OUTPUTS, SAMPLES, &network.g)?;
    let b = runtime.buffer_from(&network.b)?;
    let (mut z, mut a) = (Matrix::zeros(runtime, HIDDEN, SAMPLES)?, Matrix::zeros(runtime, HIDDEN, SAMPLES)?);
    ops.linear(&w, &x).bias(&b).activation(Tanh).save_preactivation(&mut z).into(&mut a)?;

    let second = ops.linear_backward(&a, &v, &g);
    let (mut dz, mut db) = (Matrix::zeros(runtime, HIDDEN, SAMPLES)?, runtime.filled(HIDDEN, f64::NAN)?);
    second.input_through(Tanh, &z, &mut dz, &mut db)?;
    let (mut dv, mut dc) = (Matrix::<f64>::zeros(runtime, OUTPUTS, HIDDEN)?, runtime.filled(OUTPUTS, f64::NAN)?);
    second.weights(&mut dv, &mut dc)?;
    let first = ops.linear_backward(&x, &w, &dz).run()?;

    expect_near("db", &db.to_vec()?, &network.differences(|network| &mut network.b))?;
    expect_near("db again", &first.db.to_vec()?, &db.to_vec()?)?;
    expect_near("dw", &first.dw.as_view().to_vec()?, &network.differences(|network| &mut network.w))?;
    expect_near("dx", &first.dx.as_view().to_vec()?, &network.differences(|network| &mut network.x))?;
    expect_near("dv", &dv.as_view().to_vec()?, &network.differences(|network| &mut network.v))?;
    let sums: Vec<f64> = (0..OUTPUTS).map(|o| (0..SAMPLES).map(|s| network.g[o + s * OUTPUTS]).sum()).collect();
    expect_near("the sum of g", &dc.to_vec()?, &sums)
}

/// Storage of 16 bits: arithmetic in f32, one rounding of the value and one of what is saved.
fn sixteen_bits(runtime: &Runtime) -> TestResult {
    fn check<T>(runtime: &Runtime, ops: &Ops<TestKernels>, half_ulp: f64) -> TestResult
    where
        T: Element<Compute = f32>,
        TestKernels: HasGemm<Activated<Saved<Biased<Sum>>, GeluErf>, T, T>,
    {
        let mut random = random(T::NAME);
        for (m, n, k) in [(16, 8, 8), (17, 5, 33)] {
            let mut draw = |count| uniform(&mut random, count).into_iter().map(T::store).collect::<Vec<T>>();
            let (a, b, bias) = (draw(m * k), draw(k * n), draw(m));
            let on_a = Matrix::from_columns(runtime, m, k, &a)?;
            let on_b = Matrix::from_columns(runtime, k, n, &b)?;
            let on_bias = runtime.buffer_from(&bias)?;
            let nan = vec![T::store(f32::NAN); m * n];
            let (mut z, mut y) =
                (Matrix::from_columns(runtime, m, n, &nan)?, Matrix::from_columns(runtime, m, n, &nan)?);
            ops.linear(&on_a, &on_b).bias(&on_bias).activation(GeluErf).save_preactivation(&mut z).into(&mut y)?;
            let (z, y) = (z.as_view().to_vec()?, y.as_view().to_vec()?);
            for i in 0..m * n {
                let product = |l: usize| f64::from(a[i % m + l * m].load()) * f64::from(b[l + i / m * k].load());
                let sum = (0..k).fold(f64::from(bias[i % m].load()), |sum, l| sum + product(l));
                let (z, y) = (f64::from(z[i].load()), f64::from(y[i].load()));
                let want = GeluErf.forward(sum);
                assert!((z - sum).abs() <= half_ulp * sum.abs() + 1e-5, "{}: z[{i}] = {z}, expected {sum}", T::NAME);
                assert!((y - want).abs() <= half_ulp * want.abs() + 1e-5, "{}: y[{i}] = {y}, expected {want}", T::NAME);
            }
        }
        Ok(())
    }
    let ops = test_ops(runtime)?;
    check::<f16>(runtime, &ops, 2f64.powi(-11))?;
    check::<bf16>(runtime, &ops, 2f64.powi(-8))
}
