//! What training needs besides products and activations, on every device, bit for bit against the CPU where the order is fixed.

use rand::RngExt;
use warpsmith::activations::Silu;
use warpsmith::nn::{Layer, Linear};
use warpsmith::ops::Ops;
use warpsmith::{Activation, Matrix, Runtime};
use warpsmith_gpu::kernels::combine_partials;
use warpsmith_tests::{TestResult, Tests, random, same_bits, uniform};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("bias", bias),
        ("column_sum", column_sum),
        ("column_sum_repeats", column_sum_repeats),
        ("cross_entropy", cross_entropy),
        ("optimizers", optimizers),
        ("gradients_against_differences", gradients_against_differences),
        ("steps_allocate_nothing", steps_allocate_nothing),
    ],
    ..Tests::NONE
};

const SHAPES: [(usize, usize); 6] = [(1, 1), (7, 13), (64, 64), (33, 1000), (1000, 3), (5, 0)];

fn bias(runtime: &Runtime) -> TestResult {
    let mut random = random("bias");
    for (rows, columns) in SHAPES {
        let (x, b) = (uniform(&mut random, rows * columns), uniform(&mut random, rows));
        let mut y = Matrix::from_columns(runtime, rows, columns, &x)?;
        Ops::new(runtime).bias_add(&runtime.buffer_from(&b)?, &mut y)?;
        let want: Vec<f32> = x.iter().enumerate().map(|(i, x)| x + b[i % rows]).collect();
        same_bits("bias_add", &y.as_view().to_vec()?, &want)?;
    }
    Ok(())
}

fn column_sum(runtime: &Runtime) -> TestResult {
    let mut random = random("column_sum");
    for (rows, columns) in SHAPES {
        let x = uniform(&mut random, rows * columns);
        let mut sum = runtime.filled(rows, f32::NAN)?;
        Ops::new(runtime).column_sum(&Matrix::from_columns(runtime, rows, columns, &x)?, &mut sum)?;
        let row = |row: usize| {
            let mut partials = [0.0; 8];
            (0..columns).for_each(|column| partials[column % 8] += x[row + column * rows]);
            combine_partials(partials)
        };
        same_bits("column_sum", &sum.to_vec()?, &(0..rows).map(row).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn column_sum_repeats(runtime: &Runtime) -> TestResult {
    let x = Matrix::from_columns(runtime, 50, 1024, &uniform(&mut random("repeats"), 50 * 1024))?;
    let ops = Ops::new(runtime);
    let mut first = runtime.zeros(50)?;
    ops.column_sum(&x, &mut first)?;
    let first = first.to_vec()?;
    for _ in 0..100 {
        let mut sum = runtime.filled(50, f32::NAN)?;
        ops.column_sum(&x, &mut sum)?;
        same_bits("again", &sum.to_vec()?, &first)?;
    }
    Ok(())
}

fn cross_entropy(runtime: &Runtime) -> TestResult {
    let mut random = random("cross_entropy");
    let (classes, samples) = (10, 1000);
    let logits: Vec<f32> = (0..classes * samples).map(|_| random.random_range(-50.0..50.0)).collect();
    let mut labels: Vec<u32> = (0..samples).map(|_| random.random_range(0..classes as u32)).collect();
    labels[7] = 99;
    let run = |runtime: &Runtime| -> warpsmith::Result<(Vec<f32>, Vec<f32>)> {
        let mut loss = runtime.filled(samples, 1.0f32)?;
        let mut gradient = Matrix::zeros(runtime, classes, samples)?;
        let device_logits = Matrix::from_columns(runtime, classes, samples, &logits)?;
        let device_labels = runtime.buffer_from(&labels)?;
        Ops::new(runtime).softmax_cross_entropy(&device_logits, &device_labels, 0.25, &mut loss, &mut gradient)?;
        Ok((loss.to_vec()?, gradient.as_view().to_vec()?))
    };
    let (loss, gradient) = run(runtime)?;
    let (cpu_loss, cpu_gradient) = run(&Runtime::cpu())?;
    same_bits("loss", &loss, &cpu_loss)?;
    same_bits("gradient", &gradient, &cpu_gradient)?;
    assert!(loss[7].is_nan());
    for sample in (0..samples).filter(|&sample| sample != 7) {
        let column = &logits[sample * classes..][..classes];
        let (label, gradient) = (labels[sample] as usize, &gradient[sample * classes..][..classes]);
        let wide = |class: usize| f64::from(column[class]);
        let peak = (0..classes).max_by(|&i, &j| column[i].total_cmp(&column[j])).unwrap_or(0);
        // Without the largest term, which is 1: where a prediction is certain and right, loss and gradient are this small sum.
        let others: f64 =
            (0..classes).filter(|&class| class != peak).map(|class| (wide(class) - wide(peak)).exp()).sum();
        let exact = others.ln_1p() + (wide(peak) - wide(label));
        let slope = match label == peak {
            true => -0.25 * others / (1.0 + others),
            false => 0.25 * ((wide(label) - wide(peak)).exp() / (1.0 + others) - 1.0),
        };
        assert!((f64::from(gradient[label]) - slope).abs() <= 2e-6 * slope.abs(), "{} is not {slope}", gradient[label]);
        assert!((f64::from(loss[sample]) - exact).abs() <= 2e-6 * exact.abs(), "{} is not {exact}", loss[sample]);
    }
    Ok(())
}

fn optimizers(runtime: &Runtime) -> TestResult {
    let mut random = random("optimizers");
    for n in [0, 1, 7, 1003] {
        let (g, w, v) = (uniform(&mut random, n), uniform(&mut random, n), uniform(&mut random, n));
        let (gradient, ops) = (runtime.buffer_from(&g)?, Ops::new(runtime));
        let mut parameters = runtime.buffer_from(&w)?;
        ops.sgd(0.1, &gradient, &mut parameters)?;
        let want: Vec<f32> = w.iter().zip(&g).map(|(w, g)| (-0.1f32).mul_add(*g, *w)).collect();
        same_bits("sgd", &parameters.to_vec()?, &want)?;

        let (mut parameters, mut velocity) = (runtime.buffer_from(&w)?, runtime.buffer_from(&v)?);
        ops.sgd_momentum(0.1, 0.9, &gradient, &mut velocity, &mut parameters)?;
        let new_v: Vec<f32> = v.iter().zip(&g).map(|(v, g)| 0.9f32.mul_add(*v, *g)).collect();
        same_bits("velocity", &velocity.to_vec()?, &new_v)?;
        let want: Vec<f32> = w.iter().zip(&new_v).map(|(w, v)| (-0.1f32).mul_add(*v, *w)).collect();
        same_bits("sgd_momentum", &parameters.to_vec()?, &want)?;
    }
    Ok(())
}

/// The gradients of a linear layer and an activation against differences of the loss, computed in f64.
fn gradients_against_differences(runtime: &Runtime) -> TestResult {
    let mut random = random("gradients");
    let (inputs, outputs, samples) = (5, 4, 6);
    let ops = Ops::new(runtime);
    let mut layer = Linear::new(runtime, inputs, outputs, &mut random)?;
    let x = uniform(&mut random, inputs * samples);
    let input = Matrix::from_columns(runtime, inputs, samples, &x)?;
    // loss = sum of silu(W x + b)
    layer.forward(&ops, &input)?;
    let upstream = runtime.filled(outputs * samples, 1.0f32)?;
    let mut dz = Matrix::zeros(runtime, outputs, samples)?;
    ops.map_backward(Silu, layer.output(), &upstream, &mut dz)?;
    layer.backward(&ops, &input, &dz, true)?;

    let weights = layer.weights().as_view().to_vec()?;
    let loss = |weights: &[f64], x: &[f64], bias: f64, row_of_bias: usize| -> f64 {
        let output = |row: usize, sample: usize| {
            let product = |i: usize| weights[row + i * outputs] * x[i + sample * inputs];
            (0..inputs).map(product).sum::<f64>() + if row == row_of_bias { bias } else { 0.0 }
        };
        let positions = (0..samples).flat_map(|sample| (0..outputs).map(move |row| (row, sample)));
        positions.map(|(row, sample)| Silu.forward(output(row, sample))).sum()
    };
    let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
    let x: Vec<f64> = x.into_iter().map(f64::from).collect();
    let h = 1e-5;
    let close = |what: &str, got: &[f32], difference: &dyn Fn(usize, f64) -> f64| -> TestResult {
        for (i, &got) in got.iter().enumerate() {
            let want = (difference(i, h) - difference(i, -h)) / (2.0 * h);
            if (f64::from(got) - want).abs() > 1e-4 {
                return Err(format!("{what}[{i}] = {got}, differences give {want}").into());
            }
        }
        Ok(())
    };
    let moved = |values: &[f64], i: usize, h: f64| {
        let mut values = values.to_vec();
        values[i] += h;
        values
    };
    close("dW", &layer.weights_gradient().as_view().to_vec()?, &|i, h| loss(&moved(&weights, i, h), &x, 0.0, 0))?;
    close("dx", &layer.input_gradient().as_view().to_vec()?, &|i, h| loss(&weights, &moved(&x, i, h), 0.0, 0))?;
    close("db", &layer.bias_gradient().to_vec()?, &|i, h| loss(&weights, &x, h, i))
}

fn steps_allocate_nothing(runtime: &Runtime) -> TestResult {
    use warpsmith::nn::{Network, Sgd};
    let (training, _) = warpsmith::data::digits()?.hold_out(2);
    let mut network = Network::new(runtime, 3)?.linear(64, 32)?.activation(Silu)?.linear(32, 10)?;
    // 899 samples: 29 x 31, so that all batches are equal.
    let optimizer = Sgd { rate: 0.05, momentum: 0.9 };
    network.train_epoch(&training, 29, &optimizer)?;
    let before = runtime.memory().driver_allocations;
    network.train_epoch(&training, 29, &optimizer)?;
    assert_eq!(runtime.memory().driver_allocations, before, "{} samples", training.len());
    Ok(())
}
