//! Runs each example in the simulator, and on the GPU if there is one. They check their results themselves.

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith::Runtime;
use warpsmith_examples::EXAMPLES;

fn main() {
    let gpu = Runtime::cuda(0).map_err(|error| eprintln!("SKIPPED on the GPU: {error}")).ok();
    let runtimes = [Some((Runtime::simulator(), "simulator")), gpu.map(|runtime| (runtime, "cuda"))];
    let trials = runtimes.into_iter().flatten().flat_map(|(runtime, device)| {
        EXAMPLES.iter().map(move |example| {
            let (runtime, name) = (runtime.clone(), format!("{}::{device}", example.name));
            Trial::test(name, move || (example.run)(&runtime).map_err(|error| Failed::from(error.to_string())))
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
