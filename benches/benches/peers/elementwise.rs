//! Activations and their kin: `OPERATION WHAT TYPE ELEMENTS`.
//!
//! `copy - TYPE ELEMENTS`; `forward`, `backward`, `in_place`, `bias` with an activation; `softmax` and `swiglu` with the length of a
//! line. The error is that of a sample, in last places of the type. f16 has the activations that are compiled for it.

use warpsmith::activations::{Any, GeluErf, GeluTanh, Identity, LeakyRelu, Mish, Relu, Sigmoid, Silu, Tanh};
use warpsmith::kernels::{Softmax, bias_activation_forward, map_backward, map_forward, map_in_place, softmax_forward};
use warpsmith::ops::{Halves, Ops};
use warpsmith::{Activation, Has, Kernels, Matrix, Runtime, Stream, Swiglu, bf16, f16};
use warpsmith_gpu::with_activation;

use super::Result;
use super::timing::Work;
use warpsmith_benches::values::{Value, spread, wide, worst};

pub fn prepare(runtime: &Runtime, words: &[&str]) -> Result<Work> {
    let [operation, what, kind, elements] = words else {
        return Err(format!("four words, not `{}`", words.join(" ")).into());
    };
    let n: usize = elements.parse()?;
    match *kind {
        "f32" => of_type::<f32>(runtime, operation, what, n),
        "bf16" => of_type::<bf16>(runtime, operation, what, n),
        "f16" => of_type::<f16>(runtime, operation, what, n),
        _ => Err(format!("no type `{kind}`").into()),
    }
}

fn work(error: f64, run: impl FnMut(&Stream) -> warpsmith::Result<()> + 'static) -> Result<Work> {
    Ok(Work { error, note: String::new(), run: Box::new(run) })
}

fn on(stream: &Stream) -> Ops<Kernels> {
    Ops::on(stream.clone())
}

/// What a type has kernels for.
trait Benched: Value {
    /// A bias with an activation, and SwiGLU.
    fn fused(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Result<Work>;
    /// An activation by its name.
    fn activation(runtime: &Runtime, operation: &str, name: &str, n: usize) -> Result<Work>;
}

macro_rules! whole_catalogue {
    ($($element:ident)*) => {$(
        impl Benched for $element {
            fn fused(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Result<Work> {
                fused::<Self>(runtime, operation, what, n)
            }
            fn activation(runtime: &Runtime, operation: &str, name: &str, n: usize) -> Result<Work> {
                let any: Any = name.parse()?;
                with_activation!(any, |activation| mapped::<_, Self>(runtime, operation, activation, n))
            }
        }
    )*};
}
whole_catalogue! { f32 bf16 }

impl Benched for f16 {
    fn fused(_: &Runtime, operation: &str, what: &str, _: usize) -> Result<Work> {
        Err(format!("`{operation} {what} f16` is not compiled").into())
    }

    fn activation(runtime: &Runtime, operation: &str, name: &str, n: usize) -> Result<Work> {
        match (operation, name) {
            ("forward" | "backward", "gelu_erf") => not_in_place::<_, Self>(runtime, operation, GeluErf, n),
            ("forward" | "backward", "mish") => not_in_place::<_, Self>(runtime, operation, Mish, n),
            (_, "identity") => mapped::<_, Self>(runtime, operation, Identity, n),
            (_, "relu") => mapped::<_, Self>(runtime, operation, Relu, n),
            (_, "leaky_relu") => mapped::<_, Self>(runtime, operation, LeakyRelu::default(), n),
            (_, "sigmoid") => mapped::<_, Self>(runtime, operation, Sigmoid, n),
            (_, "tanh") => mapped::<_, Self>(runtime, operation, Tanh, n),
            (_, "gelu_tanh") => mapped::<_, Self>(runtime, operation, GeluTanh, n),
            (_, "silu") => mapped::<_, Self>(runtime, operation, Silu, n),
            _ => Err(format!("`{operation} {name} f16` is not compiled").into()),
        }
    }
}

fn of_type<T: Benched>(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Result<Work>
where
    Kernels: Has<softmax_forward<Softmax, T>>,
{
    match operation {
        "copy" => {
            let (x, mut y) = (runtime.buffer_from(&spread::<T>(n))?, runtime.zeros::<T>(n)?);
            work(0.0, move |stream| stream.copy(&x, &mut y))
        }
        "softmax" => {
            let rows: usize = what.parse()?;
            let x = Matrix::from_columns(runtime, rows, n / rows, &spread::<T>(n / rows * rows))?;
            let mut y = Matrix::zeros(runtime, rows, n / rows)?;
            Ops::new(runtime).softmax_forward(Softmax, &x, &mut y)?;
            let (x_0, y_0) = (x.column(0)?.to_vec()?, y.column(0)?.to_vec()?);
            let sum: f64 = x_0.iter().map(|&x| wide(x).exp()).sum();
            let error = worst(y_0.into_iter().zip(x_0.iter().map(|&x| wide(x).exp() / sum)));
            work(error, move |stream| on(stream).softmax_forward(Softmax, &x, &mut y))
        }
        "bias" | "swiglu" => T::fused(runtime, operation, what, n),
        _ => T::activation(runtime, operation, what, n),
    }
}

fn mapped<A: Activation, T: Value>(runtime: &Runtime, operation: &str, activation: A, n: usize) -> Result<Work>
where
    Kernels: Has<map_forward<A, T>> + Has<map_in_place<A, T>> + Has<map_backward<A, T>>,
{
    if operation != "in_place" {
        return not_in_place(runtime, operation, activation, n);
    }
    let host = spread::<T>(n);
    let mut y = runtime.buffer_from(&host)?;
    Ops::new(runtime).map_in_place(activation, &mut y)?;
    let got = y.slice(..n.min(SAMPLE))?.to_vec()?;
    let error = worst(got.into_iter().zip(host.iter().map(|&x| activation.forward(wide(x)))));
    work(error, move |stream| on(stream).map_in_place(activation, &mut y))
}

/// Elements that are compared with f64.
const SAMPLE: usize = 1 << 16;

fn not_in_place<A: Activation, T: Value>(runtime: &Runtime, operation: &str, activation: A, n: usize) -> Result<Work>
where
    Kernels: Has<map_forward<A, T>> + Has<map_backward<A, T>>,
{
    let ops = Ops::new(runtime);
    let host = spread::<T>(n);
    let x = runtime.buffer_from(&host)?;
    let mut y = runtime.zeros::<T>(n)?;
    let sample = n.min(SAMPLE);
    let error = |f: &dyn Fn(f64) -> f64, y: Vec<T>| worst(y.into_iter().zip(host.iter().map(|&x| f(wide(x)))));
    match operation {
        "forward" => {
            ops.map_forward(activation, &x, &mut y)?;
            let error = error(&|x| activation.forward(x), y.slice(..sample)?.to_vec()?);
            work(error, move |stream| on(stream).map_forward(activation, &x, &mut y))
        }
        "backward" => {
            let dy = runtime.buffer_from(&host)?;
            ops.map_backward(activation, &x, &dy, &mut y)?;
            let error = error(&|x| activation.derivative(x) * x, y.slice(..sample)?.to_vec()?);
            work(error, move |stream| on(stream).map_backward(activation, &x, &dy, &mut y))
        }
        _ => Err(format!("no operation `{operation}`").into()),
    }
}

fn fused<T: Value>(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Result<Work>
where
    Kernels: Has<bias_activation_forward<Relu, T>>
        + Has<bias_activation_forward<Silu, T>>
        + Has<bias_activation_forward<GeluErf, T>>
        + Has<bias_activation_forward<GeluTanh, T>>
        + Has<warpsmith::kernels::gated_halves_forward<Swiglu, T>>,
{
    match (operation, what) {
        ("bias", "relu") => biased::<_, T>(runtime, Relu, n),
        ("bias", "silu") => biased::<_, T>(runtime, Silu, n),
        ("bias", "gelu_erf") => biased::<_, T>(runtime, GeluErf, n),
        ("bias", "gelu_tanh") => biased::<_, T>(runtime, GeluTanh, n),
        ("swiglu", rows) => {
            let rows: usize = rows.parse()?;
            let columns = n / rows;
            let host = spread::<T>(2 * rows * columns);
            let x = Matrix::from_columns(runtime, 2 * rows, columns, &host)?;
            let mut y = Matrix::zeros(runtime, rows, columns)?;
            let unit = Swiglu::default();
            Ops::new(runtime).gated_halves_forward(unit, Halves::GateFirst, &x, &mut y)?;
            let exact = (0..rows).map(|i| Silu.forward(wide(host[i])) * wide(host[rows + i]));
            let error = worst(y.column(0)?.to_vec()?.into_iter().zip(exact));
            work(error, move |stream| on(stream).gated_halves_forward(unit, Halves::GateFirst, &x, &mut y))
        }
        _ => Err(format!("`{operation} {what}` is not compiled").into()),
    }
}

fn biased<A: Activation, T: Value>(runtime: &Runtime, activation: A, n: usize) -> Result<Work>
where
    Kernels: Has<bias_activation_forward<A, T>>,
{
    const ROWS: usize = 4096;
    let columns = n / ROWS;
    let host = spread::<T>(ROWS * columns);
    let (x, bias) = (Matrix::from_columns(runtime, ROWS, columns, &host)?, runtime.buffer_from(&host[..ROWS])?);
    let mut y = Matrix::zeros(runtime, ROWS, columns)?;
    Ops::new(runtime).bias_activation_forward(activation, &x, &bias, &mut y)?;
    let exact = host[..ROWS].iter().map(|&x| activation.forward(wide(x) + wide(x)));
    let error = worst(y.column(0)?.to_vec()?.into_iter().zip(exact));
    work(error, move |stream| on(stream).bias_activation_forward(activation, &x, &bias, &mut y))
}
