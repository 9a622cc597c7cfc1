//! Softmax, log-softmax, softmin and masked softmax on every device: against f64, against each other bit for bit, and at the edges.

use warpsmith::ops::Ops;
use warpsmith::{Element, Has, Kernels, Matrix, Runtime, bf16, f16};
use warpsmith_gpu::kernels::{
    LogSoftmax, MaskedSoftmax, Normalizer, Softmax, Softmin, softmax_backward, softmax_forward,
};
use warpsmith_tests::{TestResult, Tests, random, uniform};

use crate::map::{Bits, same};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("f32", family::<f32>),
        ("f16", family::<f16>),
        ("bf16", family::<bf16>),
        ("lines_of_infinities", infinities),
        ("large_numbers", large_numbers),
        ("certain_lines", certain),
        ("empty", empty),
    ],
    ..Tests::NONE
};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

fn family<T: Bits + Element<Compute = f32>>(runtime: &Runtime) -> TestResult
where
    Kernels: Has<softmax_forward<Softmax, T>>
        + Has<softmax_forward<LogSoftmax, T>>
        + Has<softmax_forward<Softmin, T>>
        + Has<softmax_forward<MaskedSoftmax, T>>
        + Has<softmax_backward<Softmax, T>>
        + Has<softmax_backward<LogSoftmax, T>>
        + Has<softmax_backward<Softmin, T>>
        + Has<softmax_backward<MaskedSoftmax, T>>,
{
    for (rows, columns) in [(1, 4), (10, 33), (32, 7), (1000, 9), (1025, 3), (5000, 2)] {
        one::<Softmax, T>(runtime, Softmax, rows, columns)?;
        one::<LogSoftmax, T>(runtime, LogSoftmax, rows, columns)?;
        one::<Softmin, T>(runtime, Softmin, rows, columns)?;
        one::<MaskedSoftmax, T>(runtime, MaskedSoftmax, rows, columns)?;
    }
    Ok(())
}

fn one<K: Normalizer + Copy, T: Bits + Element<Compute = f32>>(
    runtime: &Runtime,
    kind: K,
    rows: usize,
    columns: usize,
) -> TestResult
where
    Kernels: Has<softmax_forward<K, T>> + Has<softmax_backward<K, T>>,
{
    let mut random = random(K::NAME);
    let mut draw =
        || -> Vec<T> { uniform(&mut random, rows * columns).into_iter().map(|x| T::from_single(6.0 * x)).collect() };
    let (x, dy) = (draw(), draw());
    let run = |runtime: &Runtime| -> Result<(Vec<T>, Vec<T>), Box<dyn std::error::Error>> {
        let ops = Ops::new(runtime);
        let (device_x, device_dy) =
            (Matrix::from_columns(runtime, rows, columns, &x)?, Matrix::from_columns(runtime, rows, columns, &dy)?);
        let (mut y, mut dx) = (Matrix::zeros(runtime, rows, columns)?, Matrix::zeros(runtime, rows, columns)?);
        ops.softmax_forward(kind, &device_x, &mut y)?;
        ops.softmax_backward(kind, &y, &device_dy, &mut dx)?;
        Ok((y.buffer().to_vec()?, dx.buffer().to_vec()?))
    };
    let (y, dx) = run(runtime)?;
    let name = format!("{} {} {rows} x {columns}", K::NAME, T::NAME);
    // The same bits as on the CPU: the sums have one order.
    let (native_y, native_dx) = run(&Runtime::cpu())?;
    same(runtime, &name, &x, &y, |i| native_y[i])?;
    same(runtime, &name, &x, &dx, |i| native_dx[i])?;

    // The storage's last place, and a few of f32's for the sums.
    let last_place = if T::NAME == "bf16" {
        2_f64.powi(-8)
    } else if T::NAME == "f16" {
        2_f64.powi(-11)
    } else {
        0.0
    };
    for column in 0..columns {
        let wide = |v: &[T]| -> Vec<f64> { v[column * rows..][..rows].iter().map(|x| f64::from(x.load())).collect() };
        let (x, y, dy, dx) = (wide(&x), wide(&y), wide(&dy), wide(&dx));
        let signed = |x: f64| if K::NEGATED { -x } else { x };
        let sum: f64 = x.iter().map(|&x| signed(x).exp()).sum();
        let exact: Vec<f64> = x.iter().map(|&x| signed(x).exp() / sum).collect();
        // Near 0 the logarithm of a number near 1 would be less exact, also in f64, than what is tested.
        let peak = (0..rows).max_by(|&i, &j| signed(x[i]).total_cmp(&signed(x[j]))).unwrap_or(0);
        let below = |i: usize| signed(x[i]) - signed(x[peak]);
        let logarithm = (0..rows).filter(|&i| i != peak).map(|i| below(i).exp()).sum::<f64>().ln_1p();
        for i in 0..rows {
            let want = if K::LOGARITHM { below(i) - logarithm } else { exact[i] };
            // f16 has no small numbers.
            let small = if T::NAME == "f16" { 6e-8 } else { 0.0 };
            let tolerance = (last_place + 2e-6) * want.abs() + small + 1e-37;
            if (y[i] - want).abs() > tolerance {
                return Err(format!("{name}: [{i}, {column}] is {:e}, not {want:e}", y[i]).into());
            }
        }
        let product: f64 = if K::LOGARITHM { dy.iter().sum() } else { y.iter().zip(&dy).map(|(y, dy)| y * dy).sum() };
        let size: f64 = dy.iter().map(|dy| dy.abs()).sum::<f64>();
        for i in 0..rows {
            let want = if K::LOGARITHM { dy[i] - y[i].exp() * product } else { signed(y[i] * (dy[i] - product)) };
            if (dx[i] - want).abs() > (last_place + 2e-6) * want.abs() + 1e-7 * size {
                return Err(format!("{name}: gradient [{i}, {column}] is {:e}, not {want:e}", dx[i]).into());
            }
        }
    }
    Ok(())
}

fn infinities(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let lines = [[-INF, -INF, -INF], [0.0, -INF, 0.0], [-INF, NAN, 1.0], [-INF, -INF, NAN], [INF, 0.0, 0.0]];
    let x = Matrix::from_columns(runtime, 3, 5, lines.as_flattened())?;
    let mut y = Matrix::zeros(runtime, 3, 5)?;
    let check = |what: &str, y: &Matrix<f32>, want: [[f32; 3]; 5]| -> TestResult {
        let got = y.buffer().to_vec()?;
        same(runtime, what, lines.as_flattened(), &got, |i| want.as_flattened()[i])
    };
    let nan = [NAN; 3];
    ops.softmax_forward(Softmax, &x, &mut y)?;
    check("softmax", &y, [nan, [0.5, 0.0, 0.5], nan, nan, nan])?;
    ops.softmax_forward(LogSoftmax, &x, &mut y)?;
    check("log-softmax", &y, [nan, [-core::f32::consts::LN_2, -INF, -core::f32::consts::LN_2], nan, nan, nan])?;
    ops.softmax_forward(MaskedSoftmax, &x, &mut y)?;
    check("masked softmax", &y, [[0.0; 3], [0.5, 0.0, 0.5], nan, nan, nan])?;
    let dy = Matrix::from_columns(runtime, 3, 5, &[1.0f32; 15])?;
    let mut dx = Matrix::zeros(runtime, 3, 5)?;
    ops.softmax_backward(MaskedSoftmax, &y, &dy, &mut dx)?;
    check("masked softmax's gradient", &dx, [[0.0; 3], [0.0; 3], nan, nan, nan])
}

/// exp of these overflows; their differences count.
fn large_numbers(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let x = Matrix::from_columns(runtime, 3, 2, &[1000.0f32, 1000.0, -1000.0, 3e38, 3e38, -3e38])?;
    let mut y = Matrix::zeros(runtime, 3, 2)?;
    ops.softmax_forward(Softmax, &x, &mut y)?;
    assert_eq!(y.buffer().to_vec()?, [0.5, 0.5, 0.0, 0.5, 0.5, 0.0]);
    ops.softmax_forward(LogSoftmax, &x, &mut y)?;
    let got = y.buffer().to_vec()?;
    assert!((got[0] + std::f32::consts::LN_2).abs() < 1e-6 && (got[2] + 2000.693).abs() < 1e-2, "{got:?}");
    Ok(())
}

/// One element far above the others: its log-softmax is minus their sum, a small number that a sum with 1 would round away.
fn certain(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    for (rows, below) in [(2, 5.0_f32), (2, 20.0), (33, 12.0), (1500, 30.0), (2000, 80.0)] {
        for peak in [0, rows / 2, rows - 1] {
            let line: Vec<f32> = (0..rows).map(|i| if i == peak { 3.0 } else { 3.0 - below }).collect();
            let x = Matrix::from_columns(runtime, rows, 1, &line)?;
            let mut y = Matrix::zeros(runtime, rows, 1)?;
            ops.softmax_forward(LogSoftmax, &x, &mut y)?;
            let got = f64::from(y.buffer().to_vec()?[peak]);
            let want = -((rows - 1) as f64 * (-f64::from(below)).exp()).ln_1p();
            if (got / want - 1.0).abs() > 1e-6 {
                return Err(format!("{rows} rows, {below} below: {got:e}, not {want:e}").into());
            }
        }
    }
    // Two of the largest.
    let x = Matrix::from_columns(runtime, 3, 1, &[7.0f32, 7.0, -60.0])?;
    let mut y = Matrix::zeros(runtime, 3, 1)?;
    ops.softmax_forward(LogSoftmax, &x, &mut y)?;
    assert_eq!(y.buffer().to_vec()?[0], -core::f32::consts::LN_2);
    Ok(())
}

fn empty(runtime: &Runtime) -> TestResult {
    for (rows, columns) in [(0, 3), (3, 0)] {
        let (x, mut y) = (Matrix::<f32>::zeros(runtime, rows, columns)?, Matrix::zeros(runtime, rows, columns)?);
        Ops::new(runtime).softmax_forward(Softmax, &x, &mut y)?;
    }
    runtime.synchronize()?;
    Ok(())
}
