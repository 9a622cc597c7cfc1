//! Where a thread is in its grid, the barrier of its block, and the witness that an element belongs to it alone.

#[cfg(target_os = "cuda")]
use core::arch::{asm, nvptx};
use core::marker::PhantomData;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;

macro_rules! coordinates {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:ident, $($field:ident).+[$axis:literal], $low:literal..=$high:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            #[cfg(target_os = "cuda")]
            // SAFETY: reads a special register; the hardware's limits justify the range given to the optimiser.
            unsafe {
                let value = nvptx::$intrinsic() as u32;
                core::hint::assert_unchecked(($low..=$high).contains(&value));
                value
            }
            #[cfg(not(target_os = "cuda"))]
            context().$($field).+[$axis]
        }
    )*};
}

coordinates! {
    /// This thread's x coordinate in its block.
    thread_idx_x = _thread_idx_x, thread[0], 0..=1023;
    /// This thread's y coordinate in its block.
    thread_idx_y = _thread_idx_y, thread[1], 0..=1023;
    /// This thread's z coordinate in its block.
    thread_idx_z = _thread_idx_z, thread[2], 0..=63;
    /// This block's x coordinate in the grid.
    block_idx_x = _block_idx_x, block[0], 0..=0x7fff_fffe;
    /// This block's y coordinate in the grid.
    block_idx_y = _block_idx_y, block[1], 0..=65534;
    /// This block's z coordinate in the grid.
    block_idx_z = _block_idx_z, block[2], 0..=65534;
    /// Threads of a block along x.
    block_dim_x = _block_dim_x, shape.block[0], 1..=1024;
    /// Threads of a block along y.
    block_dim_y = _block_dim_y, shape.block[1], 1..=1024;
    /// Threads of a block along z.
    block_dim_z = _block_dim_z, shape.block[2], 1..=64;
    /// Blocks of the grid along x.
    grid_dim_x = _grid_dim_x, shape.grid[0], 1..=0x7fff_ffff;
    /// Blocks of the grid along y.
    grid_dim_y = _grid_dim_y, shape.grid[1], 1..=65535;
    /// Blocks of the grid along z.
    grid_dim_z = _grid_dim_z, shape.grid[2], 1..=65535;
}

/// This thread's number in its block, x fastest.
#[inline(always)]
pub fn index_in_block() -> u32 {
    thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z())
}

/// This thread's coordinate along x over the whole grid. In 32 bits as Rust-CUDA has it; [`elements`] counts in 64.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// This thread's coordinates over the whole grid, along x and y.
#[inline(always)]
pub fn index_2d() -> (u32, u32) {
    (index_1d(), block_idx_y() * block_dim_y() + thread_idx_y())
}

/// This thread's number in the grid: blocks in order, x fastest. Unique for each thread, whatever the grid's shape.
#[inline(always)]
pub fn index() -> usize {
    let block = block_idx_x() as usize
        + grid_dim_x() as usize * (block_idx_y() as usize + grid_dim_y() as usize * block_idx_z() as usize);
    block * threads_per_block() as usize + index_in_block() as usize
}

/// Threads of one block.
#[inline(always)]
pub fn threads_per_block() -> u32 {
    block_dim_x() * block_dim_y() * block_dim_z()
}

/// Threads of the whole grid.
#[inline(always)]
pub fn count() -> usize {
    let blocks = grid_dim_x() as usize * grid_dim_y() as usize * grid_dim_z() as usize;
    blocks * threads_per_block() as usize
}

/// This thread's coordinates over the whole grid, along x, y and z.
#[inline(always)]
pub fn index_3d() -> (u32, u32, u32) {
    let (x, y) = index_2d();
    (x, y, block_idx_z() * block_dim_z() + thread_idx_z())
}

/// This thread's coordinates in its block.
#[inline(always)]
pub fn thread_idx() -> (u32, u32, u32) {
    (thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// This block's coordinates in the grid.
#[inline(always)]
pub fn block_idx() -> (u32, u32, u32) {
    (block_idx_x(), block_idx_y(), block_idx_z())
}

/// Threads of a block along x, y and z.
#[inline(always)]
pub fn block_dim() -> (u32, u32, u32) {
    (block_dim_x(), block_dim_y(), block_dim_z())
}

/// Blocks of the grid along x, y and z.
#[inline(always)]
pub fn grid_dim() -> (u32, u32, u32) {
    (grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// Whether this is the first thread of the grid.
#[inline(always)]
pub fn first() -> bool {
    index() == 0
}

/// Lanes of a warp: 32.
#[inline(always)]
pub const fn warp_size() -> u32 {
    32
}

/// Waits until every thread of the block is here; what they wrote before is then visible to all of them.
///
/// Every thread of the block must reach the same barrier. The simulator reports the threads that don't.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn sync_threads() {
    #[cfg(target_os = "cuda")]
    // SAFETY: `bar.sync 0` has no precondition that concerns memory safety.
    unsafe {
        nvptx::_syncthreads()
    }
    #[cfg(not(target_os = "cuda"))]
    context().barrier("sync_threads", false, Location::caller());
}

/// [`sync_threads`], and for how many threads of the block the predicate isn't zero.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let count: u32;
        // SAFETY: as `sync_threads`.
        unsafe {
            asm!(
                "{{", ".reg .pred given;", "setp.ne.u32 given, {given}, 0;", "bar.red.popc.u32 {count}, 0, given;", "}}",
                given = in(reg32) predicate, count = out(reg32) count, options(nostack)
            );
        }
        count
    }
    #[cfg(not(target_os = "cuda"))]
    context().barrier("sync_threads_count", predicate != 0, Location::caller())
}

/// [`sync_threads`], and 1 if the predicate isn't zero for every thread of the block, else 0.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let all: u32;
        // SAFETY: as `sync_threads`.
        unsafe {
            asm!(
                "{{", ".reg .pred given, all;", "setp.ne.u32 given, {given}, 0;", "bar.red.and.pred all, 0, given;",
                "selp.u32 {all}, 1, 0, all;", "}}",
                given = in(reg32) predicate, all = out(reg32) all, options(nostack)
            );
        }
        all
    }
    #[cfg(not(target_os = "cuda"))]
    u32::from(context().barrier("sync_threads_and", predicate != 0, Location::caller()) == threads_per_block())
}

/// [`sync_threads`], and 1 if the predicate isn't zero for at least one thread of the block, else 0.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let any: u32;
        // SAFETY: as `sync_threads`.
        unsafe {
            asm!(
                "{{", ".reg .pred given, any;", "setp.ne.u32 given, {given}, 0;", "bar.red.or.pred any, 0, given;",
                "selp.u32 {any}, 1, 0, any;", "}}",
                given = in(reg32) predicate, any = out(reg32) any, options(nostack)
            );
        }
        any
    }
    #[cfg(not(target_os = "cuda"))]
    u32::from(context().barrier("sync_threads_or", predicate != 0, Location::caller()) > 0)
}

macro_rules! fences {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal, between_blocks: $between_blocks:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() {
            #[cfg(target_os = "cuda")]
            // SAFETY: a fence has no preconditions.
            unsafe {
                asm!($instruction, options(nostack))
            }
            #[cfg(not(target_os = "cuda"))]
            {
                core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
                let block = context().state();
                block.orders.fence(context().number);
                if $between_blocks {
                    block.fenced.set(true);
                }
            }
        }
    )*};
}

fences! {
    /// What this thread wrote before is visible to its block before what it writes afterwards. It waits for nobody.
    block_fence = "fence.acq_rel.cta;", between_blocks: false;
    /// What this thread wrote before is visible to the whole device before what it writes afterwards.
    device_fence = "fence.acq_rel.gpu;", between_blocks: true;
    /// What this thread wrote before is visible to all devices and the host before what it writes afterwards.
    system_fence = "fence.acq_rel.sys;", between_blocks: true;
    /// [`device_fence`], under the name that Rust-CUDA has for it.
    grid_fence = "fence.acq_rel.gpu;", between_blocks: true;
}

/// Sleeps for about that long, at most 1 ms; in the simulator other threads of the block run instead.
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    #[cfg(target_os = "cuda")]
    // SAFETY: has no preconditions.
    unsafe {
        asm!("nanosleep.u32 {};", in(reg32) nanoseconds, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let _ = nanoseconds;
        context().pause();
    }
}

/// Proof that an element belongs to the calling thread: no other thread of the grid gets the same index.
///
/// Element `i` belongs to thread `i mod` [`count`]`()`. The index can't be made from a number, stored where another thread
/// would find it, or sent to another thread, so writing at it can't race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementIndex {
    index: usize,
    not_send: PhantomData<*const ()>,
}

impl ElementIndex {
    /// The index as a number.
    #[inline(always)]
    pub fn get(self) -> usize {
        self.index
    }
}

/// The calling thread's own elements among `0..len`: its number in the grid and then every [`count`]`()`th (a grid-stride
/// loop). Right for every grid, whether it has fewer or more threads than elements.
#[inline(always)]
pub fn elements(len: usize) -> Elements {
    Elements { next: index(), step: count(), len }
}

/// Iterator of [`elements`].
#[derive(Clone, Debug)]
pub struct Elements {
    next: usize,
    step: usize,
    len: usize,
}

impl Iterator for Elements {
    type Item = ElementIndex;

    #[inline(always)]
    fn next(&mut self) -> Option<ElementIndex> {
        if self.next >= self.len {
            return None;
        }
        let index = self.next;
        // No overflow: `len` elements exist in memory and a grid has fewer than 2^63 threads.
        self.next = index.wrapping_add(self.step);
        Some(ElementIndex { index, not_send: PhantomData })
    }
}
