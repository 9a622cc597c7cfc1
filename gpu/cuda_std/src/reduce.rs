//! Reductions and scans over a warp, parts of a warp, and a block, in an order that depends on nothing but the block's shape:
//! they repeat bit for bit, and give the same bits on the device and in the simulator.
//!
//! A full warp is added pairwise, lanes 16 apart first, then 8, 4, 2 and 1; a part of a warp lane by lane. A segment of a full
//! warp is added pairwise as well; in a warp that lacks lanes, lane by lane. A block is reduced warp by warp, then the warps'
//! results one after the other. Scans add over distances 1, 2, 4, 8 and 16 in a warp.

mod value;

#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::{context, lanes};
use crate::warp::{self, FULL, expect_width, lane_id, warp_shuffle_up};
#[cfg(target_os = "cuda")]
use crate::warp::{warp_shuffle_idx, warp_shuffle_xor};
use crate::{Shared, thread};
pub use value::{BlockReduce, Reduce, WarpReductionOp};

/// The values of the lanes of `mask` combined, the same result for each of them: by `redux.sync` for 32-bit integers on sm_80
/// and newer, else by shuffles in the order that the module's documentation gives.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_reduce<T: Reduce>(mask: u32, value: T, op: WarpReductionOp) -> T {
    #[cfg(target_os = "cuda")]
    {
        if let Some(result) = value.instruction(mask, op) {
            return result;
        }
        if mask == FULL {
            return pairwise(value, op, 32);
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
        let bits = context().exchange("warp_reduce", mask, value.to_raw_bits(), Location::caller());
        let mut values = bits.map(T::from_raw_bits);
        if mask == FULL {
            return pairwise(&mut values, op);
        }
        let reduced = lanes(mask).map(|lane| values[lane as usize]).reduce(|a, b| a.combine(b, op));
        reduced.expect("the mask names the caller")
    }
}

/// The values of the caller's segment of `width` consecutive lanes (1, 2, 4, ... 32) combined, the same result for each of
/// them. All lanes of the warp must take part.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn segment_reduce<T: Reduce>(value: T, op: WarpReductionOp, width: u32) -> T {
    expect_width(width);
    let mask = warp::existing();
    let first = lane_id() & !(width - 1);
    #[cfg(target_os = "cuda")]
    {
        if mask == FULL {
            return pairwise(value, op, width);
        }
        let last = 31 - mask.leading_zeros() - first;
        let mut result = warp_shuffle_idx(mask, value, 0, width).0;
        for i in 1..width {
            let other = warp_shuffle_idx(mask, value, i.min(last), width).0;
            if i <= last {
                result = result.combine(other, op);
            }
        }
        result
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let bits = context().exchange("segment_reduce", mask, value.to_raw_bits(), Location::caller());
        let mut values = bits.map(T::from_raw_bits);
        let segment = &mut values[first as usize..(first + width).min(32 - mask.leading_zeros()) as usize];
        if mask == FULL {
            return pairwise(segment, op);
        }
        segment.iter().copied().reduce(|a, b| a.combine(b, op)).expect("the caller is in it")
    }
}

/// Full segments: each lane with the one `width / 2` away, and so on down to its neighbour.
#[cfg(target_os = "cuda")]
#[inline(always)]
fn pairwise<T: Reduce>(value: T, op: WarpReductionOp, width: u32) -> T {
    let mut result = value;
    let mut distance = width / 2;
    while distance > 0 {
        result = result.combine(warp_shuffle_xor(FULL, result, distance, 32).0, op);
        distance /= 2;
    }
    result
}

#[cfg(not(target_os = "cuda"))]
fn pairwise<T: Reduce>(values: &mut [T], op: WarpReductionOp) -> T {
    let mut distance = values.len() / 2;
    while distance > 0 {
        (0..distance).for_each(|lane| values[lane] = values[lane].combine(values[lane + distance], op));
        distance /= 2;
    }
    values[0]
}

/// The sum of the values of this lane and of all lower lanes of the warp. All lanes of the warp must take part.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_scan_inclusive<T: Reduce>(value: T) -> T {
    segment_scan_inclusive(value, WarpReductionOp::Add, 32)
}

/// The sum of the values of all lower lanes of the warp, zero for the first. All lanes of the warp must take part.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_scan_exclusive<T: Reduce>(value: T) -> T {
    segment_scan_exclusive(value, WarpReductionOp::Add, 32)
}

/// The values of this lane and of all lower lanes of its segment of `width` lanes (1, 2, 4, ... 32) combined. All lanes of the
/// warp must take part.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn segment_scan_inclusive<T: Reduce>(value: T, op: WarpReductionOp, width: u32) -> T {
    expect_width(width);
    let mask = warp::existing();
    #[cfg(target_os = "cuda")]
    {
        let mut result = value;
        let mut distance = 1;
        while distance < width {
            let (lower, inside) = warp_shuffle_up(mask, result, distance, width);
            if inside {
                result = lower.combine(result, op);
            }
            distance *= 2;
        }
        result
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let bits = context().exchange("segment_scan_inclusive", mask, value.to_raw_bits(), Location::caller());
        let mut values = bits.map(T::from_raw_bits);
        let width = width as usize;
        let mut distance = 1;
        while distance < width {
            for lane in (0..32).rev().filter(|lane| lane % width >= distance) {
                values[lane] = values[lane - distance].combine(values[lane], op);
            }
            distance *= 2;
        }
        values[lane_id() as usize]
    }
}

/// The values of all lower lanes of this lane's segment of `width` lanes (1, 2, 4, ... 32) combined; for the first
/// [`Reduce::identity`]. All lanes of the warp must take part.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn segment_scan_exclusive<T: Reduce>(value: T, op: WarpReductionOp, width: u32) -> T {
    let inclusive = segment_scan_inclusive(value, op, width);
    let (lower, inside) = warp_shuffle_up(warp::existing(), inclusive, 1, width);
    if inside { lower } else { T::identity(op) }
}

/// Stores the warps' results and waits until all of them are there. A barrier must follow the last read.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn exchange<T: BlockReduce>(write: bool, value: T) -> Shared<T, 32> {
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
    let lower = if inside { lower } else { T::identity(WarpReductionOp::Add) };
    before_warp(inclusive).combine(lower, WarpReductionOp::Add)
}

/// The sum over all warps before this one, given the warp's inclusive scan.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn before_warp<T: BlockReduce>(inclusive: T) -> T {
    let last = 31 - warp::existing().leading_zeros();
    let partials = exchange(lane_id() == last, inclusive);
    let mut before = T::identity(WarpReductionOp::Add);
    for warp in 0..warp::warp_id() as usize {
        // SAFETY: every warp wrote its element before the barrier.
        before = before.combine(unsafe { partials.read(warp) }, WarpReductionOp::Add);
    }
    thread::sync_threads();
    before
}
