//! Measures every activation and prints what `cargo xtask accuracy` makes its table and pictures of.
//!
//! `accuracy [--count N] [NAME]`: N f32 inputs, evenly spaced over all bit patterns (2^24 unless given, 2^32 is all), and all 2^16
//! of f16 and bf16. Lines: `count;N`, `error;NAME;TYPE;forward or derivative;ULP;ULP OF THE TERM;AT;GOT;EXACT`, `curve;NAME;X;F;F';F''`, and
//! `spread;NAME;X;ULP;ULP'` with the largest f32 errors around x.

use std::thread;

use warpsmith_gpu::accuracy::{Digits, Report, largest_input, measure, terms};
use warpsmith_gpu::activations::Any;
use warpsmith_gpu::{Activation, Fast, Real, bf16, f16, with_activation};

fn main() {
    let (mut count, mut name) = (1_u64 << 24, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--count" => count = arguments.next().and_then(|n| n.parse().ok()).expect("--count needs a number"),
            text => name = Some(text.to_owned()),
        }
    }
    let chosen: Vec<Any> = match name {
        Some(text) => vec![text.parse().unwrap_or_else(|error| panic!("{error}"))],
        None => Any::all().collect(),
    };
    println!("count;{count}");
    for any in chosen {
        let end = largest_input(any);
        with_activation!(any, |activation| {
            let step = ((1 << 32) / count.clamp(1, 1 << 32)) as u32 | u32::from(count < 1 << 32);
            let single = |i: u64| f32::from_bits((i as u32).wrapping_mul(step));
            print(any, "f32", parallel::<_, _, f32>(any, &activation, count, end, single));
            print(any, "f32 fast", parallel::<_, _, Fast>(any, &activation, count.min(1 << 24), end, single));
            print(any, "f16", parallel::<_, _, Fast>(any, &activation, 1 << 16, end, |i| f16::from_bits(i as u16)));
            print(any, "bf16", parallel::<_, _, Fast>(any, &activation, 1 << 16, end, |i| bf16::from_bits(i as u16)));
            curves(any, &activation);
        });
    }
}

/// Elements 0..count, on all processors.
fn parallel<A: Activation, T: Digits, R>(
    any: Any,
    activation: &A,
    count: u64,
    end: f64,
    element: impl Fn(u64) -> T + Copy + Send,
) -> Report
where
    R: Real + From<f32> + Into<f32>,
{
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let inputs = (count * part / threads..count * (part + 1) / threads).map(element);
                let inputs = inputs.filter(move |x| f64::from(x.load()).abs() <= end);
                scope.spawn(move || measure::<A, T, R>(activation, inputs, terms(any)))
            })
            .collect();
        let reports = parts.into_iter().map(|part| part.join().expect("no panic"));
        reports.fold(Report::NONE, Report::and)
    })
}

fn print(any: Any, kind: &str, report: Report) {
    for (what, worst, of_term) in [
        ("forward", report.forward, report.forward_of_term),
        ("derivative", report.derivative, report.derivative_of_term),
    ] {
        let (ulp, term, at, got, want) = (worst.ulp, of_term.ulp, of_term.at, of_term.got, of_term.want);
        println!("error;{};{kind};{what};{ulp:.3};{term:.3};{at:e};{got:e};{want:e}", any.name());
    }
}

/// Values and the local spread of errors between -8 and 8.
fn curves<A: Activation>(any: Any, activation: &A) {
    const POINTS: i32 = 160;
    const WIDTH: f64 = 0.1;
    for i in -POINTS / 2..=POINTS / 2 {
        let x = f64::from(i) * WIDTH + 1e-3;
        let [value, first, second] = [activation.forward(x), activation.derivative(x), activation.second_derivative(x)];
        println!("curve;{};{x};{value:.5};{first:.5};{second:.5}", any.name());
        let around = (0..256).map(|k| (x + WIDTH * (f64::from(k) / 256.0 - 0.5)) as f32);
        let report = measure::<A, f32, f32>(activation, around, terms(any));
        let (value, slope) = (report.forward_of_term.ulp, report.derivative_of_term.ulp);
        println!("spread;{};{x};{value:.3};{slope:.3}", any.name());
    }
}
