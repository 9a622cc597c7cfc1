//! relu(w · x + bias) as three kernels, as one, and in bf16 with the fastest of the library's kernels, and what each takes.
//!
//! The product is the same work in all of them. What the second one saves is writing the product to memory, reading and writing it
//! for the bias, and again for relu.

use warpsmith::activations::Relu;
use warpsmith::ops::{Gemm, Ops};
use warpsmith::{Error, Matrix, Runtime, bf16};

use crate::{Outcome, expect_close, numbers, time};

pub fn run(runtime: &Runtime) -> Outcome {
    let (ops, stream) = (Ops::new(runtime), runtime.default_stream());
    let (features, inputs, samples) = if runtime.is_cuda() { (1024, 1024, 4096) } else { (64, 32, 48) };
    // Few digits, so that they are the same numbers in bf16. The weights lie as PyTorch's do: row after row.
    let few_digits = |x: f32| bf16::from_f32(x).to_f32();
    let w: Vec<f32> = numbers(features * inputs, 1).into_iter().map(few_digits).collect();
    let x: Vec<f32> = numbers(inputs * samples, 2).into_iter().map(few_digits).collect();
    let bias: Vec<f32> = numbers(features, 3).into_iter().map(few_digits).collect();
    // Some of the result, computed in f64; all of it would take the CPU longer than the GPU by far.
    let some: Vec<(usize, usize)> = (0..1000).map(|i| (i * 37 % features, i * 101 % samples)).collect();
    let element = |&(feature, sample): &(usize, usize)| {
        let product = |i| f64::from(w[feature * inputs + i]) * f64::from(x[sample * inputs + i]);
        ((0..inputs).map(product).sum::<f64>() + f64::from(bias[feature])).max(0.0)
    };
    let expected: Vec<f64> = some.iter().map(element).collect();
    let check = |what: &str, y: &[f32], tolerance: f64| {
        let got: Vec<f32> = some.iter().map(|&(feature, sample)| y[sample * features + feature]).collect();
        expect_close(what, &got, &expected, tolerance)
    };
    let exact = (inputs * inputs) as f64 * f64::from(f32::EPSILON);

    let weights = Matrix::from_columns(runtime, inputs, features, &w)?;
    let input = Matrix::from_columns(runtime, inputs, samples, &x)?;
    let offset = runtime.buffer_from(&bias)?;
    let mut y = Matrix::<f32>::zeros(runtime, features, samples)?;

    let three = time(&stream, || {
        ops.linear(weights.t(), &input).into(&mut y)?;
        ops.bias_add(&offset, &mut y)?;
        ops.map_in_place(Relu, &mut y)
    })?;
    check("three kernels", &y.as_view().to_vec()?, exact)?;
    println!("f32, three kernels       {three:>12.1?}");

    let one = time(&stream, || ops.linear(weights.t(), &input).bias(&offset).activation(Relu).into(&mut y))?;
    check("one kernel", &y.as_view().to_vec()?, exact)?;
    println!("f32, one kernel          {one:>12.1?}");

    let in_bf16 = |x: &[f32]| x.iter().map(|&x| bf16::from_f32(x)).collect::<Vec<_>>();
    let weights = Matrix::from_columns(runtime, inputs, features, &in_bf16(&w))?;
    let input = Matrix::from_columns(runtime, inputs, samples, &in_bf16(&x))?;
    let offset = runtime.buffer_from(&in_bf16(&bias))?;
    let mut y = Matrix::<bf16>::zeros(runtime, features, samples)?;
    let mut best = None;
    for kernel in Gemm::ALL {
        let call = || ops.linear(weights.t(), &input).bias(&offset).activation(Relu).using(kernel);
        let duration = match time(&stream, || call().into(&mut y)) {
            Ok(duration) => duration,
            // Not on this device, or not for these sizes.
            Err(Error::MatrixLayout { .. } | Error::Unsupported { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let result: Vec<f32> = y.as_view().to_vec()?.into_iter().map(bf16::to_f32).collect();
        check("bf16", &result, 1.0 / 256.0)?;
        println!("    bf16 by {kernel:<12?} {duration:>14.1?}");
        if best.is_none_or(|(_, least)| duration < least) {
            best = Some((kernel, duration));
        }
    }
    let (kernel, tuned) = best.ok_or("no kernel computes this product in bf16")?;
    println!("bf16, one kernel, tuned  {tuned:>12.1?}  by {kernel:?}");
    Ok(())
}
