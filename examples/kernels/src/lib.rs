//! Device code of the examples, a file for each family.
#![cfg_attr(target_os = "cuda", no_std)]

pub mod closure;
pub mod epilogue;
pub mod matmul;
pub mod relu;

use cuda_std::kernels;
use warpsmith_gpu::kernels::gemm_simt;

use closure::{Interpolate, Threshold, zip_with};
use epilogue::CausalScores;
use matmul::{matmul_naive, matmul_tensor_cores, matmul_tiled};
use relu::{relu_1d, relu_1d_by_hand, relu_2d_by_hand};

kernels! {
    /// The instances of the examples' kernels.
    pub struct ExampleKernels;
    relu_1d;
    relu_1d_by_hand;
    relu_2d_by_hand;
    matmul_naive;
    matmul_tiled;
    matmul_tensor_cores;
    gemm_simt<CausalScores, f32, f32>;
    zip_with<{Interpolate, Threshold}>;
}
