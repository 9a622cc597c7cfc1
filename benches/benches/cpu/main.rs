//! Warpsmith's side of the comparison in `benches/peers/cpu`: with `--serve` it answers one request a line, about activations on the CPU.
//!
//! | request | answer |
//! | --- | --- |
//! | `prepare SLOT forward\|backward ACTIVATION TYPE ELEMENTS` | `ok ERROR`: computed once, and a sample compared with f64, in last places |
//! | `prepare SLOT copy - TYPE ELEMENTS` | `ok 0`: the processor's copy of one thread |
//! | `time SLOT SECONDS` | `ok MILLISECONDS` of one call: the mean of as many calls in a row as take that long, at least one |
//! | `free` | `ok`: nothing is prepared any more |
//!
//! Any other answer is `error TEXT`. A program of its own, because the one of `benches/peers` takes minutes to build.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Instant;

use warpsmith::activations::Any;
use warpsmith::kernels::{map_backward, map_forward};
use warpsmith::ops::Ops;
use warpsmith::{Activation, Has, Kernels, Runtime, bf16};
use warpsmith_benches::values::{Value, spread, wide, worst};
use warpsmith_gpu::with_activation;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A call, and the largest error of its first result.
struct Work {
    error: f64,
    run: Box<dyn FnMut() -> warpsmith::Result<()>>,
}

/// Elements that are compared with f64.
const SAMPLE: usize = 1 << 16;

fn main() -> Result<()> {
    if !std::env::args().any(|argument| argument == "--serve") {
        println!("SKIPPED cpu: benches/peers/cpu/run.py starts this program");
        return Ok(());
    }
    let runtime = Runtime::cpu();
    println!("ready {runtime}");
    let mut prepared = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        match serve(&runtime, &mut prepared, &line?) {
            Ok(answer) => println!("ok {answer}"),
            Err(error) => println!("error {}", error.to_string().replace('\n', " ")),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn serve(runtime: &Runtime, prepared: &mut HashMap<String, Work>, line: &str) -> Result<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["prepare", slot, operation, name, kind, elements] => {
            prepared.remove(slot);
            let n = elements.parse()?;
            let work = match kind {
                "f32" => prepare::<f32>(runtime, operation, name, n)?,
                "bf16" => prepare::<bf16>(runtime, operation, name, n)?,
                _ => return Err(format!("no type `{kind}`").into()),
            };
            let error = work.error;
            prepared.insert(slot.to_owned(), work);
            Ok(format!("{error:.3}"))
        }
        ["time", slot, seconds] => {
            let work = prepared.get_mut(slot).ok_or_else(|| format!("nothing is prepared as `{slot}`"))?;
            Ok(format!("{:.6}", 1e3 * time(work, seconds.parse()?)?))
        }
        ["free"] => {
            prepared.clear();
            Ok(String::new())
        }
        _ => Err(format!("`{line}` is no request").into()),
    }
}

/// The same as `sample` in `benches/peers/cpu/run.py`.
fn time(work: &mut Work, seconds: f64) -> Result<f64> {
    let (begin, mut calls, mut batch) = (Instant::now(), 0_u32, 1);
    loop {
        for _ in 0..batch {
            (work.run)()?;
        }
        calls += batch;
        let elapsed = begin.elapsed().as_secs_f64();
        if elapsed >= seconds {
            return Ok(elapsed / f64::from(calls));
        }
        // The clock is read seldom.
        batch = ((seconds - elapsed) / (elapsed / f64::from(calls))).clamp(1.0, 1000.0) as u32;
    }
}

trait Benched: Value {
    fn activation(runtime: &Runtime, operation: &str, name: &str, n: usize) -> Result<Work>;
}

macro_rules! whole_catalogue {
    ($($element:ident)*) => {$(
        impl Benched for $element {
            fn activation(runtime: &Runtime, operation: &str, name: &str, n: usize) -> Result<Work> {
                let any: Any = name.parse()?;
                with_activation!(any, |activation| mapped::<_, Self>(runtime, operation, activation, n))
            }
        }
    )*};
}
whole_catalogue! { f32 bf16 }

fn prepare<T: Benched>(runtime: &Runtime, operation: &str, name: &str, n: usize) -> Result<Work> {
    if operation == "copy" {
        let (x, mut y) = (spread::<T>(n), vec![T::default(); n]);
        let run = move || {
            y.copy_from_slice(std::hint::black_box(&x));
            std::hint::black_box(&mut y);
            Ok(())
        };
        return Ok(Work { error: 0.0, run: Box::new(run) });
    }
    T::activation(runtime, operation, name, n)
}

fn mapped<A: Activation, T: Value>(runtime: &Runtime, operation: &str, activation: A, n: usize) -> Result<Work>
where
    Kernels: Has<map_forward<A, T>> + Has<map_backward<A, T>>,
{
    let ops = Ops::new(runtime);
    let host = spread::<T>(n);
    let x = runtime.buffer_from(&host)?;
    let mut y = runtime.zeros::<T>(n)?;
    let want = |x: f64| if operation == "forward" { activation.forward(x) } else { activation.derivative(x) * x };
    match operation {
        "forward" => ops.map_forward(activation, &x, &mut y)?,
        "backward" => ops.map_backward(activation, &x, &x, &mut y)?,
        _ => return Err(format!("no operation `{operation}`").into()),
    }
    let got = y.slice(..n.min(SAMPLE))?.to_vec()?;
    let error = worst(got.into_iter().zip(host.iter().map(|&x| want(wide(x)))));
    let run: Box<dyn FnMut() -> warpsmith::Result<()>> = if operation == "forward" {
        Box::new(move || ops.map_forward(activation, &x, &mut y))
    } else {
        let dy = runtime.buffer_from(&host)?;
        Box::new(move || ops.map_backward(activation, &x, &dy, &mut y))
    };
    Ok(Work { error, run })
}
