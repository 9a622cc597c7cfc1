//! Which kernel computes a product, and with which tile: decided from types, device, shape and alignment alone.

use warpsmith_gpu::kernels::{
    GemmShape, SPLIT, SPLIT_COLUMNS, SPLIT_ROWS, Tile, Tile128, Tile200, WGMMA_DEPTH, WGMMA_ROWS,
};

use super::Gemm;
use crate::Runtime;

/// The fastest kernel of those that support the product.
pub(super) fn choose(runtime: &Runtime, shape: &GemmShape, supports: impl Fn(Gemm) -> bool) -> Gemm {
    let Some(cuda) = runtime.device().cuda() else {
        // In the simulator the simplest is the fastest.
        return Gemm::Simt;
    };
    let multiprocessors = cuda.multiprocessors as usize;
    let wgmma = [
        (Gemm::Wgmma128, wgmma_cycles::<Tile128>(shape, multiprocessors)),
        (Gemm::Wgmma200, wgmma_cycles::<Tile200>(shape, multiprocessors)),
        (Gemm::WgmmaSplit, split_cycles(shape, multiprocessors)),
    ];
    let fastest = wgmma.into_iter().filter(|&(kernel, _)| supports(kernel)).min_by_key(|&(_, cycles)| cycles);
    match fastest {
        Some((kernel, _)) => kernel,
        None if supports(Gemm::Mma) => Gemm::Mma,
        None => Gemm::Simt,
    }
}

/// About how long a multiprocessor works: the tensor cores' cycles, and about 3000 for the begin and the end of each tile. The constant
/// was fitted on an H200.
fn wgmma_cycles<S: Tile>(shape: &GemmShape, multiprocessors: usize) -> usize {
    let tiles = shape.m.div_ceil(WGMMA_ROWS as usize) * shape.n.div_ceil(S::COLUMNS as usize) * shape.batch;
    let steps = shape.k.div_ceil(WGMMA_DEPTH as usize);
    let per_step = (WGMMA_ROWS * S::COLUMNS / 32) as usize;
    tiles.div_ceil(multiprocessors) * (steps * per_step + 3000)
}

/// The same for the kernel that splits k: 700 cycles a step, because a small tile is limited by what it reads, and about 5000 for begin and
/// end, the exchange included. Fitted on an H200 too.
fn split_cycles(shape: &GemmShape, multiprocessors: usize) -> usize {
    let tiles = shape.m.div_ceil(SPLIT_ROWS as usize) * shape.n.div_ceil(SPLIT_COLUMNS as usize) * shape.batch;
    let steps = shape.k.div_ceil(WGMMA_DEPTH as usize).div_ceil(SPLIT as usize);
    (tiles * SPLIT as usize).div_ceil(multiprocessors) * (steps * 700 + 5000)
}
