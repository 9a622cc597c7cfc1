//! The device code: an epilogue, and the matrix products that end in it.
#![cfg_attr(target_os = "cuda", no_std)]

use cuda_std::prelude::*;
use warpsmith_gpu::Real;
use warpsmith_gpu::epilogue::{Axis, Epilogue, Finished, Operands};
use warpsmith_gpu::kernels::gemm_simt;

/// limit · tanh((sum + bias) / limit): logits that can't run away; Gemma Team, arXiv:2408.00118.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct SoftCap {
    /// The largest magnitude.
    pub limit: f32,
}

impl Epilogue for SoftCap {
    const BIAS: Axis = Axis::Rows;

    /// Called once for each element of the product, before it is stored.
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        (at.sum + at.bias).scale(1.0 / f64::from(self.limit)).tanh().scale(self.limit).into()
    }
}

kernels! {
    gemm_simt<SoftCap, f32, f32>;
}
