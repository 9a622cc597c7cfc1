//! Kernels that only the tests need: echoes of every kind of parameter, activations defined outside `warpsmith-gpu`, and
//! kernels that misbehave on purpose.
#![cfg_attr(target_os = "cuda", no_std)]

pub mod activations;
pub mod asynchronous;
pub mod atomics;
pub mod blocks;
pub mod clusters;
pub mod echo;
pub mod epilogues;
pub mod faults;
pub mod planted;
pub mod rust_cuda;
pub mod tensor_cores;
pub mod warps;

use cuda_std::kernels;
use cuda_std::wgmma::{AcrossK, AlongK, Bf16, E4m3, E5m2, F16, Tf32};
use warpsmith_gpu::activations::{GeluErf, GeluTanh, Relu, Silu, Tanh};
use warpsmith_gpu::epilogue::{
    Activated, AddSource, Biased, ColumnBiased, Dropout, Gated, Masked, Saved, SavedMask, Sum, SumFactor, SumRows,
    TimesDerivative,
};
use warpsmith_gpu::kernels::{
    Tile128, Tile200, gemm_mma, gemm_simt, gemm_wgmma, gemm_wgmma_split, map_backward, map_forward,
};
use warpsmith_gpu::{Then, bf16, f16};

use crate::activations::{Learned, Snake};
use crate::asynchronous::{
    box_additions, box_copies, copied, copied_to_mbarrier, hinted_box_copies, named_barriers, pass_on, swapped_runs,
    tile_sums,
};
use crate::atomics::{arithmetic, bitwise, handed_on, histogram, last_block_sum, orderings};
use crate::blocks::{barriers, block_operations, carved};
use crate::clusters::{
    cluster_atomics, cluster_exchange, cluster_indices, leave_after_arrival, multicast, neighbour_sums,
};
use crate::echo::{
    Aligned, Nested, Padded, echo_after_odd, echo_array, echo_many, echo_nothing, echo_slice, echo_value,
};
use crate::epilogues::SoftCap;
use crate::faults::{
    asserts, asserts_plainly, clocks, dynamic_shared, empty, incremented, out_of_bounds, panics, prints, traps,
};
use crate::rust_cuda::{gemm_naive, vecadd};
use crate::tensor_cores::{Columns8, Columns64, Columns200, Columns256, matrices, warp_product, warpgroup_product};
use crate::warps::{matched, reductions, scans, segments, shuffles, votes, warp_barriers};

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
    asserts;
    asserts_plainly;
    panics;
    prints;
    clocks;
    dynamic_shared;
    incremented<{true, false}>;
    vecadd;
    gemm_naive;
    shuffles<{u32, i32, f32, u64, i64, f64, u8, i8, u16, i16, f16, bf16, u128, i128}>;
    shuffles<{[f32; 4], [u16; 3]}>;
    matched<{u8, bf16, f32, u64, u128}>;
    segments<{u32, i32, u64, i64}, {6}>;
    segments<{f32, f64}, {3}>;
    votes;
    reductions<{u32, i32}, {6}>;
    reductions<{u64, i64}, {6}>;
    reductions<{f32, f64}, {3}>;
    scans<{u32, f32}>;
    warp_barriers;
    barriers;
    block_operations<{u32, i32, u64, i64, f32, f64}>;
    carved;
    arithmetic<{i32, u32, i64, u64, f32, f64, f16, bf16}>;
    bitwise<{i32, u32, i64, u64}>;
    last_block_sum;
    matrices;
    warp_product<{F16, Bf16, Tf32, E4m3, E5m2}>;
    warpgroup_product<Bf16, AlongK, AlongK, {Columns8, Columns256}>;
    warpgroup_product<Bf16, AlongK, AcrossK, Columns200>;
    warpgroup_product<Bf16, AcrossK, AlongK, Columns200>;
    warpgroup_product<F16, AlongK, AlongK, Columns64>;
    warpgroup_product<F16, AcrossK, AcrossK, Columns64>;
    warpgroup_product<{Tf32, E4m3, E5m2}, AlongK, AlongK, Columns64>;
    pass_on;
    copied<{4, 8, 16}>;
    copied_to_mbarrier;
    named_barriers;
    box_copies<f32, {1, 2, 3, 4, 5}>;
    box_copies<bf16, {2}>;
    box_additions<{u32, f32, f16, bf16}>;
    hinted_box_copies<{true, false}>;
    swapped_runs;
    tile_sums;
    cluster_indices;
    cluster_exchange;
    leave_after_arrival;
    cluster_atomics<{i32, u32, i64, u64, f32, f64, f16, bf16}>;
    multicast;
    neighbour_sums;
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
    gemm_mma<Activated<Saved<Biased<Sum>>, GeluErf>, {f16, bf16}>;
    gemm_wgmma<Activated<Saved<Biased<Sum>>, GeluErf>, {f16, bf16}, {Tile128, Tile200}>;
    gemm_wgmma_split<Activated<Saved<Biased<Sum>>, GeluErf>, {f16, bf16}>;
    gemm_simt<{Gated<Biased<Sum>, Silu>, Activated<SavedMask<Sum>, Relu>, ColumnBiased<Sum>}, bf16, bf16>;
    gemm_mma<{Gated<Biased<Sum>, Silu>, Activated<SavedMask<Sum>, Relu>, ColumnBiased<Sum>}, bf16>;
    gemm_wgmma<{Gated<Biased<Sum>, Silu>, Activated<SavedMask<Sum>, Relu>, ColumnBiased<Sum>}, bf16, {Tile128, Tile200}>;
    gemm_wgmma_split<{Gated<Biased<Sum>, Silu>, Activated<SavedMask<Sum>, Relu>, ColumnBiased<Sum>}, bf16>;
    histogram;
    orderings;
    handed_on<{true, false}>;
}
