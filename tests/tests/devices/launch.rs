//! Typed launches on a GPU: limits and faults give typed errors; the runtime's own checks run here as well.

use test_kernels::TestKernels;
use test_kernels::faults::{dynamic_shared, out_of_bounds, traps};
use warpsmith::{Error, Runtime, Shape, checks};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests};

pub const TESTS: Tests =
    Tests { gpu: &[("dynamic_shared_memory", dynamic_shared_memory), ("faults", faults)], ..Tests::NONE };

/// What the runtime checks of itself.
pub const RUNTIME: Tests = Tests { everywhere: checks::EVERYWHERE, gpu: checks::GPU, ..Tests::NONE };

fn dynamic_shared_memory(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let (kernel, stream) = (runtime.kernel::<TestKernels, dynamic_shared>()?, runtime.default_stream());
    let shape = Shape::new([2, 1, 1], [128, 1, 1]);
    let mut output = runtime.zeros::<u32>(1)?;
    for bytes in [0, 1000, 48 << 10, 64 << 10, kernel.shared_limit()] {
        kernel.launch(&stream, shape.with_shared_bytes(bytes), (&mut output,))?;
        assert_eq!(output.to_vec()?, [bytes as u32]);
    }
    let limit = kernel.shared_limit();
    let error = kernel.launch(&stream, shape.with_shared_bytes(limit + 1), (&mut output,)).unwrap_err();
    let (got, expected) = (limit as u64 + 1, limit as u64);
    assert!(matches!(&error, Error::LaunchShape { got: g, limit: l, .. } if (*g, *l) == (got, expected)), "{error}");
    let error = kernel.launch(&stream, Shape::new([1, 1, 1], [64, 1, 1]), (&mut output,)).unwrap_err();
    assert!(matches!(error, Error::BlockShape { got: [64, 1, 1], expected: [128, 1, 1], .. }), "{error}");
    Ok(())
}

/// A trap and a refused index end the kernel with an error at the next synchronisation. They also end the context, so they run
/// in processes of their own: this one, called again.
fn faults(_: &Runtime) -> TestResult {
    for fault in ["traps", "out_of_bounds"] {
        let output = std::process::Command::new(std::env::current_exe()?).env(FAULT, fault).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("as expected"), "{fault}: {text}");
    }
    Ok(())
}

pub const FAULT: &str = "WARPSMITH_TEST_FAULT";

/// Runs a kernel that does wrong and expects the driver's error.
pub fn fault(name: &str) -> TestResult {
    let runtime = Runtime::cuda(0)?;
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let (stream, shape) = (runtime.default_stream(), Shape::new([2, 1, 1], [64, 1, 1]));
    match name {
        "traps" => runtime.kernel::<TestKernels, traps>()?.launch(&stream, shape, ())?,
        _ => {
            let (x, mut y) = (runtime.zeros::<f32>(8)?, runtime.zeros::<f32>(8)?);
            runtime.kernel::<TestKernels, out_of_bounds>()?.launch(&stream, shape, (&x, &mut y))?;
        }
    }
    match runtime.synchronize() {
        Err(Error::Driver { call, code, .. }) => println!("{name}: {call} failed with {code}, as expected"),
        other => return Err(format!("{name}: {other:?}").into()),
    }
    Ok(())
}
