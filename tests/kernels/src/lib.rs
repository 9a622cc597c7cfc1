//! Kernels that only the tests need: echoes of every kind of parameter, activations defined outside `warpsmith-gpu`, and
//! kernels that misbehave on purpose.
#![cfg_attr(target_os = "cuda", no_std)]

pub mod activations;
pub mod atomics;
pub mod blocks;
pub mod echo;
pub mod epilogues;
pub mod faults;
pub mod rust_cuda;
pub mod warps;

use cuda_std::kernels;
use warpsmith_gpu::activations::{GeluErf, GeluTanh, Relu, Silu, Tanh};
use warpsmith_gpu::epilogue::{
    Activated, AddSource, Biased, Dropout, Gated, Masked, Saved, SavedMask, Sum, SumFactor, SumRows, TimesDerivative,
};
use warpsmith_gpu::kernels::{gemm_simt, map_backward, map_forward};
use warpsmith_gpu::{Then, bf16, f16};

use crate::activations::{Learned, Snake};
use crate::atomics::{arithmetic, bitwise, last_block_sum};
use crate::blocks::{barriers, block_operations, carved};
use crate::echo::{
    Aligned, Nested, Padded, echo_after_odd, echo_array, echo_many, echo_nothing, echo_slice, echo_value,
};
use crate::epilogues::SoftCap;
use crate::faults::{dynamic_shared, empty, out_of_bounds, traps};
use crate::rust_cuda::{gemm_naive, vecadd};
use crate::warps::{reductions, scans, shuffles, votes, warp_barriers};

kernels! {
    /// The instances of the tests' kernels.
    pub struct TestKernels;
    map_forward<{Snake, Learned, Then<GeluTanh, Tanh>}, {f32, bf16}>;
    map_backward<{Snake, Learned, Then<GeluTanh, Tanh>}, {f32, bf16}>;
    echo_value<{u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, f16, bf16, bool, Padded, Aligned, Nested}>;
    echo_after_odd<{u8, u16, u32, u64, f64, Padded, Aligned, Nested}>;
    echo_array<{1, 3, 16}>;
    echo_slice<{u8, f32, Aligned}>;
    echo_nothing;
    echo_many;
    empty;
    traps;
    out_of_bounds;
    dynamic_shared;
    vecadd;
    gemm_naive;
    shuffles<{u32, i32, f32, u64, i64, f64}>;
    votes;
    reductions<{u32, i32}, {6}>;
    reductions<f32, {3}>;
    scans<{u32, f32}>;
    warp_barriers;
    barriers;
    block_operations<{u32, f32}>;
    carved;
    arithmetic<{i32, u32, i64, u64, f32, f64}>;
    bitwise<{i32, u32, i64, u64}>;
    last_block_sum;
    gemm_simt<SoftCap, f32, f32>;
    gemm_simt<{Sum, Activated<Sum, Relu>, Activated<Sum, GeluTanh>}, f32, f32>;
    gemm_simt<{
        Biased<Sum>, Activated<Biased<Sum>, Relu>, Activated<Biased<Sum>, GeluTanh>, Activated<Biased<Sum>, Silu>
    }, f32, f32>;
    gemm_simt<{Activated<SavedMask<Sum>, Relu>, Activated<SavedMask<Biased<Sum>>, Relu>}, f32, f32>;
    gemm_simt<{Activated<Saved<Sum>, GeluTanh>, Activated<Saved<Biased<Sum>>, GeluTanh>}, f32, f32>;
    gemm_simt<{Masked<Sum>, SumRows<Masked<Sum>>}, f32, f32>;
    gemm_simt<{TimesDerivative<Sum, GeluTanh>, SumRows<TimesDerivative<Sum, GeluTanh>>}, f32, f32>;
    gemm_simt<SumFactor<Sum>, f32, f32>;
    gemm_simt<AddSource<Activated<Biased<Sum>, GeluErf>>, f32, f32>;
    gemm_simt<{Dropout<Activated<Biased<Sum>, Silu>>, Gated<Biased<Sum>, Silu>}, f32, f32>;
    gemm_simt<{Sum, SumFactor<Sum>, Activated<Saved<Biased<Sum>>, Tanh>, SumRows<TimesDerivative<Sum, Tanh>>}, f64, f64>;
    gemm_simt<Activated<Saved<Biased<Sum>>, GeluErf>, f16, f16>;
    gemm_simt<Activated<Saved<Biased<Sum>>, GeluErf>, bf16, bf16>;
}
