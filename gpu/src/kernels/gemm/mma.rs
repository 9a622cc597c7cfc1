//! Matrix products by tensor cores (`mma.sync`, sm_80 and later) for 16-bit numbers, with f32 sums.
//!
//! A block of 128 threads computes a tile of 128 x 128. Four stages of both factors, 32 steps of k each, are on their way from
//! global to shared memory (`cp.async`) or being multiplied; what lies beyond a factor is filled with zeros. Four warps
//! compute 64 x 64 each, in order of k but for the order inside one instruction: shared memory's bandwidth is the limit, and a
//! smaller part would read more for each product. While 16 steps of k are multiplied, the next 16 are loaded into registers. At the end
//! the sums go through shared memory, so that the epilogue's accesses are whole lines; it is the code of the simple kernels.
//!
//! The tensor core's rows are the result's columns: a thread then has neighbouring rows, which are neighbours in memory.

use cuda_std::shared::{Address, Dynamic};
use cuda_std::{Global, GlobalMut, SharedSlice, cp_async, kernel, matrix, thread, warp};

use super::tensor_core::{AlongK, AlongLines, TensorCore};
use super::wide::{self, lanes};
use super::{GemmShape, Output, RUN, Strides};
use crate::epilogue::{Epilogue, Sums};

/// Threads of a block.
pub const GEMM_MMA_BLOCK: usize = 128;
/// Rows and columns of a tile.
pub const GEMM_MMA_TILE: usize = 128;
/// Steps of k in one stage.
const DEPTH: usize = 32;
/// Stages in shared memory.
const STAGES: u32 = 4;
/// Bytes of one factor's stage, and of a stage.
const FACTOR_BYTES: u32 = (GEMM_MMA_TILE * DEPTH * 2) as u32;
const STAGE_BYTES: u32 = 2 * FACTOR_BYTES;
/// A column of sums at the end: padded, so that neighbouring columns begin in different banks.
const PITCH: usize = GEMM_MMA_TILE + 8;
/// 16-byte pieces of a factor's stage that each thread copies.
const PIECES: usize = FACTOR_BYTES as usize / 16 / GEMM_MMA_BLOCK;
/// Bytes of a stage between a thread's pieces: the same place in the swizzle's pattern.
const PIECE_STEP: u32 = FACTOR_BYTES / PIECES as u32;
/// Tile rows that are computed side by side, so that their factors are still in the cache.
const BAND: usize = 8;
/// Columns that are finished at a time.
const SLOTS: usize = GEMM_MMA_BLOCK * RUN / GEMM_MMA_TILE;
/// Dynamic shared memory of a block, in bytes: stages, and at the end all sums.
pub const GEMM_MMA_SHARED_BYTES: usize = {
    let (stages, sums) = ((STAGES * STAGE_BYTES) as usize, GEMM_MMA_TILE * PITCH * 4);
    if stages > sums { stages } else { sums }
};

/// How a factor lies in global and in shared memory. A line is a row of the left or a column of the right factor.
trait MmaLayout {
    /// Lines and k from a thread's piece to its next one, [`PIECE_STEP`] behind it in the stage.
    const NEXT: (u32, u32);

    /// For one of the stage's 512 pieces of 16 bytes: its line, its k, and where it lies in the stage.
    fn piece(number: u32) -> (u32, u32, u32);

    /// Elements of a piece that exist, `lines` and `depth` being those from its first one on.
    fn existing(lines: i32, depth: i32) -> i32;

    /// Where in the stage this lane's row for `load_matrices_4` lies: of lines `line..line + 16` and `k..k + 16`. `K_FIRST` says that the four
    /// matrices change their k before their lines.
    fn row<const K_FIRST: bool>(line: u32, k: u32) -> u32;

    /// The four matrices.
    ///
    /// # Safety
    /// As [`matrix::load_matrices_4`].
    unsafe fn load(row: Address) -> [u32; 4];
}

/// Where lane `l`'s row is among four matrices: (which half of the lines, which half of k, row of its matrix).
#[inline(always)]
fn quarter<const K_FIRST: bool>() -> (u32, u32, u32) {
    let lane = warp::lane_id();
    let (low, high) = (lane / 8 % 2, lane / 16);
    if K_FIRST { (high, low, lane % 8) } else { (low, high, lane % 8) }
}

impl MmaLayout for AlongK {
    const NEXT: (u32, u32) = (GEMM_MMA_BLOCK as u32 / 4, 0);

    /// Rows of 64 bytes; their pieces are exchanged so that eight rows meet all banks.
    #[inline(always)]
    fn piece(number: u32) -> (u32, u32, u32) {
        let (line, piece) = (number / 4, number % 4);
        (line, piece * 8, line * 64 + ((piece ^ (line / 2 % 4)) * 16))
    }

    #[inline(always)]
    fn existing(lines: i32, depth: i32) -> i32 {
        if lines > 0 { depth } else { 0 }
    }

    #[inline(always)]
    fn row<const K_FIRST: bool>(line: u32, k: u32) -> u32 {
        let (lines, ks, row) = quarter::<K_FIRST>();
        let (line, piece) = (line + lines * 8 + row, k / 8 + ks);
        line * 64 + ((piece ^ (line / 2 % 4)) * 16)
    }

    #[inline(always)]
    unsafe fn load(row: Address) -> [u32; 4] {
        // SAFETY: by the caller.
        unsafe { matrix::load_matrices_4(row) }
    }
}

impl MmaLayout for AlongLines {
    const NEXT: (u32, u32) = (0, GEMM_MMA_BLOCK as u32 / 16);

    /// Rows of 256 bytes, one for each k.
    #[inline(always)]
    fn piece(number: u32) -> (u32, u32, u32) {
        let (k, piece) = (number / 16, number % 16);
        (piece * 8, k, k * 256 + ((piece ^ (k % 8)) * 16))
    }

    #[inline(always)]
    fn existing(lines: i32, depth: i32) -> i32 {
        if depth > 0 { lines } else { 0 }
    }

    #[inline(always)]
    fn row<const K_FIRST: bool>(line: u32, k: u32) -> u32 {
        let (lines, ks, row) = quarter::<K_FIRST>();
        let (k, piece) = (k + ks * 8 + row, line / 8 + lines);
        k * 256 + ((piece ^ (k % 8)) * 16)
    }

    #[inline(always)]
    unsafe fn load(row: Address) -> [u32; 4] {
        // SAFETY: by the caller.
        unsafe { matrix::load_matrices_4_transposed(row) }
    }
}

/// One factor's way into shared memory: each thread copies [`PIECES`] pieces of each stage.
struct Feed {
    /// The first piece of the next stage.
    from: *const u8,
    /// Bytes from one piece to the next, and from one stage's to the next one's.
    next: usize,
    step: usize,
    /// Lines from the first piece's first one on, and k likewise; may be less than nothing.
    lines: i32,
    depth: i32,
    /// Where the first piece lies in the stage.
    place: u32,
}

impl Feed {
    #[inline(always)]
    fn new<T: TensorCore, L: MmaLayout>(
        view: &Global<T>,
        strides: Strides,
        [batch, first, lines, k]: [usize; 4],
    ) -> Self {
        let (line, depth, place) = L::piece(thread::thread_idx_x());
        let offset = strides.offset(batch, first + line as usize, depth as usize);
        let left = |count: usize, before: usize| (count as isize - before as isize).min(i32::MAX as isize) as i32;
        let (lines_apart, depth_apart) = L::NEXT;
        Self {
            from: view.as_ptr().wrapping_add(offset).cast(),
            next: (lines_apart as usize * strides.row + depth_apart as usize * strides.column) * 2,
            step: DEPTH * strides.column * 2,
            lines: left(lines, first + line as usize),
            depth: left(k, depth as usize),
            place,
        }
    }

    /// Begins the copies of the next stage.
    ///
    /// # Safety
    /// Nobody may use the stage until the copies were waited for.
    #[inline(always)]
    unsafe fn copy<L: MmaLayout>(&mut self, stage: Address) {
        let (lines, depth) = L::NEXT;
        for i in 0..PIECES as u32 {
            let elements = L::existing(self.lines - (i * lines) as i32, self.depth - (i * depth) as i32).clamp(0, 8);
            let from = self.from.wrapping_add(i as usize * self.next);
            // SAFETY: only elements that exist are read, 16 bytes aligned by the launcher's choice of this kernel.
            unsafe {
                cp_async::copy_or_zero::<16>(stage.offset(self.place + i * PIECE_STEP), from, elements as u32 * 2);
            }
        }
        self.from = self.from.wrapping_add(self.step);
        self.depth -= DEPTH as i32;
    }
}

/// Blocks that compute tiles: one for each.
pub const fn gemm_mma_blocks(shape: &GemmShape) -> usize {
    shape.m.div_ceil(GEMM_MMA_TILE) * shape.n.div_ceil(GEMM_MMA_TILE) * shape.batch
}

/// How many partial sums there are of each sum.
pub const fn gemm_mma_parts(shape: &GemmShape, sums: Sums) -> usize {
    match sums {
        Sums::Rows => shape.n.div_ceil(GEMM_MMA_TILE),
        Sums::Columns => shape.m.div_ceil(GEMM_MMA_TILE),
        _ => 0,
    }
}

/// How a factor lies, of strides as lines x k: `Some(true)` if its elements along k are contiguous, `Some(false)` if those along the
/// lines are; `None` if neither, or if whole 16 bytes can't be copied.
#[inline(always)]
fn is_along_k<T>(address: usize, strides: &Strides) -> Option<bool> {
    let along_k = strides.transposed().columns_are_aligned::<T>(address, 8);
    (along_k || strides.columns_are_aligned::<T>(address, 8)).then_some(along_k)
}

/// Whether [`gemm_mma()`] can compute a product: factors at multiples of 16 bytes that are contiguous in one direction, with leading
/// dimensions that are multiples of 8, and no sums of a factor.
#[inline(always)]
pub fn mma_supports<T>(shape: &GemmShape, sums: Sums, a: usize, b: usize) -> bool {
    let factors = is_along_k::<T>(a, &shape.a).is_some() && is_along_k::<T>(b, &shape.b.transposed()).is_some();
    factors && !matches!(sums, Sums::Factor)
}

/// One block for each tile, [`gemm_mma_blocks`] along x, with [`GEMM_MMA_SHARED_BYTES`] of dynamic shared memory. Traps unless
/// [`mma_supports`] the product.
#[kernel(module = "gemm_mma", arch = "sm_80", block = 128, min_blocks = 2)]
pub fn gemm_mma<E: Epilogue, T: TensorCore>(
    shape: GemmShape,
    epilogue: E,
    a: Global<T>,
    b: Global<T>,
    bias: Global<T>,
    source: Global<T>,
    aux_in: Global<T>,
    mask_in: Global<u8>,
    aux_out: GlobalMut<T>,
    mask_out: GlobalMut<u8>,
    out: GlobalMut<T>,
    partials: GlobalMut<f32>,
) {
    let output = Output { shape, epilogue, bias, source, aux_in, aux_out, mask_in, mask_out, out };
    output.check(&a, &b);
    if !mma_supports::<T>(&shape, E::SUMS, a.as_ptr() as usize, b.as_ptr() as usize) {
        cuda_std::trap();
    }
    let block = thread::block_idx_x() as usize;
    if block < gemm_mma_blocks(&shape) {
        Tile { output, a, b, partials, block }.compute();
    }
}

/// The first row and column of this warp's part of the tile, 64 x 64.
#[inline(always)]
fn warp_part() -> (u32, u32) {
    let warp = thread::thread_idx_x() / 32;
    (warp % 2 * 64, warp / 2 * 64)
}

/// A warp's part of both factors, 16 along k: four times 16 rows, and four times 16 columns.
#[derive(Clone, Copy)]
struct Factors {
    rows: [[u32; 4]; 4],
    columns: [[u32; 4]; 4],
}

impl Factors {
    /// # Safety
    /// As [`matrix::load_matrices_4`]; `stage` must hold a stage of both factors.
    #[inline(always)]
    unsafe fn load<A: MmaLayout, B: MmaLayout>(stage: Address, k: u32) -> Self {
        let (row, column) = warp_part();
        let right = stage.offset(FACTOR_BYTES);
        // SAFETY: by the caller.
        unsafe {
            Self {
                rows: [0, 16, 32, 48].map(|below| A::load(stage.offset(A::row::<true>(row + below, k)))),
                columns: [0, 16, 32, 48].map(|beside| B::load(right.offset(B::row::<false>(column + beside, k)))),
            }
        }
    }

    /// Adds their product to the sums, as [`Tile::multiply`] gives them.
    ///
    /// # Safety
    /// All lanes of the warp must call it together.
    #[inline(always)]
    unsafe fn multiply<T: TensorCore>(&self, sums: &mut [[[f32; 4]; 8]; 4]) {
        // Written out: a loop that isn't unrolled would send the sums to local memory.
        macro_rules! products {
            ($i:literal: $($j:literal)*) => {$({
                let factor = [self.rows[$j / 2][$j % 2 * 2], self.rows[$j / 2][$j % 2 * 2 + 1]];
                // SAFETY: by the caller.
                unsafe { matrix::multiply_add::<T::Format>(&mut sums[$i][$j], self.columns[$i], factor) };
            })*};
        }
        products!(0: 0 1 2 3 4 5 6 7);
        products!(1: 0 1 2 3 4 5 6 7);
        products!(2: 0 1 2 3 4 5 6 7);
        products!(3: 0 1 2 3 4 5 6 7);
    }
}

/// Writes this thread's sums where the stages were: those of 16 columns each, of 8 rows each.
#[inline(always)]
fn lay_down(shared: &SharedSlice<f32>, sums: &[[[f32; 4]; 8]; 4]) {
    let (row, column) = warp_part();
    let lane = warp::lane_id();
    let (row, column) = (row + lane % 4 * 2, column + lane / 4);
    macro_rules! pairs {
        ($i:literal: $($j:literal)*) => {$(
            let place = (column + $i * 16) as usize * PITCH + (row + $j * 8) as usize;
            let [a, b, c, d] = sums[$i][$j];
            // SAFETY: the stages are not used any more; each thread has its own places.
            unsafe {
                wide::write_shared(shared, place, [a, b]);
                wide::write_shared(shared, place + 8 * PITCH, [c, d]);
            }
        )*};
    }
    pairs!(0: 0 1 2 3 4 5 6 7);
    pairs!(1: 0 1 2 3 4 5 6 7);
    pairs!(2: 0 1 2 3 4 5 6 7);
    pairs!(3: 0 1 2 3 4 5 6 7);
}

/// What one block works on.
struct Tile<'a, E, T: TensorCore> {
    output: Output<'a, E, T, T>,
    a: Global<'a, T>,
    b: Global<'a, T>,
    partials: GlobalMut<'a, f32>,
    block: usize,
}

impl<E: Epilogue, T: TensorCore> Tile<'_, E, T> {
    #[inline(always)]
    fn compute(mut self) {
        let GemmShape { a, b, .. } = self.output.shape;
        let place = self.place();
        let shared = Dynamic::new().take_aligned::<f32, 128>(GEMM_MMA_SHARED_BYTES / 4);
        let along_k = |view: &Global<T>, strides| is_along_k::<T>(view.as_ptr() as usize, strides) == Some(true);
        match (along_k(&self.a, &a), along_k(&self.b, &b.transposed())) {
            (true, true) => self.multiply::<AlongK, AlongK>(&shared, place),
            (true, false) => self.multiply::<AlongK, AlongLines>(&shared, place),
            (false, true) => self.multiply::<AlongLines, AlongK>(&shared, place),
            (false, false) => self.multiply::<AlongLines, AlongLines>(&shared, place),
        }
        thread::sync_threads();
        self.finish(&shared, place);
    }

    /// Lays all sums into shared memory, column after column.
    #[inline(always)]
    fn multiply<A: MmaLayout, B: MmaLayout>(
        &self,
        shared: &SharedSlice<f32>,
        [batch, tile_row, tile_column]: [usize; 3],
    ) {
        let GemmShape { m, n, k, a: a_strides, b: b_strides, .. } = self.output.shape;
        let (first_row, first_column) = (tile_row * GEMM_MMA_TILE, tile_column * GEMM_MMA_TILE);
        let mut left = Feed::new::<T, A>(&self.a, a_strides, [batch, first_row, m, k]);
        let mut right = Feed::new::<T, B>(&self.b, b_strides.transposed(), [batch, first_column, n, k]);
        let stages = shared.address();
        let steps = k.div_ceil(DEPTH);
        let mut sums = [[[0.0; 4]; 8]; 4];
        // SAFETY: a stage is read after its copies were waited for and a barrier, and copied to again after the barrier that all threads
        // reach when they have read it.
        // Stages beyond the last step are filled with zeros, which are loaded but not multiplied.
        let mut fetch = |stage: u32| unsafe {
            left.copy::<A>(stages.offset(stage * STAGE_BYTES));
            right.copy::<B>(stages.offset(stage * STAGE_BYTES + FACTOR_BYTES));
            cp_async::commit_group();
        };
        for stage in 0..STAGES {
            fetch(stage);
        }
        cp_async::wait_group::<{ STAGES - 1 }>();
        thread::sync_threads();
        let mut now = 0;
        // SAFETY: the stage's copies were waited for before the barrier; all lanes are here.
        let mut first = unsafe { Factors::load::<A, B>(stages, 0) };
        for _ in 0..steps {
            // SAFETY: as above, for each stage.
            unsafe {
                let second = Factors::load::<A, B>(stages.offset(now * STAGE_BYTES), 16);
                first.multiply::<T>(&mut sums);
                cp_async::wait_group::<{ STAGES - 2 }>();
                thread::sync_threads();
                fetch(now);
                now = (now + 1) % STAGES;
                first = Factors::load::<A, B>(stages.offset(now * STAGE_BYTES), 0);
                second.multiply::<T>(&mut sums);
            }
        }
        cp_async::wait_all();
        thread::sync_threads();
        lay_down(shared, &sums);
    }

    /// Which tile of which matrix this block computes: bands of [`BAND`] tile rows, column after column.
    #[inline(always)]
    fn place(&self) -> [usize; 3] {
        let GemmShape { m, n, .. } = self.output.shape;
        let (rows, columns) = (m.div_ceil(GEMM_MMA_TILE), n.div_ceil(GEMM_MMA_TILE));
        let (batch, tile) = (self.block / (rows * columns), self.block % (rows * columns));
        let band = tile / (BAND * columns);
        let height = (rows - band * BAND).min(BAND);
        let in_band = tile - band * BAND * columns;
        [batch, band * BAND + in_band % height, in_band / height]
    }

    /// The epilogue: each thread finishes runs of eight rows, [`SLOTS`] columns apart.
    #[inline(always)]
    fn finish(&mut self, shared: &SharedSlice<f32>, [batch, tile_row, tile_column]: [usize; 3]) {
        let GemmShape { m, n, .. } = self.output.shape;
        let (first_row, first_column) = (tile_row * GEMM_MMA_TILE, tile_column * GEMM_MMA_TILE);
        let thread = thread::thread_idx_x() as usize;
        let (row, slot) = (thread % 16 * RUN, thread / 16);
        let wide = self.output.is_wide();
        let mut row_sums = [0.0; RUN];
        let mut number = slot;
        while number < GEMM_MMA_TILE {
            let column = first_column + number;
            // SAFETY: written before the barrier.
            let run: [f32; RUN] = unsafe { wide::read_shared(shared, number * PITCH + row) };
            let mut values = [0.0; RUN];
            if column < n && first_row + row < m {
                // SAFETY: checked at the start; each run is one thread's.
                values = unsafe { self.output.finish(batch, first_row + row, column, run, wide) };
            }
            match E::SUMS {
                Sums::Rows => row_sums = lanes!(8, |r| row_sums[r] + values[r]),
                Sums::Columns => {
                    let mut sum = lanes!(8, |r| values[r]).into_iter().fold(0.0, |sum, value| sum + value);
                    for distance in [8, 4, 2, 1] {
                        sum += warp::warp_shuffle_xor(warp::FULL, sum, distance, 16).0;
                    }
                    if row == 0 && column < n {
                        let tiles = m.div_ceil(GEMM_MMA_TILE);
                        // SAFETY: this tile's and column's own.
                        unsafe { self.partials.write((batch * tiles + tile_row) * n + column, sum) };
                    }
                }
                _ => {}
            }
            number += SLOTS;
        }
        if matches!(E::SUMS, Sums::Rows) {
            thread::sync_threads();
            // SAFETY: all sums have been read before the barrier; each thread has its own places.
            unsafe { wide::write_shared(shared, slot * PITCH + row, row_sums) };
            thread::sync_threads();
            if thread < GEMM_MMA_TILE && first_row + thread < m {
                let mut sum = 0.0;
                for slot in 0..SLOTS {
                    // SAFETY: written before the barrier.
                    sum += unsafe { shared.read(slot * PITCH + thread) };
                }
                let tiles = n.div_ceil(GEMM_MMA_TILE);
                // SAFETY: this tile's and row's own.
                unsafe { self.partials.write((batch * tiles + tile_column) * m + first_row + thread, sum) };
            }
        }
    }
}
