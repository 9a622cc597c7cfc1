//! Short programs that each show one thing and check their own result. `cargo run -p warpsmith-examples -- NAME` runs one.

mod activation_as_argument;
mod activation_of_a_type;
mod activation_with_state;
mod closure;
mod data_exchange;
mod epilogue;
mod fused_linear;
mod graph;
mod matmul;
mod relu_grids;
mod simulator;
mod streams_and_events;

use std::time::Duration;

use warpsmith::{Runtime, Stream};

/// What an example returns: an error if its result is not what plain Rust computes.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// An example.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its file, without `.rs`.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// Runs it.
    pub run: fn(&Runtime) -> Outcome,
}

macro_rules! examples {
    ($($name:ident: $shows:literal;)*) => {
        /// All of them, in the order in which one may read them.
        pub const EXAMPLES: &[Example] = &[$(Example { name: stringify!($name), shows: $shows, run: $name::run }),*];
    };
}
examples! {
    activation_as_argument: "an activation is a value that a kernel takes";
    activation_of_a_type: "an activation follows from a type";
    activation_with_state: "an activation has state, passed by value";
    relu_grids: "grids of one and two dimensions, and bounds checks";
    matmul: "a matrix product: naive, tiled, by tensor cores";
    fused_linear: "matmul + bias + relu in three kernels, in one, and tuned";
    epilogue: "a matrix product's last step of your own";
    closure: "what a closure captures reaches the device by value";
    streams_and_events: "streams overlap, events order and measure them";
    graph: "launches recorded once and repeated as one";
    data_exchange: "nalgebra, ndarray, NPY, and memory of another library";
    simulator: "the simulator finds three mistakes and says where";
}

/// The kernels of `kernels/`, as `build.rs` made them.
static DEVICE_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.zip"));

/// An error unless each number is within `tolerance` of the expected one, relative to it where it is larger than 1.
fn expect_close(what: &str, got: &[f32], expected: &[f64], tolerance: f64) -> Outcome {
    if got.len() != expected.len() {
        return Err(format!("{what}: {} numbers, expected {}", got.len(), expected.len()).into());
    }
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let close = (f64::from(got) - expected).abs() <= tolerance * expected.abs().max(1.0);
        if !close && f64::from(got) != expected {
            return Err(format!("{what}: number {i} is {got}, expected {expected}").into());
        }
    }
    Ok(())
}

/// Numbers between -1 and 1 for examples to compute with.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 2_654_435_761 + seed * 40_503) % 2001) as f32 / 1000.0 - 1.0).collect()
}

/// How long work takes on its device, between two events: on a GPU the mean of some runs after a first one.
fn time(stream: &Stream, mut work: impl FnMut() -> warpsmith::Result<()>) -> warpsmith::Result<Duration> {
    let runs = if stream.runtime().is_cuda() { 20 } else { 1 };
    work()?;
    let start = stream.record()?;
    for _ in 0..runs {
        work()?;
    }
    Ok(stream.record()?.elapsed_since(&start)? / runs)
}
