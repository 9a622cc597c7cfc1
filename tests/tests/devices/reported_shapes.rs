//! Shapes and places at which other libraries' kernels went wrong, for each operation that can meet them: nothing at all, more lines than a
//! grid has blocks in y, parts of larger matrices, biases off every boundary, sums that must be the same each time.

use warpsmith::activations::{GeluErf, GeluTanh, Relu, Silu};
use warpsmith::ops::{Gemm, GemmElement, Halves, HasGemm, Ops};
use warpsmith::{Has, Kernels, Matrix, MatrixView, Runtime, Swiglu, bf16, f16};
use warpsmith_gpu::epilogue::{Activated, Biased, Sum};
use warpsmith_gpu::kernels::{LogSoftmax, Softmax, bias_activation_forward};
use warpsmith_tests::{TestResult, Tests, random, same_bits, uniform};

use crate::map::{Bits, same};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("nothing_at_all", nothing),
        ("parts_of_larger_matrices", parts),
        ("biases_at_any_address", biases),
        ("sums_are_the_same_each_time", repeated_sums),
        ("refusals_name_everything", refusals),
    ],
    heavy: &[("more_lines_than_a_grid_has_in_y", many_lines)],
    ..Tests::NONE
};

/// Each operation succeeds on empty matrices, launches nothing, and leaves no error for the next one.
fn nothing(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    for (rows, columns) in [(0, 6), (6, 0), (0, 0)] {
        let zeros = |rows: usize| Matrix::<f32>::zeros(runtime, rows, columns);
        let (x, wide, mut y, mut dx) = (zeros(rows)?, zeros(2 * rows)?, zeros(rows)?, zeros(rows)?);
        let (mut dwide, bias) = (zeros(2 * rows)?, runtime.zeros::<f32>(rows)?);
        ops.map_forward(Silu, x.as_view(), y.as_view_mut())?;
        ops.map_backward(Silu, x.as_view(), x.as_view(), dx.as_view_mut())?;
        ops.bias_activation_forward(GeluErf, &x, &bias, &mut y)?;
        ops.bias_activation_backward(GeluErf, &x, &bias, &x, &mut dx)?;
        ops.gated_halves_forward(Swiglu::default(), Halves::GateFirst, &wide, &mut y)?;
        ops.gated_halves_backward(Swiglu::default(), Halves::GateFirst, &wide, &x, &mut dwide)?;
        ops.maxout_forward::<f32, 2>(&wide, &mut y)?;
        ops.softmax_forward(Softmax, &x, &mut y)?;
        ops.softmax_backward(LogSoftmax, &y, &x, &mut dx)?;
        ops.bias_add(&bias, &mut y)?;
        let mut sums = runtime.filled(rows, 7.0f32)?;
        ops.column_sum(&x, &mut sums)?;
        assert_eq!(sums.to_vec()?, vec![0.0; rows], "the sum of nothing");
        let mut product = Matrix::zeros(runtime, rows, rows)?;
        ops.linear(&x, x.t()).bias(&bias).activation(Relu).into(&mut product)?;
        assert_eq!(product.buffer().to_vec()?, vec![0.0; rows * rows], "{rows} x {columns}");
        let (x, mut y) = (runtime.buffer_from(&[-1.0f32, 2.0])?, runtime.zeros(2)?);
        ops.map_forward(Relu, &x, &mut y)?;
        assert_eq!(y.to_vec()?, [0.0, 2.0]);
    }
    Ok(())
}

/// A grid has at most 65535 blocks along y. Lines are short, so that they go there.
fn many_lines(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (rows, columns) = (2, 300_001);
    let host = uniform(&mut random("many lines"), 2 * rows * columns);
    let x = Matrix::from_columns(runtime, rows, columns, &host[..rows * columns])?;
    let wide = Matrix::from_columns(runtime, 2 * rows, columns, &host)?;
    let bias = runtime.buffer_from(&[0.5f32, -0.5])?;
    let mut y = Matrix::zeros(runtime, rows, columns)?;
    let cpu = Runtime::cpu();
    let (cpu_ops, cpu_x) = (Ops::new(&cpu), Matrix::from_columns(&cpu, rows, columns, &host[..rows * columns])?);
    let (cpu_wide, cpu_bias) =
        (Matrix::from_columns(&cpu, 2 * rows, columns, &host)?, cpu.buffer_from(&[0.5f32, -0.5])?);
    let mut want = Matrix::zeros(&cpu, rows, columns)?;

    ops.bias_activation_forward(GeluErf, &x, &bias, &mut y)?;
    cpu_ops.bias_activation_forward(GeluErf, &cpu_x, &cpu_bias, &mut want)?;
    same_bits("bias + activation", &y.buffer().to_vec()?, &want.buffer().to_vec()?)?;
    ops.gated_halves_forward(Swiglu::default(), Halves::GateFirst, &wide, &mut y)?;
    cpu_ops.gated_halves_forward(Swiglu::default(), Halves::GateFirst, &cpu_wide, &mut want)?;
    same_bits("gated", &y.buffer().to_vec()?, &want.buffer().to_vec()?)?;
    ops.maxout_forward::<f32, 2>(&wide, &mut y)?;
    cpu_ops.maxout_forward::<f32, 2>(&cpu_wide, &mut want)?;
    same_bits("maxout", &y.buffer().to_vec()?, &want.buffer().to_vec()?)?;
    ops.softmax_forward(Softmax, &x, &mut y)?;
    cpu_ops.softmax_forward(Softmax, &cpu_x, &mut want)?;
    same_bits("softmax", &y.buffer().to_vec()?, &want.buffer().to_vec()?)?;
    // A batch of as many products.
    let row = runtime.buffer_from(&[1.0f32, -2.0])?;
    let left = MatrixView::row(row.as_view());
    let right = MatrixView::column_major(x.as_view(), (rows, 1), rows)?.batch(columns, rows)?;
    let mut products = runtime.zeros::<f32>(columns)?;
    let out = warpsmith::MatrixViewMut::column_major(products.as_view_mut(), (1, 1), 1)?.batch(columns, 1)?;
    ops.linear(left, right).into(out)?;
    let want: Vec<f32> = host[..rows * columns].chunks(rows).map(|x| (-2.0f32).mul_add(x[1], x[0])).collect();
    same_bits("batched products", &products.to_vec()?, &want)
}

/// The left half of a matrix is what it is as a matrix of its own, in all layouts.
fn parts(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (m, k, n) = (40, 24, 16);
    let mut random = random("parts");
    // Twice as many columns as are used.
    let (a, b) = (uniform(&mut random, m * 2 * k), uniform(&mut random, k * 2 * n));
    let (whole_a, whole_b) = (runtime.buffer_from(&a)?, runtime.buffer_from(&b)?);
    let half = |values: &[f32], rows: usize, columns: usize| -> Vec<f32> {
        (0..rows).flat_map(|row| values[row * 2 * columns..][..columns].to_vec()).collect()
    };
    let (own_a, own_b) = (runtime.buffer_from(&half(&a, m, k))?, runtime.buffer_from(&half(&b, k, n))?);
    let product = |a: MatrixView<'_, f32>, b: MatrixView<'_, f32>| -> warpsmith::Result<Vec<f32>> {
        let mut y = Matrix::zeros(runtime, m, n)?;
        ops.linear(a, b).activation(GeluTanh).into(&mut y)?;
        y.buffer().to_vec()
    };
    let parts = product(
        MatrixView::row_major(whole_a.as_view(), (m, k), 2 * k)?,
        MatrixView::row_major(whole_b.as_view(), (k, n), 2 * n)?,
    )?;
    let own = product(
        MatrixView::row_major(own_a.as_view(), (m, k), k)?,
        MatrixView::row_major(own_b.as_view(), (k, n), n)?,
    )?;
    same_bits("row-major halves", &parts, &own)?;
    // The same elements as columns: aᵀ is 2k x m with a leading dimension of 2k.
    let turned = product(
        MatrixView::column_major(whole_a.as_view(), (k, m), 2 * k)?.t(),
        MatrixView::column_major(whole_b.as_view(), (n, k), 2 * n)?.t(),
    )?;
    same_bits("column-major halves", &turned, &own)?;
    // A leading dimension that is too small is refused, and not read as something else.
    let error = MatrixView::row_major(whole_a.as_view(), (m, k), k - 1).unwrap_err().to_string();
    assert!(error.contains("leading dimension"), "{error}");
    Ok(())
}

/// A bias that begins at any element, and one that begins at a boundary, give the same.
fn biases(runtime: &Runtime) -> TestResult {
    fn products<T: Bits + GemmElement<Compute = f32>>(runtime: &Runtime) -> TestResult
    where
        Kernels: HasGemm<Activated<Biased<Sum>, Relu>, T, T>,
    {
        let ops = Ops::new(runtime);
        let mut random = random("biases");
        let mut draw = |n: usize| -> Vec<T> { uniform(&mut random, n).into_iter().map(T::from_single).collect() };
        // With tensor cores, and without.
        for (n, m, k) in [(64, 24, 32), (33, 7, 13)] {
            let (w, x, bias) = (draw(n * k), draw(m * k), draw(n));
            let (w, x) = (Matrix::from_columns(runtime, k, n, &w)?, Matrix::from_columns(runtime, k, m, &x)?);
            let run = |offset: usize| -> warpsmith::Result<Vec<T>> {
                let mut padded = vec![T::from_single(f32::NAN); offset];
                padded.extend_from_slice(&bias);
                let padded = runtime.buffer_from(&padded)?;
                let mut y = Matrix::zeros(runtime, n, m)?;
                ops.linear(w.t(), &x).bias(padded.slice(offset..)?).activation(Relu).into(&mut y)?;
                y.buffer().to_vec()
            };
            let want = run(0)?;
            for offset in 1..9 {
                same(runtime, &format!("{} with a bias from {offset} on", T::NAME), &want, &run(offset)?, |i| want[i])?;
            }
        }
        Ok(())
    }
    fn elementwise<T: Bits>(runtime: &Runtime) -> TestResult
    where
        Kernels: Has<bias_activation_forward<Silu, T>>,
    {
        let (rows, columns) = (48, 5);
        let host: Vec<T> = uniform(&mut random("bias"), rows * columns).into_iter().map(T::from_single).collect();
        let x = Matrix::from_columns(runtime, rows, columns, &host)?;
        let bias = runtime.buffer_from(&[&host[..9], &host[..rows]].concat())?;
        let aligned = runtime.buffer_from(&host[..rows])?;
        let (mut y, mut want) = (Matrix::zeros(runtime, rows, columns)?, Matrix::zeros(runtime, rows, columns)?);
        Ops::new(runtime).bias_activation_forward(Silu, &x, bias.slice(9..)?, &mut y)?;
        Ops::new(runtime).bias_activation_forward(Silu, &x, &aligned, &mut want)?;
        let want = want.buffer().to_vec()?;
        same(runtime, T::NAME, &host, &y.buffer().to_vec()?, |i| want[i])
    }
    products::<f16>(runtime)?;
    products::<bf16>(runtime)?;
    products::<f32>(runtime)?;
    elementwise::<f32>(runtime)?;
    elementwise::<bf16>(runtime)
}

/// Bias gradients: the same bits in each of many runs, and within the rounding of as many additions.
fn repeated_sums(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (features, samples) = (50, 1024);
    let host = uniform(&mut random("sums"), features * samples);
    let dy = Matrix::from_columns(runtime, features, samples, &host)?;
    let x = Matrix::from_columns(runtime, 1, samples, &host[..samples])?;
    let runs = if runtime.is_simulator() { 3 } else { 100 };
    let mut first: Option<(Vec<f32>, Vec<f32>)> = None;
    for _ in 0..runs {
        let (mut sums, mut db) = (runtime.zeros(features)?, runtime.zeros(features)?);
        let mut dw = Matrix::zeros(runtime, features, 1)?;
        ops.column_sum(&dy, &mut sums)?;
        ops.linear(&dy, x.t()).sum_left(&mut db).into(&mut dw)?;
        let (sums, db) = (sums.to_vec()?, db.to_vec()?);
        match &first {
            None => first = Some((sums, db)),
            Some((first_sums, first_db)) => {
                same_bits("column_sum", &sums, first_sums)?;
                same_bits("sum_left", &db, first_db)?;
            }
        }
    }
    let (sums, db) = first.unwrap_or_default();
    for feature in 0..features {
        let column = host.iter().skip(feature).step_by(features).map(|&dy| f64::from(dy));
        let (sum, magnitude) = column.fold((0.0, 0.0), |(sum, magnitude), dy| (sum + dy, magnitude + dy.abs()));
        for got in [sums[feature], db[feature]] {
            let allowed = samples as f64 * f64::from(f32::EPSILON) * magnitude;
            assert!((f64::from(got) - sum).abs() <= allowed, "feature {feature}: {got}, not {sum}");
        }
    }
    Ok(())
}

/// What no kernel can do is refused by an error that names operation, sizes, type and remedy, before anything runs.
fn refusals(runtime: &Runtime) -> TestResult {
    if !runtime.runs_kernels() {
        // There is one way to compute it.
        return Ok(());
    }
    let ops = Ops::new(runtime);
    let (w, x) = (Matrix::<f32>::zeros(runtime, 8, 16)?, Matrix::zeros(runtime, 16, 24)?);
    let bias = runtime.zeros(8)?;
    let mut y = Matrix::from_columns(runtime, 8, 24, &[5.0f32; 8 * 24])?;
    for kernel in [Gemm::Mma, Gemm::Wgmma128, Gemm::Wgmma200] {
        let call = ops.linear(&w, &x).bias(&bias).activation(Relu).using(kernel);
        let error = call.into(&mut y).unwrap_err().to_string();
        for part in ["linear", "8", "24", "16", "f32", "16-bit"] {
            assert!(error.contains(part), "`{error}` doesn't say `{part}`");
        }
    }
    assert_eq!(y.buffer().to_vec()?, [5.0; 8 * 24]);
    Ok(())
}
