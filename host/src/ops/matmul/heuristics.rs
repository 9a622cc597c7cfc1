//! Which kernel computes a product, and with which tile: decided from types, device, shape and alignment alone.

use warpsmith_gpu::kernels::GemmShape;

use super::Gemm;
use crate::Runtime;

/// The kernel for a product on this device.
///
/// There is one so far: it takes every type, shape, layout and alignment.
pub(super) fn choose(runtime: &Runtime, shape: &GemmShape) -> Gemm {
    let _ = (runtime, shape);
    Gemm::Simt
}
