//! The accuracy of every activation in f32 over all 2^32 inputs, on the GPU, against f64: forward and derivative.
//!
//! Prints the lines that `cargo xtask accuracy --from FILE` makes its table of. The largest error is found by comparing whole words, so it
//! doesn't depend on the order of threads; the worst inputs are then computed again by the host, which must find the same errors.

use std::time::Instant;

use bench_kernels::{ERRORS, Scans, scan};
use cuda_std::Has;
use warpsmith::activations::Any;
use warpsmith::ops::Ops;
use warpsmith::{Activation, Runtime, Shape};
use warpsmith_benches::gpu;
use warpsmith_gpu::accuracy::{Report, largest_input, measure, terms};
use warpsmith_gpu::with_activation;

static SCANS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scans.zip"));

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(runtime) = gpu("exhaustive") else { return Ok(()) };
    runtime.register::<Scans>(SCANS)?;
    eprintln!("all 2^32 inputs of f32 on {runtime}");
    println!("count;{}", 1_u64 << 32);
    for any in Any::all() {
        with_activation!(any, |activation| report(&runtime, any, activation)?);
    }
    Ok(())
}

fn report<A: Activation>(runtime: &Runtime, any: Any, activation: A) -> Result<(), Box<dyn std::error::Error>>
where
    Scans: Has<scan<A>>,
{
    let begin = Instant::now();
    let blocks = 16 * runtime.device().cuda().map_or(1, |cuda| cuda.multiprocessors);
    let ops = Ops::<Scans>::on(runtime.default_stream());
    let mut worst = runtime.zeros::<u64>(256 * blocks as usize * ERRORS)?;
    let arguments = (activation, terms(any), largest_input(any), 0, 1_u64 << 32, &mut worst);
    ops.kernel::<scan<A>>()?.launch(ops.stream(), Shape::new([blocks, 1, 1], [256, 1, 1]), arguments)?;
    let worst = worst.to_vec()?;

    let found = |k: usize| worst.iter().skip(k).step_by(ERRORS).max().copied().unwrap_or(0);
    let again =
        |k: usize| measure::<A, f32, f32>(&activation, [f32::from_bits(found(k) as u32)].into_iter(), terms(any));
    let picks: [fn(&Report) -> warpsmith_gpu::accuracy::Worst; ERRORS] =
        [|r| r.forward, |r| r.derivative, |r| r.forward_of_term, |r| r.derivative_of_term];
    for (k, what) in ["forward", "derivative"].into_iter().enumerate() {
        let (result, term) = (picks[k](&again(k)), picks[k + 2](&again(k + 2)));
        for (k, host) in [(k, result), (k + 2, term)] {
            let device = f32::from_bits((found(k) >> 32) as u32);
            // Both compute the same numbers; a last place is for the functions that f64 takes from the processor.
            if (host.ulp as f32 - device).abs() > 1e-3 * device.max(1.0) {
                return Err(format!("{any} {what}: the GPU found {device} ulp, the host {host}").into());
            }
        }
        println!(
            "error;{};f32;{what};{:.3};{:.3};{:e};{:e};{:e}",
            any.name(),
            result.ulp,
            term.ulp,
            term.at,
            term.got,
            term.want
        );
    }
    eprintln!("{} took {:.2?}", any.name(), begin.elapsed());
    Ok(())
}
