//! Atomic updates of global and shared elements, in every scope.

use cuda_std::atomic::{AtomicInteger, AtomicValue, Ordering};
use cuda_std::{DeviceCopy, Global, GlobalAtomic, GlobalMut, Scope, kernel, shared::Dynamic, thread};

/// Scopes, in the order of the results.
pub const SCOPES: [Scope; 3] = [Scope::Block, Scope::Device, Scope::System];
/// How many elements [`arithmetic()`] updates in each scope.
pub const ARITHMETIC: usize = 5;
/// How many elements [`bitwise()`] updates in each scope.
pub const BITWISE: usize = 3;

/// Every thread of one block: adds, subtracts, keeps minimum and maximum, and adds by compare-exchange, in global memory
/// and in shared memory. The totals of the latter are written behind the former.
#[kernel(module = "atomics")]
pub fn arithmetic<T: AtomicValue + DeviceCopy>(input: Global<T>, total: GlobalMut<T>) {
    const COUNT: usize = ARITHMETIC * SCOPES.len();
    // SAFETY: every access to `total` is atomic.
    let total = |i| unsafe { total.atomic(i) };
    let t = thread::index_in_block() as usize;
    let shared = Dynamic::new().take::<T>(COUNT);
    if t < COUNT {
        shared.atomic(t).store(total(t).load(Scope::Device), Scope::Block);
    }
    thread::sync_threads();
    let value = input[t];
    for (i, scope) in SCOPES.into_iter().enumerate() {
        let at = i * ARITHMETIC;
        total(at).fetch_add(value, scope);
        total(at + 1).fetch_sub(value, scope);
        total(at + 2).fetch_min(value, scope);
        total(at + 3).fetch_max(value, scope);
        shared.atomic(at).fetch_add(value, scope);
        shared.atomic(at + 1).fetch_sub(value, scope);
        shared.atomic(at + 2).fetch_min(value, scope);
        shared.atomic(at + 3).fetch_max(value, scope);
        // Counts the threads by exchanging what the last one left: every value is found exactly once.
        let mut old = total(at + 4).load(scope);
        while let Err(other) = total(at + 4).compare_exchange(old, value, scope) {
            old = other;
        }
        let kept = shared.atomic(at + 4).exchange(value, scope);
        total(2 * COUNT + 2 * i).fetch_add(old, scope);
        total(2 * COUNT + 2 * i + 1).fetch_add(kept, scope);
    }
    thread::sync_threads();
    if t < COUNT {
        total(COUNT + t).store(shared.atomic(t).load(Scope::Block), Scope::Device);
    }
}

/// Every thread: and, or, xor, in each scope.
#[kernel(module = "atomics")]
pub fn bitwise<T: AtomicInteger + DeviceCopy>(input: Global<T>, total: GlobalMut<T>) {
    // SAFETY: every access to `total` is atomic.
    let total = |i| unsafe { total.atomic(i) };
    let value = input[thread::index()];
    for (i, scope) in SCOPES.into_iter().enumerate() {
        total(i * BITWISE).fetch_and(value, scope);
        total(i * BITWISE + 1).fetch_or(value, scope);
        total(i * BITWISE + 2).fetch_xor(value, scope);
    }
}

/// `sum[0]` = the sum of the input, by the block that finishes last: partial sums, a fence, a counter.
#[kernel(module = "atomics")]
pub fn last_block_sum(
    input: Global<u32>,
    mut partials: GlobalMut<u32>,
    counter: GlobalMut<u32>,
    mut sum: GlobalMut<u32>,
) {
    let block = thread::block_idx_x() as usize;
    let value = input[thread::index()];
    let partial = cuda_std::reduce::block_reduce(value, cuda_std::reduce::WarpReductionOp::Add);
    let first = thread::thread_idx_x() == 0;
    let mut last = 0;
    if first {
        // SAFETY: the block's own element; read by the last block alone, after the counter says that all are written.
        unsafe { partials.write(block, partial) };
        thread::device_fence();
        // SAFETY: every access to the counter is atomic.
        let before = unsafe { counter.atomic(0) }.fetch_add(1, Scope::Device);
        thread::device_fence();
        last = u32::from(before + 1 == thread::grid_dim_x());
    }
    if thread::sync_threads_or(last) == 1 && first {
        let mut total = 0u32;
        for i in 0..thread::grid_dim_x() as usize {
            // SAFETY: as above; the sum is written by one thread of one block.
            total = total.wrapping_add(unsafe { partials.read(i) });
        }
        // SAFETY: as above.
        unsafe { sum.write(0, total) };
    }
}

/// `counts[x]` += 1 for each x of the input, by every thread; nothing in it is `unsafe`.
#[kernel(module = "atomics")]
pub fn histogram(input: Global<u32>, counts: GlobalAtomic<u32>) {
    for i in thread::elements(input.len()) {
        counts.atomic(input[i] as usize).fetch_add(1, Scope::Device);
    }
}

/// Adds 1 to `sum[i]`, i = 0, 1, ..., with each ordering that an update can have; then `sum[5]` is stored and loaded with those
/// that stores and loads can have.
#[kernel(module = "atomics")]
pub fn orderings(sum: GlobalAtomic<u32>) {
    let all = [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];
    for (i, ordering) in all.into_iter().enumerate() {
        for scope in SCOPES {
            sum.atomic(i).ordered(ordering).fetch_add(1, scope);
        }
    }
    for ordering in [Ordering::Relaxed, Ordering::Release, Ordering::SeqCst] {
        sum.atomic(5).ordered(ordering).store(77, Scope::Device);
    }
    for ordering in [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst] {
        let found = sum.atomic(5).ordered(ordering).load(Scope::Device);
        sum.atomic(6).fetch_max(found, Scope::Device);
    }
}

/// `output[t]` = 3 `input[t]`, computed by one half of the block, handed to the other through `data` and announced by `flags`:
/// release and acquire, or, wrongly, not.
#[kernel(module = "atomics")]
pub fn handed_on<const ORDERED: bool>(
    input: Global<u32>,
    mut data: GlobalMut<u32>,
    flags: GlobalAtomic<u32>,
    mut output: GlobalMut<u32>,
) {
    let (t, half) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize / 2);
    let (release, acquire) =
        if ORDERED { (Ordering::Release, Ordering::Acquire) } else { (Ordering::Relaxed, Ordering::Relaxed) };
    let flag = flags.atomic(t % half);
    // SAFETY: written before the flag is released, read after it is acquired. Wrong on purpose unless `ORDERED`.
    unsafe {
        if t < half {
            data.write(t, input[t].wrapping_mul(3));
            flag.ordered(release).store(1, Scope::Block);
        } else {
            while flag.ordered(acquire).load(Scope::Block) == 0 {
                thread::nanosleep(50);
            }
            output.write(t - half, data.read(t - half));
        }
    }
}
