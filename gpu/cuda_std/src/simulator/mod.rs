//! Kernels on the CPU: every thread of every block runs, with barriers, warps and shared memory, so that a kernel can be
//! tested and stepped through where there is no GPU.
//!
//! Each CUDA thread is a stackful coroutine that a barrier or a warp operation suspends; blocks run in parallel. A launch ends
//! with an error that names the threads and the source line when a thread panics or leaves a view's bounds, when a barrier
//! is not reached by all threads of the block or a warp operation not by all lanes of its mask, and, where [`Options`] asks
//! for it, when shared memory or a buffer is read that nobody wrote, and when two threads race for an element.
//!
//! Threads of a block run in order between barriers; [`Options::seed`] tries other orders. Copies of the copy engine
//! (TMA) are made at once, those of `cp_async` when they are waited for; that readers wait is checked for both, and that nothing is
//! left when a thread ends. What the simulator doesn't see: a missing `tma::fence_async` between a thread's own writes and the
//! copy engine (the asynchronous proxy), when a copy really happens, how long anything takes, and accesses that go through raw pointers:
//! only those through `Global`, `GlobalMut`, `GlobalAtomic`, `Shared` and `SharedSlice` are watched, and what a kernel tells by
//! [`note_reads`](crate::global::note_reads).
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Every thread writes the same element.
//! #[kernel]
//! pub fn racing(mut y: GlobalMut<u32>) {
//!     // SAFETY: none: this is the mistake.
//!     unsafe { y.write(0, thread::thread_idx_x()) };
//! }
//!
//! let mut y = [0];
//! let parameters = (GlobalMut::from_slice(&mut y),);
//! let error = simulator::launch_with::<racing>(simulator::Options::CHECKED, simulator::Shape::new(1, 32), parameters);
//! assert!(matches!(error, Err(simulator::Error::Race { memory: "global", index: 0, .. })));
//! ```

mod block;
mod clocks;
pub(crate) mod copies;
mod error;
mod group;
pub(crate) mod mbarrier;
mod named;
mod orders;
#[doc(hidden)]
pub mod uninitialized;
pub(crate) mod watch;
mod window;

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

pub(crate) use block::{Context, lanes};
pub(crate) use copies::add;
pub use error::{Access, Error, Place, Whereabouts};
pub(crate) use watch::SharedWatch;

use crate::{Kernel, SafeKernel};
use block::Block;
use group::Grouping;
use watch::GlobalWatch;

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for each block.
    pub dynamic_shared_bytes: usize,
}

impl Shape {
    /// `grid` blocks of `block` threads in one dimension, without dynamic shared memory.
    pub const fn new(grid: u32, block: u32) -> Self {
        Self { grid: [grid, 1, 1], block: [block, 1, 1], dynamic_shared_bytes: 0 }
    }
}

/// The order of threads, and what is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Runs blocks one after the other and threads between barriers in an order drawn from this seed; the same seed gives
    /// the same order. Without one threads run in order, blocks in parallel.
    pub seed: Option<u64>,
    /// Looks for races in shared memory, and for reads of what nobody wrote there.
    pub check_shared: bool,
    /// Looks for races in global memory, and for reads of what nobody wrote in buffers that were made without contents.
    pub check_global: bool,
}

impl Options {
    /// Nothing is looked for beyond bounds, barriers and warps.
    pub const FAST: Self = Self { seed: None, check_shared: false, check_global: false };
    /// Everything is looked for.
    pub const CHECKED: Self = Self { seed: None, check_shared: true, check_global: true };

    /// The same with a seed.
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }
}

/// [`CHECKED`](Options::CHECKED) in builds with debug assertions, such as tests; [`FAST`](Options::FAST) otherwise.
/// `WARPSMITH_CHECKED=1` or `0` in the environment decides otherwise, `WARPSMITH_SHUFFLE` gives a seed.
impl Default for Options {
    fn default() -> Self {
        static SEED: LazyLock<Option<u64>> = LazyLock::new(|| std::env::var("WARPSMITH_SHUFFLE").ok()?.parse().ok());
        static CHECKED: LazyLock<bool> = LazyLock::new(|| match std::env::var("WARPSMITH_CHECKED").as_deref() {
            Ok("0") => false,
            Ok("1") => true,
            _ => cfg!(debug_assertions),
        });
        Self { seed: *SEED, ..if *CHECKED { Self::CHECKED } else { Self::FAST } }
    }
}

/// Runs a kernel for every thread of the grid, with the default [`Options`].
///
/// # Errors
/// [`Error`] names the first block in grid order that failed. What the kernel wrote until then stays written.
pub fn launch<K: SafeKernel>(shape: Shape, parameters: K::Parameters<'_>) -> Result<(), Error> {
    launch_with::<K>(Options::default(), shape, parameters)
}

/// Runs a kernel for every thread of the grid.
///
/// # Errors
/// As [`launch`]; with a seed, of the first block in the order drawn.
pub fn launch_with<K: SafeKernel>(options: Options, shape: Shape, parameters: K::Parameters<'_>) -> Result<(), Error> {
    // SAFETY: a safe kernel is right for any arguments; the views are valid while `parameters` is borrowed here.
    unsafe { launch_unchecked::<K>(options, shape, parameters) }
}

/// Runs a kernel whose function is `unsafe`.
///
/// # Errors
/// As [`launch`].
///
/// # Safety
/// What the kernel asks of its callers must hold for each thread.
pub unsafe fn launch_unchecked<K: Kernel>(
    options: Options,
    shape: Shape,
    parameters: K::Parameters<'_>,
) -> Result<(), Error> {
    // SAFETY: by the caller.
    unsafe { launch_grouped::<K>(options, false, shape, parameters) }
}

/// Runs a kernel that uses [`grid::sync`](crate::grid::sync): all its blocks at once, in one thread of the host.
///
/// # Errors
/// As [`launch`].
///
/// # Safety
/// As [`launch_unchecked`].
pub unsafe fn launch_cooperative<K: Kernel>(
    options: Options,
    shape: Shape,
    parameters: K::Parameters<'_>,
) -> Result<(), Error> {
    // SAFETY: by the caller.
    unsafe { launch_grouped::<K>(options, true, shape, parameters) }
}

/// # Safety
/// As `launch_unchecked`.
unsafe fn launch_grouped<K: Kernel>(
    options: Options,
    cooperative: bool,
    shape: Shape,
    parameters: K::Parameters<'_>,
) -> Result<(), Error> {
    struct Shared<T>(T);
    // SAFETY: parameters are plain values and views; views are made to be used by all threads of a launch at once.
    unsafe impl<T> Sync for Shared<T> {}
    if let Some(required) = K::BLOCK.filter(|&required| required != shape.block) {
        return Err(Error::WrongBlock { kernel: K::NAME, block: shape.block, required });
    }
    let parameters = Shared(parameters);
    let parameters = &parameters;
    run(K::NAME, options, Grouping { cluster: K::CLUSTER, cooperative }, shape, &move || {
        // SAFETY: called once for each thread of one grid; the views live as long as `parameters`.
        unsafe { K::simulate(&parameters.0) }
    })
}

fn run(
    kernel: &'static str,
    options: Options,
    grouping: Grouping,
    shape: Shape,
    thread: &(dyn Fn() + Sync),
) -> Result<(), Error> {
    let threads: u64 = shape.block.iter().map(|&n| u64::from(n)).product();
    let whole = shape.grid.iter().chain(&shape.block).all(|&n| n > 0);
    let limits = threads <= 1024 && shape.block[2] <= 64 && shape.grid[1] <= 65535 && shape.grid[2] <= 65535;
    let clusters = shape.grid.iter().zip(grouping.cluster).all(|(&grid, cluster)| grid.is_multiple_of(cluster));
    if !(whole && limits && clusters && shape.grid[0] <= i32::MAX as u32) {
        return Err(Error::InvalidShape { shape });
    }
    let blocks: u64 = shape.grid.iter().map(|&n| u64::from(n)).product();
    let global = options.check_global.then(|| (GlobalWatch::new(blocks), Watched::new()));
    let global = global.as_ref().map(|(watch, _)| watch);
    let Options { seed, check_shared: watch_shared, .. } = options;
    let block = |number: u64| Block { kernel, shape, number, thread, watch_shared, global, seed };
    let clusters = blocks / grouping.cluster.iter().map(|&n| u64::from(n)).product::<u64>();
    let cluster = |number: u64| grouping.blocks(number, shape.grid).map(block);
    let run = |number: u64| group::run(&cluster(number).collect::<Vec<_>>(), grouping).err();
    let failure = match seed {
        _ if grouping.cooperative => group::run(&(0..clusters).flat_map(cluster).collect::<Vec<_>>(), grouping).err(),
        None => (0..clusters).into_par_iter().find_map_first(run),
        Some(seed) => {
            let mut order: Vec<u64> = (0..clusters).collect();
            Random::new(seed).shuffle(&mut order);
            order.into_iter().find_map(run)
        }
    };
    failure.map_or(Ok(()), Err)
}

fn coordinates(number: u64, extents: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(extents[0]), u64::from(extents[1]));
    [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32]
}

/// How many launches are watched at the moment, and how many buffers without contents there are: where it is 0, an access to global memory costs a load more.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed) > 0
}

struct Watched;

impl Watched {
    fn new() -> Self {
        WATCHED.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        WATCHED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Splitmix64, to draw orders.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % limit
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

thread_local! {
    static CURRENT: Cell<*const Context> = const { Cell::new(std::ptr::null()) };
}

/// The running thread's context, or `None` outside a kernel.
pub(crate) fn current() -> Option<&'static Context> {
    // SAFETY: set for as long as the coroutine runs; used only within it, so 'static is never stretched past its end.
    unsafe { CURRENT.get().as_ref() }
}

/// The running thread's context.
pub(crate) fn context() -> &'static Context {
    current().expect("device function called outside a kernel: launch it on a runtime or in the simulator")
}

/// Ends the running thread with a message and the line that it concerns; outside a kernel, a panic.
#[cold]
pub(crate) fn refuse(message: String, place: Place) -> ! {
    match current() {
        Some(context) => context.refuse(message, place),
        None => panic!("{message}, at {place}"),
    }
}
