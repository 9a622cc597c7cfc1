//! The end of a tile: sums become elements of the result, go through a buffer in shared memory, and leave by TMA.
//!
//! A thread holds sums of rows `r` and `r + 8` in pairs of columns. `stmatrix`, transposing, lays them into a buffer of 8 `CHUNK` columns of
//! 64 rows (128 bytes, swizzled against bank conflicts), from where whole 128-byte lines are stored. Buffers form a ring, so that
//! the stores of some chunks run while the next ones are made. A matrix that the epilogue reads comes the same way in the other
//! direction, ahead of its use and into the buffer that the results will take ([`feed`]); one that it keeps takes a buffer of its own.

use cuda_std::mbarrier::Barrier;
use cuda_std::shared::Address;
use cuda_std::tensor_map::{TensorMap, TensorMapMut};
use cuda_std::wgmma::{Accumulator, Groups};
use cuda_std::{Global, GlobalMut, barrier, matrix, thread, tma, warp};

use super::tile::{CONSUMER_ROWS, HALF, ROW, Tile, WGMMA_ROWS};
use super::{Place, WgmmaShape};
use crate::epilogue::{Aux, Axis, Epilogue, Operands, Sums};
use crate::kernels::gemm::wide::lanes;
use crate::kernels::gemm::{Strides, TensorCore};

/// Bytes of one buffer.
pub(super) const fn buffer_bytes<S: Tile>() -> u32 {
    S::CHUNK * 8 * ROW
}

/// Whether the epilogue reads a matrix.
pub(super) const fn reads<E: Epilogue>() -> bool {
    E::SOURCE || matches!(E::AUX, Aux::Read)
}

/// Whether the epilogue keeps a matrix.
const fn keeps<E: Epilogue>() -> bool {
    matches!(E::AUX, Aux::Written)
}

/// Whether this kernel can do what the epilogue asks: at most one matrix read or kept, no masks, no pairs of rows, and sums of rows only.
pub const fn wgmma_supports<E: Epilogue>() -> bool {
    let matrices = E::SOURCE as u32 + matches!(E::AUX, Aux::Read | Aux::Written) as u32;
    let masks = matches!(E::AUX, Aux::MaskRead | Aux::MaskWritten);
    matrices <= 1 && !masks && !E::GATED && matches!(E::SUMS, Sums::None | Sums::Rows)
}

/// Where the epilogue's operands and results are.
pub(super) struct Matrices<'a, T: TensorCore> {
    pub(super) result: TensorMapMut<'a, T, 3>,
    pub(super) kept: TensorMapMut<'a, T, 3>,
    pub(super) bias: Global<'a, T>,
    pub(super) partials: GlobalMut<'a, f32>,
    /// The result once more, where [`PlainResult`] says that TMA can't store it.
    pub(super) plain: Option<GlobalMut<'a, T>>,
}

/// The ring of a consumer's buffers in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub(super) buffers: Address,
    /// For each buffer: what the epilogue reads has come.
    pub(super) full: Barrier,
    /// For each buffer: its results have been stored.
    pub(super) empty: Barrier,
}

/// What a consumer thread needs for every tile.
pub(super) struct Finish<'a, E, T: TensorCore> {
    shape: &'a WgmmaShape,
    epilogue: &'a E,
    matrices: Matrices<'a, T>,
    ring: Ring,
    /// The consumer's number, 0 or 1.
    consumer: u32,
    /// Whether this thread starts the consumer's copies.
    pub(super) lead: bool,
    /// Where in a buffer this thread's row of `stmatrix` goes.
    offset: u32,
    /// The buffer to be filled next.
    place: Place,
}

/// Half of a consumer's part of a tile: 64 rows.
#[derive(Clone, Copy)]
pub(super) struct Half {
    row: u32,
    column: u32,
    matrix: u32,
    /// Which of a row's partial sums these columns make.
    part: u32,
    /// The biases of this thread's two rows, if there is one for each row.
    bias: [f32; 2],
}

/// The column of a half that lies outside the result: nothing of it is stored.
const OUTSIDE: u32 = 0x4000_0000;

impl<'a, E: Epilogue, T: TensorCore> Finish<'a, E, T> {
    /// For the consumer of this number.
    #[inline(always)]
    pub(super) fn new(
        shape: &'a WgmmaShape,
        epilogue: &'a E,
        matrices: Matrices<'a, T>,
        consumer: u32,
        ring: Ring,
    ) -> Self {
        let thread = thread::thread_idx_x() % 128;
        let (warp, lane) = (thread / 32, thread % 32);
        // Lane 8 i + r names row r of matrix i: matrices 0 and 1 are 16 rows of the result, 2 and 3 the same of the next 8 columns.
        let (matrix, row) = (lane / 8, lane % 8);
        let offset = matrix / 2 * 8 * ROW + row * ROW + ((warp * 2 + matrix % 2) ^ row) * 16;
        let place = Place { stage: 0, parity: 0 };
        Self { shape, epilogue, matrices, ring, consumer, lead: thread == 0, offset, place }
    }

    /// What this thread's rows of a half need, loaded ahead of its sums. `part` is the number of its columns among those of all matrices.
    #[inline(always)]
    pub(super) fn half(&self, row: u32, column: u32, matrix: u32, part: u32) -> Half {
        let bias = match E::BIAS {
            Axis::Rows => [0, 8].map(|below| self.bias(thread_row(row) + below, self.shape.rows, matrix)),
            _ => [0.0; 2],
        };
        Half { row, column, matrix, part, bias }
    }

    /// A half outside the result.
    #[inline(always)]
    pub(super) fn nothing() -> Half {
        Half { row: 0, column: OUTSIDE, matrix: 0, part: 0, bias: [0.0; 2] }
    }

    /// The bias of this index; beyond the end the last one, whose elements aren't stored.
    #[inline(always)]
    fn bias(&self, index: u32, count: u32, matrix: u32) -> f32 {
        // A branch would split the products that run meanwhile.
        let index = if index < count { index } else { count - 1 };
        // SAFETY: there is a bias for each index below `count`, by the kernel's caller, and `count` is positive.
        unsafe { self.matrices.bias.get_unchecked((index + matrix * self.shape.bias_stride) as usize) }.load()
    }

    /// Finishes and stores a half. `between` is called with 1 to `ENDING`, while so many chunks lie behind it, to free stages.
    ///
    /// # Safety
    /// All threads of the consumer must call it together; the sums must be complete.
    #[inline(always)]
    pub(super) unsafe fn store<S: Tile>(&mut self, sums: &S::Sums, half: Half, between: impl FnMut(u32)) {
        let mut writer = self.writer::<S, _>(half, between);
        sums.for_each_group(&mut writer);
        writer.end();
    }

    /// Takes the sums of a half.
    #[inline(always)]
    pub(super) fn writer<S: Tile, H: FnMut(u32)>(&mut self, half: Half, between: H) -> Writer<'_, 'a, E, T, S, H> {
        let none = [[0; 2]; 2];
        Writer {
            finish: self,
            half,
            results: none,
            kept: none,
            read: none,
            totals: [0.0; 2],
            between,
            tile: core::marker::PhantomData,
        }
    }
}

/// The first of this thread's rows in a half that begins at `row`.
#[inline(always)]
fn thread_row(row: u32) -> u32 {
    row + thread::thread_idx_x() % 128 / 32 * 16 + thread::thread_idx_x() % 32 / 4
}

/// Two pairs of numbers: the thread's first row, then its second.
type Pairs = [u32; 2];

/// Takes the sums of a half, eight columns at a time. Two groups go through shared memory together.
pub(super) struct Writer<'w, 'a, E, T: TensorCore, S, H> {
    finish: &'w mut Finish<'a, E, T>,
    half: Half,
    results: [Pairs; 2],
    kept: [Pairs; 2],
    read: [Pairs; 2],
    /// Sums of this thread's two rows.
    totals: [f32; 2],
    between: H,
    tile: core::marker::PhantomData<S>,
}

impl<E: Epilogue, T: TensorCore, S: Tile, H: FnMut(u32)> Groups for Writer<'_, '_, E, T, S, H> {
    #[inline(always)]
    fn group(&mut self, group: usize, sums: [f32; 4]) {
        let group = group as u32;
        let (chunk, in_chunk) = (group / S::CHUNK, group % S::CHUNK);
        let (odd, last) = (in_chunk % 2 == 1, in_chunk + 1 == S::CHUNK);
        let buffer = self.buffer(0).offset(self.finish.offset + in_chunk / 2 * 16 * ROW);
        if reads::<E>() && in_chunk == 0 {
            // SAFETY: within the ring.
            unsafe { self.finish.ring.full.add(self.finish.place.stage).wait(self.finish.place.parity) };
        }
        if reads::<E>() && !odd {
            // SAFETY: the buffer is this consumer's and its copy has come; all threads of the warp are here.
            unsafe {
                if last {
                    self.read[0] = matrix::load_matrices_2_transposed(buffer);
                } else {
                    let [a, b, c, d] = matrix::load_matrices_4_transposed(buffer);
                    self.read = [[a, b], [c, d]];
                }
            }
        }
        let slot = usize::from(odd);
        (self.results[slot], self.kept[slot]) = self.finished(group, sums, self.read[slot]);
        if odd || last {
            // SAFETY: the buffers are this consumer's, no copy is running in them, and each warp has 16-byte columns of its own.
            unsafe {
                write(buffer, odd, self.results);
                if keeps::<E>() {
                    write(buffer.offset(self.buffer(1).get().wrapping_sub(self.buffer(0).get())), odd, self.kept);
                }
            }
        }
        if last {
            if (1..=S::ENDING).contains(&chunk) {
                (self.between)(chunk);
            }
            self.send(chunk);
        }
    }
}

/// Writes one group, or two.
///
/// # Safety
/// As `store_matrices_4_transposed`.
#[inline(always)]
unsafe fn write(buffer: Address, both: bool, [first, second]: [Pairs; 2]) {
    // SAFETY: by the caller.
    unsafe {
        if both {
            matrix::store_matrices_4_transposed(buffer, [first[0], first[1], second[0], second[1]]);
        } else {
            matrix::store_matrices_2_transposed(buffer, first);
        }
    }
}

impl<E: Epilogue, T: TensorCore, S: Tile, H> Writer<'_, '_, E, T, S, H> {
    /// The buffer that is being filled, or the one after it.
    #[inline(always)]
    fn buffer(&self, after: u32) -> Address {
        self.finish.ring.buffers.offset((self.finish.place.stage + after) * buffer_bytes::<S>())
    }

    /// Results of one group and what is kept of it.
    #[inline(always)]
    fn finished(&mut self, group: u32, sums: [f32; 4], read: Pairs) -> (Pairs, Pairs) {
        let Finish { shape, epilogue, .. } = &*self.finish;
        let Half { row, column, matrix, bias, .. } = self.half;
        let row = thread_row(row);
        let column = column + group * 8 + thread::thread_idx_x() % 4 * 2;
        let one = |number: usize| {
            let (below, next) = (number / 2, number % 2);
            let (row, column) = (row + 8 * below as u32, column + next as u32);
            let read = if reads::<E>() { T::unpack(read[below])[next] } else { 0.0 };
            let index =
                row as usize + (column as usize + matrix as usize * shape.columns as usize) * shape.rows as usize;
            let value = |x: f32| T::Math::from(x);
            let finished = epilogue.apply::<T::Math>(Operands {
                sum: value(sums[number]),
                bias: value(match E::BIAS {
                    Axis::None => 0.0,
                    Axis::Rows => bias[below],
                    Axis::Columns => self.finish.bias(column, shape.columns, matrix),
                }),
                source: value(if E::SOURCE { read } else { 0.0 }),
                aux: value(if E::SOURCE { 0.0 } else { read }),
                row: row as usize,
                column: column as usize,
                index,
            });
            (finished.value.into(), finished.aux.into(), column < shape.columns)
        };
        let [a, b, c, d] = [one(0), one(1), one(2), one(3)];
        if matches!(E::SUMS, Sums::Rows) {
            let counted = |(value, _, exists): (f32, f32, bool)| if exists { value } else { 0.0 };
            self.totals[0] += counted(a) + counted(b);
            self.totals[1] += counted(c) + counted(d);
        }
        ([T::pack(a.0, b.0), T::pack(c.0, d.0)], [T::pack(a.1, b.1), T::pack(c.1, d.1)])
    }

    /// Stores the chunk that the buffer now holds, and goes on to the next buffer.
    #[inline(always)]
    fn send(&mut self, chunk: u32) {
        let Half { row, column, matrix, .. } = self.half;
        let (buffer, after) = (self.buffer(0), self.buffer(1));
        let finish = &mut *self.finish;
        let used = if keeps::<E>() { 2 } else { 1 };
        // SAFETY: the buffers are complete behind the barrier. The next ones are free when all but the last stores have read theirs.
        unsafe {
            tma::fence_async();
            if finish.lead {
                if reads::<E>() {
                    // The chunk before has been stored: its buffer may be fed again. The first chunk has none before it.
                    tma::wait_group_read::<0>();
                    let before = if finish.place.stage == 0 { S::BUFFERS - 1 } else { finish.place.stage - 1 };
                    if column != OUTSIDE || chunk > 0 {
                        finish.ring.empty.add(before).arrive();
                    }
                } else {
                    const { assert!(S::BUFFERS >= 4) };
                    match S::BUFFERS / used {
                        2 => tma::wait_group_read::<0>(),
                        3 => tma::wait_group_read::<1>(),
                        _ => tma::wait_group_read::<2>(),
                    }
                }
            }
            barrier::sync(1 + finish.consumer, 128);
            if let (Some(result), Some(plain)) = (&mut finish.matrices.plain, finish.shape.plain.get()) {
                let column = (column + chunk * S::CHUNK * 8) as usize;
                copy_out::<T, S>(result, finish.shape, plain, [row as usize, column, matrix as usize], buffer);
            } else if finish.lead {
                let at = [row as i32, (column + chunk * S::CHUNK * 8) as i32, matrix as i32];
                finish.matrices.result.store(at, buffer);
                if keeps::<E>() {
                    finish.matrices.kept.store(at, after);
                }
                tma::commit_group();
            }
        }
        finish.place = finish.place.next(S::BUFFERS / used * used);
        if keeps::<E>() {
            finish.place = finish.place.next(S::BUFFERS / used * used);
        }
    }

    /// Behind the last group.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        if matches!(E::SUMS, Sums::Rows) {
            self.write_totals();
        }
    }

    /// Writes the sums of the half's rows, which are partial sums of the result's rows.
    #[inline(always)]
    fn write_totals(&mut self) {
        let Half { row, column, part, .. } = self.half;
        let shape = self.finish.shape;
        for below in 0..2 {
            // The four lanes of a row, in a fixed order.
            let mut total = self.totals[below];
            total += warp::warp_shuffle_xor(warp::FULL, total, 1, 32).0;
            total += warp::warp_shuffle_xor(warp::FULL, total, 2, 32).0;
            let row = thread_row(row) + 8 * below as u32;
            if thread::thread_idx_x().is_multiple_of(4) && row < shape.rows && column != OUTSIDE {
                // SAFETY: this tile's own part of this row, by the kernel's caller within the view.
                unsafe { self.finish.matrices.partials.write_unchecked((part * shape.rows + row) as usize, total) };
            }
        }
    }
}

/// Stores a chunk's elements that exist, each for itself, from the buffer. By all threads of a consumer.
///
/// # Safety
/// The buffer must be complete; `plain` must describe the result.
#[inline(always)]
unsafe fn copy_out<T: TensorCore, S: Tile>(
    result: &mut GlobalMut<T>,
    shape: &WgmmaShape,
    plain: Strides,
    [row, column, matrix]: [usize; 3],
    buffer: Address,
) {
    let thread = thread::thread_idx_x() % 128;
    let mut piece = thread;
    while piece < S::CHUNK * 8 * 8 {
        // Eight rows of a column, where `stmatrix` has put them.
        let (beside, below) = (piece / 8, piece % 8);
        // SAFETY: within the buffer, which is complete.
        let pairs: [u32; 4] = unsafe { buffer.offset(beside * ROW + ((below ^ (beside % 8)) * 16)).read() };
        let (row, column) = (row + below as usize * 8, column + beside as usize);
        let _ = lanes!(8, |i| {
            let row = row + i;
            if row < shape.rows as usize && column < shape.columns as usize {
                let element = T::from_raw((pairs[i / 2] >> (i % 2 * 16)) as u16);
                // SAFETY: an element of the result, and this thread's alone.
                unsafe { result.write_unchecked(plain.offset(matrix, row, column), element) };
            }
        });
        piece += 128;
    }
}

/// Brings what the epilogue reads, in the order in which a consumer finishes its halves: first one outside, then both of each tile.
///
/// # Safety
/// By one thread for each consumer; the map must describe the matrix.
#[inline(always)]
pub(super) unsafe fn feed<T: TensorCore, S: Tile>(
    shape: &WgmmaShape,
    operand: &TensorMap<T, 3>,
    consumer: u32,
    ring: Ring,
) {
    let mut place = Place { stage: 0, parity: 1 };
    let mut half = |row: u32, column: u32, matrix: u32| {
        for chunk in 0..S::COLUMNS / 8 / S::CHUNK {
            let at = [row as i32, (column + chunk * S::CHUNK * 8) as i32, matrix as i32];
            // SAFETY: within the ring; the buffer is free.
            unsafe {
                ring.empty.add(place.stage).wait(place.parity);
                let full = ring.full.add(place.stage);
                full.arrive_expect_tx(buffer_bytes::<S>());
                operand.load(ring.buffers.offset(place.stage * buffer_bytes::<S>()), at, full);
            }
            place = place.next(S::BUFFERS);
        }
    };
    half(0, OUTSIDE, 0);
    let mut number = thread::block_idx_x();
    while number < shape.tiles() {
        let at = shape.tile(number);
        for rows in 0..2 {
            half(at.row * WGMMA_ROWS + consumer * CONSUMER_ROWS + rows * HALF, at.column * S::COLUMNS, at.matrix);
        }
        number += thread::grid_dim_x();
    }
}
