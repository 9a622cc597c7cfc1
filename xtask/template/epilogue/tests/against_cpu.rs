//! The product against three loops in f64, on every device that there is.

use warpsmith::{Matrix, Runtime};

use {{crate}}::{SoftCap, capped, operations};

fn devices() -> Vec<Runtime> {
    let gpu = Runtime::cuda(0).map_err(|reason| println!("SKIPPED on a GPU: {reason}"));
    [Runtime::cpu(), Runtime::simulator()].into_iter().chain(gpu.ok()).collect()
}

/// Numbers from -2 to 2 without a pattern that a sum could hide.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed) % 4001) as f32 / 1000.0 - 2.0).collect()
}

#[test]
fn product_bias_and_cap() -> warpsmith::Result<()> {
    for runtime in devices() {
        for (features, inputs, samples) in [(1, 1, 1), (5, 0, 3), (33, 70, 9), (130, 17, 40)] {
            let (w, x, bias) = (numbers(features * inputs, 1), numbers(inputs * samples, 2), numbers(features, 3));
            let mut y = Matrix::zeros(&runtime, features, samples)?;
            let limit = 5.0;
            capped(
                &operations(&runtime)?,
                SoftCap { limit },
                &Matrix::from_columns(&runtime, features, inputs, &w)?,
                &Matrix::from_columns(&runtime, inputs, samples, &x)?,
                &runtime.buffer_from(&bias)?,
                &mut y,
            )?;
            for (i, got) in y.as_view().to_vec()?.into_iter().enumerate() {
                let (feature, sample) = (i % features, i / features);
                let product = |j| f64::from(w[feature + j * features]) * f64::from(x[j + sample * inputs]);
                let sum = (0..inputs).map(product).sum::<f64>() + f64::from(bias[feature]);
                let expected = f64::from(limit) * (sum / f64::from(limit)).tanh();
                // A sum of k products, each of up to 4, has an error of at most 4 k roundings.
                let bound = (4 * inputs * inputs + 16) as f64 * f64::from(f32::EPSILON);
                let place = format!("feature {feature} of sample {sample}, {inputs} inputs, on {runtime}");
                assert!((f64::from(got) - expected).abs() <= bound, "{place}: {got}, expected {expected}");
            }
        }
    }
    Ok(())
}
