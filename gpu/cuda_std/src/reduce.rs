//! Reductions and scans over a warp and over a block, in an order that depends on nothing but the block's shape: they repeat
//! bit for bit, and give the same bits on the device and in the simulator.
//!
//! A full warp is added pairwise, lanes 16 apart first, then 8, 4, 2 and 1; a part of a warp lane by lane. A block is reduced
//! warp by warp, then the warps' results one after the other. Scans add over distances 1, 2, 4, 8 and 16 in a warp.

#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::{context, lanes};
use crate::warp::{self, FULL, Word, lane_id, warp_shuffle_up};
#[cfg(target_os = "cuda")]
use crate::warp::{warp_shuffle_idx, warp_shuffle_xor};
use crate::{shared_array, thread};

/// How values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, wrapping for integers.
    Add,
    /// The smallest; NaN if any is NaN.
    Min,
    /// The largest; NaN if any is NaN.
    Max,
    /// Bits that are set in all. Integers only.
    And,
    /// Bits that are set in any. Integers only.
    Or,
    /// Bits that are set in an odd number. Integers only.
    Xor,
}

/// What can be reduced: u32, i32 and f32.
pub trait Reduce: Word {
    /// The two values combined. Traps for an operation that the type doesn't have.
    fn combine(self, other: Self, op: WarpReductionOp) -> Self;

    /// The reduction by one instruction, where the architecture has it for this type.
    #[doc(hidden)]
    #[cfg(target_os = "cuda")]
    #[inline(always)]
    fn instruction(self, _mask: u32, _op: WarpReductionOp) -> Option<Self> {
        None
    }
}

#[cfg(target_os = "cuda")]
macro_rules! redux {
    ($value:expr, $mask:expr, $($op:tt)*) => {{
        let result: u32;
        // SAFETY: moves registers between lanes.
        unsafe {
            core::arch::asm!(
                concat!("redux.sync.", $($op)*, " {result}, {value}, {mask};"),
                result = out(reg32) result, value = in(reg32) $value, mask = in(reg32) $mask, options(nostack)
            );
        }
        result
    }};
}

macro_rules! reduce_integers {
    ($($ty:ty, $suffix:literal;)*) => {$(
        impl Reduce for $ty {
            #[inline(always)]
            fn combine(self, other: Self, op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => self.wrapping_add(other),
                    WarpReductionOp::Min => self.min(other),
                    WarpReductionOp::Max => self.max(other),
                    WarpReductionOp::And => self & other,
                    WarpReductionOp::Or => self | other,
                    WarpReductionOp::Xor => self ^ other,
                }
            }

            #[cfg(target_os = "cuda")]
            #[inline(always)]
            fn instruction(self, mask: u32, op: WarpReductionOp) -> Option<Self> {
                if crate::arch() < 800 {
                    return None;
                }
                let value = self as u32;
                let result = match op {
                    WarpReductionOp::Add => redux!(value, mask, "add.", $suffix),
                    WarpReductionOp::Min => redux!(value, mask, "min.", $suffix),
                    WarpReductionOp::Max => redux!(value, mask, "max.", $suffix),
                    WarpReductionOp::And => redux!(value, mask, "and.b32"),
                    WarpReductionOp::Or => redux!(value, mask, "or.b32"),
                    WarpReductionOp::Xor => redux!(value, mask, "xor.b32"),
                };
                Some(result as $ty)
            }
        }
    )*};
}

reduce_integers! {
    u32, "u32";
    i32, "s32";
}

impl Reduce for f32 {
    #[inline(always)]
    fn combine(self, other: Self, op: WarpReductionOp) -> Self {
        match op {
            WarpReductionOp::Add => self + other,
            // Equal numbers differ in the sign of zero only: the negative zero is the smaller one.
            WarpReductionOp::Min if self == other => f32::from_bits(self.to_bits() | other.to_bits()),
            WarpReductionOp::Max if self == other => f32::from_bits(self.to_bits() & other.to_bits()),
            WarpReductionOp::Min if self < other || self.is_nan() => self,
            WarpReductionOp::Max if self > other || self.is_nan() => self,
            WarpReductionOp::Min | WarpReductionOp::Max => other,
            WarpReductionOp::And | WarpReductionOp::Or | WarpReductionOp::Xor => crate::trap(),
        }
    }
}

/// The values of the lanes of `mask` combined, the same result for each of them: by `redux.sync` for integers on sm_80 and
/// newer, else by shuffles in the order that the module's documentation gives.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_reduce<T: Reduce>(mask: u32, value: T, op: WarpReductionOp) -> T {
    #[cfg(target_os = "cuda")]
    {
        if let Some(result) = value.instruction(mask, op) {
            return result;
        }
        if mask == FULL {
            let mut result = value;
            let mut distance = 16;
            while distance > 0 {
                result = result.combine(warp_shuffle_xor(FULL, result, distance, 32).0, op);
                distance /= 2;
            }
            return result;
        }
        let mut rest = mask & mask.wrapping_sub(1);
        let mut result = warp_shuffle_idx(mask, value, mask.trailing_zeros(), 32).0;
        while rest != 0 {
            result = result.combine(warp_shuffle_idx(mask, value, rest.trailing_zeros(), 32).0, op);
            rest &= rest.wrapping_sub(1);
        }
        result
    }
    #[cfg(not(target_os = "cuda"))]
    {
        // The same order, after one meeting of the lanes instead of five.
        let bits = context().exchange("warp_reduce", mask, value.to_bits64(), Location::caller());
        let mut values = bits.map(T::from_bits64);
        if mask == FULL {
            for distance in [16, 8, 4, 2, 1] {
                (0..distance).for_each(|lane| values[lane] = values[lane].combine(values[lane + distance], op));
            }
            return values[0];
        }
        let reduced = lanes(mask).map(|lane| values[lane as usize]).reduce(|a, b| a.combine(b, op));
        reduced.expect("the mask names the caller")
    }
}

/// The sum of the values of this lane and of all lower lanes of the warp. All lanes of the warp must take part.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_scan_inclusive<T: Reduce>(value: T) -> T {
    let mask = warp::existing();
    #[cfg(target_os = "cuda")]
    {
        let mut result = value;
        let mut distance = 1;
        while distance < 32 {
            let (lower, inside) = warp_shuffle_up(mask, result, distance, 32);
            if inside {
                result = lower.combine(result, WarpReductionOp::Add);
            }
            distance *= 2;
        }
        result
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let bits = context().exchange("warp_scan_inclusive", mask, value.to_bits64(), Location::caller());
        let mut values = bits.map(T::from_bits64);
        for distance in [1, 2, 4, 8, 16] {
            for lane in (distance..32).rev() {
                values[lane] = values[lane - distance].combine(values[lane], WarpReductionOp::Add);
            }
        }
        values[lane_id() as usize]
    }
}

/// What block-wide operations on `T` need; implemented for u32 and f32, which have a shared array of their own.
pub trait BlockReduce: Reduce {
    /// The neutral element of addition.
    const ZERO: Self;
    #[doc(hidden)]
    fn partials() -> crate::Shared<Self, 32>;
}

impl BlockReduce for u32 {
    const ZERO: Self = 0;
    #[inline(always)]
    fn partials() -> crate::Shared<Self, 32> {
        shared_array![u32; 32]
    }
}

impl BlockReduce for f32 {
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn partials() -> crate::Shared<Self, 32> {
        shared_array![f32; 32]
    }
}

/// Stores the warps' results and waits until all of them are there. A barrier must follow the last read.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn exchange<T: BlockReduce>(write: bool, value: T) -> crate::Shared<T, 32> {
    let partials = T::partials();
    if write {
        // SAFETY: one lane of each warp writes its warp's element; a barrier lies between earlier reads and this.
        unsafe { partials.write(warp::warp_id() as usize, value) };
    }
    thread::sync_threads();
    partials
}

/// The values of all threads of the block combined, the same result for each of them. Every thread must take part: it holds
/// two barriers.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn block_reduce<T: BlockReduce>(value: T, op: WarpReductionOp) -> T {
    let value = warp_reduce(warp::existing(), value, op);
    let partials = exchange(lane_id() == 0, value);
    let warps = thread::threads_per_block().div_ceil(32) as usize;
    // SAFETY: every warp wrote its element before the barrier.
    let mut result = unsafe { partials.read(0) };
    for warp in 1..warps {
        // SAFETY: as above.
        result = result.combine(unsafe { partials.read(warp) }, op);
    }
    thread::sync_threads();
    result
}

/// The sum of the values of this thread and of all threads of the block before it. Every thread must take part: it holds two
/// barriers.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn block_scan_inclusive<T: BlockReduce>(value: T) -> T {
    let own = warp_scan_inclusive(value);
    before_warp(own).combine(own, WarpReductionOp::Add)
}

/// The sum of the values of all threads of the block before this one; zero for the first. Every thread must take part: it
/// holds two barriers.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn block_scan_exclusive<T: BlockReduce>(value: T) -> T {
    let inclusive = warp_scan_inclusive(value);
    let (lower, inside) = warp_shuffle_up(warp::existing(), inclusive, 1, 32);
    before_warp(inclusive).combine(if inside { lower } else { T::ZERO }, WarpReductionOp::Add)
}

/// The sum over all warps before this one, given the warp's inclusive scan.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn before_warp<T: BlockReduce>(inclusive: T) -> T {
    let last = 31 - warp::existing().leading_zeros();
    let partials = exchange(lane_id() == last, inclusive);
    let mut before = T::ZERO;
    for warp in 0..warp::warp_id() as usize {
        // SAFETY: every warp wrote its element before the barrier.
        before = before.combine(unsafe { partials.read(warp) }, WarpReductionOp::Add);
    }
    thread::sync_threads();
    before
}
