//! Kernels that only the tests need: echoes of every kind of parameter, activations defined outside `warpsmith-gpu`, and
//! kernels that misbehave on purpose.
#![cfg_attr(target_os = "cuda", no_std)]

pub mod activations;
pub mod atomics;
pub mod blocks;
pub mod echo;
pub mod faults;
pub mod rust_cuda;
pub mod warps;

use cuda_std::kernels;
use warpsmith_gpu::activations::{GeluTanh, Tanh};
use warpsmith_gpu::kernels::{map_backward, map_forward};
use warpsmith_gpu::{Then, bf16, f16};

use crate::activations::{Learned, Snake};
use crate::atomics::{arithmetic, bitwise, handed_on, histogram, last_block_sum, orderings};
use crate::blocks::{barriers, block_operations, carved};
use crate::echo::{
    Aligned, Nested, Padded, echo_after_odd, echo_array, echo_many, echo_nothing, echo_slice, echo_value,
};
use crate::faults::{asserts, asserts_plainly, clocks, dynamic_shared, empty, out_of_bounds, panics, prints, traps};
use crate::rust_cuda::{gemm_naive, vecadd};
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
    histogram;
    orderings;
    handed_on<{true, false}>;
}
