//! Every test that runs on each device: on the CPU, in the simulator, on a GPU. One file for each capability; one binary, because
//! each would carry all kernels.

mod abi;
mod device_language;
mod digits;
mod epilogues;
mod launch;
mod linear_backward;
mod map;
mod matmul;
mod rust_cuda;
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
        ("epilogues", epilogues::TESTS),
        ("launch", launch::TESTS),
        ("linear_backward", linear_backward::TESTS),
        ("map", map::TESTS),
        ("matmul", matmul::TESTS),
        ("rust_cuda", rust_cuda::TESTS),
        ("training", training::TESTS),
        ("runtime", launch::RUNTIME),
    ])
}
