//! Matrix loads, stores and products of warps and warpgroups, each operand in global memory in plain order.

use cuda_std::prelude::*;
use cuda_std::wgmma::{self, Accumulator, Descriptor, Format, Fragment, Groups, Orientation};
use cuda_std::{matrix, tma};

/// Loads 1, 2 and 4 matrices, plain and transposed, and stores what the plain loads gave, plain and transposed.
///
/// `x` holds four 8 x 8 matrices. `registers[operation * 128 + matrix * 32 + lane]`; `stored[operation * 256 ..]` are four matrices, untouched
/// ones 0xffff.
#[kernel(arch = "sm_90", block = 32)]
pub fn matrices(x: Global<u16>, mut registers: GlobalMut<u32>, mut stored: GlobalMut<u16>) {
    let tile = shared_array![u16; 256];
    let lane = warp::lane_id() as usize;
    // SAFETY: (of the whole kernel) each lane writes its own row, a barrier lies between that and the loads, and the results are each lane's
    // own.
    unsafe {
        for i in 0..8 {
            tile.write(lane * 8 + i, x[lane * 8 + i]);
        }
        thread::sync_threads();
        let row = tile.address().offset(lane as u32 * 16);
        macro_rules! each {
            ($($number:literal: $load:ident, $store:ident;)*) => {$(
                let loaded = matrix::$load(row);
                for (m, register) in loaded.into_iter().enumerate() {
                    registers.write($number * 128 + m * 32 + lane, register);
                }
                thread::sync_threads();
                for i in 0..8 {
                    tile.write(lane * 8 + i, 0xffff);
                }
                thread::sync_threads();
                matrix::$store(row, loaded);
                thread::sync_threads();
                for i in 0..8 {
                    stored.write($number * 256 + lane * 8 + i, tile.read(lane * 8 + i));
                }
                thread::sync_threads();
                for i in 0..8 {
                    tile.write(lane * 8 + i, x[lane * 8 + i]);
                }
                thread::sync_threads();
            )*};
        }
        each! {
            0: load_matrix, store_matrix;
            1: load_matrices_2, store_matrices_2;
            2: load_matrices_4, store_matrices_4;
            3: load_matrix_transposed, store_matrix;
            4: load_matrices_2_transposed, store_matrices_2;
            5: load_matrices_4_transposed, store_matrices_4;
            6: load_matrix, store_matrix_transposed;
            7: load_matrices_2, store_matrices_2_transposed;
            8: load_matrices_4, store_matrices_4_transposed;
        }
    }
}

/// Operations of [`matrices()`]: how many matrices, and whether load and store are transposed.
pub const MATRICES: [(usize, bool, bool); 9] = [
    (1, false, false),
    (2, false, false),
    (4, false, false),
    (1, true, false),
    (2, true, false),
    (4, true, false),
    (1, false, true),
    (2, false, true),
    (4, false, true),
];

/// sums += A B by one warp: A 16 x 32 bytes by rows, B 8 x 32 bytes by columns, sums 16 x 8 by rows.
#[kernel(arch = "sm_89", ptx = "8.4", block = 32)]
pub fn warp_product<F: Format>(a: Global<u32>, b: Global<u32>, mut sums: GlobalMut<f32>) {
    let lane = warp::lane_id() as usize;
    let (major, minor) = (lane / 4, lane % 4);
    let a =
        [a[major * 8 + minor], a[(major + 8) * 8 + minor], a[major * 8 + 4 + minor], a[(major + 8) * 8 + 4 + minor]];
    let b = [b[major * 8 + minor], b[major * 8 + 4 + minor]];
    let at = |i: usize| (major + i / 2 * 8) * 8 + minor * 2 + i % 2;
    // SAFETY: the whole warp is here; each lane has its own sums.
    unsafe {
        let mut own = [sums.read(at(0)), sums.read(at(1)), sums.read(at(2)), sums.read(at(3))];
        matrix::multiply_add::<F>(&mut own, a, b);
        for (i, sum) in own.into_iter().enumerate() {
            sums.write(at(i), sum);
        }
    }
}

/// A factor in shared memory: how its tile is filled from global memory, where it is `lines` x 128 bytes, line after line.
pub trait Stage: Orientation {
    /// Where byte pair `pair` (0..64) of a line lies, before the swizzle.
    fn offset(line: u32, pair: u32) -> u32;
    /// The descriptor.
    fn descriptor(tile: shared::Address) -> Descriptor<Self>;
}

impl Stage for wgmma::AlongK {
    fn offset(line: u32, pair: u32) -> u32 {
        line * 128 + pair * 2
    }
    fn descriptor(tile: shared::Address) -> Descriptor<Self> {
        Descriptor::along_k(tile)
    }
}

impl Stage for wgmma::AcrossK {
    fn offset(line: u32, pair: u32) -> u32 {
        line / 64 * 8192 + pair * 128 + line % 64 * 2
    }
    fn descriptor(tile: shared::Address) -> Descriptor<Self> {
        Descriptor::across_k(tile, 8192)
    }
}

struct Write<'a, 'b> {
    sums: &'a mut GlobalMut<'b, f32>,
    columns: usize,
}

impl Groups for Write<'_, '_> {
    #[inline(always)]
    fn group(&mut self, group: usize, sums: [f32; 4]) {
        let thread = thread::thread_idx_x() as usize;
        for (i, sum) in sums.into_iter().enumerate() {
            let row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8;
            let column = group * 8 + thread % 4 * 2 + i % 2;
            // SAFETY: each thread has its own sums.
            unsafe { self.sums.write(row * self.columns + column, sum) };
        }
    }
}

/// sums = A B by a warpgroup, over 128 bytes of k: A 64 lines, B 2 `NUMBERS` lines of 128 bytes; sums 64 x 2 `NUMBERS` by rows.
#[kernel(arch = "sm_90a", block = 128, min_blocks = 1)]
pub fn warpgroup_product<F: Format, A: Stage, B: Stage, N: Accumulator + 'static>(
    a: Global<u16>,
    b: Global<u16>,
    mut sums: GlobalMut<f32>,
) {
    let mut memory = shared::Dynamic::new();
    let a_tile = memory.take_aligned::<u16, 1024>(64 * 64).address();
    let b_tile = memory.take_aligned::<u16, 1024>(N::COLUMNS.div_ceil(64) * 64 * 64).address();
    let fill = |tile: shared::Address, from: &Global<u16>, lines: u32, offset: fn(u32, u32) -> u32| {
        let mut number = thread::thread_idx_x();
        while number < lines * 64 {
            let offset = offset(number / 64, number % 64);
            // SAFETY: each thread writes its own pairs; the barrier lies between this and the products.
            unsafe { tile.offset(offset ^ (offset >> 7 & 7) << 4).write(from[number as usize]) };
            number += 128;
        }
    };
    fill(a_tile, &a, 64, A::offset);
    fill(b_tile, &b, N::COLUMNS as u32, B::offset);
    tma::fence_async();
    thread::sync_threads();
    let (a, b) = (A::descriptor(a_tile).uniform(), B::descriptor(b_tile).uniform());
    // SAFETY: the whole warpgroup is here; the factors were written before the barrier and stay; the sums are read after the wait.
    let sums_of_tile = unsafe {
        wgmma::fence();
        let mut all = N::multiply::<F, A, B>(a, b);
        all.multiply_add::<F, A, B>(a.offset(A::STEP), b.offset(B::STEP));
        all.multiply_add::<F, A, B>(a.offset(2 * A::STEP), b.offset(2 * B::STEP));
        all.multiply_add::<F, A, B>(a.offset(3 * A::STEP), b.offset(3 * B::STEP));
        wgmma::commit_group();
        all.wait::<0>();
        all
    };
    sums_of_tile.for_each_group(&mut Write { sums: &mut sums, columns: N::COLUMNS });
}

/// Dynamic shared memory of [`warpgroup_product()`].
pub fn warpgroup_bytes(columns: usize) -> usize {
    64 * 128 + columns.div_ceil(64) * 64 * 128
}

/// Sums of 8, 64, 200 and 256 columns.
pub type Columns8 = Fragment<4>;
/// Sums of 64 columns.
pub type Columns64 = Fragment<32>;
/// Sums of 200 columns.
pub type Columns200 = Fragment<100>;
/// Sums of 256 columns.
pub type Columns256 = Fragment<128>;
