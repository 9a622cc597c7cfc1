//! The barrier of a whole grid, for kernels whose blocks all run at the same time: `TypedKernel::launch_cooperative`. And how a kernel
//! follows the one before it in its stream more closely than by waiting for its end.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

use crate::GlobalMut;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;
#[cfg(target_os = "cuda")]
use crate::{Scope, thread};

/// Waits until every thread of the grid is here; what they wrote before is then visible to all of them.
///
/// The launch must be a cooperative one, otherwise this may wait forever. `counter[0]` counts the blocks that have come: it starts
/// at 0, is used for nothing else, and can be used again, in the same and in later launches of as many blocks. Traps if the
/// view is empty.
///
/// # Safety
/// As for every atomic access: nothing else than this function may touch the counter during the launch.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn sync(counter: &GlobalMut<u32>) {
    #[cfg(target_os = "cuda")]
    {
        // As in CUDA's cooperative groups: together the blocks add 2^31, so that the upper bit changes when the last one comes.
        const ROUND: u32 = 1 << 31;
        thread::sync_threads();
        if thread::index_in_block() == 0 {
            let blocks = thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z();
            let first = thread::block_idx_x() | thread::block_idx_y() | thread::block_idx_z() == 0;
            let added = if first { ROUND - (blocks - 1) } else { 1 };
            // SAFETY: by the caller every access to the counter is atomic.
            let arrivals = unsafe { counter.atomic(0) };
            thread::device_fence();
            let before = arrivals.fetch_add(added, Scope::Device);
            while (before ^ arrivals.load(Scope::Device)) & ROUND == 0 {}
            thread::device_fence();
        }
        thread::sync_threads();
    }
    #[cfg(not(target_os = "cuda"))]
    {
        if counter.is_empty() {
            context().refuse("the counter of the grid's barrier has no elements".into(), Location::caller());
        }
        context().grid_barrier(Location::caller());
    }
}

/// Waits until the kernels before this one in the stream have ended and their results can be seen. For kernels that begin before that
/// (`#[kernel(overlaps)]`); elsewhere it returns at once. From sm_90 on.
///
/// Before it a thread may set up shared memory and barriers, but must not touch global memory that others use.
#[inline(always)]
pub fn dependency_sync() {
    #[cfg(target_os = "cuda")]
    // SAFETY: waits.
    unsafe {
        asm!("griddepcontrol.wait;", options(nostack))
    }
}

/// Lets the next kernel of the stream begin once every block has come here or ended, if it is one that
/// [waits for this one's end itself](dependency_sync). From sm_90 on.
#[inline(always)]
pub fn trigger_dependents() {
    #[cfg(target_os = "cuda")]
    // SAFETY: concerns no memory.
    unsafe {
        asm!("griddepcontrol.launch_dependents;", options(nostack))
    }
}
