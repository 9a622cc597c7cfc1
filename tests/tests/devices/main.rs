//! Every test that runs on each device: on the CPU, in the simulator, on a GPU. One file for each capability; one binary, because
//! each would carry all kernels.

#[macro_use]
mod host_data;

mod abi;
mod asynchronous;
mod atomics;
mod blocks;
mod clusters;
mod digits;
mod epilogues;
mod fused;
mod gated;
mod launch;
mod linear_backward;
mod map;
mod matmul;
mod planted;
mod reported_shapes;
mod reported_values;
mod rust_cuda;
mod softmax;
mod tensor_cores;
mod tensor_products;
mod training;
mod warps;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(launch::FAULT) {
        return launch::fault(&name).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    if let Ok(name) = std::env::var(planted::PLANTED) {
        return planted::run(&name).map_or_else(
            |error| {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        );
    }
    warpsmith_tests::on_devices(&[
        ("abi", abi::TESTS),
        ("asynchronous", asynchronous::TESTS),
        ("atomics", atomics::TESTS),
        ("blocks", blocks::TESTS),
        ("clusters", clusters::TESTS),
        ("digits", digits::TESTS),
        ("epilogues", epilogues::TESTS),
        ("fused", fused::TESTS),
        ("gated", gated::TESTS),
        ("launch", launch::TESTS),
        ("linear_backward", linear_backward::TESTS),
        ("map", map::TESTS),
        ("matmul", matmul::TESTS),
        ("reported_shapes", reported_shapes::TESTS),
        ("reported_values", reported_values::TESTS),
        ("planted", planted::TESTS),
        ("rust_cuda", rust_cuda::TESTS),
        ("softmax", softmax::TESTS),
        ("tensor_cores", tensor_cores::TESTS),
        ("tensor_products", tensor_products::TESTS),
        ("training", training::TESTS),
        ("warps", warps::TESTS),
        ("runtime", launch::RUNTIME),
    ])
}
