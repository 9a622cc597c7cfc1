//! Bias, activation and dropout in one pass, PReLU by rows, random functions, gradients of parameters and from outputs, and other
//! element types for the result: on every device.

use warpsmith::activations::{GeluErf, Identity, LeakyRelu, Prelu, Rational, Sigmoid, Silu, Swish};
use warpsmith::ops::Ops;
use warpsmith::random::{Dropout, RandomRelu, Seed};
use warpsmith::{Activation, Element, Error, FromOutput, Has, Kernels, Matrix, Runtime, Trainable, bf16};
use warpsmith_gpu::kernels::{bias_activation_backward, bias_activation_forward};
use warpsmith_tests::{TestResult, Tests, numbers, random, uniform};

use crate::map::{Bits, backward, forward, same};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("bias_and_activation_f32", bias_and_activation::<f32>),
        ("bias_and_activation_bf16", bias_and_activation::<bf16>),
        ("dropout", dropout),
        ("dropout_depends_on_seed_and_place_alone", dropout_by_place),
        ("fused_dropout", fused_dropout),
        ("randomised_relu", randomised_relu),
        ("prelu_by_rows", prelu_by_rows),
        ("parameter_gradients", parameter_gradients),
        ("a_slope_is_learned", a_slope_is_learned),
        ("from_outputs", from_outputs),
        ("other_types_for_the_result", conversions),
        ("fast", fast),
    ],
    ..Tests::NONE
};

fn draw<T: Bits>(test: &str, n: usize) -> Vec<T> {
    numbers(&mut random(test), n).into_iter().map(T::from_single).collect()
}

fn bias_and_activation<T: Bits>(runtime: &Runtime) -> TestResult
where
    Kernels: Has<bias_activation_forward<GeluErf, T>> + Has<bias_activation_backward<GeluErf, T>>,
{
    let ops = Ops::new(runtime);
    for (rows, columns) in [(1, 5), (8, 33), (63, 17), (2048, 3)] {
        let n = rows * columns;
        let (x, dy, bias) = (draw::<T>("x", n), draw::<T>("dy", n), draw::<T>("bias", rows));
        let device = |values: &[T]| Matrix::from_columns(runtime, rows, columns, values);
        let (device_x, device_dy, device_bias) = (device(&x)?, device(&dy)?, runtime.buffer_from(&bias)?);
        let mut y = device(&vec![T::from_single(f32::NAN); n])?;
        let sum = |i: usize| T::Math::from(x[i].load()) + T::Math::from(bias[i % rows].load());
        ops.bias_activation_forward(GeluErf, &device_x, &device_bias, &mut y)?;
        let name = format!("{} {rows} x {columns}", T::NAME);
        same(runtime, &name, &x, &y.buffer().to_vec()?, |i| T::store(GeluErf.forward(sum(i)).into()))?;
        ops.bias_activation_backward(GeluErf, &device_x, &device_bias, &device_dy, &mut y)?;
        same(runtime, &format!("{name} backward"), &x, &y.buffer().to_vec()?, |i| {
            T::store(GeluErf.backward(sum(i), T::Math::from(dy[i].load())).into())
        })?;
    }
    let (x, bias, mut y) = (Matrix::zeros(runtime, 3, 2)?, runtime.zeros::<T>(2)?, Matrix::zeros(runtime, 3, 2)?);
    let error = ops.bias_activation_forward(GeluErf, &x, &bias, &mut y).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { left_name: "bias", left: 2, right: 3, .. }), "{error}");
    Ok(())
}

fn dropout(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let n = 1 << 16;
    let (x, mut y) = (runtime.filled(n, 1.0f32)?, runtime.zeros(n)?);
    for p in [0.0, 0.1, 0.5, 0.9, 1.0] {
        let mask = Dropout::new(p, Seed::new(42)).expect("a probability");
        ops.dropout(mask, &x, &mut y)?;
        let got = y.to_vec()?;
        let kept = got.iter().filter(|y| **y != 0.0).count() as f64 / n as f64;
        // Six standard deviations.
        assert!((kept - (1.0 - p)).abs() <= 6.0 * (p * (1.0 - p) / n as f64).sqrt(), "{kept} kept at {p}");
        let scale = (1.0 / (1.0 - p)) as f32;
        assert!(got.iter().all(|y| *y == 0.0 || *y == scale), "{p}");
    }
    assert!(Dropout::new(1.5, Seed::new(1)).is_err() && Dropout::new(f64::NAN, Seed::new(1)).is_err());
    // NaN is never hidden.
    let x = runtime.filled(100, f32::NAN)?;
    let mut y = runtime.zeros(100)?;
    ops.dropout(Dropout::new(0.5, Seed::new(3)).expect("a probability"), &x, &mut y)?;
    assert!(y.to_vec()?.iter().all(|y| y.is_nan()));
    Ok(())
}

fn dropout_by_place(runtime: &Runtime) -> TestResult {
    let n = 5003;
    let seed = Seed { key: 7, stream: 1 };
    let mask = Dropout::new(0.3, seed).expect("a probability");
    let kept = |i: usize| mask.keeps(seed.words((i / 4) as u64)[i % 4]);
    let check = |what: &str, zeros: Vec<bool>| -> TestResult {
        match (0..n).find(|&i| zeros[i] == kept(i)) {
            Some(i) => Err(format!("{what}: element {i}").into()),
            None => Ok(()),
        }
    };
    let ops = Ops::new(runtime);
    // Whatever the alignment of the views and the element type are.
    for offset in 0..5 {
        let (x, mut y) = (runtime.filled(n + 8, 1.0f32)?, runtime.zeros(n + 8)?);
        ops.dropout(mask, x.slice(offset..offset + n)?, y.slice_mut(offset..offset + n)?)?;
        check("f32", y.to_vec()?[offset..offset + n].iter().map(|y| *y == 0.0).collect())?;
        let (x, mut y) = (runtime.filled(n + 8, bf16::from_f32(1.0))?, runtime.zeros(n + 8)?);
        ops.dropout(mask, x.slice(offset..offset + n)?, y.slice_mut(offset..offset + n)?)?;
        check("bf16", y.to_vec()?[offset..offset + n].iter().map(|y| y.load() == 0.0).collect())?;
        let (x, mut y) = (runtime.filled(n + 8, 1.0f64)?, runtime.zeros(n + 8)?);
        ops.dropout(mask, x.slice(offset..offset + n)?, y.slice_mut(offset..offset + n)?)?;
        check("f64", y.to_vec()?[offset..offset + n].iter().map(|y| *y == 0.0).collect())?;
    }
    let other = Dropout::new(0.3, Seed { key: 7, stream: 2 }).expect("a probability");
    assert!((0..100).any(|i| other.keeps(Seed { key: 7, stream: 2 }.words(i)[0]) != kept(4 * i as usize)));
    Ok(())
}

/// One pass gives what bias, activation and dropout give one after the other, and the backward pass has the same mask.
fn fused_dropout(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (rows, columns) = (52, 19);
    let n = rows * columns;
    let mask = Dropout::new(0.4, Seed::new(5)).expect("a probability");
    let (x, dy, bias) = (draw::<f32>("x", n), draw::<f32>("dy", n), draw::<f32>("bias", rows));
    let device = |values: &[f32]| Matrix::from_columns(runtime, rows, columns, values);
    let (x, dy, bias) = (device(&x)?, device(&dy)?, runtime.buffer_from(&bias)?);
    let (mut fused, mut apart, mut dropped) =
        (Matrix::zeros(runtime, rows, columns)?, Matrix::zeros(runtime, rows, columns)?, runtime.zeros(n)?);
    ops.bias_activation_dropout_forward(Silu, mask, &x, &bias, &mut fused)?;
    ops.bias_activation_forward(Silu, &x, &bias, &mut apart)?;
    ops.dropout(mask, &apart, &mut dropped)?;
    let want = dropped.to_vec()?;
    same(runtime, "forward", &want, &fused.buffer().to_vec()?, |i| want[i])?;
    ops.bias_activation_dropout_backward(Silu, mask, &x, &bias, &dy, &mut fused)?;
    ops.bias_activation_backward(Silu, &x, &bias, &dy, &mut apart)?;
    ops.dropout(mask, &apart, &mut dropped)?;
    let want = dropped.to_vec()?;
    same(runtime, "backward", &want, &fused.buffer().to_vec()?, |i| want[i])
}

fn randomised_relu(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let n = 4099;
    let relu = RandomRelu { seed: Seed::new(9), lower: 0.125, upper: 0.5 };
    let slope = |i: usize| relu.slope(relu.seed.words((i / 4) as u64)[i % 4]);
    let (x, dy) = (draw::<f32>("x", n), draw::<f32>("dy", n));
    let (device_x, device_dy, mut y) = (runtime.buffer_from(&x)?, runtime.buffer_from(&dy)?, runtime.zeros(n)?);
    ops.rrelu_forward(relu, &device_x, &mut y)?;
    same(runtime, "forward", &x, &y.to_vec()?, |i| if x[i] > 0.0 { x[i] } else { x[i] * slope(i) })?;
    ops.rrelu_backward(relu, &device_x, &device_dy, &mut y)?;
    same(runtime, "backward", &x, &y.to_vec()?, |i| match x[i] {
        x if x.is_nan() => x,
        x if x > 0.0 => dy[i],
        _ => dy[i] * slope(i),
    })?;
    let slopes: Vec<f32> = (0..n).map(slope).collect();
    assert!(slopes.iter().all(|slope| (0.125..0.5).contains(slope)));
    let mean = slopes.iter().sum::<f32>() / n as f32;
    assert!((mean - 0.3125).abs() < 0.01, "{mean}");
    Ok(())
}

fn prelu_by_rows(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (rows, columns) = (37, 50);
    let n = rows * columns;
    let mut random = random("prelu");
    let (x, dy, slope) = (uniform(&mut random, n), uniform(&mut random, n), uniform(&mut random, rows));
    let device = |values: &[f32]| Matrix::from_columns(runtime, rows, columns, values);
    let (device_x, device_dy, device_slope) = (device(&x)?, device(&dy)?, runtime.buffer_from(&slope)?);
    let (mut y, mut dslope) = (Matrix::zeros(runtime, rows, columns)?, runtime.zeros(rows)?);
    ops.prelu_forward(&device_x, &device_slope, &mut y)?;
    let below = |i: usize| x[i] <= 0.0;
    same(runtime, "forward", &x, &y.buffer().to_vec()?, |i| if below(i) { x[i] * slope[i % rows] } else { x[i] })?;
    ops.prelu_backward(&device_x, &device_slope, &device_dy, &mut y, &mut dslope)?;
    same(runtime, "backward", &x, &y.buffer().to_vec()?, |i| if below(i) { dy[i] * slope[i % rows] } else { dy[i] })?;
    for (row, got) in dslope.to_vec()?.into_iter().enumerate() {
        let parts = (0..columns).map(|column| row + column * rows).filter(|&i| below(i));
        let want: f64 = parts.map(|i| f64::from(x[i]) * f64::from(dy[i])).sum();
        assert!((f64::from(got) - want).abs() < 1e-5, "row {row}: {got} instead of {want}");
    }
    Ok(())
}

fn parameter_gradients(runtime: &Runtime) -> TestResult {
    fn check<A: Trainable<N>, const N: usize>(runtime: &Runtime, activation: A, n: usize) -> TestResult
    where
        Kernels: Has<warpsmith_gpu::kernels::parameter_partials<A, f32, N>>,
    {
        let mut random = random(A::NAME);
        let (x, dy) = (uniform(&mut random, n), uniform(&mut random, n));
        let run = |runtime: &Runtime| -> Result<Vec<f32>, Box<dyn std::error::Error>> {
            let (x, dy, mut gradient) = (runtime.buffer_from(&x)?, runtime.buffer_from(&dy)?, runtime.zeros(N)?);
            Ops::new(runtime).parameter_gradient(activation, &x, &dy, &mut gradient)?;
            Ok(gradient.to_vec()?)
        };
        let got = run(runtime)?;
        assert_eq!(got, run(runtime)?, "it repeats");
        assert_eq!(got, run(&Runtime::cpu())?, "on every device");
        for (k, got) in got.into_iter().enumerate() {
            let parts = x.iter().zip(&dy);
            let parts = parts.map(|(&x, &dy)| f64::from(dy) * activation.parameter_derivatives(f64::from(x))[k]);
            let (want, size) = parts.clone().fold((0.0, 0.0), |(sum, size), part| (sum + part, size + part.abs()));
            let error = (f64::from(got) - want).abs();
            assert!(error <= 2e-6 * size + 1e-30, "{} [{k}] of {n}: {got} instead of {want}", A::NAME);
        }
        Ok(())
    }
    for n in [0, 1, 1000, 300_001] {
        check(runtime, Prelu::new(0.1), n)?;
        check(runtime, Swish::new(1.5), n)?;
    }
    check(runtime, Rational::default(), 5000)
}

fn a_slope_is_learned(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let n = 2000;
    let x = uniform(&mut random("learned"), n);
    let device_x = runtime.buffer_from(&x)?;
    let (truth, mut learned) = (Prelu::new(-0.35), Prelu::default());
    let (mut y, mut gradient) = (runtime.zeros::<f32>(n)?, runtime.zeros(1)?);
    for _ in 0..60 {
        ops.map_forward(learned, &device_x, &mut y)?;
        let error: Vec<f32> = y.to_vec()?.iter().zip(&x).map(|(y, x)| y - truth.forward(*x)).collect();
        ops.parameter_gradient(learned, &device_x, &runtime.buffer_from(&error)?, &mut gradient)?;
        learned.alpha -= 3.0 * gradient.to_vec()?[0] / n as f32;
    }
    assert!((learned.alpha - truth.alpha).abs() < 1e-4, "{learned:?}");
    Ok(())
}

fn from_outputs(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (y, dy) = (uniform(&mut random("outputs"), 1001), uniform(&mut random("upstream"), 1001));
    let y: Vec<f32> = y.into_iter().map(|y| 0.5 + 0.5 * y).collect();
    let (device_y, device_dy, mut dx) = (runtime.buffer_from(&y)?, runtime.buffer_from(&dy)?, runtime.zeros(1001)?);
    ops.map_backward_from_output(Sigmoid, &device_y, &device_dy, &mut dx)?;
    same(runtime, "sigmoid", &y, &dx.to_vec()?, |i| Sigmoid.backward_from_output(y[i], dy[i]))?;
    let error = ops.map_backward_from_output(LeakyRelu::new(-0.1), &device_y, &device_dy, &mut dx).unwrap_err();
    assert!(matches!(error, Error::NoDerivativeFromOutput { activation: "leaky_relu", .. }), "{error}");
    assert!(error.to_string().contains("slope"), "{error}");
    Ok(())
}

fn conversions(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    for n in [1, 7, 4096, 5003] {
        for offset in [0, 1, 4] {
            let x = draw::<bf16>("narrow", n + 4);
            let (device_x, mut y) = (runtime.buffer_from(&x)?, runtime.filled(n + 4, f32::NAN)?);
            ops.map_convert(GeluErf, device_x.slice(offset..offset + n)?, y.slice_mut(offset..offset + n)?)?;
            let x = &x[offset..offset + n];
            same(runtime, "bf16 to f32", x, &y.to_vec()?[offset..offset + n], |i| GeluErf.forward(x[i].load()))?;
            let dy = draw::<bf16>("upstream", n);
            let (device_dy, mut dx) = (runtime.buffer_from(&dy)?, runtime.filled(n, f32::NAN)?);
            ops.map_backward_convert(GeluErf, device_x.slice(offset..offset + n)?, &device_dy, &mut dx)?;
            let want = |i: usize| GeluErf.backward(x[i].load(), dy[i].load());
            same(runtime, "gradient of bf16 in f32", x, &dx.to_vec()?, want)?;
            let x = draw::<f32>("wide", n);
            let (device_x, mut y) = (runtime.buffer_from(&x)?, runtime.filled(n, bf16::from_f32(f32::NAN))?);
            ops.map_convert(Identity, &device_x, &mut y)?;
            same(runtime, "f32 to bf16", &x, &y.to_vec()?, |i| bf16::from_f32(x[i]))?;
        }
    }
    Ok(())
}

/// Approximate only where it is asked for, and not by much.
fn fast(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let x = uniform(&mut random("fast"), 3001).into_iter().map(|x| 9.0 * x).collect::<Vec<f32>>();
    let (device_x, mut y) = (runtime.buffer_from(&x)?, runtime.zeros::<f32>(3001)?);
    ops.map_forward_fast(Silu, &device_x, &mut y)?;
    for (x, y) in x.iter().zip(y.to_vec()?) {
        let want = forward(&Silu, f64::from(*x));
        assert!((f64::from(y) - want).abs() <= 4e-6 * want.abs(), "silu({x}) = {y}, not {want}");
    }
    ops.map_backward_fast(Silu, &device_x, &device_x, &mut y)?;
    for (x, y) in x.iter().zip(y.to_vec()?) {
        let want = backward(&Silu, f64::from(*x), f64::from(*x));
        assert!(
            (f64::from(y) - want).abs() <= 4e-6 * (want.abs() + f64::from(x.abs())),
            "silu'({x})·x = {y}, not {want}"
        );
    }
    Ok(())
}
