//! What the simulator reports: which kernel, block and thread, at which line of the kernel's source.

use std::fmt;
use std::panic::Location;

use super::Shape;

/// A place in a kernel's source.
pub type Place = &'static Location<'static>;

/// Where a lane is that a warp operation waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whereabouts {
    /// The block has no such thread: its size isn't a multiple of 32.
    NotInBlock,
    /// The thread has ended.
    Ended,
    /// The thread waits for something else.
    Waits {
        /// For what.
        operation: &'static str,
        /// Where.
        place: Place,
    },
}

/// An access to memory that the simulator watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The thread's block.
    pub block: [u32; 3],
    /// The thread's coordinates in its block.
    pub thread: [u32; 3],
    /// What it did: "reads", "writes", "updates atomically".
    pub what: &'static str,
    /// Where.
    pub place: Place,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, thread, what, place } = self;
        write!(f, "block {block:?}, thread {thread:?} {what} it at {place}")
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
        /// The line of the kernel, where an operation of this crate found the fault; a panic's own line is on stderr.
        place: Option<Place>,
    },
    /// Some threads wait at a barrier that others of the block never reach.
    BarrierNotReached {
        /// The kernel.
        kernel: &'static str,
        /// The block.
        block: [u32; 3],
        /// The first of the waiting threads.
        waiting: [u32; 3],
        /// The barrier at which it waits.
        place: Place,
        /// The first of the threads that ended without reaching the barrier.
        ended: [u32; 3],
        /// How many wait.
        waiting_count: usize,
        /// How many ended.
        ended_count: usize,
    },
    /// Two threads of a block met at barriers of different kinds.
    BarriersDiffer {
        /// The kernel.
        kernel: &'static str,
        /// The block.
        block: [u32; 3],
        /// The thread that came first, the kind of its barrier, and where it is.
        first: ([u32; 3], &'static str, Place),
        /// The other thread.
        second: ([u32; 3], &'static str, Place),
    },
    /// A warp operation waits for lanes of its mask that never take part.
    LanesMissing {
        /// The kernel.
        kernel: &'static str,
        /// The block.
        block: [u32; 3],
        /// A thread that waits.
        waiting: [u32; 3],
        /// The operation.
        operation: &'static str,
        /// The lanes that it was told to wait for.
        mask: u32,
        /// The lanes that are missing.
        missing: Vec<(u32, Whereabouts)>,
        /// Where the thread waits.
        place: Place,
    },
    /// Threads wait for what no other thread is left to do: an mbarrier's phase that is never completed.
    WaitsForever {
        /// The kernel.
        kernel: &'static str,
        /// The block.
        block: [u32; 3],
        /// The first of the waiting threads.
        waiting: [u32; 3],
        /// How many of the block wait for this.
        waiting_count: usize,
        /// What they wait for, and what it lacks.
        what: String,
        /// Where the first one waits.
        place: Place,
    },
    /// An asynchronous copy was never waited for.
    LeftoverCopy {
        /// The kernel.
        kernel: &'static str,
        /// The block.
        block: [u32; 3],
        /// The thread that began the copy.
        thread: [u32; 3],
        /// What kind of copy.
        what: &'static str,
        /// Where it was begun.
        place: Place,
    },
    /// Shared memory was read before any thread of the block wrote it.
    UnwrittenShared {
        /// The kernel.
        kernel: &'static str,
        /// The read.
        access: Box<Access>,
        /// The element of its array.
        index: usize,
    },
    /// A buffer that was made without contents was read where nobody wrote it.
    UnwrittenGlobal {
        /// The kernel.
        kernel: &'static str,
        /// The read.
        access: Box<Access>,
        /// The element of its view; of its buffer, where it was read through a raw pointer; the buffer's byte, if an asynchronous
        /// copy read it.
        index: usize,
    },
    /// Two threads touched one element, at least one wrote, and nothing orders the two.
    Race {
        /// The kernel.
        kernel: &'static str,
        /// "shared" or "global".
        memory: &'static str,
        /// The element of its array or view.
        index: usize,
        /// The access that came first in this run.
        first: Box<Access>,
        /// The other one.
        second: Box<Access>,
    },
    /// The block is not the one that the kernel requires.
    WrongBlock {
        /// The kernel.
        kernel: &'static str,
        /// What was asked for.
        block: [u32; 3],
        /// What `#[kernel(block = ...)]` says.
        required: [u32; 3],
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
            Self::Panicked { kernel, block, thread, message, place } => {
                write!(f, "{kernel}: block {block:?}, thread {thread:?}: {message}")?;
                place.map_or(Ok(()), |place| write!(f, ", at {place}"))
            }
            Self::BarrierNotReached { kernel, block, waiting, place, ended, waiting_count, ended_count } => write!(
                f,
                "{kernel}: block {block:?}: {waiting_count} threads (first {waiting:?}, at {place}) wait at a barrier that \
                 {ended_count} threads (first {ended:?}) never reach; every thread of a block must call sync_threads"
            ),
            Self::BarriersDiffer { kernel, block, first, second } => write!(
                f,
                "{kernel}: block {block:?}: thread {:?} is at {} ({}), thread {:?} at {} ({}): all threads of a block must \
                 meet at the same kind of barrier",
                first.0, first.1, first.2, second.0, second.1, second.2
            ),
            Self::LanesMissing { kernel, block, waiting, operation, mask, missing, place } => {
                write!(
                    f,
                    "{kernel}: block {block:?}, thread {waiting:?}: {operation} with mask {mask:#010x} at {place} waits for "
                )?;
                for (i, (lane, whereabouts)) in missing.iter().enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    match whereabouts {
                        Whereabouts::NotInBlock => write!(f, "{separator}lane {lane}, which the block doesn't have")?,
                        Whereabouts::Ended => write!(f, "{separator}lane {lane}, which has ended")?,
                        Whereabouts::Waits { operation, place } => {
                            write!(f, "{separator}lane {lane}, which waits in {operation} at {place}")?;
                        }
                    }
                }
                write!(f, "; every lane of the mask must take part, with the same mask")
            }
            Self::WaitsForever { kernel, block, waiting, waiting_count, what, place } => write!(
                f,
                "{kernel}: block {block:?}: {waiting_count} threads (first {waiting:?}, at {place}) wait forever: {what}"
            ),
            Self::LeftoverCopy { kernel, block, thread, what, place } => write!(
                f,
                "{kernel}: block {block:?}, thread {thread:?} began {what} at {place} that was never waited for; wait for all \
                 asynchronous copies before the kernel ends"
            ),
            Self::UnwrittenShared { kernel, access, index } => write!(
                f,
                "{kernel}: element {index} of shared memory is read before any thread of the block wrote it: {access}"
            ),
            Self::UnwrittenGlobal { kernel, access, index } => write!(
                f,
                "{kernel}: element {index} of an uninitialized buffer is read before anyone wrote it: {access}; write it \
                 first, or make the buffer with zeros"
            ),
            Self::Race { kernel, memory, index, first, second } => write!(
                f,
                "{kernel}: a race for element {index} of {memory} memory: {first}; {second}; no barrier lies between"
            ),
            Self::WrongBlock { kernel, block, required } => {
                write!(f, "{kernel} requires blocks of {required:?} threads, not {block:?}; launch it with that block")
            }
            Self::InvalidShape { shape } => write!(
                f,
                "grid {:?} of blocks {:?}: extents must be at least 1, blocks at most 1024 threads (64 along z), \
                 grids at most 65535 along y and z, and multiples of the kernel's cluster",
                shape.grid, shape.block
            ),
        }
    }
}

impl std::error::Error for Error {}
