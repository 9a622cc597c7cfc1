//! The end of a tile: sums become elements of the result, go through a buffer in shared memory, and leave by TMA.
//!
//! A thread holds sums of rows `r` and `r + 8` in pairs of columns. `stmatrix`, transposing, lays them into a buffer of 8 `CHUNK` columns of
//! 64 rows (128 bytes, swizzled against bank conflicts), from where whole 128-byte lines are stored. Buffers form a ring, so that
//! the stores of some chunks run while the next ones are made.

use cuda_std::shared::Address;
use cuda_std::tensor_map::TensorMapMut;
use cuda_std::wgmma::Groups;
use cuda_std::{Global, matrix, thread, tma};

use super::tile::{ROW, Tile};
use super::{TensorCore, WgmmaShape};
use crate::epilogue::{Axis, Epilogue, Operands};

/// Bytes of one buffer.
pub(super) const fn buffer_bytes<S: Tile>() -> u32 {
    S::CHUNK * 8 * ROW
}

/// What a consumer thread needs for every tile.
pub(super) struct Finish<'a, E, T: TensorCore> {
    pub(super) shape: &'a WgmmaShape,
    pub(super) epilogue: &'a E,
    pub(super) result: TensorMapMut<'a, T, 3>,
    pub(super) bias: Global<'a, T>,
    /// The consumer's number, 0 or 1.
    consumer: u32,
    /// Whether this thread starts the consumer's copies.
    pub(super) lead: bool,
    /// The consumer's buffers.
    buffers: Address,
    /// Where in a buffer this thread's row of `stmatrix` goes.
    place: u32,
    /// The buffer to be filled next, in bytes from the first.
    buffer: u32,
}

/// Half of a consumer's part of a tile: 64 rows.
#[derive(Clone, Copy)]
pub(super) struct Half {
    row: u32,
    column: u32,
    matrix: u32,
    /// The biases of this thread's two rows, if there is one for each row.
    bias: [f32; 2],
}

impl<'a, E: Epilogue, T: TensorCore> Finish<'a, E, T> {
    /// For the consumer of this number, whose buffers begin at `buffers`.
    #[inline(always)]
    pub(super) fn new(
        shape: &'a WgmmaShape,
        epilogue: &'a E,
        result: TensorMapMut<'a, T, 3>,
        bias: Global<'a, T>,
        consumer: u32,
        buffers: Address,
    ) -> Self {
        let thread = thread::thread_idx_x() % 128;
        let (warp, lane) = (thread / 32, thread % 32);
        // Lane 8 i + r names row r of matrix i: matrices 0 and 1 are 16 rows of the result, 2 and 3 the same of the next 8 columns.
        let (matrix, row) = (lane / 8, lane % 8);
        let place = matrix / 2 * 8 * ROW + row * ROW + ((warp * 2 + matrix % 2) ^ row) * 16;
        Self { shape, epilogue, result, bias, consumer, lead: thread == 0, buffers, place, buffer: 0 }
    }

    /// What this thread's rows of a half need, loaded ahead of its sums.
    #[inline(always)]
    pub(super) fn half(&self, row: u32, column: u32, matrix: u32) -> Half {
        let bias = match E::BIAS {
            Axis::Rows => [0, 8].map(|below| self.bias(self.thread_row(row) + below, self.shape.rows)),
            _ => [0.0; 2],
        };
        Half { row, column, matrix, bias }
    }

    /// A half outside the result: nothing of it is stored.
    #[inline(always)]
    pub(super) fn nothing() -> Half {
        const FAR: u32 = 0x4000_0000;
        Half { row: 0, column: FAR, matrix: 0, bias: [0.0; 2] }
    }

    /// The first of this thread's rows in a half that begins at `row`.
    #[inline(always)]
    fn thread_row(&self, row: u32) -> u32 {
        row + thread::thread_idx_x() % 128 / 32 * 16 + thread::thread_idx_x() % 32 / 4
    }

    /// The bias of this index; beyond the end the last one, whose elements aren't stored.
    #[inline(always)]
    fn bias(&self, index: u32, count: u32) -> f32 {
        // A branch would split the products that run meanwhile.
        let index = if index < count { index } else { count - 1 };
        // SAFETY: there is a bias for each index below `count`, by the kernel's caller, and `count` is positive.
        unsafe { self.bias.get_unchecked(index as usize) }.load()
    }

    /// Finishes and stores a half. While its second chunk is made, `at_second_chunk` is done.
    ///
    /// # Safety
    /// All threads of the consumer must call it together; the sums must be complete.
    #[inline(always)]
    pub(super) unsafe fn store<S: Tile, H: FnMut()>(&mut self, sums: &S::Sums, half: Half, at_second_chunk: H) {
        use cuda_std::wgmma::Accumulator;
        sums.for_each_group(&mut Writer::<E, T, S, H> {
            finish: self,
            half,
            held: [0; 2],
            at_second_chunk,
            tile: core::marker::PhantomData,
        });
    }
}

/// Takes the sums of a half, eight columns at a time.
struct Writer<'w, 'a, E, T: TensorCore, S, H> {
    finish: &'w mut Finish<'a, E, T>,
    half: Half,
    /// The results of the group before, which are stored together with this one's.
    held: [u32; 2],
    at_second_chunk: H,
    tile: core::marker::PhantomData<S>,
}

impl<E: Epilogue, T: TensorCore, S: Tile, H: FnMut()> Groups for Writer<'_, '_, E, T, S, H> {
    #[inline(always)]
    fn group(&mut self, group: usize, sums: [f32; 4]) {
        let group = group as u32;
        let (chunk, in_chunk) = (group / S::CHUNK, group % S::CHUNK);
        let results = self.results(group, sums);
        let place = self.finish.buffers.offset(self.finish.buffer + self.finish.place + in_chunk / 2 * 16 * ROW);
        // SAFETY: the place is in this consumer's buffer, of which no store is running, and all its threads are here.
        unsafe {
            if in_chunk % 2 == 1 {
                matrix::store_matrices_4_transposed(place, [self.held[0], self.held[1], results[0], results[1]]);
            } else if in_chunk + 1 == S::CHUNK {
                matrix::store_matrices_2_transposed(place, results);
            } else {
                self.held = results;
            }
            if in_chunk + 1 == S::CHUNK {
                if chunk == 1 {
                    (self.at_second_chunk)();
                }
                self.send(chunk);
            }
        }
    }
}

impl<E: Epilogue, T: TensorCore, S: Tile, H> Writer<'_, '_, E, T, S, H> {
    /// The results of one group: those of this thread's first row, two columns, then those of its second.
    #[inline(always)]
    fn results(&self, group: u32, sums: [f32; 4]) -> [u32; 2] {
        let Finish { shape, epilogue, .. } = &*self.finish;
        let row = self.finish.thread_row(self.half.row);
        let column = self.half.column + group * 8 + thread::thread_idx_x() % 4 * 2;
        let bias = |below: usize, next: u32| match E::BIAS {
            Axis::None => 0.0,
            Axis::Rows => self.half.bias[below],
            Axis::Columns => self.finish.bias(column + next, shape.columns),
        };
        let value = |sum, below: usize, next| {
            let (row, column) = ((row + 8 * below as u32) as usize, (column + next) as usize);
            let index = row + (column + self.half.matrix as usize * shape.columns as usize) * shape.rows as usize;
            epilogue.apply(Operands { bias: bias(below, next), row, column, index, ..Operands::of_sum(sum) }).value
        };
        [T::pack(value(sums[0], 0, 0), value(sums[1], 0, 1)), T::pack(value(sums[2], 1, 0), value(sums[3], 1, 1))]
    }

    /// Stores the chunk that the buffer now holds, and goes on to the next buffer.
    #[inline(always)]
    unsafe fn send(&mut self, chunk: u32) {
        let Half { row, column, matrix, .. } = self.half;
        let finish = &mut *self.finish;
        // SAFETY: the buffer is complete behind the barrier; the next one is free when all but BUFFERS - 2 stores have read theirs.
        unsafe {
            tma::fence_async();
            if finish.lead {
                match S::BUFFERS {
                    2 => tma::wait_group_read::<0>(),
                    3 => tma::wait_group_read::<1>(),
                    _ => tma::wait_group_read::<2>(),
                }
            }
            named_barrier(1 + finish.consumer, 128);
            if finish.lead {
                let at = [row as i32, (column + chunk * S::CHUNK * 8) as i32, matrix as i32];
                finish.result.store(at, finish.buffers.offset(finish.buffer));
                tma::commit_group();
            }
        }
        finish.buffer += buffer_bytes::<S>();
        if finish.buffer == S::BUFFERS * buffer_bytes::<S>() {
            finish.buffer = 0;
        }
    }
}

/// TEMP
#[inline(always)]
unsafe fn named_barrier(id: u32, count: u32) {
    #[cfg(target_os = "cuda")]
    unsafe {
        core::arch::asm!("bar.sync {}, {};", in(reg32) id, in(reg32) count, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    let _ = (id, count);
}
