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

/// What can be shuffled and matched: 32- and 64-bit integers and floats.
pub trait Word: Copy + sealed::Sealed {
    /// 32 or 64.
    const BITS: u32;
    /// The bits, in the low part.
    fn to_bits64(self) -> u64;
    /// The value whose bits are in the low part.
    fn from_bits64(bits: u64) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! words {
    ($($ty:ty: $bits:literal, |$value:ident| $to:expr, |$raw:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Word for $ty {
            const BITS: u32 = $bits;
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                let $value = self;
                $to
            }
            #[inline(always)]
            fn from_bits64($raw: u64) -> Self {
                $from
            }
        }
    )*};
}

words! {
    u32: 32, |x| u64::from(x), |bits| bits as u32;
    i32: 32, |x| u64::from(x as u32), |bits| bits as u32 as i32;
    f32: 32, |x| u64::from(x.to_bits()), |bits| f32::from_bits(bits as u32);
    u64: 64, |x| x, |bits| bits;
    i64: 64, |x| x as u64, |bits| bits as i64;
    f64: 64, |x| x.to_bits(), |bits| f64::from_bits(bits);
}

#[cfg(target_os = "cuda")]
macro_rules! shuffle_instruction {
    ($mode:literal, $mask:expr, $value:expr, $lane:expr, $control:expr) => {{
        let (result, inside): (u32, u32);
        // SAFETY: moves registers between lanes; which lanes is the caller's business and concerns values only.
        unsafe {
            asm!(
                "{{", ".reg .pred inside;",
                concat!("shfl.sync.", $mode, ".b32 {result}|inside, {value}, {lane}, {control}, {mask};"),
                "selp.u32 {inside}, 1, 0, inside;", "}}",
                result = out(reg32) result, inside = out(reg32) inside, value = in(reg32) $value, lane = in(reg32) $lane,
                control = in(reg32) $control, mask = in(reg32) $mask, options(nostack)
            );
        }
        (result, inside != 0)
    }};
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident, $mode:literal, $clamp:literal, |$lane:ident, $delta:ident, $first:ident, $last:ident| $source:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub fn $name<T: Word>(mask: u32, value: T, lane: u32, width: u32) -> (T, bool) {
            if !width.is_power_of_two() || width > 32 {
                #[cfg(target_os = "cuda")]
                crate::trap();
                #[cfg(not(target_os = "cuda"))]
                crate::simulator::refuse(
                    format!("{} by segments of {width} lanes: it must be 1, 2, 4, 8, 16 or 32", stringify!($name)),
                    Location::caller(),
                );
            }
            #[cfg(target_os = "cuda")]
            {
                // Bits 8..13 say which bits of a lane's number name its segment, bits 0..5 are the bound within it.
                let control = ((32 - width) << 8) | $clamp;
                let bits = value.to_bits64();
                let (low, inside) = shuffle_instruction!($mode, mask, bits as u32, lane, control);
                let high = match T::BITS {
                    64 => shuffle_instruction!($mode, mask, (bits >> 32) as u32, lane, control).0,
                    _ => 0,
                };
                (T::from_bits64(u64::from(low) | u64::from(high) << 32), inside)
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let place = Location::caller();
                let values = context().exchange(stringify!($name), mask, value.to_bits64(), place);
                let ($lane, $delta) = (context().number as i64 % 32, i64::from(lane % 32));
                let $first = $lane / i64::from(width) * i64::from(width);
                let $last = $first + i64::from(width) - 1;
                let (source, inside): (i64, bool) = $source;
                let source = if inside { source } else { $lane };
                if mask >> source & 1 == 0 {
                    let name = stringify!($name);
                    let message = format!("{name} with mask {mask:#010x}: lane {} reads lane {source}, which the mask doesn't name", $lane);
                    context().refuse(message, place);
                }
                (T::from_bits64(values[source as usize]), inside)
            }
        }
    )*};
}

shuffles! {
    /// The value of lane `lane % width` of the caller's segment of `width` lanes (1, 2, 4, ... 32). The flag is always true.
    warp_shuffle_idx, "idx", 0x1f, |own, delta, first, last| (first + delta % (last - first + 1), true);
    /// The value of the lane that is `lane` lower, and whether it lies in the caller's segment of `width` lanes; otherwise
    /// the caller's own value. Only the low 5 bits of `lane` count.
    warp_shuffle_up, "up", 0, |own, delta, first, last| (own - delta, { let _ = last; own - delta >= first });
    /// The value of the lane that is `lane` higher, and whether it lies in the caller's segment of `width` lanes; otherwise
    /// the caller's own value. Only the low 5 bits of `lane` count.
    warp_shuffle_down, "down", 0x1f, |own, delta, first, last| (own + delta, { let _ = first; own + delta <= last });
    /// The value of lane `own ^ lane`, and whether it lies in the caller's segment of `width` lanes or a lower one; otherwise
    /// the caller's own value. Only the low 5 bits of `lane` count.
    warp_shuffle_xor, "bfly", 0x1f, |own, delta, first, last| (own ^ delta, { let _ = first; own ^ delta <= last });
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
    let values = context().exchange(operation, mask, u64::from(predicate), place);
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
        let (lanes, bits): (u32, u64) = (0, value.to_bits64());
        let mut lanes = lanes;
        // SAFETY: moves registers between lanes.
        unsafe {
            match T::BITS {
                64 => asm!(
                    "match.any.sync.b64 {lanes}, {value}, {mask};",
                    lanes = inout(reg32) lanes, value = in(reg64) bits, mask = in(reg32) mask, options(nostack)
                ),
                _ => asm!(
                    "match.any.sync.b32 {lanes}, {value}, {mask};",
                    lanes = inout(reg32) lanes, value = in(reg32) bits as u32, mask = in(reg32) mask, options(nostack)
                ),
            }
        }
        lanes
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let own = value.to_bits64();
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
        let (mut lanes, mut same, bits) = (0u32, 0u32, value.to_bits64());
        // SAFETY: moves registers between lanes.
        unsafe {
            match T::BITS {
                64 => asm!(
                    "{{", ".reg .pred same;", "match.all.sync.b64 {lanes}|same, {value}, {mask};",
                    "selp.u32 {same}, 1, 0, same;", "}}",
                    lanes = inout(reg32) lanes, same = inout(reg32) same, value = in(reg64) bits, mask = in(reg32) mask,
                    options(nostack)
                ),
                _ => asm!(
                    "{{", ".reg .pred same;", "match.all.sync.b32 {lanes}|same, {value}, {mask};",
                    "selp.u32 {same}, 1, 0, same;", "}}",
                    lanes = inout(reg32) lanes, same = inout(reg32) same, value = in(reg32) bits as u32,
                    mask = in(reg32) mask, options(nostack)
                ),
            }
        }
        (lanes, same != 0)
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let own = value.to_bits64();
        let values = context().exchange("warp_match_all", mask, own, Location::caller());
        let same = lanes(mask).all(|lane| values[lane as usize] == own);
        (if same { mask } else { 0 }, same)
    }
}
