//! Typed launches on a GPU: limits and faults give typed errors; the runtime's own checks run here as well.

use test_kernels::TestKernels;
use test_kernels::faults::{
    asserts, asserts_plainly, clocks, dynamic_shared, incremented, out_of_bounds, panics, prints, traps,
};
use warpsmith::{Error, Runtime, Shape, checks};
use warpsmith_tests::{FAULT_MESSAGES, TEST_KERNELS, TestResult, Tests, run_alone};

pub const TESTS: Tests = Tests {
    heavy: &[("a_test_alone", a_test_alone)],
    kernels: &[("messages", messages), ("clocks", clocks_run), ("bounds_checks", bounds_checks)],
    gpu: &[
        ("dynamic_shared_memory", dynamic_shared_memory),
        ("faults", faults),
        ("fault_messages", fault_messages),
        ("printed", printed),
    ],
    ..Tests::NONE
};

/// What the runtime checks of itself.
pub const RUNTIME: Tests = Tests { everywhere: checks::EVERYWHERE, gpu: checks::GPU, ..Tests::NONE };

/// What the tests behind a kernel that traps go through.
fn a_test_alone(_: &Runtime) -> TestResult {
    run_alone("runtime::empty buffers::cpu")?;
    let error = run_alone("runtime::no such test::cpu").unwrap_err();
    assert!(error.contains("0 passed"), "{error}");
    Ok(())
}

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

/// What ends the context runs in a process of its own: this one, called again.
fn in_a_process(name: &str) -> Result<String, Box<dyn std::error::Error>> {
    let output = std::process::Command::new(std::env::current_exe()?).env(FAULT, name).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{name}: {text}").into()) }
}

/// A trap and a refused index end the kernel with an error at the next synchronisation.
fn faults(_: &Runtime) -> TestResult {
    for fault in ["traps", "out_of_bounds"] {
        let text = in_a_process(fault)?;
        assert!(text.contains("failed with") && text.contains("as expected"), "{fault}: {text}");
    }
    Ok(())
}

/// Built for it, an index out of bounds says which one, where.
fn fault_messages(_: &Runtime) -> TestResult {
    let text = in_a_process("out_of_bounds_with_messages")?;
    assert!(text.contains("as expected"), "{text}");
    Ok(())
}

/// A message reaches the host, with the line, block and thread; the same text in the simulator and on a GPU.
fn messages(runtime: &Runtime) -> TestResult {
    for fault in ["asserts", "asserts_plainly", "panics"] {
        if runtime.is_cuda() {
            let text = in_a_process(fault)?;
            assert!(text.contains("as expected"), "{fault}: {text}");
        } else {
            message(fault, runtime)?;
        }
    }
    Ok(())
}

fn message(name: &str, runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let (stream, shape) = (runtime.default_stream(), Shape::new([2, 1, 1], [64, 1, 1]));
    let mut values = vec![0.25f32; 128];
    values[100] = -1.5;
    let x = runtime.buffer_from(&values)?;
    let launched = match name {
        "asserts" => runtime.kernel::<TestKernels, asserts>()?.launch(&stream, shape, (&x,)),
        "asserts_plainly" => runtime.kernel::<TestKernels, asserts_plainly>()?.launch(&stream, shape, ()),
        _ => runtime.kernel::<TestKernels, panics>()?.launch(&stream, shape, (-12,)),
    };
    // The simulator's launches are over when they return.
    let error = launched.and_then(|()| runtime.synchronize()).expect_err("the kernel ends itself");
    let Error::KernelPanicked { kernel, block, thread, message, file, line } = &error else {
        return Err(format!("{name}: {error}").into());
    };
    let (expected, at) = match name {
        "asserts" => ("x[100] is -1.5, which is negative", Some((1, 36))),
        "asserts_plainly" => ("assertion failed: thread::index() != 70", Some((1, 6))),
        _ => ("code -12", None),
    };
    assert_eq!((kernel.as_str(), message.as_str()), (name, expected));
    assert!(at.is_none_or(|(b, t)| (*block, *thread) == ([b, 0, 0], [t, 0, 0])), "{error}");
    assert!(file.ends_with("faults.rs") && (10..60).contains(line), "{error}");
    // The error stays: on a GPU the context is lost.
    if runtime.is_cuda() {
        assert!(matches!(x.to_vec(), Err(Error::KernelPanicked { .. })));
    }
    println!("{name}: {error}, as expected");
    Ok(())
}

/// Lines that a kernel prints are on standard output after a synchronisation.
fn printed(_: &Runtime) -> TestResult {
    let text = in_a_process("prints")?;
    for line in ["element 0 of 0003: 0.500 {100%} -7", "element 2 of 0003: 2.500 {100%} -7"] {
        assert!(text.lines().any(|it| it == line), "{line} is missing in {text}");
    }
    Ok(())
}

/// With and without bounds checks the same; on a GPU it says what each takes.
fn bounds_checks(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let (n, rounds) = if runtime.is_cuda() { (1 << 26, 50) } else { (1000, 1) };
    let (x, mut y) = (runtime.filled(n, 2.0f32)?, runtime.zeros::<f32>(n)?);
    let (stream, shape) = (runtime.default_stream(), Shape::for_elements(n, 256)?);
    let checked = runtime.kernel::<TestKernels, incremented<true>>()?;
    let unchecked = runtime.kernel::<TestKernels, incremented<false>>()?;
    let mut micros = [0.0; 2];
    // The first round warms up.
    for _ in 0..2 {
        for (i, micros) in micros.iter_mut().enumerate() {
            let start = runtime.is_cuda().then(|| stream.record()).transpose()?;
            for _ in 0..rounds {
                match i {
                    0 => checked.launch(&stream, shape, (&x, &mut y))?,
                    _ => unchecked.launch(&stream, shape, (&x, &mut y))?,
                }
            }
            if let Some(start) = start {
                let end = stream.record()?;
                end.synchronize()?;
                *micros = end.elapsed_since(&start)?.as_secs_f64() * 1e6 / f64::from(rounds);
            }
            assert!(y.to_vec()?.iter().all(|&y| y == 3.0));
            y.fill(0.0)?;
        }
    }
    if runtime.is_cuda() {
        let [checked, unchecked] = micros;
        println!("2^26 elements plus 1: {checked:.2} us with bounds checks, {unchecked:.2} us without");
    }
    Ok(())
}

fn clocks_run(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let mut output = runtime.zeros::<u64>(3)?;
    let shape = Shape::new([1; 3], [1, 1, 1]);
    runtime.kernel::<TestKernels, clocks>()?.launch(&runtime.default_stream(), shape, (&mut output,))?;
    let passed = output.to_vec()?;
    assert!(passed.iter().all(|&ticks| ticks > 0), "{passed:?}");
    Ok(())
}

/// What the view of eight elements says to index 8.
const OUT_OF_BOUNDS: &str = "index 8 is out of bounds: the view has 8 elements";

pub const FAULT: &str = "WARPSMITH_TEST_FAULT";

/// Runs a kernel that does what can be done once in a process.
pub fn fault(name: &str) -> TestResult {
    let runtime = Runtime::cuda(0)?;
    let with_messages = name == "out_of_bounds_with_messages";
    runtime.register::<TestKernels>(if with_messages { FAULT_MESSAGES } else { TEST_KERNELS })?;
    let (stream, shape) = (runtime.default_stream(), Shape::new([2, 1, 1], [64, 1, 1]));
    match name {
        "traps" => runtime.kernel::<TestKernels, traps>()?.launch(&stream, shape, ())?,
        "out_of_bounds" | "out_of_bounds_with_messages" => {
            let (x, mut y) = (runtime.zeros::<f32>(8)?, runtime.zeros::<f32>(8)?);
            runtime.kernel::<TestKernels, out_of_bounds>()?.launch(&stream, shape, (&x, &mut y))?;
        }
        "prints" => {
            let x = runtime.buffer_from(&[0.5f32, 1.5, 2.5])?;
            runtime.kernel::<TestKernels, prints>()?.launch(&stream, shape, (&x,))?;
            return Ok(runtime.synchronize()?);
        }
        _ => return message(name, &runtime),
    }
    match runtime.synchronize() {
        Err(Error::KernelPanicked { kernel, message, file, line, .. }) if with_messages => {
            assert_eq!((kernel.as_str(), message.as_str()), ("out_of_bounds", OUT_OF_BOUNDS));
            assert!(file.ends_with("faults.rs") && line > 0, "{file}:{line}");
            println!("{name}: {message}, as expected");
        }
        Err(Error::Driver { call, code, .. }) if !with_messages => {
            println!("{name}: {call} failed with {code}, as expected")
        }
        other => return Err(format!("{name}: {other:?}").into()),
    }
    Ok(())
}
