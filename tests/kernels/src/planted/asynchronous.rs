//! Copies that nobody waits for, or not long enough; barriers of some warps.

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::{GlobalMut, TensorMap, barrier, cp_async, kernel, shared, shared_array, thread, tma};

/// Each of 64 threads copies a number and reads its own back: after waiting (0), too early (1), or never having waited (2).
#[kernel(module = "planted", arch = "sm_80")]
pub fn copies<const HOW: u32>(mut x: GlobalMut<u32>) {
    let numbers = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        cp_async::copy::<4>(numbers.address().offset(4 * t as u32), x.as_mut_ptr().add(t).cast());
        cp_async::commit_group();
        match HOW {
            0 => cp_async::wait_group::<0>(),
            1 => cp_async::wait_group::<1>(),
            _ => return,
        }
        let number = numbers.read(t);
        cp_async::wait_all();
        x.write(t + 64, number);
    }
}

/// Nothing wrong: of the 16 bytes that each of 32 threads copies only the first 4 are read, and the rest is filled with zeros; the
/// last 12 bytes of `x` need not be initialised.
#[kernel(module = "planted", arch = "sm_80")]
pub fn short_copies(mut x: GlobalMut<u32>) {
    let numbers = shared_array![u32; 128];
    let t = thread::thread_idx_x() as usize;
    // SAFETY: own elements, behind the wait; the first 4 bytes are written before they are read.
    unsafe {
        x.write(4 * t, 7);
        thread::sync_threads();
        cp_async::copy_or_zero::<16>(numbers.address().offset(16 * t as u32), x.as_mut_ptr().add(4 * t).cast(), 4);
        cp_async::wait_all();
        let sum = (0..4).map(|i| numbers.read(4 * t + i)).fold(0, u32::wrapping_add);
        x.write(4 * t, sum);
    }
}

/// A box is loaded twice and read by all: rightly (0), before the barrier's phase is complete (1), loaded again while other threads
/// may read it (2), with too many bytes expected (3), never read nor waited for (4), with the barrier not initialised (5), from a
/// coordinate that the copy engine can't begin at (6), or to a place that is no multiple of 128 bytes (7).
#[kernel(module = "planted90", arch = "sm_90", ptx = "8.0")]
pub fn boxes<const HOW: u32>(x: TensorMap<u32, 2>, mut y: GlobalMut<u32>) {
    let words = shared_array![u64; 1];
    let tile = shared::Dynamic::new().take_aligned::<u32, 128>(128);
    let t = thread::thread_idx_x() as usize;
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        let full = Barrier::at(words.address());
        if t == 0 && HOW != 5 {
            full.init(1);
            mbarrier::fence_init();
        }
        thread::sync_threads();
        for round in 0..2 {
            if t == 0 {
                full.arrive_expect_tx(if HOW == 3 { 260 } else { 256 });
                let to = tile.address().offset(if HOW == 7 { 16 } else { 0 });
                x.load(to, [i32::from(HOW == 6), round], full);
            }
            if HOW == 4 {
                return;
            }
            match HOW {
                // The first thread's copy is made meanwhile.
                1 if t > 0 => thread::nanosleep(1),
                _ => full.wait(round as u32),
            }
            y.write(t, tile.read(t));
            match HOW {
                2 if t > 0 => {}
                // The others read meanwhile, but nothing says that they have.
                2 => thread::nanosleep(1),
                _ => thread::sync_threads(),
            }
        }
    }
}

/// A thread stores 256 bytes and ends: after it waited (0), without waiting (1), without even making a group (2), or having left
/// out the fence between its own writes and the copy engine (3).
#[kernel(module = "planted90", arch = "sm_90", ptx = "8.0")]
pub fn stores<const HOW: u32>(x: GlobalMut<u32>) {
    let numbers = shared_array![u32; 64];
    // SAFETY: one thread; wrong on purpose unless `HOW` is 0.
    unsafe {
        (0..64).for_each(|i| numbers.write(i, i as u32));
        if HOW != 3 {
            tma::fence_async();
        }
        tma::store_bytes(x.as_mut_ptr().cast(), numbers.address(), 256);
        if HOW != 2 {
            tma::commit_group();
        }
        if HOW == 0 || HOW == 3 {
            tma::wait_group_read::<0>();
        }
    }
}

/// Two warps hand a value on by a named barrier (0), by an mbarrier (1), or not at all (2); the barrier waits for a warp too many
/// (3), or the warps disagree about the number of threads (4).
#[kernel(module = "planted", arch = "sm_80", ptx = "7.1")]
pub fn handed_over<const HOW: u32>(mut x: GlobalMut<u32>) {
    let (value, words) = (shared_array![u32; 1], shared_array![u64; 1]);
    let t = thread::thread_idx_x();
    // SAFETY: wrong on purpose unless `HOW` is 0 or 1.
    unsafe {
        let done = Barrier::at(words.address());
        if t == 0 {
            done.init(1);
        }
        thread::sync_threads();
        let threads = if HOW == 3 { 96 } else { 64 };
        if t == 0 {
            value.write(0, 5);
        }
        if t < 32 {
            match HOW {
                0 | 3 | 4 => barrier::arrive(2, threads),
                1 if t == 0 => done.arrive(),
                _ => {}
            }
        } else {
            match HOW {
                0 | 3 => barrier::sync(2, threads),
                1 => done.wait(0),
                4 => barrier::sync(2, 32),
                _ => thread::nanosleep(1),
            }
            x.write(t as usize, value.read(0));
        }
    }
}
