//! How long the simulator takes for three usual kernels: `cargo run --release -p warpsmith-cuda-std --example simulator_speed`.

use std::time::Instant;

use cuda_std::prelude::*;
use cuda_std::reduce::{WarpReductionOp, block_reduce};
use cuda_std::simulator::{Error, Options, Shape};

/// `partials[block]` = the sum of 256 elements, by halving in shared memory.
#[kernel]
fn reduce_shared(x: Global<f32>, mut partials: GlobalMut<f32>) {
    let sums = shared_array![f32; 256];
    let t = thread::thread_idx_x() as usize;
    let mut half = 128;
    // SAFETY: a barrier lies between the rounds; one thread writes the block's element.
    unsafe {
        sums.write(t, x[thread::index()]);
        thread::sync_threads();
        while half > 0 {
            if t < half {
                sums.write(t, sums.read(t) + sums.read(t + half));
            }
            thread::sync_threads();
            half /= 2;
        }
        if t == 0 {
            partials.write(thread::block_idx_x() as usize, sums.read(0));
        }
    }
}

/// The same by warps.
#[kernel]
fn reduce_warps(x: Global<f32>, mut partials: GlobalMut<f32>) {
    let sum = block_reduce(x[thread::index()], WarpReductionOp::Add);
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread writes the block's element.
        unsafe { partials.write(thread::block_idx_x() as usize, sum) };
    }
}

const SIZE: usize = 256;
const TILE: usize = 16;

/// c = a * b, matrices of [`SIZE`] rows and columns, in tiles of [`TILE`].
#[kernel]
fn matmul(a: Global<f32>, b: Global<f32>, mut c: GlobalMut<f32>) {
    let a_tile = shared_array![f32; TILE * TILE];
    let b_tile = shared_array![f32; TILE * TILE];
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * TILE + y;
    let column = thread::block_idx_x() as usize * TILE + x;
    let mut sum = 0.0;
    for tile in 0..SIZE / TILE {
        // SAFETY: own elements before the barrier, others' between the two; the element of c is this thread's own.
        unsafe {
            a_tile.write(y * TILE + x, a[row * SIZE + tile * TILE + x]);
            b_tile.write(y * TILE + x, b[(tile * TILE + y) * SIZE + column]);
            thread::sync_threads();
            for k in 0..TILE {
                sum += a_tile.read(y * TILE + k) * b_tile.read(k * TILE + x);
            }
            thread::sync_threads();
        }
    }
    // SAFETY: as above.
    unsafe { c.write(row * SIZE + column, sum) };
}

/// y = max(x, 0), one element a thread.
#[kernel]
fn relu(x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        y.set(i, x[i].max(0.0));
    }
}

fn main() -> Result<(), Error> {
    for (name, options) in [("fast", Options::FAST), ("checked", Options::CHECKED)] {
        let x: Vec<f32> = (0..1 << 22).map(|i| (i % 7) as f32 - 3.0).collect();
        let mut y = vec![0.0; 1 << 22];
        let (view, part, square) =
            (Global::from_slice(&x), Global::from_slice(&x[..1 << 20]), Global::from_slice(&x[..SIZE * SIZE]));
        let mut time = |what: &str, run: &mut dyn FnMut(GlobalMut<f32>) -> Result<(), Error>| -> Result<(), Error> {
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = Instant::now();
                run(GlobalMut::from_slice(&mut y))?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!("{name}: {what}: {best:.4} s");
            Ok(())
        };
        let shape = Shape::new(1 << 12, 256);
        time("256-thread block reduction of 2^20, shared memory", &mut |y| {
            simulator::launch_with::<reduce_shared>(options, shape, (part, y))
        })?;
        time("256-thread block reduction of 2^20, warps", &mut |y| {
            simulator::launch_with::<reduce_warps>(options, shape, (part, y))
        })?;
        let tiles = (SIZE / TILE) as u32;
        let shape = Shape { grid: [tiles, tiles, 1], block: [TILE as u32, TILE as u32, 1], dynamic_shared_bytes: 0 };
        time("tiled matmul 256^3", &mut |y| simulator::launch_with::<matmul>(options, shape, (square, square, y)))?;
        let shape = Shape::new(1 << 14, 256);
        time("map of 2^22", &mut |y| simulator::launch_with::<relu>(options, shape, (view, y)))?;
    }
    Ok(())
}
