//! Operations among the 32 threads of a warp. A warp is 32 consecutive threads of a block, in [`index_in_block`] order.
//!
//! Every operation takes the mask of the lanes that take part (bit `i` is lane `i`) and waits for all of them: each of these
//! lanes must reach it, with the same mask, and the caller must be among them. On the device anything else is undefined; the
//! simulator names the lanes that are missing. Names follow Rust-CUDA's `cuda_std::warp`.
//!
//! [`index_in_block`]: crate::thread::index_in_block

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::{context, lanes};

mod shuffle;
mod word;

pub(crate) use shuffle::expect_width;
pub use shuffle::{warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor};
pub use word::Word;

/// All lanes of a full warp.
pub const FULL: u32 = u32::MAX;

/// This thread's number in its warp.
#[inline(always)]
pub fn lane_id() -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let lane: u32;
        // SAFETY: reads a special register, which is below 32.
        unsafe {
            asm!("mov.u32 {}, %laneid;", out(reg32) lane, options(pure, nomem, nostack, preserves_flags));
            core::hint::assert_unchecked(lane < 32);
        }
        lane
    }
    #[cfg(not(target_os = "cuda"))]
    {
        context().number % 32
    }
}

/// This thread's warp in its block.
#[inline(always)]
pub fn warp_id() -> u32 {
    crate::thread::index_in_block() / 32
}

/// The lanes that this warp has: all of them, except in the last warp of a block whose size isn't a multiple of 32.
#[inline(always)]
pub fn existing() -> u32 {
    let rest = crate::thread::threads_per_block() - warp_id() * 32;
    if rest >= 32 { FULL } else { (1 << rest) - 1 }
}

/// The lanes that execute this instruction together, the caller among them. The hardware promises no more than that; it may
/// give fewer lanes than expected. In the simulator: the lanes that come to this line before anything else can go on.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn activemask() -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let mask: u32;
        // SAFETY: has no preconditions.
        unsafe { asm!("activemask.b32 {};", out(reg32) mask, options(nostack)) };
        mask
    }
    #[cfg(not(target_os = "cuda"))]
    context().converged(Location::caller())
}

/// Lane 0's value, in all lanes of a full warp: the compiler then knows that it is equal in all of them and can keep it, and what is
/// computed from it, in uniform registers.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn uniform(value: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let first: u32;
        // SAFETY: moves a register between lanes.
        unsafe {
            asm!("shfl.sync.idx.b32 {}, {}, 0, 0x1f, 0xffffffff;", out(reg32) first, in(reg32) value, options(nomem, nostack, preserves_flags));
        }
        first
    }
    #[cfg(not(target_os = "cuda"))]
    warp_shuffle_idx(FULL, value, 0, 32).0
}

/// Waits for the lanes of `mask`; what they wrote before is then visible to all of them.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn sync_warp(mask: u32) {
    #[cfg(target_os = "cuda")]
    // SAFETY: concerns control flow only.
    unsafe {
        asm!("bar.warp.sync {};", in(reg32) mask, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().sync_warp(mask, Location::caller())
}

/// The lanes of `mask` whose predicate is true.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let votes: u32;
        // SAFETY: moves registers between lanes.
        unsafe {
            asm!(
                "{{", ".reg .pred given;", "setp.ne.u32 given, {given}, 0;",
                "vote.sync.ballot.b32 {votes}, given, {mask};", "}}",
                given = in(reg32) u32::from(predicate), votes = out(reg32) votes, mask = in(reg32) mask, options(nostack)
            );
        }
        votes
    }
    #[cfg(not(target_os = "cuda"))]
    ballot("warp_vote_ballot", mask, predicate, Location::caller())
}

#[cfg(not(target_os = "cuda"))]
fn ballot(operation: &'static str, mask: u32, predicate: bool, place: crate::simulator::Place) -> u32 {
    let values = context().exchange(operation, mask, u128::from(predicate), place);
    lanes(mask).fold(0, |votes, lane| votes | (values[lane as usize] as u32) << lane)
}

/// Whether the predicate is true for all lanes of `mask`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    #[cfg(target_os = "cuda")]
    {
        let all: u32;
        // SAFETY: moves registers between lanes.
        unsafe {
            asm!(
                "{{", ".reg .pred given, all;", "setp.ne.u32 given, {given}, 0;",
                "vote.sync.all.pred all, given, {mask};", "selp.u32 {all}, 1, 0, all;", "}}",
                given = in(reg32) u32::from(predicate), all = out(reg32) all, mask = in(reg32) mask, options(nostack)
            );
        }
        all != 0
    }
    #[cfg(not(target_os = "cuda"))]
    {
        ballot("warp_vote_all", mask, predicate, Location::caller()) == mask
    }
}

/// Whether the predicate is true for at least one lane of `mask`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    #[cfg(target_os = "cuda")]
    {
        let any: u32;
        // SAFETY: moves registers between lanes.
        unsafe {
            asm!(
                "{{", ".reg .pred given, any;", "setp.ne.u32 given, {given}, 0;",
                "vote.sync.any.pred any, given, {mask};", "selp.u32 {any}, 1, 0, any;", "}}",
                given = in(reg32) u32::from(predicate), any = out(reg32) any, mask = in(reg32) mask, options(nostack)
            );
        }
        any != 0
    }
    #[cfg(not(target_os = "cuda"))]
    {
        ballot("warp_vote_any", mask, predicate, Location::caller()) != 0
    }
}

/// The lanes of `mask` whose value has the same bits as the caller's.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_match_any<T: Word>(mask: u32, value: T) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let bits = value.to_raw_bits();
        match T::BITS {
            0..=32 => match_any_32(mask, bits as u32),
            33..=64 => match_any_64(mask, bits as u64),
            _ => match_any_64(mask, bits as u64) & match_any_64(mask, (bits >> 64) as u64),
        }
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let own = value.to_raw_bits();
        let values = context().exchange("warp_match_any", mask, own, Location::caller());
        lanes(mask).filter(|&lane| values[lane as usize] == own).fold(0, |found, lane| found | 1 << lane)
    }
}

/// `mask` and true if all lanes of `mask` have a value of the same bits, otherwise 0 and false.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_match_all<T: Word>(mask: u32, value: T) -> (u32, bool) {
    #[cfg(target_os = "cuda")]
    {
        let bits = value.to_raw_bits();
        let lanes = match T::BITS {
            0..=32 => match_all_32(mask, bits as u32),
            33..=64 => match_all_64(mask, bits as u64),
            _ => match_all_64(mask, bits as u64) & match_all_64(mask, (bits >> 64) as u64),
        };
        (lanes, lanes != 0)
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let own = value.to_raw_bits();
        let values = context().exchange("warp_match_all", mask, own, Location::caller());
        let same = lanes(mask).all(|lane| values[lane as usize] == own);
        (if same { mask } else { 0 }, same)
    }
}

#[cfg(target_os = "cuda")]
macro_rules! matches {
    ($($name:ident($ty:ty: $class:ident) = $($instruction:literal),+;)*) => {$(
        #[inline(always)]
        fn $name(mask: u32, value: $ty) -> u32 {
            let lanes;
            // SAFETY: moves registers between lanes.
            unsafe {
                asm!($($instruction),+, lanes = out(reg32) lanes, value = in($class) value, mask = in(reg32) mask, options(nostack));
            }
            lanes
        }
    )*};
}

#[cfg(target_os = "cuda")]
matches! {
    match_any_32(u32: reg32) = "match.any.sync.b32 {lanes}, {value}, {mask};";
    match_any_64(u64: reg64) = "match.any.sync.b64 {lanes}, {value}, {mask};";
    match_all_32(u32: reg32) = "{{", ".reg .pred same;", "match.all.sync.b32 {lanes}|same, {value}, {mask};", "}}";
    match_all_64(u64: reg64) = "{{", ".reg .pred same;", "match.all.sync.b64 {lanes}|same, {value}, {mask};", "}}";
}
