//! Every test that runs on each device: on the CPU, in the simulator, on a GPU. One file for each capability; one binary, because
//! each would carry all kernels.

mod abi;
mod device_language;
mod digits;
mod fused;
mod gated;
mod launch;
mod map;
mod matmul;
mod rust_cuda;
mod softmax;
mod training;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(launch::FAULT) {
        return launch::fault(&name).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    warpsmith_tests::on_devices(&[
        ("abi", abi::TESTS),
        ("device_language", device_language::TESTS),
        ("digits", digits::TESTS),
        ("fused", fused::TESTS),
        ("gated", gated::TESTS),
        ("launch", launch::TESTS),
        ("map", map::TESTS),
        ("matmul", matmul::TESTS),
        ("rust_cuda", rust_cuda::TESTS),
        ("softmax", softmax::TESTS),
        ("training", training::TESTS),
        ("runtime", launch::RUNTIME),
    ])
}
