//! Blocks that use each other's shared memory, or wait for each other.

use cuda_std::{GlobalMut, cluster, grid, kernel, shared_array, thread};

/// Blocks of a cluster read each other's shared memory: rightly (0), when the other block may have ended (1), at an address outside
/// (2), of a block that the cluster doesn't have (3), or one thread waits at the block's barrier instead of the cluster's (4).
#[kernel(module = "planted90", arch = "sm_90", ptx = "8.0", cluster = 2)]
pub fn neighbours<const HOW: u32>(mut x: GlobalMut<u32>) {
    let value = shared_array![u32; 4];
    let (t, rank) = (thread::thread_idx_x(), cluster::block_rank());
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        if t < 4 {
            value.write(t as usize, rank);
        }
        cluster::sync();
        if HOW == 1 && rank == 0 {
            return;
        }
        if HOW == 1 {
            thread::nanosleep(1);
        }
        let offset = if HOW == 2 { 16 } else { 0 };
        let other = if HOW == 3 { 2 } else { 1 - rank };
        x.write(thread::index(), cluster::read(cluster::map(value.address().offset(offset), other)));
        match HOW {
            4 if t == 3 => thread::sync_threads(),
            _ => cluster::sync(),
        }
    }
}

/// Every block reads what the next one wrote, behind a barrier of the grid (0), or one block doesn't come to it (1).
#[kernel(module = "planted")]
pub fn grid_neighbours<const HOW: u32>(mut x: GlobalMut<u32>, counter: GlobalMut<u32>) {
    let (i, count) = (thread::index(), thread::count());
    // SAFETY: one element for each thread before the barrier, others behind it; wrong on purpose unless `HOW` is 0.
    unsafe {
        x.write(i, i as u32);
        if HOW == 1 && thread::block_idx_x() == 1 {
            return;
        }
        grid::sync(&counter);
        let next = x.read((i + 32) % count);
        grid::sync(&counter);
        x.write(i, next);
    }
}
