//! Every warp operation, one kernel each: lane by lane results for comparison with a plain model.
//!
//! All have the form (input, output): one warp or more, thread `t` reads `input[t]` and writes its results at `output[t * n]`.

use cuda_std::reduce::{
    Reduce, WarpReductionOp, segment_reduce, segment_scan_exclusive, segment_scan_inclusive, warp_reduce,
    warp_scan_inclusive,
};
use cuda_std::warp::{self, FULL, Word};
use cuda_std::{DeviceCopy, Global, GlobalMut, kernel, thread};

/// Widths of the segments of a shuffle.
pub const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Distances, or lanes, that the shuffles are tried with.
pub const DISTANCES: u32 = 34;

/// `output[t]` = all shuffles of `input[t]`: for each width and each distance idx, up, down, xor, each value and flag.
#[kernel(module = "warps")]
pub fn shuffles<T: Word + DeviceCopy>(input: Global<T>, mut output: GlobalMut<T>, mut flags: GlobalMut<u32>) {
    let t = thread::index();
    let value = input[t];
    let mut at = t * WIDTHS.len() * DISTANCES as usize * 4;
    for width in WIDTHS {
        for distance in 0..DISTANCES {
            let results = [
                warp::warp_shuffle_idx(FULL, value, distance, width),
                warp::warp_shuffle_up(FULL, value, distance, width),
                warp::warp_shuffle_down(FULL, value, distance, width),
                warp::warp_shuffle_xor(FULL, value, distance, width),
            ];
            for (value, flag) in results {
                // SAFETY: each thread has a range of its own.
                unsafe {
                    output.write(at, value);
                    flags.write(at, u32::from(flag));
                }
                at += 1;
            }
        }
    }
}

/// How many numbers [`votes()`] writes for each thread.
pub const VOTES: usize = 12;

/// Ballot, all, any, match_any, match_all of `input[t]`, for the whole warp and for the odd lanes or the even ones; lane and
/// active mask.
#[kernel(module = "warps")]
pub fn votes(input: Global<u32>, mut output: GlobalMut<u32>) {
    let t = thread::index();
    let value = input[t];
    let half = if warp::lane_id().is_multiple_of(2) { 0x5555_5555 } else { 0xaaaa_aaaa };
    let wide = u64::from(value) << 32 | 7;
    let all = warp::warp_match_all(half, wide);
    let results = [
        warp::warp_vote_ballot(FULL, value > 3),
        warp::warp_vote_ballot(half, value > 3),
        u32::from(warp::warp_vote_all(FULL, value > 0)),
        u32::from(warp::warp_vote_all(half, value > 0)),
        u32::from(warp::warp_vote_any(FULL, value > 6)),
        u32::from(warp::warp_vote_any(half, value > 6)),
        warp::warp_match_any(FULL, value),
        warp::warp_match_any(half, wide),
        all.0,
        u32::from(all.1) * 2 + u32::from(warp::warp_match_all(FULL, value).1),
        warp::lane_id(),
        warp::activemask() >> warp::lane_id() & 1,
    ];
    for (i, result) in results.into_iter().enumerate() {
        // SAFETY: each thread has a range of its own.
        unsafe { output.write(t * VOTES + i, result) };
    }
}

/// The operations of integers.
pub const OPERATIONS: [WarpReductionOp; 6] = [
    WarpReductionOp::Add,
    WarpReductionOp::Min,
    WarpReductionOp::Max,
    WarpReductionOp::And,
    WarpReductionOp::Or,
    WarpReductionOp::Xor,
];

/// Masks of the first n lanes, n = 1 ..= 32, and the rest of each warp; then the odd and the even lanes.
pub const MASKS: usize = 33;

/// `output[t]` = `input[t]` reduced over the lanes in the same part of the warp, for each of [`MASKS`] and the first `OPS`
/// operations.
#[kernel(module = "warps")]
pub fn reductions<T: Reduce + DeviceCopy, const OPS: usize>(input: Global<T>, mut output: GlobalMut<T>) {
    let t = thread::index();
    let (value, lane) = (input[t], warp::lane_id());
    for split in 0..MASKS as u32 {
        let lower = if split < 32 { FULL >> (31 - split) } else { 0x5555_5555 };
        let mask = if lower >> lane & 1 == 1 { lower } else { !lower };
        for (i, op) in OPERATIONS.into_iter().take(OPS).enumerate() {
            // The two parts of the warp come here one after the other, or together: the mask keeps them apart.
            let result = warp_reduce(mask, value, op);
            // SAFETY: each thread has a range of its own.
            unsafe { output.write((t * MASKS + split as usize) * OPS + i, result) };
        }
    }
}

/// `output[t]` = the sum of input over this lane and all lower lanes.
#[kernel(module = "warps")]
pub fn scans<T: Reduce + DeviceCopy>(input: Global<T>, mut output: GlobalMut<T>) {
    let t = thread::index();
    let sum = warp_scan_inclusive(input[t]);
    // SAFETY: each thread has an element of its own.
    unsafe { output.write(t, sum) };
}

/// Passes values from lane to lane through global memory, `sync_warp` between: `output[t]` = 32 sums of neighbours.
#[kernel(module = "warps")]
pub fn warp_barriers(input: Global<u32>, mut output: GlobalMut<u32>) {
    let t = thread::index();
    let neighbour = t - t % 32 + (t + 1) % 32;
    // SAFETY: own element; the neighbour's between two barriers of the warp.
    unsafe {
        output.write(t, input[t]);
        for _ in 0..32 {
            warp::sync_warp(FULL);
            let sum = output.read(t).wrapping_mul(3).wrapping_add(output.read(neighbour));
            warp::sync_warp(FULL);
            output.write(t, sum);
        }
    }
}

/// `output[t]` = the lanes whose `input[t]` is the same, and whether all are, for the whole warp: `warp_match_any` and
/// `warp_match_all`.
#[kernel(module = "warps")]
pub fn matched<T: Word + DeviceCopy>(input: Global<T>, mut output: GlobalMut<u32>) {
    let t = thread::index();
    let value = input[t];
    // SAFETY: each thread has a range of its own.
    unsafe {
        output.write(2 * t, warp::warp_match_any(FULL, value));
        output.write(2 * t + 1, warp::warp_match_all(FULL, value).0);
    }
}

/// How many numbers [`segments()`] writes for each thread, width and operation.
pub const SEGMENTS: usize = 3;

/// For each of [`WIDTHS`] and the first `OPS` operations: `input[t]` reduced over the segment, inclusive and exclusive scan.
#[kernel(module = "warps")]
pub fn segments<T: Reduce + DeviceCopy, const OPS: usize>(input: Global<T>, mut output: GlobalMut<T>) {
    let t = thread::index();
    let value = input[t];
    let mut at = t * WIDTHS.len() * OPS * SEGMENTS;
    for width in WIDTHS {
        for op in OPERATIONS.into_iter().take(OPS) {
            let results = [
                segment_reduce(value, op, width),
                segment_scan_inclusive(value, op, width),
                segment_scan_exclusive(value, op, width),
            ];
            for result in results {
                // SAFETY: each thread has a range of its own.
                unsafe { output.write(at, result) };
                at += 1;
            }
        }
    }
}
