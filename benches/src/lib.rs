//! What the benchmarks share.

pub mod values;

use warpsmith::Runtime;

/// The GPU, or a word on why there is nothing to measure.
pub fn gpu(benchmark: &str) -> Option<Runtime> {
    Runtime::cuda(0).map_err(|error| eprintln!("SKIPPED {benchmark}: {error}")).ok()
}
