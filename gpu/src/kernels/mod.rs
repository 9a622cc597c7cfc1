//! Kernels, one family a file.

mod bias;
mod fused;
mod gated;
mod gemm;
mod loss;
mod map;
mod maxout;
mod optim;
mod parameters;
mod random;
mod reduce;
mod softmax;

pub use bias::bias_add;
pub use fused::{
    BiasedBackward, BiasedForward, ChannelPrelu, ChannelPreluBackward, bias_activation_backward,
    bias_activation_forward, prelu_backward, prelu_forward,
};
pub use gated::{
    GatedBackward, GatedForward, gated_backward, gated_forward, gated_halves_backward, gated_halves_forward,
};
pub use gemm::{
    AlongK, AlongLines, GEMM_MMA_BLOCK, GEMM_MMA_SHARED_BYTES, GEMM_MMA_TILE, GemmShape, Output, PlainResult, RUN,
    SPLIT, SPLIT_CHUNK, SPLIT_COLUMNS, SPLIT_ROWS, SPLIT_THREADS, Simt, Strides, TensorCore, Tile, Tile128, Tile200,
    WGMMA_DEPTH, WGMMA_ROWS, WGMMA_THREADS, WgmmaLayout, WgmmaShape, gemm_mma, gemm_mma_blocks, gemm_mma_parts,
    gemm_naive, gemm_simt, gemm_simt_blocks, gemm_simt_parts, gemm_sums, gemm_wgmma, gemm_wgmma_split, mma_supports,
    split_shared_bytes, wgmma_shared_bytes, wgmma_supports,
};
pub use loss::{cross_entropy, softmax_cross_entropy};
pub use map::{
    map_backward, map_backward_convert, map_backward_fast, map_backward_from_output, map_convert, map_forward,
    map_forward_fast, map_in_place,
};
pub use maxout::{Largest, LargestBackward, maxout_forward, maxout2_backward, maxout4_backward};
pub use optim::{sgd, sgd_momentum};
pub use parameters::{SUM_BLOCK, SUM_BLOCKS, contribution, parameter_partials, parameter_sums, sum_pairwise};
pub use random::{
    bias_activation_dropout_backward, bias_activation_dropout_forward, dropout, rrelu_backward, rrelu_forward,
};
pub use reduce::{COLUMN_PARTIALS, column_sum, combine_partials};
pub use softmax::{
    LogSoftmax, MaskedSoftmax, Normalizer, SOFTMAX_BLOCK, Softmax, Softmin, backward_element, backward_term,
    denominator, larger, normalized, partial_sums, softmax_backward, softmax_forward, summands,
};
