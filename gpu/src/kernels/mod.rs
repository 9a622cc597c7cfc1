//! Kernels, one family a file.

mod bias;
mod fused;
mod gated;
mod loss;
mod map;
mod matmul;
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
pub use loss::{cross_entropy, softmax_cross_entropy};
pub use map::{
    map_backward, map_backward_fast, map_backward_from_output, map_convert, map_forward, map_forward_fast, map_in_place,
};
pub use matmul::{MatmulShape, Normal, Orientation, TILE, Transposed, matmul_naive, matmul_tiled};
pub use maxout::{Largest, LargestBackward, maxout_forward, maxout2_backward, maxout4_backward};
pub use optim::{sgd, sgd_momentum};
pub use parameters::{SUM_BLOCK, SUM_BLOCKS, contribution, parameter_partials, parameter_sums, sum_pairwise};
pub use random::{
    bias_activation_dropout_backward, bias_activation_dropout_forward, dropout, rrelu_backward, rrelu_forward,
};
pub use reduce::{COLUMN_PARTIALS, column_sum, combine_partials};
pub use softmax::{
    LogSoftmax, MaskedSoftmax, Normalizer, SOFTMAX_BLOCK, Softmax, Softmin, backward_element, backward_term, larger,
    normalized, partial_sums, shifted_exp, softmax_backward, softmax_forward,
};
