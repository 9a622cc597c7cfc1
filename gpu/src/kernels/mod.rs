//! Kernels, one family a file.

mod bias;
mod gemm;
mod loss;
mod map;
mod optim;
mod reduce;

pub use bias::bias_add;
pub use gemm::{
    GemmShape, Output, RUN, Simt, Strides, gemm_naive, gemm_simt, gemm_simt_blocks, gemm_simt_parts, gemm_sums,
};
pub use loss::{cross_entropy, softmax_cross_entropy};
pub use map::{map_backward, map_forward, map_in_place};
pub use optim::{sgd, sgd_momentum};
pub use reduce::{COLUMN_PARTIALS, column_sum, combine_partials};
