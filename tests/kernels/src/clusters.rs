//! Clusters: indices, the barrier, other blocks' shared memory, multicast; and the barrier of the whole grid.

use cuda_std::atomic::{AtomicValue, Ordering};
use cuda_std::mbarrier::{self, Barrier};
use cuda_std::shared::Dynamic;
use cuda_std::tensor_map::TensorMap;
use cuda_std::{DeviceCopy, Global, GlobalMut, Scope, cluster, grid, kernel, shared_array, thread, tma};

/// How many numbers [`cluster_indices()`] writes for each block.
pub const INDICES: usize = 14;

/// For each block of the grid: its cluster's coordinates, clusters of the grid, its own coordinates in the cluster, the cluster's
/// extents, its rank, and the cluster's blocks.
#[kernel(module = "clusters", arch = "sm_90", ptx = "8.0", cluster = (2, 3, 1))]
pub fn cluster_indices(mut output: GlobalMut<u32>) {
    let indices = [
        cluster::cluster_idx_x(),
        cluster::cluster_idx_y(),
        cluster::cluster_idx_z(),
        cluster::cluster_grid_dim_x(),
        cluster::cluster_grid_dim_y(),
        cluster::cluster_grid_dim_z(),
        cluster::block_idx_x(),
        cluster::block_idx_y(),
        cluster::block_idx_z(),
        cluster::cluster_dim_x(),
        cluster::cluster_dim_y(),
        cluster::cluster_dim_z(),
        cluster::block_rank(),
        cluster::block_count(),
    ];
    let block = thread::index() / thread::threads_per_block() as usize;
    if thread::index_in_block() == 0 {
        for (i, index) in indices.into_iter().enumerate() {
            // SAFETY: one range for each block.
            unsafe { output.write(block * INDICES + i, index) };
        }
    }
}

/// A cluster of four blocks of 32 threads. For each thread of the grid: what the same thread of the next block gave, as it read it
/// there and as that block wrote it here (twice as much, in 64 bits), and how many threads of the cluster counted in block 0.
#[kernel(module = "clusters", arch = "sm_90", ptx = "8.0", cluster = 4)]
pub fn cluster_exchange(input: Global<u32>, mut output: GlobalMut<u32>) {
    let (mine, theirs, counter) = (shared_array![u32; 32], shared_array![u64; 32], shared_array![u32; 1]);
    let (t, i) = (thread::thread_idx_x(), thread::index());
    let rank = cluster::block_rank();
    // SAFETY: own elements before the first barrier; another block's behind it, each by one thread; nobody ends before the last.
    unsafe {
        mine.write(t as usize, input[i]);
        if t == 0 {
            counter.write(0, 0);
        }
        cluster::sync();
        let read: u32 = cluster::read(cluster::map(mine.address().offset(t * 4), (rank + 1) % 4));
        let to = cluster::map(theirs.address().offset(t * 8), (rank + 3) % 4);
        cluster::write(to, 2 * u64::from(input[i]));
        cluster::atomic(cluster::map(counter.address(), 0)).fetch_add(1u32, Scope::Cluster);
        cluster::arrive();
        let sum = read.wrapping_mul(3);
        cluster::wait();
        let count: u32 = cluster::read(cluster::map(counter.address(), 0));
        let given = theirs.read(t as usize) as u32;
        for (place, value) in [sum, given, count].into_iter().enumerate() {
            output.write(3 * i + place, value);
        }
        cluster::sync();
    }
}

/// A cluster of two blocks of 64 threads, of which the upper half arrives and ends. The others meet twice more: for each of them, what the
/// same thread of the other block gave.
#[kernel(module = "clusters", arch = "sm_90", ptx = "8.0", cluster = 2, block = 64)]
pub fn leave_after_arrival(input: Global<u32>, mut output: GlobalMut<u32>) {
    let theirs = shared_array![u32; 32];
    let t = thread::thread_idx_x();
    cluster::arrive();
    if t < 32 {
        let i = (thread::block_idx_x() * 32 + t) as usize;
        cluster::wait();
        // SAFETY: each thread writes one element of the other block, which has arrived, and reads its own behind the next barrier.
        unsafe {
            cluster::write(cluster::map(theirs.address().offset(t * 4), cluster::block_rank() ^ 1), input[i]);
            cluster::sync();
            output.write(i, theirs.read(t as usize));
        }
    }
}

/// How many numbers [`cluster_atomics()`] writes.
pub const CLUSTER_ATOMICS: usize = 6;

/// A cluster of four blocks of 32 threads, all of which update numbers in the shared memory of the last block: sum, minimum, maximum,
/// the sum taken away, the number that came last by compare-exchange, and the sum of those that it replaced.
#[kernel(module = "clusters", arch = "sm_90", ptx = "8.0", cluster = 4)]
pub fn cluster_atomics<T: AtomicValue + DeviceCopy>(input: Global<T>, mut output: GlobalMut<T>) {
    let numbers = Dynamic::new().take::<T>(CLUSTER_ATOMICS);
    let (t, rank) = (thread::thread_idx_x() as usize, cluster::block_rank());
    let value = input[thread::index()];
    // SAFETY: written before the first barrier by one thread each, then used atomically until the second one, and read behind it;
    // nobody ends before the last.
    unsafe {
        if rank == 3 && t < CLUSTER_ATOMICS {
            numbers.write(t, input[0]);
        }
        cluster::sync();
        let number = |i: u32| cluster::atomic(cluster::map(numbers.address().offset(i * size_of::<T>() as u32), 3));
        number(0).fetch_add(value, Scope::Cluster);
        number(1).fetch_min(value, Scope::Cluster);
        number(2).fetch_max(value, Scope::Cluster);
        number(3).ordered(Ordering::AcqRel).fetch_sub(value, Scope::Cluster);
        let mut old = number(4).load(Scope::Cluster);
        while let Err(found) = number(4).compare_exchange(old, value, Scope::Cluster) {
            old = found;
        }
        number(5).fetch_add(old, Scope::Device);
        cluster::sync();
        if rank == 3 && t < CLUSTER_ATOMICS {
            output.write(t, numbers.atomic(t).load(Scope::Block));
        }
    }
}

/// Rows and columns of a box of [`multicast()`].
pub const BOX: usize = 16;

/// Each of a cluster's two blocks loads one of the two boxes of its tile row, for both blocks; blocks tell each other when a
/// stage is read. `output` gets for each block the elements of both boxes, summed over `rounds` tile rows.
#[kernel(module = "clusters", arch = "sm_90", ptx = "8.0", cluster = 2, block = 32)]
pub fn multicast(x: TensorMap<f32, 2>, rounds: u32, mut output: GlobalMut<f32>) {
    #[repr(C, align(128))]
    #[derive(Clone, Copy)]
    struct Boxes([[f32; BOX * BOX]; 2]);
    const BOX_BYTES: u32 = (BOX * BOX * 4) as u32;
    let (tile, words) = (shared_array![Boxes; 1], shared_array![u64; 2]);
    let (t, rank) = (thread::thread_idx_x(), cluster::block_rank());
    let first = thread::block_idx_x() as usize * 2 * BOX * BOX;
    // SAFETY: the words are used for the two barriers alone; the tile is read behind `full` and loaded behind `empty`, which
    // counts both blocks; output elements are the block's own.
    unsafe {
        let (full, empty) = (Barrier::at(words.address()), Barrier::at(words.address()).add(1));
        if t == 0 {
            full.init(1);
            empty.init(2);
            mbarrier::fence_init();
        }
        cluster::sync();
        for round in 0..rounds {
            if t == 0 {
                empty.wait(round & 1 ^ 1);
                full.arrive_expect_tx(2 * BOX_BYTES);
                let at = [(rank * BOX as u32) as i32, (round * BOX as u32) as i32];
                x.load_multicast(tile.address().offset(rank * BOX_BYTES), at, full, 0b11);
            }
            full.wait(round & 1);
            let mut i = t as usize;
            while i < 2 * BOX * BOX {
                let value: f32 = tile.address().offset(i as u32 * 4).read();
                let before = if round == 0 { 0.0 } else { output.read(first + i) };
                output.write(first + i, before + value);
                i += 32;
            }
            tma::fence_async();
            thread::sync_threads();
            if t < 2 {
                empty.arrive_in_block(t);
            }
        }
        cluster::sync();
    }
}

/// `rounds` times: `x[i]` becomes `x[i - 1] + x[i + 1]` of the round before (around the end), over the whole grid.
#[kernel(module = "cooperative")]
pub fn neighbour_sums(rounds: u32, mut x: GlobalMut<u32>, mut y: GlobalMut<u32>, counter: GlobalMut<u32>) {
    let len = x.len();
    for round in 0..rounds {
        for i in thread::elements(len) {
            let i = i.get();
            // SAFETY: one of the two is read in this round, the other one written, each element by one thread; the counter is
            // used for the barrier alone.
            unsafe {
                let sum = |from: &GlobalMut<u32>| from.read((i + len - 1) % len).wrapping_add(from.read((i + 1) % len));
                match round % 2 {
                    0 => y.write(i, sum(&x)),
                    _ => x.write(i, sum(&y)),
                }
            }
        }
        // SAFETY: as above.
        unsafe { grid::sync(&counter) };
    }
}
