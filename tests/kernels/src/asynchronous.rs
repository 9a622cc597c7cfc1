//! Asynchronous copies, mbarriers and named barriers.

use cuda_std::cache::Policy;
use cuda_std::mbarrier::{self, Barrier};
use cuda_std::shared::{Address, Dynamic};
use cuda_std::tensor_map::{TensorAdd, TensorElement, TensorMap, TensorMapMut};
use cuda_std::{Global, GlobalMut, barrier, cp_async, kernel, shared_array, thread, tma};

/// The mbarrier in a fixed place, initialised for so many arrivals. Called by all threads.
///
/// # Safety
/// Once in a kernel.
#[inline(always)]
unsafe fn one_barrier(arrivals: u32) -> Barrier {
    let words = shared_array![u64; 1];
    // SAFETY: by the caller the word is used for this alone.
    let full = unsafe { Barrier::at(words.address()) };
    if thread::index_in_block() == 0 {
        full.init(arrivals);
        mbarrier::fence_init();
    }
    thread::sync_threads();
    full
}

/// Each thread hands its value to the next of its block, `rounds` times.
#[kernel(module = "asynchronous80", arch = "sm_80", ptx = "7.1")]
pub fn pass_on(rounds: u32, mut values: GlobalMut<u32>) {
    let slots = shared_array![u32; 256];
    let (t, threads) = (thread::index_in_block(), thread::threads_per_block());
    // SAFETY: slots alternate between two halves, so that a thread one phase ahead writes where nobody reads; each thread reads
    // and writes its own value.
    unsafe {
        let full = one_barrier(threads);
        let i = thread::index();
        let mut value = values.read(i);
        for round in 0..rounds {
            let half = round % 2 * threads;
            slots.write((half + t) as usize, value);
            full.arrive();
            if round % 3 == 0 {
                while !full.test_wait(round & 1) {}
            } else {
                full.wait(round & 1);
            }
            value = slots.read((half + (t + 1) % threads) as usize);
        }
        values.write(i, value);
        thread::sync_threads();
        if t == 0 {
            full.invalidate();
        }
    }
}

/// The block of the next three kernels.
pub const COPY_THREADS: usize = 64;
/// Stages of [`copied()`]'s ring.
pub const STAGES: usize = 3;

/// `output[t]` = the sum over the tiles of `BYTES * COPY_THREADS` bytes of what thread `COPY_THREADS - 1 - t` copied, as bytes; bytes
/// from `input.len()` on count as 0.
///
/// compute-sanitizer's initcheck reports the copy that only begins inside of the input. `cp.async` reads as many bytes as its last
/// operand says (PTX manual), which are those inside.
#[kernel(module = "asynchronous80", arch = "sm_80", ptx = "7.1")]
pub fn copied<const BYTES: u32>(input: Global<u8>, tiles: u32, mut output: GlobalMut<u32>) {
    let ring = Dynamic::new().take::<u8>(STAGES * COPY_THREADS * BYTES as usize);
    let t = thread::index_in_block();
    let tile = COPY_THREADS as u32 * BYTES;
    let begin = |number: u32| {
        if number < tiles {
            let (from, to) = (number * tile + t * BYTES, number % STAGES as u32 * tile + t * BYTES);
            let valid = (input.len() as u32).saturating_sub(from).min(BYTES);
            // SAFETY: only bytes of the input are read; nobody uses the stage before it was waited for and a barrier, nor
            // is it begun again before the barrier behind its use.
            unsafe {
                let (to, from) = (ring.address().offset(to), input.as_ptr().wrapping_add(from as usize));
                if BYTES == 16 && number % 2 == 1 {
                    cp_async::copy_through_l1(to, from, valid);
                } else {
                    cp_async::copy_or_zero::<BYTES>(to, from, valid);
                }
            }
        }
        cp_async::commit_group();
    };
    (0..STAGES as u32 - 1).for_each(begin);
    let mut sum = 0;
    for number in 0..tiles {
        cp_async::wait_group::<{ STAGES as u32 - 2 }>();
        thread::sync_threads();
        begin(number + STAGES as u32 - 1);
        let start = number % STAGES as u32 * tile + (COPY_THREADS as u32 - 1 - t) * BYTES;
        for byte in start..start + BYTES {
            // SAFETY: copied, waited for by its thread, and behind a barrier.
            sum += u32::from(unsafe { ring.read(byte as usize) });
        }
    }
    cp_async::wait_all();
    // SAFETY: one element for each thread.
    unsafe { output.write(t as usize, sum) };
}

/// `output` = `input` backwards, by a copy that reports to an mbarrier.
#[kernel(module = "asynchronous80", arch = "sm_80", ptx = "7.1")]
pub fn copied_to_mbarrier(input: Global<u32>, mut output: GlobalMut<u32>) {
    let numbers = shared_array![u32; 64];
    let t = thread::index_in_block() as usize;
    // SAFETY: one barrier; each thread copies one element, which the others read behind the barrier.
    unsafe {
        let full = one_barrier(COPY_THREADS as u32);
        cp_async::copy::<4>(numbers.address().offset(t as u32 * 4), input.as_ptr().add(t).cast());
        cp_async::arrive(full);
        full.wait(0);
        output.write(t, numbers.read(COPY_THREADS - 1 - t));
    }
}

/// Two halves of the block of 64 each: the first one writes, the second one reads, `rounds` times, by two pairs of barriers.
///
/// compute-sanitizer's racecheck reports a race here, between the writes and the reads. There is none: accesses before an arrival are
/// performed when the barrier completes (PTX manual, `barrier`).
#[kernel(module = "asynchronous80", arch = "sm_80")]
pub fn named_barriers(rounds: u32, mut output: GlobalMut<u32>) {
    const FULL: u32 = 1;
    const EMPTY: u32 = 15;
    let slots = shared_array![u32; 64];
    let t = thread::index_in_block();
    if t < 64 {
        for round in 0..rounds {
            barrier::sync(EMPTY, 128);
            // SAFETY: the readers are done with the last round's.
            unsafe { slots.write(t as usize, round * 1000 + t) };
            barrier::arrive(FULL, 128);
        }
    } else {
        let mut sum = 0;
        for _ in 0..rounds {
            barrier::arrive(EMPTY, 128);
            barrier::sync(FULL, 128);
            // SAFETY: the writers have written, and wait for these threads now.
            sum += unsafe { slots.read(127 - t as usize) };
        }
        // SAFETY: one element for each thread.
        unsafe { output.write(t as usize - 64, sum) };
    }
}

/// Copies one box to shared memory, the bytes from there to `raw` as they lie, and stores the box at other coordinates.
#[kernel(module = "asynchronous", arch = "sm_90", ptx = "8.0")]
pub fn box_copies<T: TensorElement, const RANK: usize>(
    source: TensorMap<T, RANK>,
    from: [i32; RANK],
    mut target: TensorMapMut<T, RANK>,
    to: [i32; RANK],
    mut raw: GlobalMut<T>,
) {
    let tile = Dynamic::new().take_aligned::<T, 1024>(raw.len());
    let t = thread::index_in_block() as usize;
    // SAFETY: one barrier, of one arrival and the box's bytes; the tile is read behind it. One element of `raw` for each turn.
    unsafe {
        let full = one_barrier(1);
        if t == 0 {
            source.prefetch();
            full.arrive_expect_tx((raw.len() * size_of::<T>()) as u32);
            source.load(tile.address(), from, full);
        }
        full.wait(0);
        let mut i = t;
        while i < raw.len() {
            raw.write(i, tile.read(i));
            i += thread::threads_per_block() as usize;
        }
        if t == 0 {
            target.store(to, tile.address());
            tma::commit_group();
            tma::wait_group::<0>();
        }
    }
}

/// As [`box_copies()`] of rank 2 without `raw`: the load's and the store's data are used once, or again.
#[kernel(module = "asynchronous", arch = "sm_90", ptx = "8.0")]
pub fn hinted_box_copies<const AGAIN: bool>(
    source: TensorMap<f32, 2>,
    from: [i32; 2],
    mut target: TensorMapMut<f32, 2>,
    to: [i32; 2],
    elements: u32,
) {
    let tile = Dynamic::new().take_aligned::<f32, 128>(elements as usize);
    // SAFETY: as in `box_copies`.
    unsafe {
        let full = one_barrier(1);
        let policy = if AGAIN { Policy::evict_last() } else { Policy::evict_first() };
        if thread::index_in_block() == 0 {
            full.arrive_expect_tx(elements * 4);
            source.load_hinted(tile.address(), from, full, policy);
            full.wait(0);
            target.store_hinted(to, tile.address(), policy);
            tma::commit_group();
            tma::wait_group::<0>();
        }
    }
}

/// Each block adds the values `1 + (i mod 7)` of one box to the tensor, at its own and at the next box.
#[kernel(module = "asynchronous", arch = "sm_90", ptx = "8.0")]
pub fn box_additions<T: TensorAdd>(values: Global<T>, mut target: TensorMapMut<T, 2>, rows: u32) {
    let tile = Dynamic::new().take_aligned::<T, 128>(values.len());
    let t = thread::index_in_block() as usize;
    // SAFETY: threads write different elements; the copy begins behind fence and barrier, and only additions touch the tensor.
    unsafe {
        let mut i = t;
        while i < values.len() {
            tile.write(i, values[i]);
            i += thread::threads_per_block() as usize;
        }
        tma::fence_async();
        thread::sync_threads();
        if t == 0 {
            let row = (thread::block_idx_x() * rows) as i32;
            target.reduce_add([0, row], tile.address());
            tma::commit_group();
            target.reduce_add([0, row + rows as i32], tile.address());
            tma::commit_group();
            tma::wait_group_read::<1>();
            tma::wait_group::<0>();
        }
    }
}

/// `output` = `input` with each pair of 256-byte runs swapped, by copies of plain bytes.
#[kernel(module = "asynchronous", arch = "sm_90", ptx = "8.0")]
pub fn swapped_runs(input: Global<u32>, mut output: GlobalMut<u32>) {
    let runs = shared_array![u32; 128];
    let first = thread::block_idx_x() as usize * 128;
    // SAFETY: one barrier of one arrival; a block copies its own 512 bytes, which lie in both views by the launch's shape.
    unsafe {
        let full = one_barrier(1);
        if thread::index_in_block() == 0 && first + 128 <= input.len().min(output.len()) {
            full.arrive_expect_tx(512);
            tma::load_bytes(runs.address(), input.as_ptr().add(first).cast(), 512, full);
            full.wait(0);
            let to = output.as_mut_ptr().add(first);
            tma::store_bytes(to.cast(), runs.address().offset(256), 256);
            tma::store_bytes(to.add(64).cast(), runs.address(), 256);
            tma::commit_group();
            tma::wait_group::<0>();
        }
    }
    let _ = &mut output;
}

/// Rows and columns of a tile of [`tile_sums()`].
pub const TILE: usize = 32;

/// The two rings of barriers behind the tiles: full and empty.
#[inline(always)]
unsafe fn ring(words: Address, stage: u32) -> (Barrier, Barrier) {
    // SAFETY: by the caller.
    unsafe { (Barrier::at(words).add(stage), Barrier::at(words).add(STAGES as u32 + stage)) }
}

/// `output[c]` = the sum over the rows of column `c`, in order. Warp 0 loads tiles of 32 x 32 into a ring; warp 1 sums.
#[kernel(module = "asynchronous", arch = "sm_90", ptx = "8.0", block = 64)]
pub fn tile_sums(x: TensorMap<f32, 2>, tiles: u32, mut output: GlobalMut<f32>) {
    let mut dynamic = Dynamic::new();
    let tile = dynamic.take_aligned::<f32, 1024>(STAGES * TILE * TILE);
    let words = shared_array![u64; 6];
    const STAGE_BYTES: u32 = (TILE * TILE * 4) as u32;
    let (t, column) = (thread::thread_idx_x(), thread::block_idx_x() as usize * TILE);
    // SAFETY: the barriers' words are used for nothing else. A stage is read behind its full barrier and loaded behind its empty one;
    // the output element is this thread's own.
    unsafe {
        if t == 0 {
            for stage in 0..STAGES as u32 {
                let (full, empty) = ring(words.address(), stage);
                full.init(1);
                empty.init(32);
            }
            mbarrier::fence_init();
        }
        thread::sync_threads();
        if t == 0 {
            for number in 0..tiles {
                let (stage, round) = (number % STAGES as u32, number / STAGES as u32);
                let (full, empty) = ring(words.address(), stage);
                empty.wait(round & 1 ^ 1);
                full.arrive_expect_tx(STAGE_BYTES);
                let at = [column as i32, (number * TILE as u32) as i32];
                x.load(tile.address().offset(stage * STAGE_BYTES), at, full);
            }
        } else if t >= 32 {
            let lane = t as usize - 32;
            let mut sum = 0.0;
            for number in 0..tiles {
                let (stage, round) = (number % STAGES as u32, number / STAGES as u32);
                let (full, empty) = ring(words.address(), stage);
                full.wait(round & 1);
                for row in 0..TILE {
                    // The 128-byte swizzle: piece c of 16 bytes of row r lies where piece c ^ (r mod 8) would.
                    let piece = (lane / 4) ^ (row % 8);
                    sum += tile.read((stage as usize * TILE + row) * TILE + piece * 4 + lane % 4);
                }
                empty.arrive();
            }
            if column + lane < output.len() {
                output.write(column + lane, sum);
            }
        }
    }
}
