//! The kernels that can compute a product, and what a library must hold of them. A new kernel is added here and in
//! [`heuristics`](super::heuristics), and nowhere else.

use cuda_std::Has;
use warpsmith_gpu::epilogue::{Epilogue, Sums};
use warpsmith_gpu::kernels::{GemmShape, Simt, gemm_simt, gemm_simt_blocks, gemm_simt_parts};
use warpsmith_gpu::{Element, bf16, f16};

use super::heuristics;
use super::native::NativeSum;
use super::problem::Views;
use crate::ops::Ops;
use crate::{Result, Runtime, Shape, Stream, TypedKernel, ViewMut};

/// An element type of factors, with its arithmetic on each device.
pub trait GemmElement: Element<Compute: Simt + NativeSum> {}

impl<T: Element<Compute: Simt + NativeSum>> GemmElement for T {}

/// Which kernel computes a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gemm {
    /// [`gemm_simt`](gemm_simt()): f32 and f64 arithmetic without tensor cores.
    Simt,
}

impl Gemm {
    /// The kernel for this product.
    pub(super) fn choose(runtime: &Runtime, shape: &GemmShape) -> Self {
        heuristics::choose(runtime, shape)
    }

    /// How many partial sums it makes of each sum.
    pub(super) fn parts<T: GemmElement>(self, shape: &GemmShape, sums: Sums) -> usize {
        match self {
            Self::Simt => gemm_simt_parts::<T::Compute>(shape, sums),
        }
    }
}

/// A library that holds the kernels for the epilogue `E` with factors of `T` and a result of `O`.
///
/// It does once it has the instances for these types:
///
/// | factors | instances |
/// | --- | --- |
/// | `f32`, `f64`, `f16`, `bf16` | `gemm_simt<E, T, O>` |
///
/// Your own epilogue is one line in your crate, `kernels! { gemm_simt<SoftCap, f32, f32>; }`.
#[diagnostic::on_unimplemented(
    message = "the kernels for a matrix product with the epilogue `{E}` ({T} to {O}) are not compiled into `{Self}`",
    note = "add `gemm_simt<{E}, {T}, {O}>;` to the `kernels! {{ ... }}` of your own kernel crate and use its `Ops`"
)]
pub trait HasGemm<E: Epilogue, T: GemmElement, O: Element<Compute = T::Compute>>: cuda_std::Library + Sized {
    /// The kernels, ready to launch.
    #[doc(hidden)]
    fn gemm_kernels(ops: &Ops<Self>) -> Result<GemmKernels<E, T, O>>;
}

macro_rules! libraries {
    ($($element:ident to $out:ident: $($kernel:ident)*;)*) => {$(
        impl<L, E: Epilogue> HasGemm<E, $element, $out> for L
        where
            L: cuda_std::Library,
            $(L: Has<$kernel<E, $element, $out>>,)*
        {
            fn gemm_kernels(ops: &Ops<Self>) -> Result<GemmKernels<E, $element, $out>> {
                Ok(GemmKernels { simt: ops.kernel()? })
            }
        }
    )*};
}

libraries! {
    f32 to f32: gemm_simt;
    f64 to f64: gemm_simt;
    f16 to f16: gemm_simt;
    f16 to f32: gemm_simt;
    bf16 to bf16: gemm_simt;
    bf16 to f32: gemm_simt;
}

/// The kernels of one epilogue.
#[doc(hidden)]
pub struct GemmKernels<E: Epilogue, T: GemmElement, O: Element<Compute = T::Compute>> {
    simt: TypedKernel<gemm_simt<E, T, O>>,
}

impl<E: Epilogue, T: GemmElement, O: Element<Compute = T::Compute>> GemmKernels<E, T, O> {
    /// Launches one of them.
    pub(super) fn launch(
        &self,
        stream: &Stream,
        choice: Gemm,
        (shape, epilogue): (GemmShape, E),
        views: Views<'_, T, O>,
        partials: ViewMut<'_, T::Compute>,
    ) -> Result<()> {
        let Views { a, b, bias, source, aux_in, mask_in, aux_out, mask_out, out } = views;
        let arguments = (shape, epilogue, a, b, bias, source, aux_in, mask_in, aux_out, mask_out, out, partials);
        match choice {
            Gemm::Simt => {
                let (tiles, sums) = gemm_simt_blocks::<T::Compute>(&shape, E::SUMS);
                let grid = Shape::for_extents([tiles + sums, 1, 1], [1, 1, 1])?;
                let launch = Shape { block: [256, 1, 1], ..grid }.with_shared_bytes(T::Compute::SHARED_BYTES);
                self.simt.launch(stream, launch, arguments)
            }
        }
    }
}
