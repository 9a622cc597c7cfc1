//! Barriers and warp operations that not everyone comes to.

use cuda_std::warp::{self, FULL};
use cuda_std::{GlobalMut, kernel, thread};

/// A barrier that all threads come to, or, wrongly, all but one, which ends before.
#[kernel(module = "planted")]
pub fn most_threads<const RIGHT: bool>(mut x: GlobalMut<u32>) {
    if !RIGHT && thread::thread_idx_x() == 40 {
        return;
    }
    let count = thread::sync_threads_count(1);
    for i in thread::elements(x.len()) {
        x.set(i, count);
    }
}

/// Half of a warp's threads are at another kind of barrier.
#[kernel(module = "planted")]
pub fn two_barriers(mut x: GlobalMut<u32>) {
    let count = match thread::thread_idx_x() < 16 {
        true => thread::sync_threads_count(1),
        false => thread::sync_threads_or(1),
    };
    for i in thread::elements(x.len()) {
        x.set(i, count);
    }
}

/// A vote that one lane skips (0), that only the lanes of its mask reach (1), whose mask leaves the caller out (2), for which
/// one thread waits elsewhere (3), or a shuffle from a lane outside the mask (4).
#[kernel(module = "planted")]
pub fn votes<const HOW: u32>(mut x: GlobalMut<u32>) {
    let lane = warp::lane_id();
    let votes = match HOW {
        0 if lane == 7 => 0,
        0 => warp::warp_vote_ballot(FULL, true),
        1 if lane < 7 => warp::warp_vote_ballot(0x7f, lane > 2),
        1 => warp::warp_vote_ballot(!0x7f, lane > 9),
        2 => warp::warp_vote_ballot(0x7f, true),
        3 if lane == 9 => thread::sync_threads_count(1),
        3 => warp::warp_vote_ballot(FULL, true),
        _ if lane < 16 => warp::warp_shuffle_down(0xffff, lane, 1, 32).0,
        _ => 0,
    };
    for i in thread::elements(x.len()) {
        x.set(i, votes);
    }
}
