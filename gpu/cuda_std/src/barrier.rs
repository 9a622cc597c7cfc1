//! Named barriers: some of a block's warps meet at one of the barriers 1 to 15, while the others go on. Barrier 0 is that of
//! [`sync_threads`](crate::thread::sync_threads).
//!
//! All threads of a warp must come to the same barrier together, with the same `threads`: how many threads of the block, a
//! multiple of 32, complete it. It can then be used again.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;

/// Arrives at barrier `id` and waits until `threads` threads have arrived; what they wrote before is then visible here.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn sync(id: u32, threads: u32) {
    #[cfg(target_os = "cuda")]
    // SAFETY: concerns control flow only.
    unsafe {
        asm!("bar.sync {}, {};", in(reg32) id, in(reg32) threads, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().named_barrier(id, threads, true, Location::caller());
}

/// Arrives at barrier `id`, for those that [`sync`] there with the same `threads`, and goes on. Once they go on, they see what this
/// thread wrote before: the PTX manual promises of `barrier.arrive` too that memory accesses before it are performed when the barrier
/// completes.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn arrive(id: u32, threads: u32) {
    #[cfg(target_os = "cuda")]
    // SAFETY: concerns control flow only.
    unsafe {
        asm!("bar.arrive {}, {};", in(reg32) id, in(reg32) threads, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().named_barrier(id, threads, false, Location::caller());
}
