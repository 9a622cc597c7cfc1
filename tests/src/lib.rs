//! What the integration tests share: running each test on every device that there is, and random data.

#[cfg(doctest)]
mod book;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Command, ExitCode};
use std::sync::{LazyLock, OnceLock};

use libtest_mimic::{Arguments, Failed, Trial};
use rand::RngExt;
use rand::SeedableRng;
pub use rand_chacha::ChaCha8Rng;
use warpsmith::Runtime;

/// The tests' device code.
pub static TEST_KERNELS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/test_kernels.zip"));

/// One of them, built with messages for indices out of bounds.
pub static FAULT_MESSAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fault_messages.zip"));

/// Set by the bundle's `run` where there is a GPU: a test that can't use it then fails instead of being skipped.
pub const REQUIRE_GPU: &str = "WARPSMITH_REQUIRE_GPU";

static GPU: LazyLock<warpsmith::Result<Runtime>> = LazyLock::new(|| Runtime::cuda(0));

/// What a test returns.
pub type TestResult = Result<(), Box<dyn std::error::Error>>;

/// A test and its name.
pub type Test = (&'static str, fn(&Runtime) -> TestResult);

/// The tests of one file, by where they run.
#[derive(Clone, Copy, Default)]
pub struct Tests {
    /// On the CPU, in the simulator and on the GPU.
    pub everywhere: &'static [Test],
    /// On the CPU and on the GPU: too much work for the simulator.
    pub heavy: &'static [Test],
    /// In the simulator and on the GPU, which launch kernels.
    pub kernels: &'static [Test],
    /// On the GPU.
    pub gpu: &'static [Test],
}

impl Tests {
    /// None.
    pub const NONE: Self = Self { everywhere: &[], heavy: &[], kernels: &[], gpu: &[] };
}

/// Runs tests where they belong, each file's under its name. Without a GPU those for it are reported as ignored, with the reason.
pub fn on_devices(files: &[(&str, Tests)]) -> ExitCode {
    let trials = files.iter().flat_map(|&(file, Tests { everywhere, heavy, kernels, gpu })| {
        let named = move |&(name, test): &Test, device: &str| (format!("{file}::{name}::{device}"), test);
        let cpu = everywhere.iter().chain(heavy).map(move |test| {
            let (name, test) = named(test, "cpu");
            Trial::test(name, move || run(test, &Runtime::cpu()))
        });
        let simulator = everywhere.iter().chain(kernels).map(move |test| {
            let (name, test) = named(test, "simulator");
            Trial::test(name, move || run(test, &Runtime::simulator()))
        });
        let cuda = everywhere.iter().chain(heavy).chain(kernels).chain(gpu).map(move |test| {
            let (name, test) = named(test, "cuda");
            on_gpu(name, test)
        });
        cpu.chain(simulator).chain(cuda)
    });
    if let Err(error) = &*GPU {
        eprintln!("SKIPPED on the GPU (counted as ignored): {error}");
    }
    let mut arguments = Arguments::from_args();
    if GPU.is_ok() {
        // Some tests fill the device's memory or count its allocations.
        arguments.test_threads = Some(1);
    }
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// The test behind which the GPU's context was unusable.
static LOST_BEHIND: OnceLock<String> = OnceLock::new();

fn on_gpu(name: String, test: fn(&Runtime) -> TestResult) -> Trial {
    let required = std::env::var_os(REQUIRE_GPU).is_some();
    Trial::test(name.clone(), move || match &*GPU {
        Ok(runtime) => run_on_gpu(&name, test, runtime),
        Err(error) => Err(Failed::from(format!("no GPU, but {REQUIRE_GPU} is set: {error}"))),
    })
    .with_ignored_flag(GPU.is_err() && !required)
}

/// A kernel that traps ends the context, and everything in this process that would use it: the tests behind it run in processes of
/// their own.
fn run_on_gpu(name: &str, test: fn(&Runtime) -> TestResult, runtime: &Runtime) -> Result<(), Failed> {
    if let Some(culprit) = LOST_BEHIND.get() {
        return run_alone(name).map_err(|error| format!("in a process of its own, behind {culprit}: {error}").into());
    }
    let result = catch_unwind(AssertUnwindSafe(|| run(test, runtime)));
    if !matches!(result, Ok(Ok(())))
        && let Err(error) = runtime.synchronize()
    {
        eprintln!("{name} has cost this process its GPU: {error}");
        let _ = LOST_BEHIND.set(name.to_owned());
    }
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs one test of this program in a process of its own.
///
/// # Errors
/// A text with what it printed, if it did not run and pass.
pub fn run_alone(name: &str) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("this program can't be found: {error}"))?;
    let output = Command::new(program).args(["--exact", name]).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    // The program succeeds as well if it has no test of this name, or skips it.
    if output.status.success() && printed.contains(" 1 passed;") {
        return Ok(());
    }
    Err(format!("{}\n{printed}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn run(test: fn(&Runtime) -> TestResult, runtime: &Runtime) -> Result<(), Failed> {
    test(runtime).map_err(|error| Failed::from(error.to_string()))
}

/// Drawn anew in each run and printed, so that a failure can be repeated by setting `WARPSMITH_SEED`.
static SEED: LazyLock<u64> = LazyLock::new(|| {
    let seed = std::env::var("WARPSMITH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    eprintln!("WARPSMITH_SEED={seed}");
    seed
});

/// A generator for one test.
pub fn random(test: &str) -> ChaCha8Rng {
    let name = test.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    ChaCha8Rng::seed_from_u64(*SEED ^ name)
}

/// Numbers of every kind: many of moderate size, some huge, tiny, subnormal, zero, infinite and NaN.
pub fn numbers(random: &mut ChaCha8Rng, count: usize) -> Vec<f32> {
    const SPECIAL: [f32; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        1e-40,
        -1e-40,
    ];
    (0..count)
        .map(|_| match random.random_range(0..8u32) {
            0 => SPECIAL[random.random_range(0..SPECIAL.len())],
            1 => f32::from_bits(random.random()),
            2 => random.random_range(-100.0..100.0),
            _ => random.random_range(-6.0..6.0),
        })
        .collect()
}

/// Moderate numbers, for sums.
pub fn uniform(random: &mut ChaCha8Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| random.random_range(-1.0..1.0)).collect()
}

/// Bits that are equal exactly when the numbers are the same, all NaN being one.
pub fn canonical(x: f32) -> u32 {
    if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() }
}

/// An error with the first place where two results differ, NaN being equal to NaN.
///
/// # Errors
/// A text with the position, both values and their bits.
pub fn same_bits(what: &str, got: &[f32], want: &[f32]) -> TestResult {
    if got.len() != want.len() {
        return Err(format!("{what}: {} elements, expected {}", got.len(), want.len()).into());
    }
    let wrong = |(_, (got, want)): &(usize, (&f32, &f32))| canonical(**got) != canonical(**want);
    let count = got.iter().zip(want).enumerate().filter(wrong).count();
    match got.iter().zip(want).enumerate().find(wrong) {
        None => Ok(()),
        Some((i, (first, expected))) => Err(format!(
            "{what}: {count} of {} differ, first [{i}]: got {first:e} ({:08x}), expected {expected:e} ({:08x})",
            got.len(),
            first.to_bits(),
            expected.to_bits()
        )
        .into()),
    }
}
