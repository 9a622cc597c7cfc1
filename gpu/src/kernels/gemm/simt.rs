//! Matrix products without tensor cores, for every type and architecture: true f32 and f64.
//!
//! A block of 256 threads computes a tile of 128 rows. The factors go through registers into shared memory, 8 steps of k at a
//! time into one half of it while the other half is used. Each thread keeps 8 rows times 2·HALF columns of sums in registers,
//! in order of k with fused multiply-add, so that the result has the bits of [`gemm_naive()`](super::gemm_naive()).
//! At the end the sums go through shared memory once more, a slice of 16 columns at a time, so that the epilogue's code is
//! there once and its memory accesses are whole lines.
//!
//! Arrays that must stay in registers are indexed by constants only, after unrolling.

use cuda_std::shared::{Dynamic, Layout};
use cuda_std::{Global, GlobalMut, SharedSlice, kernel, thread, warp};

use super::wide::{self, lanes};
use super::{GemmShape, Output, RUN, Strides};
use crate::epilogue::{Epilogue, Sums};
use crate::{Element, Real};

/// Rows of a tile.
pub const GEMM_SIMT_ROWS: usize = 16 * RUN;
/// Steps of k that one block adds up for [`Sums::Factor`].
pub const GEMM_SIMT_CHUNK: usize = 512;
/// Steps of k in shared memory at a time.
const DEPTH: usize = 8;
/// Neighbouring elements that a thread fetches at a time.
const FETCH: usize = 4;
/// Tile rows that are computed side by side, so that their factors are still in the cache.
const BAND: usize = 8;
/// A column of the slice that goes through shared memory at the end: padded, so that columns begin in different banks.
const PITCH: usize = GEMM_SIMT_ROWS + 4;

/// What arithmetic the kernel is tuned for.
pub trait Simt: Real + Element + warp::Word {
    /// Columns of a tile: 16 times what a thread's registers hold.
    const COLUMNS: usize;
    /// Dynamic shared memory of a block, in bytes.
    const SHARED_BYTES: usize = Layout::new().and::<Self>(shared_elements(Self::COLUMNS)).bytes();

    /// The kernel's body.
    fn tile<E: Epilogue, T: Element<Compute = Self>, O: Element<Compute = Self>>(tile: Tile<'_, E, T, O>);
}

const fn shared_elements(columns: usize) -> usize {
    let (stages, slice) = (2 * DEPTH * (GEMM_SIMT_ROWS + columns), 16 * PITCH);
    if stages > slice { stages } else { slice }
}

impl Simt for f32 {
    const COLUMNS: usize = 128;

    #[inline(always)]
    fn tile<E: Epilogue, T: Element<Compute = Self>, O: Element<Compute = Self>>(tile: Tile<'_, E, T, O>) {
        tile.compute::<4, 128>();
    }
}

impl Simt for f64 {
    const COLUMNS: usize = 64;

    #[inline(always)]
    fn tile<E: Epilogue, T: Element<Compute = Self>, O: Element<Compute = Self>>(tile: Tile<'_, E, T, O>) {
        tile.compute::<2, 64>();
    }
}

/// How many blocks compute tiles, and how many add up a factor.
pub const fn gemm_simt_blocks<C: Simt>(shape: &GemmShape, sums: Sums) -> (usize, usize) {
    let tiles = shape.m.div_ceil(GEMM_SIMT_ROWS) * shape.n.div_ceil(C::COLUMNS) * shape.batch;
    let sums = match sums {
        Sums::Factor => shape.sums_len(sums).div_ceil(GEMM_SIMT_ROWS) * gemm_simt_parts::<C>(shape, sums) * shape.batch,
        _ => 0,
    };
    (tiles, sums)
}

/// How many partial sums there are of each sum.
pub const fn gemm_simt_parts<C: Simt>(shape: &GemmShape, sums: Sums) -> usize {
    match sums {
        Sums::None => 0,
        Sums::Rows => shape.n.div_ceil(C::COLUMNS),
        Sums::Columns => shape.m.div_ceil(GEMM_SIMT_ROWS),
        Sums::Factor => shape.k.div_ceil(GEMM_SIMT_CHUNK),
    }
}

/// One block for each tile, and behind them those that [`gemm_simt_blocks`] adds for sums of a factor, all along x; with
/// [`Simt::SHARED_BYTES`] of dynamic shared memory.
#[kernel(module = "gemm", block = 256, min_blocks = 2)]
pub fn gemm_simt<E: Epilogue, T: Element<Compute: Simt>, O: Element<Compute = T::Compute>>(
    shape: GemmShape,
    epilogue: E,
    a: Global<T>,
    b: Global<T>,
    bias: Global<T>,
    source: Global<O>,
    aux_in: Global<T>,
    mask_in: Global<u8>,
    aux_out: GlobalMut<T>,
    mask_out: GlobalMut<u8>,
    out: GlobalMut<O>,
    mut partials: GlobalMut<T::Compute>,
) {
    let output = Output { shape, epilogue, bias, source, aux_in, aux_out, mask_in, mask_out, out };
    output.check(&a, &b);
    let block = thread::block_idx_x() as usize;
    let (tiles, sums) = gemm_simt_blocks::<T::Compute>(&shape, E::SUMS);
    if block < tiles {
        T::Compute::tile(Tile { output, a, b, partials, block });
    } else if block - tiles < sums {
        match shape.sum_right {
            true => add_up(&shape, &b, shape.b.transposed(), shape.n, block - tiles, &mut partials),
            false => add_up(&shape, &a, shape.a, shape.m, block - tiles, &mut partials),
        }
    }
}

/// The sums of one part of k of 128 rows of a factor. Two threads for each row, each with half of the part.
#[inline(always)]
fn add_up<T: Element<Compute: Simt>>(
    shape: &GemmShape,
    factor: &Global<T>,
    strides: Strides,
    rows: usize,
    block: usize,
    partials: &mut GlobalMut<T::Compute>,
) {
    let shared = Dynamic::new().take::<T::Compute>(shared_elements(T::Compute::COLUMNS));
    let parts = shape.k.div_ceil(GEMM_SIMT_CHUNK);
    let (part, row_block) = (block % parts, block / parts);
    let row_blocks = rows.div_ceil(GEMM_SIMT_ROWS);
    let (row_block, batch) = (row_block % row_blocks, row_block / row_blocks);
    let t = thread::thread_idx_x() as usize;
    let (lane, half) = (t % GEMM_SIMT_ROWS, t / GEMM_SIMT_ROWS);
    let row = row_block * GEMM_SIMT_ROWS + lane;
    let mut sum = T::Compute::constant(0.0);
    if row < rows {
        let start = part * GEMM_SIMT_CHUNK + half * (GEMM_SIMT_CHUNK / 2);
        let end = (start + GEMM_SIMT_CHUNK / 2).min(shape.k);
        let mut i = start;
        while i < end {
            // SAFETY: inside the factor, which lies in the view by `check`.
            sum = sum + unsafe { factor.get_unchecked(strides.offset(batch, row, i)) }.load();
            i += 1;
        }
    }
    // SAFETY: each thread writes its own element; the barrier lies between these writes and the reads. The partial sum is this
    // thread's alone.
    unsafe {
        shared.write(t, sum);
        thread::sync_threads();
        if half == 0 && row < rows {
            let total = sum + shared.read(t + GEMM_SIMT_ROWS);
            partials.write((batch * parts + part) * rows + row, total);
        }
    }
}

/// What one block works on.
pub struct Tile<'a, E, T: Element, O> {
    output: Output<'a, E, T, O>,
    a: Global<'a, T>,
    b: Global<'a, T>,
    partials: GlobalMut<'a, T::Compute>,
    block: usize,
}

/// One factor's way from global into shared memory: `WIDTH` of its rows (or columns, of B) and [`DEPTH`] of k at a time.
///
/// A thread fetches [`FETCH`] elements that are neighbours in memory, along the rows or along k. In shared memory they lie
/// along the rows, those of a k together; the upper half of the k's has its rows exchanged in groups of 16, so that threads that
/// write along k find different banks.
struct Feed<T, const WIDTH: usize> {
    next: *const T,
    /// From one row to the next, and from one k to the next.
    along: usize,
    depth: usize,
    /// Whether neighbours in memory are neighbours along k.
    by_depth: bool,
    /// Whether fetching four at once is aligned.
    wide: bool,
    /// This thread's rows that exist, from its first one on; 0 for threads that fetch nothing.
    rows: usize,
    /// k that are left, from this thread's first one on; may be less than nothing.
    left: isize,
    /// Where this thread writes in shared memory.
    place: usize,
    padding: T,
}

impl<T: Element, const WIDTH: usize> Feed<T, WIDTH> {
    /// `strides` are those of the factor as `rows` x k.
    #[inline(always)]
    fn new(view: &Global<T>, strides: Strides, [batch, first, rows, k]: [usize; 4], padding: f64) -> Self {
        let t = thread::thread_idx_x() as usize;
        let address = view.as_ptr() as usize;
        let by_depth = strides.row != 1 && strides.column == 1;
        let wide = match by_depth {
            true => strides.transposed().columns_are_aligned::<T>(address, FETCH),
            false => strides.columns_are_aligned::<T>(address, FETCH),
        };
        let (row, i) = match by_depth {
            true => (t / 2, t % 2 * FETCH),
            false => (t % (WIDTH / FETCH) * FETCH, t / (WIDTH / FETCH)),
        };
        let busy = t < WIDTH * DEPTH / FETCH;
        let rows = if busy { rows.saturating_sub(first + row) } else { 0 };
        Self {
            next: view.as_ptr().wrapping_add(strides.offset(batch, first + row, i)),
            along: strides.row,
            depth: strides.column,
            by_depth,
            wide,
            rows,
            left: k as isize - i as isize,
            place: i * WIDTH + swizzled(row, i),
            padding: T::store(T::Compute::constant(padding)),
        }
    }

    /// The next elements, padded where there are none.
    #[inline(always)]
    fn fetch(&mut self) -> [T; FETCH] {
        let (next, rows, left) = (self.next, self.rows, self.left);
        self.next = next.wrapping_add(DEPTH * self.depth);
        self.left = left - DEPTH as isize;
        let (rows_needed, depth_needed) = if self.by_depth { (1, FETCH) } else { (FETCH, 1) };
        if self.wide && rows >= rows_needed && left >= depth_needed as isize {
            // SAFETY: four elements of the factor, aligned as `wide` says.
            return unsafe { wide::read(next) };
        }
        let padding = self.padding;
        lanes!(4, |i| {
            let (row, depth, stride) = if self.by_depth { (0, i, self.depth) } else { (i, 0, self.along) };
            match row < rows && (depth as isize) < left {
                // SAFETY: an element of the factor.
                true => unsafe { *next.wrapping_add(i * stride) },
                false => padding,
            }
        })
    }

    /// Puts what was fetched where the block can use it.
    ///
    /// # Safety
    /// Nobody may use this part of shared memory until the next barrier.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "an iterator over the sums would send them to local memory")]
    unsafe fn store(&self, shared: &SharedSlice<T::Compute>, stage: usize, elements: [T; FETCH]) {
        if (thread::thread_idx_x() as usize) >= WIDTH * DEPTH / FETCH {
            return;
        }
        let (place, values) = (stage + self.place, lanes!(4, |i| elements[i].load()));
        // SAFETY: by the caller; each thread has its own places.
        unsafe {
            if self.by_depth {
                for i in 0..FETCH {
                    wide::write_shared(shared, place + i * WIDTH, [values[i]]);
                }
            } else {
                wide::write_shared(shared, place, values);
            }
        }
    }
}

/// Where a row lies among those of one k.
#[inline(always)]
const fn swizzled(row: usize, k: usize) -> usize {
    row ^ (k / FETCH * 16)
}

impl<E: Epilogue, T: Element<Compute: Simt>, O: Element<Compute = T::Compute>> Tile<'_, E, T, O> {
    #[inline(always)]
    fn compute<const HALF: usize, const COLUMNS: usize>(mut self) {
        let GemmShape { m, n, k, a: a_strides, b: b_strides, .. } = self.output.shape;
        let shared = Dynamic::new().take::<T::Compute>(shared_elements(COLUMNS));
        let [batch, tile_row, tile_column] = self.place::<COLUMNS>();
        let (first_row, first_column) = (tile_row * GEMM_SIMT_ROWS, tile_column * COLUMNS);
        // A warp computes 32 rows and half of the columns: 4 x 8 threads, so that it reads few different places.
        let t = thread::thread_idx_x() as usize;
        let (lane, warp_number) = (t % 32, t / 32);
        let row = (warp_number % 4 * 4 + lane % 4) * RUN;
        let column = (warp_number / 4 * 8 + lane / 4) * HALF;

        // Beyond the end of k the products are (-0.0) · 0.0 = -0.0, which changes no sum, not even -0.0.
        let mut a_feed = Feed::<T, GEMM_SIMT_ROWS>::new(&self.a, a_strides, [batch, first_row, m, k], -0.0);
        let mut b_feed = Feed::<T, COLUMNS>::new(&self.b, b_strides.transposed(), [batch, first_column, n, k], 0.0);
        let zero = T::Compute::constant(0.0);
        let mut sums = [[[zero; RUN]; HALF]; 2];
        let b_start = 2 * DEPTH * GEMM_SIMT_ROWS;
        let (a_stage, b_stage) = (DEPTH * GEMM_SIMT_ROWS, DEPTH * COLUMNS);

        let steps = k.div_ceil(DEPTH);
        let mut stage = 0;
        let (mut a_next, mut b_next) = (a_feed.fetch(), b_feed.fetch());
        // SAFETY: a barrier lies between the writes to a half of the memory and its use, and between its use and the next
        // writes. What is stored beyond the last step is padding that nobody uses.
        unsafe {
            a_feed.store(&shared, 0, a_next);
            b_feed.store(&shared, b_start, b_next);
        }
        (a_next, b_next) = (a_feed.fetch(), b_feed.fetch());
        thread::sync_threads();
        for _ in 0..steps {
            let (a_now, b_now) = (stage * a_stage, b_start + stage * b_stage);
            stage ^= 1;
            // SAFETY: the other half was last used before the last barrier.
            unsafe {
                a_feed.store(&shared, stage * a_stage, a_next);
                b_feed.store(&shared, b_start + stage * b_stage, b_next);
            }
            (a_next, b_next) = (a_feed.fetch(), b_feed.fetch());
            // Last, and without a branch after it: LLVM would move the multiplications behind the branch, and the loads that
            // must stay before it would pile up in registers.
            macro_rules! multiply {
                ($($i:literal)*) => {$(
                    // SAFETY: written before the last barrier.
                    let (a, b): ([T::Compute; RUN], [[T::Compute; HALF]; 2]) = unsafe {
                        let b_row = b_now + $i * COLUMNS;
                        (
                            wide::read_shared(&shared, a_now + $i * GEMM_SIMT_ROWS + swizzled(row, $i)),
                            [
                                wide::read_shared(&shared, b_row + swizzled(column, $i)),
                                wide::read_shared(&shared, b_row + COLUMNS / 2 + swizzled(column, $i)),
                            ],
                        )
                    };
                    for h in 0..2 {
                        for s in 0..HALF {
                            for r in 0..RUN {
                                sums[h][s][r] = a[r].mul_add(b[h][s], sums[h][s][r]);
                            }
                        }
                    }
                )*};
            }
            multiply!(0 1 2 3 4 5 6 7);
            thread::sync_threads();
        }
        self.finish::<HALF, COLUMNS>(&shared, [batch, tile_row, tile_column], [row, column / HALF], &sums);
    }

    /// Which tile of which matrix this block computes: bands of [`BAND`] tile rows, column after column.
    #[inline(always)]
    fn place<const COLUMNS: usize>(&self) -> [usize; 3] {
        let GemmShape { m, n, .. } = self.output.shape;
        let (rows, columns) = (m.div_ceil(GEMM_SIMT_ROWS), n.div_ceil(COLUMNS));
        let (batch, tile) = (self.block / (rows * columns), self.block % (rows * columns));
        let band = tile / (BAND * columns);
        let height = (rows - band * BAND).min(BAND);
        let in_band = tile - band * BAND * columns;
        [batch, band * BAND + in_band % height, in_band / height]
    }

    /// The epilogue, a slice of 16 columns at a time: each thread hands its sums over and gets a run of a column.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "an iterator over the sums would send them to local memory")]
    fn finish<const HALF: usize, const COLUMNS: usize>(
        &mut self,
        shared: &SharedSlice<T::Compute>,
        [batch, tile_row, tile_column]: [usize; 3],
        [row, slot]: [usize; 2],
        sums: &[[[T::Compute; RUN]; HALF]; 2],
    ) {
        let GemmShape { m, n, .. } = self.output.shape;
        let (first_row, first_column) = (tile_row * GEMM_SIMT_ROWS, tile_column * COLUMNS);
        let t = thread::thread_idx_x() as usize;
        let (own_row, own_slot) = (t % 16 * RUN, t / 16);
        let wide = self.output.is_wide();
        let zero = T::Compute::constant(0.0);
        let mut row_sums = [zero; RUN];
        for slice in 0..2 * HALF {
            for h in 0..2 {
                for s in 0..HALF {
                    if h * HALF + s == slice {
                        // SAFETY: each thread has its own places, and barriers lie between writes and reads.
                        unsafe { wide::write_shared(shared, slot * PITCH + row, sums[h][s]) };
                    }
                }
            }
            thread::sync_threads();
            // SAFETY: written before the barrier, and not again before the next one.
            let run: [T::Compute; RUN] = unsafe { wide::read_shared(shared, own_slot * PITCH + own_row) };
            let column = first_column + slice / HALF * (COLUMNS / 2) + own_slot * HALF + slice % HALF;
            let mut values = [zero; RUN];
            if column < n {
                // SAFETY: checked at the start; each run is one thread's.
                values = unsafe { self.output.finish(batch, first_row + own_row, column, run, wide) };
            }
            match E::SUMS {
                Sums::Rows => row_sums = lanes!(8, |r| row_sums[r] + values[r]),
                Sums::Columns => {
                    let mut sum = zero;
                    for r in 0..RUN {
                        sum = sum + values[r];
                    }
                    for distance in [8, 4, 2, 1] {
                        sum = sum + warp::warp_shuffle_xor(warp::FULL, sum, distance, 16).0;
                    }
                    if own_row == 0 && column < n {
                        let tiles = m.div_ceil(GEMM_SIMT_ROWS);
                        // SAFETY: this tile's and column's own.
                        unsafe { self.partials.write((batch * tiles + tile_row) * n + column, sum) };
                    }
                }
                _ => {}
            }
            thread::sync_threads();
        }
        if matches!(E::SUMS, Sums::Rows) {
            // SAFETY: as above.
            unsafe { wide::write_shared(shared, own_slot * PITCH + own_row, row_sums) };
            thread::sync_threads();
            if t < GEMM_SIMT_ROWS && first_row + t < m {
                let mut sum = zero;
                for slot in 0..16 {
                    // SAFETY: written before the barrier.
                    sum = sum + unsafe { shared.read(slot * PITCH + t) };
                }
                let tiles = n.div_ceil(COLUMNS);
                // SAFETY: this tile's and row's own.
                unsafe { self.partials.write((batch * tiles + tile_column) * m + first_row + t, sum) };
            }
        }
    }
}
