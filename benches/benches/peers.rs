//! Warpsmith's side of the comparison in `benches/peers`: with `--serve` it reads one request a line and answers with a time.
//!
//! `copy ELEMENTS TYPE`, `forward`, `backward`, `in_place`, `fast`, `bias`: `OPERATION ACTIVATION TYPE ELEMENTS`;
//! `softmax ROWS TYPE ELEMENTS`, `swiglu ROWS TYPE ELEMENTS`. Answers: `ok MILLISECONDS ULP`, where the largest error of a sample
//! was found before the time was taken, or `error TEXT`.

use std::io::{BufRead, Write};

use warpsmith::activations::{Any, GeluErf, GeluTanh, Relu, Silu};
use warpsmith::kernels::{LogSoftmax, Softmax, bias_activation_forward, map_backward, map_forward, map_in_place};
use warpsmith::ops::{Halves, Ops};
use warpsmith::{Activation, Has, Kernels, Matrix, Runtime, Stream, Swiglu, bf16};
use warpsmith_benches::gpu;
use warpsmith_gpu::accuracy::Digits;
use warpsmith_gpu::with_activation;

type Answer = Result<(f64, f64), Box<dyn std::error::Error>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !std::env::args().any(|argument| argument == "--serve") {
        println!("SKIPPED peers: run.py in this folder's `peers` starts this program");
        return Ok(());
    }
    let Some(runtime) = gpu("peers") else { return Ok(()) };
    println!("ready {runtime}");
    for line in std::io::stdin().lock().lines() {
        match serve(&runtime, &line?) {
            Ok((milliseconds, ulp)) => println!("ok {milliseconds:.6} {ulp:.3}"),
            Err(error) => println!("error {}", error.to_string().replace('\n', " ")),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn serve(runtime: &Runtime, line: &str) -> Answer {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [operation, what, kind, elements] = words[..] else { return Err(format!("four words, not `{line}`").into()) };
    let n: usize = elements.parse()?;
    match kind {
        "f32" => of_type::<f32>(runtime, operation, what, n),
        "bf16" => of_type::<bf16>(runtime, operation, what, n),
        _ => Err(format!("no type `{kind}`").into()),
    }
}

/// What a type needs beyond its kernels for the whole catalogue.
trait Benched: Digits {
    fn of(value: f32) -> Self;
    /// The operations other than activations.
    fn special(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Answer;
    fn catalogue(runtime: &Runtime, operation: &str, any: Any, n: usize) -> Answer;
}

macro_rules! benched {
    ($($element:ident: $of:expr, $special:path;)*) => {$(
        impl Benched for $element {
            fn of(value: f32) -> Self {
                $of(value)
            }
            fn special(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Answer {
                $special(runtime, operation, what, n)
            }
            fn catalogue(runtime: &Runtime, operation: &str, any: Any, n: usize) -> Answer {
                with_activation!(any, |activation| mapped::<_, Self>(runtime, operation, activation, n))
            }
        }
    )*};
}
benched! {
    f32: core::convert::identity, special::<f32>;
    bf16: bf16::from_f32, special::<bf16>;
}

fn of_type<T: Benched>(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Answer
where
    Kernels:
        Has<warpsmith::kernels::softmax_forward<Softmax, T>> + Has<warpsmith::kernels::softmax_forward<LogSoftmax, T>>,
{
    match operation {
        "copy" => {
            let (x, mut y) = (runtime.buffer_from(&values::<T>(n))?, runtime.zeros::<T>(n)?);
            let stream = runtime.default_stream();
            Ok((time(&stream, n, || Ok(stream.copy(&x, &mut y)?))?, 0.0))
        }
        "softmax" => {
            let rows: usize = what.parse()?;
            let x = Matrix::from_columns(runtime, rows, n / rows, &values::<T>(n / rows * rows))?;
            let mut y = Matrix::zeros(runtime, rows, n / rows)?;
            let ops = Ops::new(runtime);
            ops.softmax_forward(Softmax, &x, &mut y)?;
            let (x_0, y_0) = (x.column(0)?.to_vec()?, y.column(0)?.to_vec()?);
            let sum: f64 = x_0.iter().map(|x| f64::from(x.load()).exp()).sum();
            let ulp = worst(y_0.into_iter().zip(x_0.iter().map(|x| f64::from(x.load()).exp() / sum)));
            Ok((time(ops.stream(), n, || Ok(ops.softmax_forward(Softmax, &x, &mut y)?))?, ulp))
        }
        "bias" | "swiglu" => T::special(runtime, operation, what, n),
        _ => T::catalogue(runtime, operation, what.parse()?, n),
    }
}

fn mapped<A: Activation, T: Benched>(runtime: &Runtime, operation: &str, activation: A, n: usize) -> Answer
where
    Kernels: Has<map_forward<A, T>> + Has<map_in_place<A, T>> + Has<map_backward<A, T>>,
{
    let ops = Ops::new(runtime);
    let host = values::<T>(n);
    let x = runtime.buffer_from(&host)?;
    let mut y = runtime.zeros::<T>(n)?;
    let sample = n.min(1 << 16);
    let exact =
        |f: &dyn Fn(f64) -> f64, y: Vec<T>| worst(y.into_iter().zip(host.iter().map(|x| f(f64::from(x.load())))));
    match operation {
        "forward" => {
            ops.map_forward(activation, &x, &mut y)?;
            let ulp = exact(&|x| activation.forward(x), y.slice(..sample)?.to_vec()?);
            Ok((time(ops.stream(), n, || Ok(ops.map_forward(activation, &x, &mut y)?))?, ulp))
        }
        "backward" => {
            let dy = runtime.buffer_from(&host)?;
            ops.map_backward(activation, &x, &dy, &mut y)?;
            let ulp = exact(&|x| activation.derivative(x) * x, y.slice(..sample)?.to_vec()?);
            Ok((time(ops.stream(), n, || Ok(ops.map_backward(activation, &x, &dy, &mut y)?))?, ulp))
        }
        "in_place" => {
            ops.stream().copy(&x, &mut y)?;
            ops.map_in_place(activation, &mut y)?;
            let ulp = exact(&|x| activation.forward(x), y.slice(..sample)?.to_vec()?);
            Ok((time(ops.stream(), n, || Ok(ops.map_in_place(activation, &mut y)?))?, ulp))
        }
        _ => Err(format!("no operation `{operation}`").into()),
    }
}

fn special<T: Benched>(runtime: &Runtime, operation: &str, what: &str, n: usize) -> Answer
where
    Kernels: Has<bias_activation_forward<Relu, T>>
        + Has<bias_activation_forward<Silu, T>>
        + Has<bias_activation_forward<GeluErf, T>>
        + Has<bias_activation_forward<GeluTanh, T>>
        + Has<warpsmith::kernels::gated_halves_forward<Swiglu, T>>,
{
    match (operation, what) {
        ("bias", "relu") => biased(runtime, Relu, n),
        ("bias", "silu") => biased(runtime, Silu, n),
        ("bias", "gelu_erf") => biased(runtime, GeluErf, n),
        ("bias", "gelu_tanh") => biased(runtime, GeluTanh, n),
        ("swiglu", rows) => {
            let rows: usize = rows.parse()?;
            let columns = n / rows;
            let host = values::<T>(2 * rows * columns);
            let x = Matrix::from_columns(runtime, 2 * rows, columns, &host)?;
            let mut y = Matrix::zeros(runtime, rows, columns)?;
            let ops = Ops::new(runtime);
            let unit = Swiglu::default();
            ops.gated_halves_forward(unit, Halves::GateFirst, &x, &mut y)?;
            let wide = |i: usize| f64::from(host[i].load());
            let ulp = worst(
                y.column(0)?.to_vec()?.into_iter().zip((0..rows).map(|i| Silu.forward(wide(i)) * wide(rows + i))),
            );
            Ok((time(ops.stream(), n, || Ok(ops.gated_halves_forward(unit, Halves::GateFirst, &x, &mut y)?))?, ulp))
        }
        _ => Err(format!("`{operation} {what}` is not compiled").into()),
    }
}

fn biased<A: Activation, T: Benched>(runtime: &Runtime, activation: A, n: usize) -> Answer
where
    Kernels: Has<bias_activation_forward<A, T>>,
{
    const ROWS: usize = 4096;
    let columns = n / ROWS;
    let host = values::<T>(ROWS * columns);
    let (x, bias) = (Matrix::from_columns(runtime, ROWS, columns, &host)?, runtime.buffer_from(&host[..ROWS])?);
    let mut y = Matrix::zeros(runtime, ROWS, columns)?;
    let ops = Ops::new(runtime);
    ops.bias_activation_forward(activation, &x, &bias, &mut y)?;
    let wide = |x: T| f64::from(x.load());
    let exact = host[..ROWS].iter().map(|&x| activation.forward(wide(x) + wide(x)));
    let ulp = worst(y.column(0)?.to_vec()?.into_iter().zip(exact));
    Ok((time(ops.stream(), n, || Ok(ops.bias_activation_forward(activation, &x, &bias, &mut y)?))?, ulp))
}

/// Spread over -8..8, never zeros: those toggle fewer bits, and some functions take them faster.
fn values<T: Benched>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::of(((i * 2_654_435_761) % 16_000_057) as f32 / 1e6 - 8.0)).collect()
}

/// The largest error in last places; near a root, in those of 1/16.
fn worst<T: Benched>(pairs: impl Iterator<Item = (T, f64)>) -> f64 {
    pairs.map(|(got, want)| got.ulp(want, 0.0625)).fold(0.0, f64::max)
}

/// Milliseconds of one call: the median over rounds by the device's clock; small sizes in bursts, by the host's.
fn time(
    stream: &Stream,
    n: usize,
    mut run: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<f64, Box<dyn std::error::Error>> {
    for _ in 0..3 {
        run()?;
    }
    stream.synchronize()?;
    let mut times = Vec::new();
    for _ in 0..9 {
        if n >= 1 << 25 {
            let start = stream.record()?;
            run()?;
            let end = stream.record()?;
            end.synchronize()?;
            times.push(end.elapsed_since(&start)?.as_secs_f64() * 1e3);
        } else {
            const BURST: u32 = 100;
            let start = std::time::Instant::now();
            for _ in 0..BURST {
                run()?;
            }
            stream.synchronize()?;
            times.push(start.elapsed().as_secs_f64() * 1e3 / f64::from(BURST));
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
