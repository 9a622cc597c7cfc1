//! Three mistakes of kernel authors, and what the simulator says of each: a forgotten barrier, a forgotten bounds check, and a barrier
//! that not all threads reach. On a GPU the first two may go unnoticed and the third may hang.

use cuda_std::prelude::*;
use cuda_std::simulator::{Error, Options, Shape};
use warpsmith::Runtime;

use crate::Outcome;

const BLOCK: usize = 64;

/// Each block turns its elements round, through shared memory; wrong unless `BARRIER`.
#[kernel(block = 64)]
fn reverse<const BARRIER: bool>(mut x: GlobalMut<u32>) {
    let tile = shared_array![u32; BLOCK];
    let t = thread::thread_idx_x() as usize;
    for i in thread::elements(x.len()) {
        // SAFETY: each thread writes its own elements; with the barrier, all of the tile is written before it is read.
        unsafe {
            tile.write(t, x.read(i.get()));
            if BARRIER {
                thread::sync_threads();
            }
            x.set(i, tile.read(BLOCK - 1 - t));
        }
    }
}

/// One element for each thread, without asking whether there is one.
#[kernel]
fn unchecked(mut x: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has its own element; that it exists is checked by `write`.
    unsafe { x.write(i, 1) };
}

/// Only threads with an element come to the barrier.
#[kernel]
fn barrier_in_a_branch(mut x: GlobalMut<u32>) {
    for i in thread::elements(x.len()) {
        thread::sync_threads();
        x.set(i, 1);
    }
}

pub fn run(_: &Runtime) -> Outcome {
    let before: Vec<u32> = (0..2 * BLOCK as u32).collect();
    let shape = Shape::new(2, BLOCK as u32);

    let mut x = before.clone();
    let race = simulator::launch_with::<reverse<false>>(Options::CHECKED, shape, (GlobalMut::from_slice(&mut x),));
    match race {
        Err(error @ (Error::Race { .. } | Error::UnwrittenShared { .. })) => println!("without the barrier: {error}"),
        other => return Err(format!("the race was not found: {other:?}").into()),
    }
    let mut x = before.clone();
    simulator::launch_with::<reverse<true>>(Options::CHECKED, shape, (GlobalMut::from_slice(&mut x),))?;
    let turned: Vec<u32> = before.chunks(BLOCK).flat_map(|block| block.iter().rev().copied()).collect();
    if x != turned {
        return Err(format!("with the barrier: {x:?}").into());
    }
    println!("with the barrier: each block is turned round");

    let mut x = before[..100].to_vec();
    match simulator::launch_with::<unchecked>(Options::CHECKED, shape, (GlobalMut::from_slice(&mut x),)) {
        Err(error @ Error::Panicked { thread: [36, 0, 0], block: [1, 0, 0], .. }) => {
            println!("without the check: {error}")
        }
        other => return Err(format!("the missing check was not found: {other:?}").into()),
    }

    match simulator::launch_with::<barrier_in_a_branch>(Options::CHECKED, shape, (GlobalMut::from_slice(&mut x),)) {
        Err(error @ Error::BarrierNotReached { .. }) => println!("with the barrier in a branch: {error}"),
        other => return Err(format!("the barrier was not found: {other:?}").into()),
    }
    Ok(())
}
