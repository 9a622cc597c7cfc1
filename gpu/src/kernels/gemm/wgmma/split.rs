//! Products whose result makes few tiles: the sums along k are split between the two blocks of a cluster, which exchange their parts through
//! each other's shared memory. No workspace, and the same order of addition in every run.
//!
//! A block takes one tile of 128 x 128 and every second step along k. One thread (the producer) lets TMA copy the factors into a ring of stages, two
//! warpgroups (the consumers) multiply them, 64 rows each. Then every thread hands half of its sums, those of 64 columns, to the thread of the
//! other block that has the same places; each block finishes the other half, as [`gemm_wgmma()`](super::gemm_wgmma()) does.

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::shared::{Address, Dynamic};
use cuda_std::tensor_map::{TensorMap, TensorMapMut};
use cuda_std::wgmma::{self, Accumulator, Fragment, Groups};
use cuda_std::{Global, GlobalMut, cluster, grid, kernel, thread, tma, warp};

use super::finish::{self, Finish, Matrices, Ring, buffer_bytes, wgmma_supports};
use super::tile::{HALF, ROW, Tile, WGMMA_DEPTH};
use super::{Factors, Place, WgmmaLayout, WgmmaShape};
use crate::epilogue::{Epilogue, Layouts};
use crate::kernels::gemm::tensor_core::{AlongK, AlongLines, TensorCore};

/// Blocks of a cluster: parts of the sums.
pub const SPLIT: u32 = 2;
/// Rows of a tile.
pub const SPLIT_ROWS: u32 = 2 * HALF;
/// Columns of a tile.
pub const SPLIT_COLUMNS: u32 = 128;
/// Threads of a block: two consumer warpgroups, and a warp for the copies.
pub const SPLIT_THREADS: u32 = 288;
/// Threads that multiply.
const CONSUMERS: u32 = 256;

/// What [`Finish`] must know of the tile.
#[derive(Clone, Copy, Debug)]
struct SplitTile;

impl Tile for SplitTile {
    type Sums = Fragment<{ SPLIT_COLUMNS as usize / 2 }>;
    const STAGES: u32 = 5;
    const AHEAD: u32 = 0;
    const ENDING: u32 = 0;
    const CHUNK: u32 = 4;
    const BUFFERS: u32 = 4;
}

/// Groups of eight columns that are stored together.
const CHUNK: u32 = SplitTile::CHUNK;
/// Columns of the result that are stored together.
pub const SPLIT_CHUNK: u32 = 8 * CHUNK;
/// Groups of eight columns that each block finishes, and chunks of them.
const GROUPS: u32 = SPLIT_COLUMNS / 8 / SPLIT;
const CHUNKS: u32 = GROUPS / CHUNK;
/// Bytes of the sums that a block gets from the other one.
const EXCHANGE_BYTES: u32 = GROUPS * 4 * 4 * CONSUMERS;

/// Bytes of a stage: both factors.
const fn stage_bytes() -> u32 {
    // Of both layouts the same: tiles are multiples of 64.
    (SPLIT_ROWS + SPLIT_COLUMNS) * ROW
}

/// Bytes of dynamic shared memory that a block needs.
pub const fn split_shared_bytes() -> u32 {
    let stages = SplitTile::STAGES * stage_bytes();
    let barriers = 2 * SplitTile::STAGES + 2 * 2 * SplitTile::BUFFERS;
    stages + EXCHANGE_BYTES + 2 * SplitTile::BUFFERS * buffer_bytes::<SplitTile>() + barriers * Barrier::BYTES
}

/// A product of 16-bit matrices whose result makes few tiles: `grid = SPLIT · tiles`, clusters of [`SPLIT`] along x, [`SPLIT_THREADS`] threads,
/// [`split_shared_bytes`] of dynamic shared memory. `shape` counts tiles of [`SPLIT_ROWS`] x [`SPLIT_COLUMNS`] and all steps along k.
///
/// The maps are as for [`gemm_wgmma()`](super::gemm_wgmma()), with boxes of [`SPLIT_ROWS`] rows and [`SPLIT_COLUMNS`] columns of the factors, and of
/// 64 rows x 32 columns of the others. `partials` has [`SPLIT`] sums for each row and column of tiles. If TMA can't store the result, [`plain`](WgmmaShape::plain)
/// says how it lies in `plain`, and `result` isn't used.
///
/// # Safety
/// The maps and `plain` must describe the matrices of `shape` with these boxes, and `bias` and `partials` be as long as the epilogue needs them.
#[kernel(module = "gemm_wgmma_split", arch = "sm_90a", block = 288, min_blocks = 1, cluster = 2, overlaps)]
pub unsafe fn gemm_wgmma_split<E: Epilogue, T: TensorCore>(
    shape: WgmmaShape,
    epilogue: E,
    left: TensorMap<T, 3>,
    right: TensorMap<T, 3>,
    operand: TensorMap<T, 3>,
    result: TensorMapMut<T, 3>,
    kept: TensorMapMut<T, 3>,
    bias: Global<T>,
    partials: GlobalMut<f32>,
    plain: GlobalMut<T>,
) {
    if !wgmma_supports::<E>() {
        cuda_std::trap();
    }
    let matrices = Matrices { result, kept, bias, partials, plain: Some(plain) };
    let part = Part::new(&shape);
    // SAFETY: the caller's promise; all threads of the block take the same branch.
    unsafe {
        match (E::LAYOUTS, shape.layout) {
            (Layouts::Forward, _) => part.run::<E, T, AlongK, AlongK>(&epilogue, &left, &right, &operand, matrices),
            (Layouts::Gradient, _) => {
                part.run::<E, T, AlongLines, AlongK>(&epilogue, &left, &right, &operand, matrices)
            }
            (Layouts::All, 0) => part.run::<E, T, AlongK, AlongK>(&epilogue, &left, &right, &operand, matrices),
            (Layouts::All, 1) => part.run::<E, T, AlongLines, AlongK>(&epilogue, &left, &right, &operand, matrices),
            (Layouts::All, 2) => part.run::<E, T, AlongK, AlongLines>(&epilogue, &left, &right, &operand, matrices),
            (Layouts::All, _) => part.run::<E, T, AlongLines, AlongLines>(&epilogue, &left, &right, &operand, matrices),
        }
    }
}

/// A block's part of the work, and its shared memory.
struct Part<'a> {
    shape: &'a WgmmaShape,
    /// The first row and column of the tile, and its matrix.
    row: u32,
    column: u32,
    matrix: u32,
    /// The number of the tile's columns among those of all matrices.
    part: u32,
    /// This block's number in its cluster: which part of k it adds up, and which columns it finishes.
    rank: u32,
    /// How many steps along k it takes: every second one, from `rank` on, so that both blocks read neighbouring memory.
    steps: u32,
    stages: Address,
    /// Sums of the other block.
    exchange: Address,
    full: Barrier,
    empty: Barrier,
    /// Of the first consumer.
    ring: Ring,
}

impl<'a> Part<'a> {
    #[inline(always)]
    fn new(shape: &'a WgmmaShape) -> Self {
        let block = thread::block_idx_x();
        let (rank, at) = (block % SPLIT, shape.tile(block / SPLIT));
        let stages = Dynamic::new().take_aligned::<u8, 1024>(split_shared_bytes() as usize).address();
        let exchange = stages.offset(SplitTile::STAGES * stage_bytes());
        let buffers = exchange.offset(EXCHANGE_BYTES);
        // SAFETY: the launcher asks for `split_shared_bytes`; each part is used for one thing.
        let (full, empty, ring) = unsafe {
            let full = Barrier::at(buffers.offset(2 * SplitTile::BUFFERS * buffer_bytes::<SplitTile>()));
            let empty = full.add(SplitTile::STAGES);
            let first = empty.add(SplitTile::STAGES);
            (full, empty, Ring { buffers, full: first, empty: first.add(SplitTile::BUFFERS) })
        };
        Self {
            shape,
            row: at.row * SPLIT_ROWS,
            column: at.column * SPLIT_COLUMNS,
            matrix: at.matrix,
            part: (at.matrix * shape.column_tiles + at.column) * SPLIT + rank,
            rank,
            steps: (shape.steps + 1 - rank) / SPLIT,
            stages,
            exchange,
            full,
            empty,
            ring,
        }
    }

    /// Initialises the barriers, by one thread.
    #[inline(always)]
    fn init(&self) {
        // SAFETY: within the rings.
        unsafe {
            for stage in 0..SplitTile::STAGES {
                self.full.add(stage).init(1);
                self.empty.add(stage).init(2);
            }
            for buffer in 0..4 * SplitTile::BUFFERS {
                self.ring.full.add(buffer).init(1);
            }
        }
        mbarrier::fence_init();
    }

    /// A consumer's buffers.
    #[inline(always)]
    fn ring(&self, consumer: u32) -> Ring {
        let further = consumer * 2 * SplitTile::BUFFERS;
        // SAFETY: two rings lie one behind the other.
        unsafe {
            Ring {
                buffers: self.ring.buffers.offset(consumer * SplitTile::BUFFERS * buffer_bytes::<SplitTile>()),
                full: self.ring.full.add(further),
                empty: self.ring.empty.add(further),
            }
        }
    }

    /// # Safety
    /// As [`gemm_wgmma_split()`].
    #[inline(always)]
    unsafe fn run<E: Epilogue, T: TensorCore, L: WgmmaLayout, R: WgmmaLayout>(
        &self,
        epilogue: &E,
        left: &TensorMap<T, 3>,
        right: &TensorMap<T, 3>,
        operand: &TensorMap<T, 3>,
        matrices: Matrices<'_, T>,
    ) {
        let thread = thread::thread_idx_x();
        let produces = thread == CONSUMERS;
        let first_steps = self.steps.min(SplitTile::STAGES);
        // SAFETY: whole warpgroups take each branch; the maps describe the matrices, by the caller.
        unsafe {
            if produces {
                left.prefetch();
                right.prefetch();
                self.init();
            }
            // The other block's shared memory is there once it has arrived.
            cluster::arrive();
            grid::dependency_sync();
            if produces {
                for step in 0..first_steps {
                    self.copy::<T, L, R>(left, right, step, step);
                }
            }
            thread::sync_threads();
            grid::trigger_dependents();
            if thread < CONSUMERS {
                let sums = self.multiply::<T, L, R>();
                self.finish(epilogue, matrices, sums);
            } else if produces {
                let mut place = Place { stage: 0, parity: 0 };
                for step in first_steps..self.steps {
                    self.empty.add(place.stage).wait(place.parity);
                    self.copy::<T, L, R>(left, right, step, place.stage);
                    place = place.next(SplitTile::STAGES);
                }
            } else if finish::reads::<E>() && thread <= CONSUMERS + 2 {
                self.feed(operand, thread - CONSUMERS - 1);
            }
            // The other block's threads don't wait for those of a warp that has ended.
        }
    }

    /// Begins the copies of one of this block's steps.
    ///
    /// # Safety
    /// By the producer; the stage must be free. The maps must describe the factors.
    #[inline(always)]
    unsafe fn copy<T: TensorCore, L: WgmmaLayout, R: WgmmaLayout>(
        &self,
        left: &TensorMap<T, 3>,
        right: &TensorMap<T, 3>,
        step: u32,
        stage: u32,
    ) {
        let k = (step * SPLIT + self.rank) * WGMMA_DEPTH;
        let (k, matrix) = (k as i32, self.matrix as i32);
        // SAFETY: the stage is free, and within the ring.
        unsafe {
            let full = self.full.add(stage);
            full.arrive_expect_tx(stage_bytes());
            let stage = self.stages.offset(stage * stage_bytes());
            L::load(left, SPLIT_ROWS, [self.row as i32, k, matrix], stage, full);
            R::load(right, SPLIT_COLUMNS, [self.column as i32, k, matrix], stage.offset(SPLIT_ROWS * ROW), full);
        }
    }

    /// Brings what the epilogue reads of this block's columns into the buffers of one consumer.
    ///
    /// # Safety
    /// By one thread for each consumer; the map must describe the matrix.
    #[inline(always)]
    unsafe fn feed<T: TensorCore>(&self, operand: &TensorMap<T, 3>, consumer: u32) {
        const { assert!(CHUNKS <= SplitTile::BUFFERS, "a buffer is fed once") };
        let ring = self.ring(consumer);
        for chunk in 0..CHUNKS {
            let column = self.column + (self.rank * CHUNKS + chunk) * CHUNK * 8;
            let at = [(self.row + consumer * HALF) as i32, column as i32, self.matrix as i32];
            // SAFETY: within the ring; nothing else uses these buffers before.
            unsafe {
                let full = ring.full.add(chunk);
                full.arrive_expect_tx(buffer_bytes::<SplitTile>());
                operand.load(ring.buffers.offset(chunk * buffer_bytes::<SplitTile>()), at, full);
            }
        }
    }

    /// This block's part of the sums.
    ///
    /// # Safety
    /// By the two consumer warpgroups.
    #[inline(always)]
    unsafe fn multiply<T: TensorCore, L: WgmmaLayout, R: WgmmaLayout>(&self) -> <SplitTile as Tile>::Sums {
        // SAFETY: all 128 threads of a warpgroup take the same path. A stage is read between its full barrier and the arrival at its empty
        // one, and the sums after the wait that names them.
        unsafe {
            let consumer = warp::uniform(thread::thread_idx_x() / 128);
            let lead = thread::thread_idx_x().is_multiple_of(128);
            let factors = Factors::<L, R> {
                left: L::descriptor(self.stages.offset(consumer * HALF * ROW)).uniform(),
                right: R::descriptor(self.stages.offset(SPLIT_ROWS * ROW)).uniform(),
                stage: stage_bytes(),
            };
            let mut place = Place { stage: 0, parity: 0 };
            self.full.add(place.stage).wait(place.parity);
            wgmma::fence();
            let mut sums: <SplitTile as Tile>::Sums = factors.begin::<T, _>(0, place.stage);
            wgmma::commit_group();
            let mut previous = place.stage;
            for _ in 1..self.steps {
                place = place.next(SplitTile::STAGES);
                self.full.add(place.stage).wait(place.parity);
                wgmma::fence();
                factors.add::<T, _>(&mut sums, 0, place.stage);
                wgmma::commit_group();
                wgmma::wait_group::<1>();
                if lead {
                    self.empty.add(previous).arrive();
                }
                previous = place.stage;
            }
            sums.wait::<0>();
            sums
        }
    }

    /// Exchanges the halves of the sums and finishes this block's one.
    ///
    /// # Safety
    /// By the two consumer warpgroups. The maps must describe the matrices, and `bias` fit the shape.
    #[inline(always)]
    unsafe fn finish<E: Epilogue, T: TensorCore>(
        &self,
        epilogue: &E,
        matrices: Matrices<'_, T>,
        sums: <SplitTile as Tile>::Sums,
    ) {
        let consumer = warp::uniform(thread::thread_idx_x() / 128);
        let mut finish = Finish::new(self.shape, epilogue, matrices, consumer, self.ring(consumer));
        let half = finish.half(self.row + consumer * HALF, self.column, self.matrix, self.part);
        let here = self.exchange.offset(thread::thread_idx_x() * 8);
        let there = cluster::map(here, self.rank ^ 1);
        let lead = finish.lead;
        cluster::wait();
        let mut writer = finish.writer::<SplitTile, _>(half, |_| {});
        // Sums are reached by constants only, so the code is there for each block.
        match self.rank {
            0 => {
                sums.for_each_group(&mut Send::<1> { there });
                cluster::sync();
                sums.for_each_group(&mut Receive::<'_, 0, _> { here, writer: &mut writer });
            }
            _ => {
                sums.for_each_group(&mut Send::<0> { there });
                cluster::sync();
                sums.for_each_group(&mut Receive::<'_, 1, _> { here, writer: &mut writer });
            }
        }
        writer.end();
        if lead {
            tma::wait_group_read::<0>();
        }
    }
}

/// Whether block `RANK` finishes a group of columns.
const fn belongs<const RANK: u32>(group: usize) -> bool {
    group as u32 / GROUPS == RANK
}

/// From a thread's place in the exchange to those of a group's two pairs of sums.
const fn places(group: usize) -> [u32; 2] {
    let pair = group as u32 % GROUPS * 2;
    [pair * CONSUMERS * 8, (pair + 1) * CONSUMERS * 8]
}

/// Hands the sums of block `TO` over.
struct Send<const TO: u32> {
    /// The thread's place in that block's exchange.
    there: Address,
}

impl<const TO: u32> Groups for Send<TO> {
    #[inline(always)]
    fn group(&mut self, group: usize, [a, b, c, d]: [f32; 4]) {
        if belongs::<TO>(group) {
            let pair = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
            let [first, second] = places(group).map(|place| self.there.offset(place));
            // SAFETY: this thread's own places; the other block has arrived, and reads them after the cluster's next barrier.
            unsafe {
                cluster::write(first, pair(a, b));
                cluster::write(second, pair(c, d));
            }
        }
    }
}

/// Adds what the other block sent, and finishes the sums of block `RANK`, this one.
struct Receive<'w, const RANK: u32, W> {
    /// The thread's place in this block's exchange.
    here: Address,
    writer: &'w mut W,
}

impl<const RANK: u32, W: Groups> Groups for Receive<'_, RANK, W> {
    #[inline(always)]
    fn group(&mut self, group: usize, [a, b, c, d]: [f32; 4]) {
        if belongs::<RANK>(group) {
            // SAFETY: written by a thread of the other block before the cluster's barrier.
            let [first, second] = places(group).map(|place| unsafe { self.here.offset(place).read::<[f32; 2]>() });
            self.writer.group(group, [a + first[0], b + first[1], c + second[0], d + second[1]]);
        }
    }
}
