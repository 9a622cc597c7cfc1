//! Threads that touch one element without anything that orders them.

use cuda_std::warp::{self, FULL};
use cuda_std::{GlobalMut, Scope, kernel, shared, shared_array, thread};

/// Every thread reads what another one wrote: with no barrier between (0), with a barrier of the warp only (1), or rightly (2).
#[kernel(module = "planted")]
pub fn shared_neighbours<const BARRIER: u32>(mut x: GlobalMut<u32>) {
    let values = shared::Dynamic::new().take::<u32>(64);
    let t = thread::thread_idx_x() as usize;
    // SAFETY: wrong on purpose without the barrier.
    let neighbour = unsafe {
        values.write(t, t as u32);
        match BARRIER {
            0 => {}
            1 => warp::sync_warp(FULL),
            _ => thread::sync_threads(),
        }
        values.read(if BARRIER == 0 { t / 2 } else { (t + 1) % 64 })
    };
    for i in thread::elements(x.len()) {
        x.set(i, neighbour);
    }
}

/// A race between a read and a later write: the barrier before the second round is missing.
#[kernel(module = "planted")]
pub fn shared_rounds<const RIGHT: bool>(mut x: GlobalMut<u32>) {
    let values = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    let mut value = t as u32;
    for _ in 0..2 {
        // SAFETY: wrong on purpose unless `RIGHT`.
        unsafe {
            values.write(t, value);
            thread::sync_threads();
            value = values.read(63 - t);
        }
        if RIGHT {
            thread::sync_threads();
        }
    }
    for i in thread::elements(x.len()) {
        x.set(i, value);
    }
}

/// Threads of one warp pass a value on, ordered by `sync_warp`, or not at all.
#[kernel(module = "planted")]
pub fn passed_on<const SYNC: bool>(mut x: GlobalMut<u32>) {
    let value = shared_array![u32; 1];
    for turn in 0..32 {
        if thread::thread_idx_x() == turn {
            // SAFETY: wrong on purpose unless `SYNC`.
            unsafe { value.write(0, if turn == 0 { 1 } else { value.read(0) + turn }) };
        }
        if SYNC {
            warp::sync_warp(FULL);
        }
    }
    // SAFETY: nobody writes any more; as above.
    let sum = unsafe { value.read(0) };
    for i in thread::elements(x.len()) {
        x.set(i, sum);
    }
}

/// Two threads write one element (0), one reads what another writes (1), all add atomically (2), or atomically and not (3).
#[kernel(module = "planted")]
pub fn global_sum<const HOW: u32>(mut x: GlobalMut<u32>) {
    let (t, i) = (thread::index() as u32, thread::index() / 2);
    // SAFETY: wrong on purpose unless `HOW` is 2.
    unsafe {
        match HOW {
            0 => x.write(i, t),
            1 if t.is_multiple_of(2) => x.write(i, t),
            // What is read is used, or nothing would be read on a GPU.
            1 => x.write(i + x.len() / 2, x.read(i)),
            2 => drop(x.atomic(0).fetch_add(t, Scope::Device)),
            _ if t == 70 => x.write(0, t),
            _ => drop(x.atomic(0).fetch_add(t, Scope::Device)),
        }
    }
}
