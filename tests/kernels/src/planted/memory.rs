//! Memory out of bounds, and memory that nobody wrote.

use cuda_std::{Global, GlobalMut, kernel, shared, shared_array, thread};

/// Thread 7 touches an element one past the end: not (0), by an unchecked read (1), by an unchecked write (2), or through a raw
/// pointer (3).
#[kernel(module = "planted")]
pub fn global_bounds<const HOW: u32>(x: Global<u32>, mut y: GlobalMut<u32>) {
    let t = thread::index();
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        let end = if t == 7 { x.len() } else { t };
        let value = match HOW {
            1 => x.get_unchecked(end),
            3 => *x.as_ptr().add(end),
            _ => x.get_unchecked(t),
        };
        y.write_unchecked(if HOW == 2 { end } else { t }, value);
    }
}

/// As [`global_bounds()`], in shared memory: rightly (0), an unchecked read one past the end of a fixed array (1), an unchecked write
/// one past the end of the dynamic memory (2).
#[kernel(module = "planted")]
pub fn shared_bounds<const HOW: u32>(mut x: GlobalMut<u32>) {
    let (fixed, dynamic) = (shared_array![u32; 32], shared::Dynamic::new().take::<u32>(32));
    let t = thread::thread_idx_x() as usize;
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        fixed.write(t, t as u32);
        dynamic.write_unchecked(if HOW == 2 && t == 7 { 32 } else { t }, t as u32);
        let value = fixed.read_unchecked(if HOW == 1 && t == 7 { 32 } else { t });
        x.write(t, value);
    }
}

/// Every thread reads its neighbour's element, which thread 5 wrote, or, wrongly, nobody.
#[kernel(module = "planted")]
pub fn global_reads<const RIGHT: bool>(mut x: GlobalMut<u32>, mut sum: GlobalMut<u32>) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: own elements before the barrier, the neighbour's after it. Wrong on purpose unless `RIGHT`.
    unsafe {
        if RIGHT || t != 5 {
            x.write(t, 1);
        }
        thread::sync_threads();
        sum.write(t, x.read((t + 1) % 32));
    }
}

/// As [`global_reads()`], in shared memory.
#[kernel(module = "planted")]
pub fn shared_reads<const RIGHT: bool>(mut x: GlobalMut<u32>) {
    let values = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    // SAFETY: own elements before the barrier, the neighbour's after it. Wrong on purpose unless `RIGHT`.
    let neighbour = unsafe {
        if RIGHT || t != 5 {
            values.write(t, t as u32);
        }
        thread::sync_threads();
        values.read((t + 1) % 64)
    };
    for i in thread::elements(x.len()) {
        x.set(i, neighbour);
    }
}
