//! The kernel instances that Warpsmith compiles itself. Another crate adds its own with `cuda_std::kernels!`.

use cuda_std::kernels;

use crate::activations::{with_catalogue, *};
use crate::epilogue::{Activated, AddSource, Biased, Saved, Scaled, Sum, SumFactor, SumRows, TimesDerivative};
use crate::kernels::*;
use crate::{ClampedSwiglu, GegluErf, GegluTanh, Glu, Reglu, Swiglu, bf16, f16};

/// Calls a macro with `[catalogue] [epilogues of matrix products in f32] [.. in bf16] [.. in f16]`.
macro_rules! with_lists {
    ($($activation:ident { $($field:ident),* })*) => {
        instances! {
            [$($activation),*]
            // In other types, and other epilogues, by one line in the crate that wants them.
            [
                Sum, Scaled<Sum>, AddSource<Scaled<Sum>>, Biased<Sum>, SumFactor<Sum>,
                Activated<Sum, Relu>, Activated<Sum, LeakyRelu>, Activated<Sum, GeluErf>, Activated<Sum, GeluTanh>,
                Activated<Sum, Silu>, Activated<Sum, Sigmoid>, Activated<Sum, Tanh>, Activated<Sum, Mish>,
                Activated<Sum, Softplus>, Activated<Sum, SquaredRelu>,
                Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, LeakyRelu>, Activated<Biased<Sum>, GeluErf>,
                Activated<Biased<Sum>, GeluTanh>, Activated<Biased<Sum>, Silu>, Activated<Biased<Sum>, Sigmoid>,
                Activated<Biased<Sum>, Tanh>, Activated<Biased<Sum>, Mish>, Activated<Biased<Sum>, Softplus>,
                Activated<Biased<Sum>, SquaredRelu>,
                Activated<Saved<Biased<Sum>>, GeluErf>, SumRows<TimesDerivative<Sum, GeluErf>>
            ]
            [
                Sum, Biased<Sum>, AddSource<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, LeakyRelu>,
                Activated<Biased<Sum>, GeluErf>, Activated<Biased<Sum>, GeluTanh>, Activated<Biased<Sum>, Silu>,
                Activated<Biased<Sum>, Sigmoid>, Activated<Biased<Sum>, Tanh>, Activated<Biased<Sum>, Mish>,
                Activated<Biased<Sum>, Softplus>, Activated<Biased<Sum>, SquaredRelu>,
                Activated<Saved<Biased<Sum>>, Relu>, SumRows<TimesDerivative<Sum, Relu>>,
                Activated<Saved<Biased<Sum>>, GeluErf>, SumRows<TimesDerivative<Sum, GeluErf>>,
                Activated<Saved<Biased<Sum>>, GeluTanh>, SumRows<TimesDerivative<Sum, GeluTanh>>,
                Activated<Saved<Biased<Sum>>, Silu>, SumRows<TimesDerivative<Sum, Silu>>
            ]
            [Sum, Biased<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, GeluTanh>]
        }
    };
}

macro_rules! instances {
    ([$($activation:ident),*] [$($f32:tt)*] [$($bf16:tt)*] [$($f16:tt)*]) => {
        kernels! {
            map_forward<{$($activation),*}, {f32, bf16}>;
            map_in_place<{$($activation),*}, {f32, bf16}>;
            map_backward<{$($activation),*}, {f32, bf16}>;
            // The whole catalogue in all types and ways would be several times as large and as long to build.
            map_forward<{Identity, Relu, LeakyRelu, Sigmoid, Tanh, GeluTanh, Silu}, {f64, f16}>;
            map_forward<{GeluErf, Mish}, f16>;
            map_in_place<{Identity, Relu, LeakyRelu, Sigmoid, Tanh, GeluTanh, Silu}, {f64, f16}>;
            map_backward<{Identity, Relu, LeakyRelu, Sigmoid, Tanh, GeluTanh, Silu}, {f64, f16}>;
            map_backward<{GeluErf, Mish}, f16>;
            map_convert<{Identity, GeluErf, Silu}, bf16, f32>;
            map_convert<{Identity, GeluErf, Silu}, f32, bf16>;
            map_backward_convert<{Identity, GeluErf, Silu}, bf16, f32>;
            map_backward_from_output<{Relu, LeakyRelu, Sigmoid, Tanh, Elu, Softplus}, {f32, bf16}>;
            map_forward_fast<{Sigmoid, Tanh, Silu, Mish, GeluErf, GeluTanh, Softplus}>;
            map_backward_fast<{Sigmoid, Tanh, Silu, Mish, GeluErf, GeluTanh, Softplus}>;
            bias_activation_forward<{Relu, Silu, GeluErf, GeluTanh}, {f32, bf16}>;
            bias_activation_backward<{Relu, Silu, GeluErf, GeluTanh}, {f32, bf16}>;
            bias_activation_dropout_forward<{Relu, Silu, GeluErf, GeluTanh}, {f32, bf16}>;
            bias_activation_dropout_backward<{Relu, Silu, GeluErf, GeluTanh}, {f32, bf16}>;
            prelu_forward<{f32, bf16}>;
            prelu_backward<{f32, bf16}>;
            parameter_partials<{Prelu, Swish}, {f32, bf16}, {1}>;
            parameter_partials<Rational, {f32, bf16}, {10}>;
            parameter_sums;
            dropout<{f32, f64, f16, bf16}>;
            rrelu_forward<{f32, f16, bf16}>;
            rrelu_backward<{f32, f16, bf16}>;
            gated_forward<{Glu, Reglu, GegluErf, GegluTanh, Swiglu, ClampedSwiglu}, {f32, bf16}>;
            gated_backward<{Glu, Reglu, GegluErf, GegluTanh, Swiglu, ClampedSwiglu}, {f32, bf16}>;
            gated_halves_forward<{Glu, Reglu, GegluErf, GegluTanh, Swiglu, ClampedSwiglu}, {f32, bf16}>;
            gated_halves_backward<{Glu, Reglu, GegluErf, GegluTanh, Swiglu, ClampedSwiglu}, {f32, bf16}>;
            softmax_forward<{Softmax, LogSoftmax, Softmin, MaskedSoftmax}, {f32, f16, bf16}>;
            softmax_backward<{Softmax, LogSoftmax, Softmin, MaskedSoftmax}, {f32, f16, bf16}>;
            maxout_forward<{f32, bf16}, {2, 4}>;
            maxout2_backward<{f32, bf16}>;
            maxout4_backward<{f32, bf16}>;
            bias_add<{f32, f64, f16, bf16}>;
            column_sum<{f32, f16, bf16}>;
            softmax_cross_entropy<{f32, f16, bf16}>;
            sgd<{f32, f64, f16, bf16}>;
            sgd_momentum<{f32, f64, f16, bf16}>;
            gemm_sums<{f32, f64}>;
            gemm_simt<{$($f32)*}, f32, f32>;
            gemm_simt<{$($bf16)*}, bf16, bf16>;
            gemm_mma<{$($bf16)*}, bf16>;
            gemm_wgmma<{$($bf16)*}, bf16, {Tile128, Tile200}>;
            gemm_wgmma_split<{$($bf16)*}, bf16>;
            gemm_simt<{$($f16)*}, f16, f16>;
            gemm_mma<{$($f16)*}, f16>;
            gemm_wgmma<{$($f16)*}, f16, {Tile128, Tile200}>;
            gemm_wgmma_split<{$($f16)*}, f16>;
        }
    };
}
with_catalogue!(with_lists);
