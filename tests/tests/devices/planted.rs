//! The planted bugs and their right twins, each as something to run: the simulator must find every bug that it claims to, and a GPU's
//! sanitizer is run on the same list.
//!
//! With `WARPSMITH_PLANTED=list` this binary prints the list, each with what the simulator finds; with `WARPSMITH_PLANTED=NAME` it
//! launches one on the GPU and says what came of it. What a sanitizer reports is not this program's failure: it succeeds.

use test_kernels::TestKernels;
use test_kernels::atomics::handed_on;
use test_kernels::planted::Planted;
use test_kernels::planted::asynchronous::{boxes, copies, handed_over, short_copies, stores};
use test_kernels::planted::barriers::{most_threads, two_barriers, votes};
use test_kernels::planted::clusters::{grid_neighbours, neighbours};
use test_kernels::planted::memory::{global_bounds, global_reads, shared_bounds, shared_reads};
use test_kernels::planted::races::{global_sum, passed_on, shared_neighbours, shared_rounds};
use warpsmith::{Error, Result, Runtime, Shape, TensorMap, Tiling};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests};

pub const TESTS: Tests = Tests { kernels: &[("bugs_and_twins", bugs_and_twins)], ..Tests::NONE };

/// Asks for one of them, or for the list.
pub const PLANTED: &str = "WARPSMITH_PLANTED";

/// What the simulator must say.
enum Expected {
    /// Nothing: the kernel is right.
    Right,
    /// One of these errors, by the names of their variants. Which one may depend on the order of the threads.
    Found(&'static [&'static str]),
    /// Nothing, though the kernel is wrong: it can't see it.
    Missed,
    /// It would do the same wrong to this program's memory.
    NotRun,
}
use Expected::{Found, Missed, NotRun, Right};

struct Plant {
    name: &'static str,
    what: &'static str,
    expected: Expected,
    launch: fn(&Runtime) -> Result<()>,
}

macro_rules! launch {
    ($runtime:ident, $library:ty, $kernel:ty, ($grid:expr, $block:expr, $shared:expr), $arguments:expr) => {{
        let runtime = $runtime;
        runtime.register::<$library>(TEST_KERNELS)?;
        let shape = Shape::new([$grid, 1, 1], [$block, 1, 1]).with_shared_bytes($shared);
        runtime.kernel::<$library, $kernel>()?.launch(&runtime.default_stream(), shape, $arguments)?;
        runtime.synchronize()
    }};
}

/// Rows: name, kernel, (blocks, threads, bytes of dynamic shared memory), then the arguments or the length of the only one.
macro_rules! plants {
    ($($name:literal: $kernel:ty, $shape:tt, $arguments:tt, $expected:expr, $what:literal;)*) => {
        &[$(Plant { name: $name, what: $what, expected: $expected, launch: plants!(@ $kernel, $shape, $arguments) }),*]
    };
    (@ $kernel:ty, $shape:tt, $len:literal) => {
        |runtime| launch!(runtime, Planted, $kernel, $shape, (&mut runtime.zeros::<u32>($len)?,))
    };
    (@ $kernel:ty, $shape:tt, (bounds)) => {
        |runtime| {
            // 512 bytes: no room is left behind them by the way in which memory is allocated.
            let (x, mut y) = (runtime.buffer_from(&[3u32; 128])?, runtime.zeros::<u32>(128)?);
            launch!(runtime, Planted, $kernel, $shape, (&x, &mut y))
        }
    };
    (@ $kernel:ty, $shape:tt, (uninitialized)) => {
        |runtime| {
            // SAFETY: written by the kernel, or read on purpose.
            let (mut x, mut y) = (unsafe { runtime.uninitialized::<u32>(32) }?, runtime.zeros::<u32>(32)?);
            launch!(runtime, Planted, $kernel, $shape, (&mut x, &mut y))
        }
    };
    (@ $kernel:ty, $shape:tt, (uninitialized alone)) => {
        |runtime| {
            // SAFETY: as above.
            let mut x = unsafe { runtime.uninitialized::<u32>(128) }?;
            launch!(runtime, Planted, $kernel, $shape, (&mut x,))
        }
    };
    (@ $kernel:ty, $shape:tt, (message)) => {
        |runtime| {
            let input = runtime.buffer_from(&[7u32; 32])?;
            let zeros = || runtime.zeros::<u32>(32);
            let (mut data, mut flags, mut output) = (zeros()?, zeros()?, zeros()?);
            launch!(runtime, TestKernels, $kernel, $shape, (&input, &mut data, &mut flags, &mut output))
        }
    };
    (@ $kernel:ty, $shape:tt, (boxes)) => {
        |runtime| {
            let (source, mut y) = (runtime.buffer_from(&[1u32; 128])?, runtime.zeros::<u32>(64)?);
            let map = TensorMap::new(&source, &Tiling::new([16, 8], [16, 4]))?;
            launch!(runtime, Planted, $kernel, $shape, (&map, &mut y))
        }
    };
    (@ $kernel:ty, ($grid:literal, $block:literal, 0), (grid)) => {
        |runtime| {
            runtime.register::<Planted>(TEST_KERNELS)?;
            let (mut x, mut counter) = (runtime.zeros::<u32>(128)?, runtime.zeros::<u32>(1)?);
            let (kernel, shape) = (runtime.kernel::<Planted, $kernel>()?, Shape::new([$grid, 1, 1], [$block, 1, 1]));
            kernel.launch_cooperative(&runtime.default_stream(), shape, (&mut x, &mut counter))?;
            runtime.synchronize()
        }
    };
}

const REFUSED: Expected = Found(&["KernelPanicked"]);
const LEFTOVER: Expected = Found(&["LeftoverCopy"]);
const RACE: Expected = Found(&["Race"]);
const RACE_OR_UNWRITTEN: Expected = Found(&["Race", "UnwrittenShared"]);

const PLANTS: &[Plant] = plants! {
    "global_bounds_0": global_bounds<0>, (4, 32, 0), (bounds), Right, "a buffer's own elements";
    "global_bounds_1": global_bounds<1>, (4, 32, 0), (bounds), REFUSED, "an unchecked read one past a buffer's end";
    "global_bounds_2": global_bounds<2>, (4, 32, 0), (bounds), REFUSED, "an unchecked write one past a buffer's end";
    "global_bounds_3": global_bounds<3>, (4, 32, 0), (bounds), NotRun, "a read one past a buffer's end by a raw pointer";
    "shared_bounds_0": shared_bounds<0>, (1, 32, 128), 32, Right, "shared arrays' own elements";
    "shared_bounds_1": shared_bounds<1>, (1, 32, 128), 32, REFUSED, "an unchecked read one past a shared array's end";
    "shared_bounds_2": shared_bounds<2>, (1, 32, 128), 32, REFUSED, "an unchecked write one past the dynamic memory";
    "global_reads_true": global_reads<true>, (1, 32, 0), (uninitialized), Right, "global memory is written, then read";
    "global_reads_false": global_reads<false>, (1, 32, 0), (uninitialized), Found(&["UnwrittenGlobal"]),
        "global memory that nobody wrote is read";
    "shared_reads_true": shared_reads<true>, (1, 64, 0), 64, Right, "shared memory is written, then read";
    "shared_reads_false": shared_reads<false>, (1, 64, 0), 64, Found(&["UnwrittenShared"]),
        "shared memory that nobody wrote is read";
    "shared_neighbours_0": shared_neighbours<0>, (1, 64, 256), 64, RACE_OR_UNWRITTEN,
        "shared memory, no barrier between write and read";
    "shared_neighbours_1": shared_neighbours<1>, (1, 64, 256), 64, RACE_OR_UNWRITTEN,
        "shared memory, a warp's barrier between two warps";
    "shared_neighbours_2": shared_neighbours<2>, (1, 64, 256), 64, Right, "shared memory, a block's barrier";
    "shared_rounds_true": shared_rounds<true>, (1, 64, 0), 64, Right, "a loop with both barriers";
    "shared_rounds_false": shared_rounds<false>, (1, 64, 0), 64, RACE, "a loop without its second barrier";
    "passed_on_true": passed_on<true>, (1, 32, 0), 32, Right, "lanes in turn, with sync_warp";
    "passed_on_false": passed_on<false>, (1, 32, 0), 32, RACE_OR_UNWRITTEN, "lanes in turn, without sync_warp";
    "global_sum_0": global_sum<0>, (4, 32, 0), 128, RACE, "two threads write one global element";
    "global_sum_1": global_sum<1>, (4, 32, 0), 128, RACE, "one thread reads the global element that another writes";
    "global_sum_2": global_sum<2>, (4, 32, 0), 128, Right, "all threads add atomically";
    "global_sum_3": global_sum<3>, (4, 32, 0), 128, RACE, "atomic additions and a plain write";
    "handed_on_true": handed_on<true>, (1, 64, 0), (message), Right, "a message behind release and acquire";
    "handed_on_false": handed_on<false>, (1, 64, 0), (message), RACE, "a message behind a relaxed flag";
    "most_threads_true": most_threads<true>, (2, 64, 0), 128, Right, "a barrier that all threads reach";
    "most_threads_false": most_threads<false>, (2, 64, 0), 128, Found(&["BarrierNotReached"]),
        "a barrier that one thread never reaches, because it ended";
    "two_barriers": two_barriers, (1, 32, 0), 32, Found(&["BarriersDiffer"]), "halves of a warp at different barriers";
    "votes_0": votes<0>, (2, 64, 0), 128, Found(&["LanesMissing"]), "a vote that a lane of its mask skips";
    "votes_1": votes<1>, (2, 32, 0), 64, Right, "two votes, each by its mask's lanes";
    "votes_2": votes<2>, (1, 32, 0), 32, REFUSED, "a vote whose mask leaves its caller out";
    "votes_3": votes<3>, (1, 32, 0), 32, Found(&["LanesMissing"]), "a vote while a lane of its mask waits at a barrier";
    "votes_4": votes<4>, (1, 32, 0), 32, REFUSED, "a shuffle from a lane outside of its mask";
    "copies_0": copies<0>, (1, 64, 0), 128, Right, "cp.async, waited for";
    "copies_1": copies<1>, (1, 64, 0), 128, RACE_OR_UNWRITTEN, "cp.async, read before it is waited for";
    "copies_2": copies<2>, (1, 64, 0), 128, LEFTOVER, "cp.async, never waited for";
    "short_copies": short_copies, (1, 32, 0), (uninitialized alone), Right,
        "cp.async of 4 bytes and 12 zeros, before bytes that nobody wrote";
    "boxes_0": boxes<0>, (1, 64, 512), (boxes), Right, "tensor loads, waited for";
    "boxes_1": boxes<1>, (1, 64, 512), (boxes), RACE_OR_UNWRITTEN, "a tensor load, read before it is waited for";
    "boxes_2": boxes<2>, (1, 64, 512), (boxes), RACE, "a tensor load to where others may still read";
    "boxes_3": boxes<3>, (1, 64, 512), (boxes), Found(&["WaitsForever"]), "an mbarrier that expects too many bytes";
    "boxes_4": boxes<4>, (1, 64, 512), (boxes), LEFTOVER, "a tensor load that nobody waits for";
    "boxes_5": boxes<5>, (1, 64, 512), (boxes), REFUSED, "an mbarrier that isn't initialised";
    "boxes_6": boxes<6>, (1, 64, 512), (boxes), REFUSED, "a box at a coordinate that isn't a multiple of 16 bytes";
    "boxes_7": boxes<7>, (1, 64, 512), (boxes), REFUSED, "a box to a place that isn't a multiple of 128 bytes";
    "stores_0": stores<0>, (1, 1, 0), 64, Right, "a bulk store, waited for";
    "stores_1": stores<1>, (1, 1, 0), 64, LEFTOVER, "a bulk store that nobody waits for";
    "stores_2": stores<2>, (1, 1, 0), 64, LEFTOVER, "a bulk store in no group";
    "stores_3": stores<3>, (1, 1, 0), 64, Missed, "a bulk store without the fence of the asynchronous proxy";
    "handed_over_0": handed_over<0>, (1, 64, 0), 64, Right, "warp to warp by a named barrier";
    "handed_over_1": handed_over<1>, (1, 64, 0), 64, Right, "warp to warp by an mbarrier";
    "handed_over_2": handed_over<2>, (1, 64, 0), 64, RACE_OR_UNWRITTEN, "warp to warp without a barrier";
    "handed_over_3": handed_over<3>, (1, 64, 0), 64, Found(&["WaitsForever"]),
        "a named barrier that waits for a warp too many";
    "handed_over_4": handed_over<4>, (1, 64, 0), 64, REFUSED, "a named barrier used with two numbers of threads";
    "neighbours_0": neighbours<0>, (2, 32, 0), 64, Right, "another block's shared memory";
    "neighbours_1": neighbours<1>, (2, 32, 0), 64, REFUSED, "the shared memory of a block that has ended";
    "neighbours_2": neighbours<2>, (2, 32, 0), 64, REFUSED, "past the end of another block's shared memory";
    "neighbours_3": neighbours<3>, (2, 32, 0), 64, REFUSED, "the shared memory of a block that the cluster hasn't";
    "neighbours_4": neighbours<4>, (2, 32, 0), 64, Found(&["BarrierNotReached", "WaitsForever"]),
        "a thread at the block's barrier, the others at the cluster's";
    "grid_neighbours_0": grid_neighbours<0>, (4, 32, 0), (grid), Right, "other blocks' elements behind the grid's barrier";
    "grid_neighbours_1": grid_neighbours<1>, (4, 32, 0), (grid), Found(&["WaitsForever"]),
        "a grid's barrier that a block doesn't come to";
};

/// The name of the error's variant, of the simulator's where it is one.
fn variant(error: &Error) -> String {
    let text = match error {
        Error::Simulated(error) => format!("{error:?}"),
        error => format!("{error:?}"),
    };
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().into()
}

impl Plant {
    /// What the simulator says, in a word.
    fn simulated(&self, runtime: &Runtime) -> String {
        match (&self.expected, (self.launch)) {
            (NotRun, _) => "not run".into(),
            (_, launch) => launch(runtime).map_or_else(|error| variant(&error), |()| "nothing".into()),
        }
    }

    /// The same, if it is what it should be.
    fn check(&self, found: &str) -> std::result::Result<(), String> {
        let right = match self.expected {
            Right | Missed => found == "nothing",
            Found(names) => names.contains(&found),
            NotRun => true,
        };
        if right { Ok(()) } else { Err(format!("{} ({}): the simulator found {found}", self.name, self.what)) }
    }
}

fn bugs_and_twins(runtime: &Runtime) -> TestResult {
    if runtime.is_cuda() {
        // On a GPU each is a process of its own, under a sanitizer: `run planted` of the bundle.
        return Ok(());
    }
    PLANTS.iter().try_for_each(|plant| Ok(plant.check(&plant.simulated(runtime))?))
}

/// What `WARPSMITH_PLANTED` asks for.
///
/// # Errors
/// A name that none has; no GPU.
pub fn run(name: &str) -> TestResult {
    if name == "list" {
        let runtime = Runtime::simulator();
        for plant in PLANTS {
            let kind = if matches!(plant.expected, Right) { "right" } else { "bug" };
            println!("{}\t{kind}\t{}\t{}", plant.name, plant.simulated(&runtime), plant.what);
        }
        return Ok(());
    }
    let plant = PLANTS.iter().find(|plant| plant.name == name);
    let plant =
        plant.ok_or_else(|| format!("{name} is none of the planted bugs; {PLANTED}=list prints their names"))?;
    let runtime = Runtime::cuda(0)?;
    match (plant.launch)(&runtime) {
        Ok(()) => println!("{name}: no error"),
        Err(error) => println!("{name}: {error}"),
    }
    Ok(())
}
