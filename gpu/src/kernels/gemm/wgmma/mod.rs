//! Matrix products by Hopper's tensor cores (`wgmma`, sm_90a) for 16-bit numbers: result = epilogue(left · right), the result column-major.
//!
//! A persistent kernel: as many blocks as there are multiprocessors, each of which takes tile after tile. One thread of a block (the
//! producer) lets TMA copy the factors into a ring of stages; two warpgroups (the consumers) multiply them, 128 rows of the tile each,
//! in two halves of 64 rows. The halves take turns at a tile's edges, so that the tensor cores have work while sums are finished:
//!
//! | | half 0 | half 1 |
//! | --- | --- | --- |
//! | begin | first steps along k | finish and store the previous tile |
//! | | | first steps along k |
//! | together | one step after the other | the same |
//! | end | last steps | |
//! | | finish and store | last steps |
//!
//! Both factors are zero-filled and the result clipped by TMA, so any size works whose leading dimensions are multiples of 16 bytes; the
//! launcher sends others to a simpler kernel, [`gemm_simt()`](super::gemm_simt()), which is this one's oracle.

mod finish;
mod raster;
mod split;
mod tile;

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::shared::{Address, Dynamic};
use cuda_std::tensor_map::{TensorMap, TensorMapMut};
use cuda_std::wgmma::{self, Accumulator, Descriptor};
use cuda_std::{Global, GlobalMut, kernel, thread, tma, warp};

use super::tensor_core::{AlongK, AlongLines, TensorCore};
use crate::epilogue::{Epilogue, Layouts};
pub use finish::wgmma_supports;
use finish::{Finish, Matrices, Ring};
pub use raster::{PlainResult, WgmmaShape};
pub use split::{SPLIT, SPLIT_CHUNK, SPLIT_COLUMNS, SPLIT_ROWS, SPLIT_THREADS, gemm_wgmma_split, split_shared_bytes};
use tile::{CONSUMER_ROWS, HALF, ROW};
pub use tile::{Tile, Tile128, Tile200, WGMMA_DEPTH, WGMMA_ROWS, WGMMA_THREADS};

/// How a factor lies in global memory, and how TMA brings it into a stage.
pub trait WgmmaLayout: 'static {
    /// How it then lies in shared memory.
    type Orientation: wgmma::Orientation;

    /// Bytes of a stage for `lines` rows of the left or columns of the right factor, and [`WGMMA_DEPTH`] numbers of each.
    fn bytes(lines: u32) -> u32;

    /// Where the products' instructions find the lines from a multiple of 64 on.
    fn descriptor(stage: Address) -> Descriptor<Self::Orientation>;

    /// Starts the copies of lines `line..line + lines` and elements `k..k + WGMMA_DEPTH` of each.
    ///
    /// # Safety
    /// The stage must be unused, and the barrier expect the stage's bytes.
    unsafe fn load<T: TensorCore>(map: &TensorMap<T, 3>, lines: u32, at: [i32; 3], stage: Address, full: Barrier);
}

impl WgmmaLayout for AlongK {
    type Orientation = wgmma::AlongK;

    #[inline(always)]
    fn bytes(lines: u32) -> u32 {
        lines * ROW
    }

    #[inline(always)]
    fn descriptor(stage: Address) -> Descriptor<wgmma::AlongK> {
        Descriptor::along_k(stage)
    }

    #[inline(always)]
    unsafe fn load<T: TensorCore>(
        map: &TensorMap<T, 3>,
        _: u32,
        [line, k, matrix]: [i32; 3],
        stage: Address,
        full: Barrier,
    ) {
        // SAFETY: the caller's promise.
        unsafe { map.load(stage, [k, line, matrix], full) }
    }
}

impl WgmmaLayout for AlongLines {
    type Orientation = wgmma::AcrossK;

    #[inline(always)]
    fn bytes(lines: u32) -> u32 {
        lines.div_ceil(HALF) * HALF * ROW
    }

    #[inline(always)]
    fn descriptor(stage: Address) -> Descriptor<wgmma::AcrossK> {
        Descriptor::across_k(stage, HALF * ROW)
    }

    #[inline(always)]
    unsafe fn load<T: TensorCore>(
        map: &TensorMap<T, 3>,
        lines: u32,
        [line, k, matrix]: [i32; 3],
        stage: Address,
        full: Barrier,
    ) {
        let mut done = 0;
        while done < lines {
            // SAFETY: the caller's promise; each copy fills its own part of the stage.
            unsafe { map.load(stage.offset(done * ROW), [line + done as i32, k, matrix], full) };
            done += HALF;
        }
    }
}

/// A place in the ring of stages, and the parity of the phase that its barriers are in.
#[derive(Clone, Copy)]
struct Place {
    stage: u32,
    parity: u32,
}

impl Place {
    #[inline(always)]
    fn next(self, stages: u32) -> Self {
        let Self { stage, parity } = self;
        if stage + 1 == stages { Self { stage: 0, parity: parity ^ 1 } } else { Self { stage: stage + 1, parity } }
    }
}

/// Bytes of dynamic shared memory that a block needs.
pub fn wgmma_shared_bytes<S: Tile, L: WgmmaLayout, R: WgmmaLayout>() -> u32 {
    let stage = L::bytes(WGMMA_ROWS) + R::bytes(S::COLUMNS);
    let barriers = 2 * S::STAGES + 2 * 2 * S::BUFFERS;
    S::STAGES * stage + 2 * S::BUFFERS * finish::buffer_bytes::<S>() + barriers * Barrier::BYTES
}

/// What a block has in shared memory.
#[derive(Clone, Copy)]
struct Block {
    stages: Address,
    full: Barrier,
    empty: Barrier,
    /// Of the first consumer; the second one's lies behind it.
    ring: Ring,
}

impl Block {
    /// Carves it up, by all threads.
    #[inline(always)]
    fn new<S: Tile, L: WgmmaLayout, R: WgmmaLayout>() -> Self {
        let stages = Dynamic::new().take_aligned::<u8, 1024>(wgmma_shared_bytes::<S, L, R>() as usize).address();
        let buffers = stages.offset(S::STAGES * (L::bytes(WGMMA_ROWS) + R::bytes(S::COLUMNS)));
        let buffer_bytes = S::BUFFERS * finish::buffer_bytes::<S>();
        // SAFETY: the launcher asks for `wgmma_shared_bytes`; each part is used for one thing.
        unsafe {
            let full = Barrier::at(buffers.offset(2 * buffer_bytes));
            let empty = full.add(S::STAGES);
            let first = empty.add(S::STAGES);
            Self { stages, full, empty, ring: Ring { buffers, full: first, empty: first.add(S::BUFFERS) } }
        }
    }

    /// A consumer's buffers.
    #[inline(always)]
    fn ring<S: Tile>(&self, consumer: u32) -> Ring {
        let Ring { buffers, full, empty } = self.ring;
        let further = consumer * 2 * S::BUFFERS;
        // SAFETY: two rings lie one behind the other.
        unsafe {
            Ring {
                buffers: buffers.offset(consumer * S::BUFFERS * finish::buffer_bytes::<S>()),
                full: full.add(further),
                empty: empty.add(further),
            }
        }
    }

    /// Initialises the barriers, by one thread.
    #[inline(always)]
    fn init<S: Tile>(&self) {
        for i in 0..S::STAGES {
            // SAFETY: within the ring.
            unsafe {
                self.full.add(i).init(1);
                self.empty.add(i).init(2);
            }
        }
        for i in 0..4 * S::BUFFERS {
            // SAFETY: within the two rings.
            unsafe { self.ring.full.add(i).init(1) };
        }
        mbarrier::fence_init();
    }
}

/// A product of 16-bit matrices, for one block on each multiprocessor: `grid = min(multiprocessors, tiles)`, [`WGMMA_THREADS`] threads,
/// [`wgmma_shared_bytes`] of dynamic shared memory.
///
/// How the factors may lie is said by [`Epilogue::LAYOUTS`]. `left` has boxes of 64 along k x [`WGMMA_ROWS`] ([`AlongK`]) or 64 x 64
/// ([`AlongLines`]), `right` of 64 x [`COLUMNS`](Tile::COLUMNS) or 64 x 64, both with 128-byte swizzle. `operand` is what the epilogue reads (source or aux), `kept` the aux
/// that it keeps; these and `result` have boxes of 64 rows x 8 [`CHUNK`](Tile::CHUNK) columns with 128-byte swizzle. The third dimension of
/// each is the batch. What isn't used is never touched. `partials` has one sum for each row and column of tiles.
///
/// TMA stores whole 16 bytes: the result's and the kept matrix's columns must be multiples of 8 long.
///
/// # Safety
/// The maps must describe the matrices of `shape` with these boxes, and `bias` and `partials` be as long as the epilogue needs them.
#[kernel(module = "gemm_wgmma", arch = "sm_90a", block = 384, min_blocks = 1)]
pub unsafe fn gemm_wgmma<E: Epilogue, T: TensorCore, S: Tile>(
    shape: WgmmaShape,
    epilogue: E,
    left: TensorMap<T, 3>,
    right: TensorMap<T, 3>,
    operand: TensorMap<T, 3>,
    result: TensorMapMut<T, 3>,
    kept: TensorMapMut<T, 3>,
    bias: Global<T>,
    partials: GlobalMut<f32>,
) {
    if !wgmma_supports::<E>() {
        cuda_std::trap();
    }
    let work = Work {
        shape,
        epilogue,
        left,
        right,
        operand,
        matrices: Matrices { result, kept, bias, partials, plain: None },
    };
    // SAFETY: the caller's promise; all threads of the block take the same branch.
    unsafe {
        match (E::LAYOUTS, work.shape.layout) {
            (Layouts::Forward, _) => work.run::<S, AlongK, AlongK>(),
            (Layouts::Gradient, _) => work.run::<S, AlongLines, AlongK>(),
            (Layouts::All, 0) => work.run::<S, AlongK, AlongK>(),
            (Layouts::All, 1) => work.run::<S, AlongLines, AlongK>(),
            (Layouts::All, 2) => work.run::<S, AlongK, AlongLines>(),
            (Layouts::All, _) => work.run::<S, AlongLines, AlongLines>(),
        }
    }
}

/// The kernel's arguments.
struct Work<'a, E, T: TensorCore> {
    shape: WgmmaShape,
    epilogue: E,
    left: TensorMap<'a, T, 3>,
    right: TensorMap<'a, T, 3>,
    operand: TensorMap<'a, T, 3>,
    matrices: Matrices<'a, T>,
}

impl<E: Epilogue, T: TensorCore> Work<'_, E, T> {
    /// # Safety
    /// As [`gemm_wgmma()`].
    #[inline(always)]
    unsafe fn run<S: Tile, L: WgmmaLayout, R: WgmmaLayout>(self) {
        let Self { shape, epilogue, left, right, operand, matrices } = self;
        let thread = thread::thread_idx_x();
        let block = Block::new::<S, L, R>();
        if thread == 0 {
            left.prefetch();
            right.prefetch();
            block.init::<S>();
        }
        thread::sync_threads();
        // SAFETY: whole warpgroups take each branch; the maps describe the matrices, by the caller.
        unsafe {
            if thread < 128 {
                // A block may have 168 registers for each thread: what the first warpgroup gives up, the sums of the others take.
                match S::COLUMNS {
                    ..=128 => wgmma::decrease_registers::<40>(),
                    _ => wgmma::decrease_registers::<24>(),
                }
                if thread == 0 {
                    produce::<T, S, L, R>(&shape, &left, &right, block);
                } else if finish::reads::<E>() && (thread == 32 || thread == 64) {
                    let consumer = thread / 32 - 1;
                    finish::feed::<T, S>(&shape, &operand, consumer, block.ring::<S>(consumer));
                }
            } else {
                match S::COLUMNS {
                    ..=128 => wgmma::increase_registers::<232>(),
                    _ => wgmma::increase_registers::<240>(),
                }
                consume::<E, T, S, L, R>(&shape, &epilogue, matrices, block);
            }
        }
    }
}

/// Keeps the ring of stages full.
///
/// # Safety
/// By one thread. The maps must describe the factors.
#[inline(always)]
unsafe fn produce<T: TensorCore, S: Tile, L: WgmmaLayout, R: WgmmaLayout>(
    shape: &WgmmaShape,
    left: &TensorMap<T, 3>,
    right: &TensorMap<T, 3>,
    block: Block,
) {
    let (left_bytes, right_bytes) = (L::bytes(WGMMA_ROWS), R::bytes(S::COLUMNS));
    // The stages are free at first: the phase before the first one counts as complete.
    let mut place = Place { stage: 0, parity: 1 };
    let mut backwards = 0;
    let mut number = thread::block_idx_x();
    while number < shape.tiles() {
        let at = shape.tile(number);
        let (row, column, matrix) = ((at.row * WGMMA_ROWS) as i32, (at.column * S::COLUMNS) as i32, at.matrix as i32);
        let (mut k, step) = if backwards != 0 {
            (((shape.steps - 1) * WGMMA_DEPTH) as i32, -(WGMMA_DEPTH as i32))
        } else {
            (0, WGMMA_DEPTH as i32)
        };
        backwards ^= shape.snake & 1;
        for _ in 0..shape.steps {
            // SAFETY: the stage is free, and within the ring.
            unsafe {
                block.empty.add(place.stage).wait(place.parity);
                let full = block.full.add(place.stage);
                full.arrive_expect_tx(left_bytes + right_bytes);
                let stage = block.stages.offset(place.stage * (left_bytes + right_bytes));
                L::load(left, WGMMA_ROWS, [row, k, matrix], stage, full);
                R::load(right, S::COLUMNS, [column, k, matrix], stage.offset(left_bytes), full);
            }
            k += step;
            place = place.next(S::STAGES);
        }
        number += thread::grid_dim_x();
    }
}

/// The factors of one stage, for one consumer.
struct Factors<L: WgmmaLayout, R: WgmmaLayout> {
    left: Descriptor<L::Orientation>,
    right: Descriptor<R::Orientation>,
    /// Bytes of a stage.
    stage: u32,
}

impl<L: WgmmaLayout, R: WgmmaLayout> Factors<L, R> {
    /// Adds the product of one stage to the sums of one half (0 or 1): four instructions, each of 16 along k.
    ///
    /// # Safety
    /// As [`Accumulator::multiply_add`].
    #[inline(always)]
    unsafe fn add<T: TensorCore, A: Accumulator>(&self, sums: &mut A, half: u32, stage: u32) {
        let (left, right) = self.of(half, stage);
        // SAFETY: the caller's promise.
        unsafe {
            sums.multiply_add::<T::Format, _, _>(left, right);
            self.rest::<T, A>(sums, left, right);
        }
    }

    /// The same, to begin the sums.
    ///
    /// # Safety
    /// As [`Accumulator::multiply`].
    #[inline(always)]
    unsafe fn begin<T: TensorCore, A: Accumulator>(&self, half: u32, stage: u32) -> A {
        let (left, right) = self.of(half, stage);
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = A::multiply::<T::Format, _, _>(left, right);
            self.rest::<T, A>(&mut sums, left, right);
            sums
        }
    }

    /// Adds the product of one stage to the sums of both halves, in turn: they share the right factor.
    ///
    /// # Safety
    /// As [`Accumulator::multiply_add`].
    #[inline(always)]
    unsafe fn add_both<T: TensorCore, A: Accumulator>(&self, sums: (&mut A, &mut A), stage: u32) {
        let ((first, right), (second, _)) = (self.of(0, stage), self.of(1, stage));
        macro_rules! both {
            ($($k:literal)*) => {$(
                sums.0.multiply_add::<T::Format, _, _>(first.offset($k * step::<L>()), right.offset($k * step::<R>()));
                sums.1.multiply_add::<T::Format, _, _>(second.offset($k * step::<L>()), right.offset($k * step::<R>()));
            )*};
        }
        // SAFETY: the caller's promise.
        unsafe {
            both!(0 1 2 3);
        }
    }

    #[inline(always)]
    fn of(&self, half: u32, stage: u32) -> (Descriptor<L::Orientation>, Descriptor<R::Orientation>) {
        (self.left.offset(half * HALF * ROW + stage * self.stage), self.right.offset(stage * self.stage))
    }

    #[inline(always)]
    unsafe fn rest<T: TensorCore, A: Accumulator>(
        &self,
        sums: &mut A,
        left: Descriptor<L::Orientation>,
        right: Descriptor<R::Orientation>,
    ) {
        macro_rules! rest {
            ($($k:literal)*) => {$(
                sums.multiply_add::<T::Format, _, _>(left.offset($k * step::<L>()), right.offset($k * step::<R>()));
            )*};
        }
        // SAFETY: the caller's promise.
        unsafe {
            rest!(1 2 3);
        }
    }
}

/// Bytes between the parts of a factor that two products after each other take.
const fn step<L: WgmmaLayout>() -> u32 {
    <L::Orientation as wgmma::Orientation>::STEP
}

/// Multiplies the stages and finishes tiles.
///
/// # Safety
/// By the two consumer warpgroups. The map must describe the result, and `bias` fit the shape.
#[inline(always)]
unsafe fn consume<E: Epilogue, T: TensorCore, S: Tile, L: WgmmaLayout, R: WgmmaLayout>(
    shape: &WgmmaShape,
    epilogue: &E,
    matrices: Matrices<'_, T>,
    block: Block,
) {
    // A closure would not be inlined, and the sums would go through memory.
    macro_rules! ahead {
        ($step:block) => {
            const { assert!(S::AHEAD == 1 || S::AHEAD == 2, "one or two steps ahead") };
            $step
            if S::AHEAD == 2 {
                $step
            }
        };
    }
    macro_rules! ending {
        ($step:block) => {
            const { assert!(S::ENDING == 1 || S::ENDING == 2, "one or two steps at the end") };
            $step
            if S::ENDING == 2 {
                $step
            }
        };
    }
    // SAFETY: all 128 threads of the warpgroup take the same path, but for those that only the leading thread
    // does. A stage is read between its full barrier and the arrival at its empty one, and sums are read after the wait that names them.
    unsafe {
        let consumer = warp::uniform(thread::thread_idx_x() / 128) - 1;
        let (left_bytes, right_bytes) = (L::bytes(WGMMA_ROWS), R::bytes(S::COLUMNS));
        let factors = Factors::<L, R> {
            left: L::descriptor(block.stages.offset(consumer * CONSUMER_ROWS * ROW)).uniform(),
            right: R::descriptor(block.stages.offset(left_bytes)).uniform(),
            stage: left_bytes + right_bytes,
        };
        let mut finish = Finish::new(shape, epilogue, matrices, consumer, block.ring::<S>(consumer));
        let lead = finish.lead;
        let release = |stage: u32| {
            if lead {
                block.empty.add(stage).arrive();
            }
        };
        let mut place = Place { stage: 0, parity: 0 };
        let mut second = S::Sums::zero();
        let mut second_half = Finish::<E, T>::nothing();
        let mut number = thread::block_idx_x();
        while number < shape.tiles() {
            // Half 0 takes the first steps alone.
            let begin = place;
            block.full.add(place.stage).wait(place.parity);
            wgmma::fence();
            let mut first: S::Sums = factors.begin::<T, _>(0, place.stage);
            place = place.next(S::STAGES);
            ahead!({
                block.full.add(place.stage).wait(place.parity);
                factors.add::<T, _>(&mut first, 0, place.stage);
                place = place.next(S::STAGES);
            });
            wgmma::commit_group();
            let at = shape.tile(number);
            let (row, column) = (at.row * WGMMA_ROWS + consumer * CONSUMER_ROWS, at.column * S::COLUMNS);
            let part = at.matrix * shape.column_tiles + at.column;
            let halves = [0, HALF].map(|below| finish.half(row + below, column, at.matrix, part));

            // Meanwhile half 1 of the previous tile is finished. It is complete; the wait tells ptxas so.
            second.wait::<1>();
            finish.store::<S>(&second, second_half, |_| {});

            // Half 1 takes the same steps, which frees their stages.
            let mut behind = begin;
            wgmma::fence();
            second = factors.begin::<T, _>(1, behind.stage);
            wgmma::commit_group();
            ahead!({
                let done = behind.stage;
                behind = behind.next(S::STAGES);
                factors.add::<T, _>(&mut second, 1, behind.stage);
                wgmma::commit_group();
                wgmma::wait_group::<1>();
                release(done);
            });

            // Both halves, step after step.
            let mut previous = behind.stage;
            for _ in S::LEAST_STEPS..shape.steps {
                block.full.add(place.stage).wait(place.parity);
                wgmma::fence();
                factors.add_both::<T, _>((&mut first, &mut second), place.stage);
                wgmma::commit_group();
                wgmma::wait_group::<1>();
                release(previous);
                previous = place.stage;
                place = place.next(S::STAGES);
            }

            // Half 0 takes the last steps first, then half 1.
            let mut ending = place;
            wgmma::fence();
            ending!({
                block.full.add(place.stage).wait(place.parity);
                factors.add::<T, _>(&mut first, 0, place.stage);
                place = place.next(S::STAGES);
            });
            wgmma::commit_group();
            wgmma::wait_group::<1>();
            release(previous);
            let mut last = ending;
            ending!({
                factors.add::<T, _>(&mut second, 1, last.stage);
                wgmma::commit_group();
                last = last.next(S::STAGES);
            });
            match S::ENDING {
                1 => first.wait::<1>(),
                _ => first.wait::<2>(),
            }

            // Half 0 is finished meanwhile; between its chunks the stages are freed, one after the other.
            finish.store::<S>(&first, halves[0], |chunk| {
                match S::ENDING - chunk {
                    0 => wgmma::wait_group::<0>(),
                    _ => wgmma::wait_group::<1>(),
                }
                release(ending.stage);
                ending = ending.next(S::STAGES);
            });
            second.wait::<0>();
            second_half = halves[1];
            number += thread::grid_dim_x();
        }
        finish.store::<S>(&second, second_half, |_| {});
        if lead {
            tma::wait_group_read::<0>();
        }
    }
}
