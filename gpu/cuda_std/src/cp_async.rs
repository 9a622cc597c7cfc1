//! Asynchronous copies of 4, 8 or 16 bytes from global to shared memory, one by each thread. From sm_80 on.
//!
//! A thread's copies are put into groups: [`commit_group`] closes one, [`wait_group`] waits until at most the last `N` of the
//! thread's own groups are unfinished. What other threads copied is there after they have waited and a barrier. Instead of
//! that, [`arrive`] lets an [`mbarrier`](crate::mbarrier) know when this thread's copies are done.
//!
//! In the simulator a copy is made when it is waited for, not before: what is read too early is what was there. Copies that
//! were never waited for are reported when the thread ends.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

use crate::mbarrier::Barrier;
use crate::shared::Address;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;

/// One instruction for each size, which must be a literal.
#[cfg(target_os = "cuda")]
macro_rules! sized {
    ($bytes:ident, $to:ident, $from:ident, $valid:ident, [$($size:literal $cache:literal),*]) => {
        match $bytes {
            $($size => asm!(
                "{{", ".reg .b64 from;", "cvta.to.global.u64 from, {from};",
                concat!("cp.async.", $cache, ".shared.global [{to}], [from], ", $size, ", {valid};"), "}}",
                to = in(reg32) $to.get(), from = in(reg64) $from, valid = in(reg32) $valid, options(nostack)
            ),)*
            _ => {}
        }
    };
}

/// Begins to copy `BYTES` bytes: 4 or 8, which also stay in the first-level cache, or 16, which don't.
///
/// # Safety
/// Both places must be multiples of `BYTES` with room for as many; those in global memory must be initialised and not be
/// written in the meantime. The bytes in shared memory must not be used by anybody until the copy was waited for.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn copy<const BYTES: u32>(to: Address, from: *const u8) {
    // SAFETY: by the caller.
    unsafe { copy_or_zero::<BYTES>(to, from, BYTES) }
}

/// As [`copy`], but only the first `valid` bytes, at most `BYTES`, are read; the others are filled with zeros. With 0 nothing is
/// read, so that `from` may be any address.
///
/// # Safety
/// As [`copy`], for the bytes that are read.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn copy_or_zero<const BYTES: u32>(to: Address, from: *const u8, valid: u32) {
    const { assert!(matches!(BYTES, 4 | 8 | 16), "an asynchronous copy has 4, 8 or 16 bytes") };
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        sized!(BYTES, to, from, valid, [4 "ca", 8 "ca", 16 "cg"])
    }
    #[cfg(not(target_os = "cuda"))]
    context().copy_later(to.get(), from, [BYTES, valid], Location::caller());
}

/// As [`copy_or_zero`] of 16 bytes, which also stay in the first-level cache.
///
/// # Safety
/// As [`copy_or_zero`].
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn copy_through_l1(to: Address, from: *const u8, valid: u32) {
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        const BYTES: u32 = 16;
        sized!(BYTES, to, from, valid, [16 "ca"])
    }
    #[cfg(not(target_os = "cuda"))]
    context().copy_later(to.get(), from, [16, valid], Location::caller());
}

/// Makes a group of the copies that this thread began since the last one; the group may be empty.
#[inline(always)]
pub fn commit_group() {
    #[cfg(target_os = "cuda")]
    // SAFETY: has no preconditions.
    unsafe {
        asm!("cp.async.commit_group;", options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().commit_copies();
}

/// Waits until at most the last `N` of this thread's groups are unfinished.
#[inline(always)]
pub fn wait_group<const N: u32>() {
    #[cfg(target_os = "cuda")]
    // SAFETY: has no preconditions.
    unsafe {
        asm!("cp.async.wait_group {};", const N, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().finish_copies(Some(N));
}

/// Waits for all of this thread's copies, whether they are in a group or not.
#[inline(always)]
pub fn wait_all() {
    #[cfg(target_os = "cuda")]
    // SAFETY: has no preconditions.
    unsafe {
        asm!("cp.async.wait_all;", options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().finish_copies(None);
}

/// Lets this thread arrive at the barrier when all copies that it has begun are done. It is one of the arrivals that the barrier
/// was initialised for.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn arrive(barrier: Barrier) {
    #[cfg(target_os = "cuda")]
    // SAFETY: the barrier was initialised, by `Barrier::at`.
    unsafe {
        asm!("cp.async.mbarrier.arrive.noinc.shared.b64 [{}];", in(reg32) barrier.address().get(), options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    {
        context().finish_copies(None);
        barrier.arrive();
    }
}
