//! A matrix product whose last step is the user's own: attention scores, scaled, with -∞ where a query would look ahead.

use example_kernels::ExampleKernels;
use example_kernels::epilogue::CausalScores;
use warpsmith::ops::Ops;
use warpsmith::{Matrix, Runtime};

use crate::{DEVICE_CODE, Outcome, expect_close, numbers};

pub fn run(runtime: &Runtime) -> Outcome {
    runtime.register::<ExampleKernels>(DEVICE_CODE)?;
    let (positions, length) = (40, 16);
    let (keys, queries) = (numbers(positions * length, 1), numbers(positions * length, 2));
    let scale = 1.0 / (length as f32).sqrt();

    // A position is a column.
    let k = Matrix::from_columns(runtime, length, positions, &keys)?;
    let q = Matrix::from_columns(runtime, length, positions, &queries)?;
    let mut scores = Matrix::zeros(runtime, positions, positions)?;
    let ops = Ops::<ExampleKernels>::on(runtime.default_stream());
    ops.linear(k.t(), &q).epilogue(CausalScores { scale }).into(&mut scores)?;

    let scores = scores.as_view().to_vec()?;
    let expected: Vec<f64> = (0..positions * positions)
        .map(|i| {
            let (key, query) = (i % positions, i / positions);
            let product = |j| f64::from(keys[key * length + j]) * f64::from(queries[query * length + j]);
            if key <= query { f64::from(scale) * (0..length).map(product).sum::<f64>() } else { f64::NEG_INFINITY }
        })
        .collect();
    println!("the third query's scores of the first five keys: {:.3?}", &scores[2 * positions..][..5]);
    expect_close("scores", &scores, &expected, 1e-5)
}
