//! How a block's part of the result is cut: sizes, stages, and who runs ahead of whom. The launcher chooses a tile (see the host's
//! `heuristics`): a larger one moves fewer bytes into shared memory for each operation, a smaller one makes more tiles.

use cuda_std::wgmma::{Accumulator, Fragment};

/// Numbers of 16 bits along k that one stage holds: 128 bytes, the span of the swizzle.
pub const WGMMA_DEPTH: u32 = 64;
/// Bytes of one row of a stage, and of a group of eight.
pub(super) const ROW: u32 = 2 * WGMMA_DEPTH;
/// Rows of the result for each accumulator: the rows of one `wgmma`.
pub(super) const HALF: u32 = 64;
/// Rows of the result that a consumer warpgroup computes, in two halves.
pub(super) const CONSUMER_ROWS: u32 = 2 * HALF;
/// Rows of the result that a block computes: those of two consumers.
pub const WGMMA_ROWS: u32 = 2 * CONSUMER_ROWS;
/// Threads of a block: a producer warpgroup and two consumers.
pub const WGMMA_THREADS: u32 = 384;
/// A block tile of [`WGMMA_ROWS`] x [`COLUMNS`](Self::COLUMNS) of the result.
pub trait Tile: Copy + 'static {
    /// The sums of 64 rows.
    type Sums: Accumulator;
    /// Columns of the result.
    const COLUMNS: u32 = Self::Sums::COLUMNS as u32;
    /// Stages of both factors in shared memory.
    const STAGES: u32;
    /// Steps along k, after the first, that one half takes ahead of the other, so that the tensor cores have work while the other half's
    /// sums are finished and stored.
    const AHEAD: u32;
    /// Steps along k that one half takes at the end, before the other one takes them: more give the tensor cores work for longer while the
    /// first half is finished, but hold their stages, so that the next tile's copies begin later.
    const ENDING: u32;
    /// The fewest steps along k.
    const LEAST_STEPS: u32 = Self::AHEAD + 1 + Self::ENDING;
    /// Groups of eight columns that are stored together: they divide the tile.
    const CHUNK: u32;
    /// Chunks of each consumer that wait in shared memory for their store.
    const BUFFERS: u32;
}

macro_rules! tiles {
    ($($(#[$doc:meta])* $name:ident: $columns:literal, $stages:literal stages, $ahead:literal ahead, $ending:literal ending, $chunk:literal x $buffers:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Tile for $name {
            type Sums = Fragment<{ $columns / 2 }>;
            const STAGES: u32 = $stages;
            const AHEAD: u32 = $ahead;
            const ENDING: u32 = $ending;
            const CHUNK: u32 = $chunk;
            const BUFFERS: u32 = $buffers;
        }
    )*};
}

tiles! {
    /// 256 x 128: for a result that makes few tiles.
    Tile128: 128, 4 stages, 2 ahead, 1 ending, 4 x 4;
    /// 256 x 200: for a large result.
    Tile200: 200, 3 stages, 1 ahead, 2 ending, 5 x 4;
}
