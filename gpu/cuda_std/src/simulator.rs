//! Kernels on the CPU: every thread of every block runs, with barriers and shared memory, so that a kernel can be tested
//! and stepped through where there is no GPU.
//!
//! Each CUDA thread is a stackful coroutine that a barrier suspends; blocks run in parallel. A thread that panics and a
//! barrier that not all threads of the block reach end the launch with an error that names the threads. Threads of a block
//! run in order between barriers, so a launch is deterministic; races are not looked for.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rayon::prelude::*;

use crate::{Kernel, SafeKernel};

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

/// Why a simulated launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A thread panicked: an index out of bounds, a failed assertion, a trap.
    Panicked {
        /// The kernel.
        kernel: &'static str,
        /// Its block.
        block: [u32; 3],
        /// Its coordinates in the block.
        thread: [u32; 3],
        /// What it said.
        message: String,
    },
    /// Some threads of a block wait at a barrier, the others have ended.
    BarrierNotReached {
        /// The kernel.
        kernel: &'static str,
        /// The block.
        block: [u32; 3],
        /// The first of the threads that wait.
        waiting: [u32; 3],
        /// The first of the threads that ended without reaching the barrier.
        ended: [u32; 3],
        /// How many wait.
        waiting_count: usize,
        /// How many ended.
        ended_count: usize,
    },
    /// The grid or the block is outside the hardware's limits.
    InvalidShape {
        /// What was asked for.
        shape: Shape,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked { kernel, block, thread, message } => {
                write!(f, "{kernel}: block {block:?}, thread {thread:?}: {message}")
            }
            Self::BarrierNotReached { kernel, block, waiting, ended, waiting_count, ended_count } => write!(
                f,
                "{kernel}: block {block:?}: {waiting_count} threads (first {waiting:?}) wait at a barrier that \
                 {ended_count} threads (first {ended:?}) never reach; every thread of a block must call sync_threads"
            ),
            Self::InvalidShape { shape } => write!(
                f,
                "grid {:?} of blocks {:?}: extents must be at least 1, blocks at most 1024 threads (64 along z), \
                 grids at most 65535 along y and z",
                shape.grid, shape.block
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Runs a kernel for every thread of the grid.
///
/// # Errors
/// [`Error`] names the first block in grid order that failed. What the kernel wrote until then stays written.
pub fn launch<K: SafeKernel>(shape: Shape, parameters: K::Parameters<'_>) -> Result<(), Error> {
    // SAFETY: a safe kernel is right for any arguments; the views are valid while `parameters` is borrowed here.
    unsafe { launch_unchecked::<K>(shape, parameters) }
}

/// Runs a kernel whose function is `unsafe`.
///
/// # Errors
/// As [`launch`].
///
/// # Safety
/// What the kernel asks of its callers must hold for each thread.
pub unsafe fn launch_unchecked<K: Kernel>(shape: Shape, parameters: K::Parameters<'_>) -> Result<(), Error> {
    struct Shared<T>(T);
    // SAFETY: parameters are plain values and views; views are made to be used by all threads of a launch at once.
    unsafe impl<T> Sync for Shared<T> {}
    let parameters = Shared(parameters);
    let parameters = &parameters;
    run(K::NAME, shape, &move || {
        // SAFETY: called once for each thread of one grid; the views live as long as `parameters`.
        unsafe { K::simulate(&parameters.0) }
    })
}

fn run(kernel: &'static str, shape: Shape, thread: &(dyn Fn() + Sync)) -> Result<(), Error> {
    let threads: u64 = shape.block.iter().map(|&n| u64::from(n)).product();
    let whole = shape.grid.iter().chain(&shape.block).all(|&n| n > 0);
    let limits = threads <= 1024 && shape.block[2] <= 64 && shape.grid[1] <= 65535 && shape.grid[2] <= 65535;
    if !(whole && limits && shape.grid[0] <= i32::MAX as u32) {
        return Err(Error::InvalidShape { shape });
    }
    let blocks: u64 = shape.grid.iter().map(|&n| u64::from(n)).product();
    let failure = (0..blocks).into_par_iter().find_map_first(|number| {
        let block = coordinates(number, shape.grid);
        Block { kernel, shape, block, thread }.run().err()
    });
    failure.map_or(Ok(()), Err)
}

fn coordinates(number: u64, extents: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(extents[0]), u64::from(extents[1]));
    [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32]
}

/// What a simulated thread knows of itself.
pub(crate) struct Context {
    pub(crate) thread: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shape: Shape,
    pub(crate) dynamic_shared: *mut u8,
    arrays: *const RefCell<HashMap<usize, Box<[u128]>>>,
    yielder: Cell<*const Yielder<(), ()>>,
}

thread_local! {
    static CURRENT: Cell<*const Context> = const { Cell::new(std::ptr::null()) };
    // Stacks cost a system call each: they are kept from block to block.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The running thread's context.
pub(crate) fn context() -> &'static Context {
    let current = CURRENT.get();
    assert!(!current.is_null(), "device function called outside a kernel: launch it on a runtime or in the simulator");
    // SAFETY: set for as long as the coroutine runs; used only within it, so 'static is never stretched past its end.
    unsafe { &*current }
}

pub(crate) fn sync_threads() {
    // SAFETY: the yielder lives as long as the coroutine that runs now.
    unsafe { &*context().yielder.get() }.suspend(());
}

/// Memory of the running block, the same for each call with the same key; filled with ones, which read as NaN.
#[doc(hidden)]
pub fn block_storage(key: &'static u8, bytes: usize) -> *mut u8 {
    // SAFETY: the map outlives the block's coroutines.
    let mut arrays = unsafe { &*context().arrays }.borrow_mut();
    let array = arrays.entry(std::ptr::from_ref(key) as usize).or_insert_with(|| poisoned(bytes));
    array.as_mut_ptr().cast()
}

fn poisoned(bytes: usize) -> Box<[u128]> {
    vec![u128::MAX; bytes.div_ceil(16)].into()
}

struct Block<'a> {
    kernel: &'static str,
    shape: Shape,
    block: [u32; 3],
    thread: &'a (dyn Fn() + Sync),
}

struct Waiting {
    number: u64,
    coroutine: Coroutine<(), (), (), DefaultStack>,
    context: Box<Context>,
}

impl Block<'_> {
    fn run(&self) -> Result<(), Error> {
        let mut dynamic = poisoned(self.shape.dynamic_shared_bytes);
        let arrays = RefCell::new(HashMap::new());
        let threads: u64 = self.shape.block.iter().map(|&n| u64::from(n)).product();
        let mut waiting = Vec::new();
        let mut ended = None;
        for number in 0..threads {
            let context = Box::new(Context {
                thread: coordinates(number, self.shape.block),
                block: self.block,
                shape: self.shape,
                dynamic_shared: dynamic.as_mut_ptr().cast(),
                arrays: &arrays,
                yielder: Cell::new(std::ptr::null()),
            });
            let coroutine = self.coroutine(&context);
            match self.resume(Waiting { number, coroutine, context })? {
                Some(thread) => waiting.push(thread),
                None => ended = ended.or(Some(number)),
            }
        }
        while !waiting.is_empty() {
            if let Some(ended) = ended {
                return Err(Error::BarrierNotReached {
                    kernel: self.kernel,
                    block: self.block,
                    waiting: waiting[0].context.thread,
                    ended: coordinates(ended, self.shape.block),
                    waiting_count: waiting.len(),
                    ended_count: threads as usize - waiting.len(),
                });
            }
            let mut again = Vec::with_capacity(waiting.len());
            for thread in waiting {
                let number = thread.number;
                match self.resume(thread)? {
                    Some(thread) => again.push(thread),
                    None => ended = ended.or(Some(number)),
                }
            }
            waiting = again;
        }
        Ok(())
    }

    /// A coroutine that runs the kernel once. It borrows from the block, which outlives it.
    fn coroutine(&self, context: &Context) -> Coroutine<(), (), (), DefaultStack> {
        let stack = STACKS.with_borrow_mut(Vec::pop).unwrap_or_default();
        let context: *const Context = context;
        // SAFETY: only the lifetime changes. `Block::run` ends or drops every coroutine before it returns.
        let thread: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(self.thread) };
        Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the context is boxed and kept beside the coroutine.
            unsafe { &*context }.yielder.set(yielder);
            thread();
        })
    }

    /// Runs a thread up to its next barrier (and gives it back) or to its end.
    fn resume(&self, mut thread: Waiting) -> Result<Option<Waiting>, Error> {
        let outer = CURRENT.replace(&*thread.context);
        let result = catch_unwind(AssertUnwindSafe(|| thread.coroutine.resume(())));
        CURRENT.set(outer);
        match result {
            Ok(CoroutineResult::Yield(())) => Ok(Some(thread)),
            Ok(CoroutineResult::Return(())) => {
                STACKS.with_borrow_mut(|stacks| stacks.push(thread.coroutine.into_stack()));
                Ok(None)
            }
            Err(panic) => Err(Error::Panicked {
                kernel: self.kernel,
                block: self.block,
                thread: thread.context.thread,
                message: message(&*panic),
            }),
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_string())
}
