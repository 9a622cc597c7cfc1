//! The kernel instances that Warpsmith compiles itself. Another crate adds its own with `cuda_std::kernels!`.

use cuda_std::kernels;

use crate::activations::{with_catalogue, *};
use crate::epilogue::{Activated, AddSource, Biased, Saved, Scaled, Sum, SumFactor, SumRows, TimesDerivative};
use crate::kernels::{
    Tile128, Tile200, bias_add, column_sum, gemm_mma, gemm_simt, gemm_sums, gemm_wgmma, map_backward, map_forward,
    map_in_place, sgd, sgd_momentum, softmax_cross_entropy,
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
            gemm_sums<{f32, f64}>;
            gemm_simt<{Sum, Scaled<Sum>, AddSource<Scaled<Sum>>, Biased<Sum>, SumFactor<Sum>}, f32, f32>;
            // These in f32; in other types, and other epilogues, by one line in the crate that wants them.
            gemm_simt<{
                Activated<Sum, Relu>, Activated<Sum, LeakyRelu>, Activated<Sum, GeluErf>, Activated<Sum, GeluTanh>,
                Activated<Sum, Silu>, Activated<Sum, Sigmoid>, Activated<Sum, Tanh>, Activated<Sum, Mish>,
                Activated<Sum, Softplus>, Activated<Sum, SquaredRelu>
            }, f32, f32>;
            gemm_simt<{
                Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, LeakyRelu>, Activated<Biased<Sum>, GeluErf>,
                Activated<Biased<Sum>, GeluTanh>, Activated<Biased<Sum>, Silu>, Activated<Biased<Sum>, Sigmoid>,
                Activated<Biased<Sum>, Tanh>, Activated<Biased<Sum>, Mish>, Activated<Biased<Sum>, Softplus>,
                Activated<Biased<Sum>, SquaredRelu>
            }, f32, f32>;
            gemm_simt<{Activated<Saved<Biased<Sum>>, GeluErf>, SumRows<TimesDerivative<Sum, GeluErf>>}, f32, f32>;
            // By tensor cores.
            gemm_simt<{
                Sum, Biased<Sum>, AddSource<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, LeakyRelu>,
                Activated<Biased<Sum>, GeluErf>, Activated<Biased<Sum>, GeluTanh>, Activated<Biased<Sum>, Silu>,
                Activated<Biased<Sum>, Sigmoid>, Activated<Biased<Sum>, Tanh>, Activated<Biased<Sum>, Mish>,
                Activated<Biased<Sum>, Softplus>, Activated<Biased<Sum>, SquaredRelu>,
                Activated<Saved<Biased<Sum>>, Relu>, SumRows<TimesDerivative<Sum, Relu>>,
                Activated<Saved<Biased<Sum>>, GeluErf>, SumRows<TimesDerivative<Sum, GeluErf>>,
                Activated<Saved<Biased<Sum>>, GeluTanh>, SumRows<TimesDerivative<Sum, GeluTanh>>,
                Activated<Saved<Biased<Sum>>, Silu>, SumRows<TimesDerivative<Sum, Silu>>
            }, bf16, bf16>;
            gemm_mma<{
                Sum, Biased<Sum>, AddSource<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, LeakyRelu>,
                Activated<Biased<Sum>, GeluErf>, Activated<Biased<Sum>, GeluTanh>, Activated<Biased<Sum>, Silu>,
                Activated<Biased<Sum>, Sigmoid>, Activated<Biased<Sum>, Tanh>, Activated<Biased<Sum>, Mish>,
                Activated<Biased<Sum>, Softplus>, Activated<Biased<Sum>, SquaredRelu>,
                Activated<Saved<Biased<Sum>>, Relu>, SumRows<TimesDerivative<Sum, Relu>>,
                Activated<Saved<Biased<Sum>>, GeluErf>, SumRows<TimesDerivative<Sum, GeluErf>>,
                Activated<Saved<Biased<Sum>>, GeluTanh>, SumRows<TimesDerivative<Sum, GeluTanh>>,
                Activated<Saved<Biased<Sum>>, Silu>, SumRows<TimesDerivative<Sum, Silu>>
            }, bf16>;
            gemm_wgmma<{
                Sum, Biased<Sum>, AddSource<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, LeakyRelu>,
                Activated<Biased<Sum>, GeluErf>, Activated<Biased<Sum>, GeluTanh>, Activated<Biased<Sum>, Silu>,
                Activated<Biased<Sum>, Sigmoid>, Activated<Biased<Sum>, Tanh>, Activated<Biased<Sum>, Mish>,
                Activated<Biased<Sum>, Softplus>, Activated<Biased<Sum>, SquaredRelu>,
                Activated<Saved<Biased<Sum>>, Relu>, SumRows<TimesDerivative<Sum, Relu>>,
                Activated<Saved<Biased<Sum>>, GeluErf>, SumRows<TimesDerivative<Sum, GeluErf>>,
                Activated<Saved<Biased<Sum>>, GeluTanh>, SumRows<TimesDerivative<Sum, GeluTanh>>,
                Activated<Saved<Biased<Sum>>, Silu>, SumRows<TimesDerivative<Sum, Silu>>
            }, bf16, {Tile128, Tile200}>;
            gemm_simt<{Sum, Biased<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, GeluTanh>}, f16, f16>;
            gemm_mma<{Sum, Biased<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, GeluTanh>}, f16>;
            gemm_wgmma<{
                Sum, Biased<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, GeluTanh>
            }, f16, {Tile128, Tile200}>;
        }
    };
}
with_catalogue!(instances);
