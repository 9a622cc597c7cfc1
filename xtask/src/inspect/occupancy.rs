//! How many blocks of a kernel one multiprocessor holds at a time, by NVIDIA's rules: the arithmetic of `cuda_occupancy.h` in the
//! CUDA toolkit, for devices that give shared memory all that they can.
//!
//! Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; granularities and blocks: that header.

use std::fmt;

use cuda_builder::Arch;

/// Threads of a warp.
const WARP: u32 = 32;
/// Registers of a multiprocessor, and the most that a block may have.
const REGISTERS: u32 = 65_536;
/// Registers are given to warps in units of this many.
const REGISTER_UNIT: u32 = 256;
/// A multiprocessor's registers lie in this many parts; a warp's lie in one.
const PARTS: u32 = 4;
/// The most threads of a block.
const THREADS: u32 = 1024;
/// The most registers of a thread.
const THREAD_REGISTERS: u32 = 255;

/// What one multiprocessor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    warps: u32,
    blocks: u32,
    /// Bytes, all of them.
    shared: u32,
    /// Bytes that one block may have.
    block_shared: u32,
    /// Bytes that each block costs besides its own.
    reserved: u32,
    /// Bytes.
    shared_unit: u32,
}

impl Limits {
    fn of(arch: Arch) -> Option<Self> {
        let of = |warps, blocks, shared: u32, block_shared: u32| {
            let (reserved, shared_unit) = (1024, 128);
            let (shared, block_shared) = (shared * 1024, block_shared * 1024);
            Limits { warps, blocks, shared, block_shared, reserved, shared_unit }
        };
        Some(match arch.compute_capability() {
            (7, 5) => Limits { reserved: 0, shared_unit: 256, ..of(32, 16, 64, 64) },
            (8, 0) => of(64, 32, 164, 163),
            (8, 6 | 8) => of(48, 16, 100, 99),
            (8, 7) => of(48, 16, 164, 163),
            (8, 9) => of(48, 24, 100, 99),
            (9, 0) | (10, 0 | 3) => of(64, 32, 228, 227),
            (11, 0) => of(48, 24, 228, 227),
            (12, _) => of(48, 24, 100, 99),
            _ => return None,
        })
    }
}

/// What limits the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Warps,
    Blocks,
    Registers,
    SharedMemory,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::SharedMemory => "shared memory",
        })
    }
}

/// The answer for one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks at a time on one multiprocessor; 0: it does not start.
    pub blocks: u32,
    /// Warps at a time.
    pub warps: u32,
    /// The most warps of a multiprocessor.
    pub most_warps: u32,
    /// The least limit; the first of [`Limit`]'s where several are equal.
    pub limit: Limit,
}

impl Occupancy {
    /// For blocks of `threads` whose threads have `registers`, and which have `shared` bytes of shared memory (static and dynamic).
    /// `None` where the architecture's limits are not known here.
    pub fn of(arch: Arch, threads: u32, registers: u32, shared: u32) -> Option<Self> {
        let limits = Limits::of(arch)?;
        let warps = threads.div_ceil(WARP).max(1);
        let by_warps = if threads > THREADS { 0 } else { limits.warps / warps };
        let by_registers = by_registers(warps, registers);
        let allocated = (shared + limits.reserved).next_multiple_of(limits.shared_unit);
        let by_shared = match shared {
            _ if shared > limits.block_shared => 0,
            // Without reserved memory a block without shared memory costs nothing.
            _ if allocated == 0 => u32::MAX,
            _ => limits.shared / allocated,
        };
        let each = [
            (by_warps, Limit::Warps),
            (limits.blocks, Limit::Blocks),
            (by_registers, Limit::Registers),
            (by_shared, Limit::SharedMemory),
        ];
        let (blocks, limit) = each.into_iter().min_by_key(|(blocks, _)| *blocks).expect("there are four");
        Some(Occupancy { blocks, warps: blocks * warps, most_warps: limits.warps, limit })
    }

    /// Warps at a time of the most possible.
    pub fn fraction(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.most_warps)
    }
}

fn by_registers(warps: u32, registers: u32) -> u32 {
    let of_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
    // The hardware's check of a block counts whole rounds over the parts.
    if registers > THREAD_REGISTERS || of_warp * warps.next_multiple_of(PARTS) > REGISTERS {
        return 0;
    }
    match of_warp {
        0 => u32::MAX,
        of_warp => REGISTERS / PARTS / of_warp * PARTS / warps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks by `cudaOccMaxActiveBlocksPerMultiprocessor` of the header `cuda_occupancy.h` of CUDA 13.5, compiled and run with the
    /// properties of each device: threads, registers, shared bytes, and blocks on sm_75, 80, 86, 89, 90, 100, 120.
    const NVIDIA: [(u32, u32, u32, [u32; 7]); 12] = [
        (256, 16, 0, [4, 8, 6, 6, 8, 8, 6]),
        (256, 32, 0, [4, 8, 6, 6, 8, 8, 6]),
        (256, 33, 0, [4, 6, 6, 6, 6, 6, 6]),
        (128, 64, 16_384, [4, 8, 5, 5, 8, 8, 5]),
        (384, 168, 197_632, [0, 0, 0, 0, 1, 1, 0]),
        (1024, 64, 0, [1, 1, 1, 1, 1, 1, 1]),
        (96, 40, 0, [10, 16, 16, 16, 16, 16, 16]),
        (32, 16, 0, [16, 32, 16, 24, 32, 32, 24]),
        (128, 255, 0, [2, 2, 2, 2, 2, 2, 2]),
        (256, 20, 50_000, [1, 3, 2, 2, 4, 4, 2]),
        (1024, 65, 0, [0, 0, 0, 0, 0, 0, 0]),
        (256, 128, 101_376, [0, 1, 1, 1, 2, 2, 1]),
    ];

    #[test]
    fn blocks_are_those_of_nvidias_own_calculator() {
        let archs = [Arch::SM_75, Arch::SM_80, Arch::SM_86, Arch::SM_89, Arch::SM_90A, Arch::SM_100, Arch::SM_120];
        for (threads, registers, shared, blocks) in NVIDIA {
            let ours = archs.map(|arch| Occupancy::of(arch, threads, registers, shared).unwrap().blocks);
            assert_eq!(ours, blocks, "{threads} threads, {registers} registers, {shared} bytes");
        }
    }

    #[test]
    fn the_limit_is_named() {
        let limit = |threads, registers, shared| Occupancy::of(Arch::SM_90A, threads, registers, shared).unwrap().limit;
        assert_eq!(limit(256, 16, 0), Limit::Warps);
        assert_eq!(limit(32, 16, 0), Limit::Blocks);
        assert_eq!(limit(256, 33, 0), Limit::Registers);
        assert_eq!(limit(256, 20, 50_000), Limit::SharedMemory);
        let half = Occupancy::of(Arch::SM_80, 1024, 64, 0).unwrap();
        assert_eq!((half.warps, half.fraction()), (32, 0.5));
        assert_eq!(Occupancy::of(Arch::SM_70, 256, 32, 0), None);
    }
}
