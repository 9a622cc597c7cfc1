//! `wgmma` in the simulator: each thread computes its own sums from shared memory, at once.

use super::{Descriptor, GROUP_BYTES, Kind, Orientation, ROW_BYTES};
use crate::matrix::decode;
use crate::thread::index_in_block;

/// 16-bit numbers in a row of a tile that lies across k.
const ACROSS: u32 = ROW_BYTES / 2;

/// The thread's own sums of 64 x N products, N being twice their number.
#[track_caller]
pub(super) fn multiply_add<A: Orientation, B: Orientation>(
    sums: &mut [f32],
    kind: Kind,
    a: Descriptor<A>,
    b: Descriptor<B>,
) {
    let depth = 32 / kind.bytes() as u32;
    let (warp, lane) = (index_in_block() / 32 % 4, index_in_block() % 32);
    let mut rows = [[0.0; 32]; 2];
    for (half, row) in rows.iter_mut().enumerate() {
        load(row, kind, a, warp * 16 + lane / 4 + 8 * half as u32);
    }
    let mut column = [0.0; 32];
    for number in 0..sums.len() / 2 {
        let (group, next) = (number / 2, number % 2);
        load(&mut column, kind, b, (group * 8 + next) as u32 + lane % 4 * 2);
        for (half, row) in rows.iter().enumerate() {
            let sum = &mut sums[group * 4 + half * 2 + next];
            *sum = (0..depth as usize).fold(*sum, |sum, k| row[k].mul_add(column[k], sum));
        }
    }
}

/// A row of A or a column of B.
#[track_caller]
fn load<O: Orientation>(line: &mut [f32; 32], kind: Kind, from: Descriptor<O>, number: u32) {
    let bytes = kind.bytes() as u32;
    for (k, element) in (0..32 / bytes).zip(line) {
        let offset = if O::ACROSS_K {
            number / ACROSS * from.next_tile + k * ROW_BYTES + number % ACROSS * bytes
        } else {
            number / 8 * GROUP_BYTES + number % 8 * ROW_BYTES + k * bytes
        };
        let address = from.start.offset(offset);
        // The 128-byte swizzle: an address's row in its group of eight changes which 16 bytes of the row are meant.
        let swizzled = address.get() ^ (address.get() >> 7 & 7) << 4;
        *element = decode(kind, address.offset(swizzled.wrapping_sub(address.get())));
    }
}
