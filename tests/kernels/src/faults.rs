//! Kernels that do nothing, or do wrong on purpose.

use cuda_std::{Global, GlobalMut, gpu_assert, gpu_panic, gpu_println, kernel, shared, thread};

/// Does nothing with six arguments: what a launch costs.
#[kernel(module = "empty")]
pub fn empty(_a: u32, _b: f32, _c: u64, _x: Global<f32>, _d: u32, _e: f32) {}

/// Traps in the last thread of the grid.
#[kernel(module = "traps")]
pub fn traps() {
    if thread::index() + 1 == thread::count() {
        cuda_std::trap();
    }
}

/// Asserts that no element is negative.
#[kernel(module = "asserts")]
pub fn asserts(x: Global<f32>) {
    for i in thread::elements(x.len()) {
        gpu_assert!(x[i] >= 0.0, "x[{}] is {}, which is negative", i.get(), x[i]);
    }
}

/// Asserts without a message, in one thread.
#[kernel(module = "asserts_plainly")]
pub fn asserts_plainly() {
    gpu_assert!(thread::index() != 70);
}

/// Panics in every thread at once: one of them is reported.
#[kernel(module = "panics")]
pub fn panics(code: i16) {
    gpu_panic!("code {}", code);
}

/// Prints a line for each element.
#[kernel(module = "prints")]
pub fn prints(x: Global<f32>) {
    for i in thread::elements(x.len()) {
        gpu_println!("element {} of {:04x}: {:.3} {{100%}} {}", i.get(), x.len(), x[i], -7i8);
    }
}

/// Waits, and gives how far each clock has come: cycles twice, then nanoseconds.
#[kernel(module = "clocks")]
pub fn clocks(mut output: GlobalMut<u64>) {
    use cuda_std::clock::{clock, clock64, globaltimer};
    let (short, long, time) = (clock(), clock64(), globaltimer());
    for _ in 0..100 {
        thread::nanosleep(100_000);
    }
    let passed = [u64::from(clock().wrapping_sub(short)), clock64() - long, globaltimer() - time];
    for i in thread::elements(output.len().min(1)) {
        for (k, passed) in passed.into_iter().enumerate() {
            // SAFETY: one thread has the index.
            unsafe { output.write(i.get() * 3 + k, passed) };
        }
    }
}

/// Reads one element past the end, which the view refuses.
#[kernel(module = "out_of_bounds")]
pub fn out_of_bounds(x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        y.set(i, x[x.len()]);
    }
}

/// `y[i] = x[i] + 1`, an element for each thread, with the bounds checked at each access, or not.
#[kernel(module = "incremented")]
pub fn incremented<const CHECKED: bool>(x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        if CHECKED {
            y.set(i, x[i] + 1.0);
        } else {
            // SAFETY: the index is below the output's length; the launch gives an input as long.
            unsafe { y.write_unchecked(i.get(), x.get_unchecked(i.get()) + 1.0) };
        }
    }
}

/// `output[0]` = the dynamic shared memory in bytes; every byte of it is written and read back.
#[kernel(module = "dynamic_shared", block = 128)]
pub fn dynamic_shared(mut output: GlobalMut<u32>) {
    let bytes = shared::dynamic_smem_size();
    let start = shared::dynamic_shared_mem::<u8>();
    let t = thread::thread_idx_x();
    // SAFETY: offsets below `bytes`; a thread writes every 128th byte, and reads its neighbour's after the barrier.
    unsafe {
        let mut i = t;
        while i < bytes {
            start.add(i as usize).write(i as u8 ^ 0x5a);
            i += 128;
        }
        thread::sync_threads();
        let mut wrong = 0;
        let mut i = t ^ 1;
        while i < bytes {
            wrong += u32::from(start.add(i as usize).read() != i as u8 ^ 0x5a);
            i += 128;
        }
        if wrong > 0 {
            cuda_std::trap();
        }
    }
    for i in thread::elements(output.len()) {
        output.set(i, bytes);
    }
}
