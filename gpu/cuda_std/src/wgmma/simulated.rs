//! `wgmma` in the simulator: each thread computes its own sums from shared memory, at once.

use core::panic::Location;

use super::{GROUP_BYTES, Kind, ROW_BYTES};
use crate::matrix::decode;
use crate::shared::Address;
use crate::thread::index_in_block;

/// Numbers of a row of a tile that lies across k.
const ACROSS: u32 = ROW_BYTES / 2;

/// The thread's own sums of 64 x N products, N being twice their number.
pub(super) fn multiply_add(
    sums: &mut [f32],
    kind: Kind,
    a: (u32, bool),
    b: (u32, bool),
    place: &'static Location<'static>,
) {
    let depth = 32 / kind.bytes() as u32;
    let (warp, lane) = (index_in_block() / 32 % 4, index_in_block() % 32);
    let rows = [0, 8].map(|below| {
        let row = warp * 16 + lane / 4 + below;
        (0..depth).map(|k| number(kind, a, row, k, place)).collect::<Vec<_>>()
    });
    for group in 0..sums.len() / 4 {
        for next in 0..2 {
            let column = group as u32 * 8 + lane % 4 * 2 + next;
            let factors: Vec<f32> = (0..depth).map(|k| number(kind, b, column, k, place)).collect();
            for (half, row) in rows.iter().enumerate() {
                let sum = &mut sums[group * 4 + half * 2 + next as usize];
                *sum = row.iter().zip(&factors).fold(*sum, |sum, (a, b)| a.mul_add(*b, sum));
            }
        }
    }
}

/// Element (`line`, `k`) of a factor: `line` counts the rows of A or the columns of B.
fn number(kind: Kind, (low, across): (u32, bool), line: u32, k: u32, place: &'static Location<'static>) -> f32 {
    let bytes = kind.bytes() as u32;
    let start = (low & 0x3fff) * 16;
    let offset = if across {
        let next_tile = (low >> 16) * 16;
        line / ACROSS * next_tile + k * ROW_BYTES + line % ACROSS * bytes
    } else {
        line / 8 * GROUP_BYTES + line % 8 * ROW_BYTES + k * bytes
    };
    decode(kind, swizzled(start + offset), place)
}

/// The 128-byte swizzle: bits 4 to 6 of an address are exchanged by bits 7 to 9, its row in a group of eight.
fn swizzled(address: u32) -> Address {
    Address::from_raw(address ^ (address >> 7 & 7) << 4)
}
