//! The kernel instances that Warpsmith compiles itself. Another crate adds its own with `cuda_std::kernels!`.

use cuda_std::kernels;

use crate::activations::{with_catalogue, *};
use crate::kernels::{
    Normal, Transposed, bias_add, column_sum, map_backward, map_forward, map_in_place, matmul_naive, matmul_tiled, sgd,
    sgd_momentum, softmax_cross_entropy,
};
use crate::{bf16, f16};

macro_rules! instances {
    ($($activation:ident { $($field:ident),* })*) => {
        kernels! {
            map_forward<{$($activation),*}, f32>;
            map_in_place<{$($activation),*}, f32>;
            map_backward<{$($activation),*}, f32>;
            // The whole catalogue in all types would be four times as large and as long to build.
            map_forward<{Identity, Relu, LeakyRelu, Sigmoid, Tanh, GeluTanh, Silu}, {f64, f16, bf16}>;
            map_in_place<{Identity, Relu, LeakyRelu, Sigmoid, Tanh, GeluTanh, Silu}, {f64, f16, bf16}>;
            map_backward<{Identity, Relu, LeakyRelu, Sigmoid, Tanh, GeluTanh, Silu}, {f64, f16, bf16}>;
            bias_add<{f32, f64, f16, bf16}>;
            column_sum<{f32, f16, bf16}>;
            softmax_cross_entropy<{f32, f16, bf16}>;
            sgd<{f32, f64, f16, bf16}>;
            sgd_momentum<{f32, f64, f16, bf16}>;
            matmul_naive<{Normal, Transposed}, {Normal, Transposed}>;
            matmul_tiled<{Normal, Transposed}, {Normal, Transposed}>;
        }
    };
}
with_catalogue!(instances);
