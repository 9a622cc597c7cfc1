//! Kernels, one family a file.

mod bias;
mod gemm;
mod loss;
mod map;
mod optim;
mod reduce;

pub use bias::bias_add;
pub use gemm::{
    AlongK, AlongLines, GEMM_MMA_BLOCK, GEMM_MMA_COLUMNS, GEMM_MMA_ROWS, GEMM_MMA_SHARED_BYTES, GemmShape, Output, RUN,
    Simt, Strides, TensorCore, Tile, Tile128, Tile200, WGMMA_DEPTH, WGMMA_ROWS, WGMMA_THREADS, WgmmaLayout, WgmmaShape,
    gemm_mma, gemm_mma_blocks, gemm_mma_parts, gemm_naive, gemm_simt, gemm_simt_blocks, gemm_simt_parts, gemm_sums,
    gemm_wgmma, mma_supports, wgmma_shared_bytes, wgmma_supports,
};
pub use loss::{cross_entropy, softmax_cross_entropy};
pub use map::{map_backward, map_forward, map_in_place};
pub use optim::{sgd, sgd_momentum};
pub use reduce::{COLUMN_PARTIALS, column_sum, combine_partials};
