//! The kernels that can compute a product, and what a library must hold of them. A new kernel is added here and in
//! [`heuristics`](super::heuristics), and nowhere else.

use cuda_std::Has;
use warpsmith_gpu::epilogue::{Epilogue, Sums};
use warpsmith_gpu::kernels::{
    GemmShape, Simt, Tile128, Tile200, gemm_mma, gemm_mma_parts, gemm_simt, gemm_simt_blocks, gemm_simt_parts,
    gemm_wgmma, gemm_wgmma_split,
};
use warpsmith_gpu::{Element, bf16, f16};

use super::heuristics;
use super::native::NativeSum;
use super::problem::Views;
use super::tensor_cores::{NOTHING, TensorCores, TensorKernels, Wgmma, has_wgmma, split_parts, wgmma_parts};
use crate::ops::Ops;
use crate::{Error, Result, Runtime, Shape, Stream, TypedKernel, ViewMut};

/// An element type of factors, with its arithmetic on each device.
pub trait GemmElement: Element<Compute: Simt + NativeSum> {}

impl<T: Element<Compute: Simt + NativeSum>> GemmElement for T {}

/// Which kernel computes a product.
///
/// ```
/// use warpsmith::ops::{Gemm, Ops};
/// use warpsmith::{Matrix, Runtime};
///
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = Runtime::simulator();
/// let ops = Ops::new(&runtime);
/// let (a, b) = (Matrix::<f32>::zeros(&runtime, 2, 3)?, Matrix::zeros(&runtime, 3, 4)?);
/// let mut y = Matrix::<f32>::zeros(&runtime, 2, 4)?;
/// let mut plan = ops.linear(&a, &b).plan(&mut y)?;
/// plan.run(ops.linear(&a, &b), &mut y)?;
/// assert_eq!(plan.kernel(), Some(Gemm::Simt)); // f32 has no other
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gemm {
    /// [`gemm_simt`](gemm_simt()): any type, shape, layout and alignment, without tensor cores.
    Simt,
    /// [`gemm_mma`](gemm_mma()): 16-bit factors and results, from compute capability 8.0 on.
    Mma,
    /// [`gemm_wgmma`](gemm_wgmma()) with tiles of 256 x 128: 16-bit factors and results, compute capability 9.0.
    Wgmma128,
    /// The same with tiles of 256 x 200.
    Wgmma200,
    /// [`gemm_wgmma_split`](gemm_wgmma_split()): the same for results that make few tiles, 128 x 128 with k in two parts.
    WgmmaSplit,
}

impl Gemm {
    /// All.
    pub const ALL: [Self; 5] = [Self::Simt, Self::Mma, Self::Wgmma128, Self::Wgmma200, Self::WgmmaSplit];

    /// How many partial sums it makes of each sum.
    pub(super) fn parts<T: GemmElement>(self, shape: &GemmShape, sums: Sums) -> usize {
        match self {
            Self::Simt => gemm_simt_parts::<T::Compute>(shape, sums),
            Self::Mma => gemm_mma_parts(shape, sums),
            Self::Wgmma128 => wgmma_parts::<Tile128>(shape, sums),
            Self::Wgmma200 => wgmma_parts::<Tile200>(shape, sums),
            Self::WgmmaSplit => split_parts(shape, sums),
        }
    }
}

/// A library that holds the kernels for the epilogue `E` with factors of `T` and a result of `O`.
///
/// It does once it has the instances for these types:
///
/// | factors | instances |
/// | --- | --- |
/// | `f32`, `f64`, and 16-bit ones with an `f32` result | `gemm_simt<E, T, O>` |
/// | `f16`, `bf16` with a result of the same type | `gemm_simt<E, T, T>`, `gemm_mma<E, T>`, `gemm_wgmma<E, T, {Tile128, Tile200}>`, `gemm_wgmma_split<E, T>` |
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
    ($($element:ident to $out:ident;)*) => {$(
        impl<L, E: Epilogue> HasGemm<E, $element, $out> for L
        where
            L: cuda_std::Library + Has<gemm_simt<E, $element, $out>>,
        {
            fn gemm_kernels(ops: &Ops<Self>) -> Result<GemmKernels<E, $element, $out>> {
                Ok(GemmKernels { simt: ops.kernel()?, tensor_cores: None })
            }
        }
    )*};
}

libraries! {
    f32 to f32;
    f64 to f64;
    f16 to f32;
    bf16 to f32;
}

macro_rules! libraries_with_tensor_cores {
    ($($element:ident)*) => {$(
        impl<L, E: Epilogue> HasGemm<E, $element, $element> for L
        where
            L: cuda_std::Library
                + Has<gemm_simt<E, $element, $element>>
                + Has<gemm_mma<E, $element>>
                + Has<gemm_wgmma<E, $element, Tile128>>
                + Has<gemm_wgmma<E, $element, Tile200>>
                + Has<gemm_wgmma_split<E, $element>>,
        {
            fn gemm_kernels(ops: &Ops<Self>) -> Result<GemmKernels<E, $element, $element>> {
                let runtime = ops.runtime();
                let wgmma = match has_wgmma(runtime) {
                    true => Some(Wgmma {
                        columns_128: ops.kernel()?,
                        columns_200: ops.kernel()?,
                        split: ops.kernel()?,
                        nothing: [runtime.zeros(NOTHING)?, runtime.zeros(NOTHING)?, runtime.zeros(NOTHING)?],
                    }),
                    false => None,
                };
                let tensor_cores = TensorCores { mma: ops.kernel()?, wgmma };
                Ok(GemmKernels { simt: ops.kernel()?, tensor_cores: Some(Box::new(tensor_cores)) })
            }
        }
    )*};
}

libraries_with_tensor_cores! { f16 bf16 }

/// The kernels of one epilogue.
#[doc(hidden)]
pub struct GemmKernels<E: Epilogue, T: GemmElement, O: Element<Compute = T::Compute>> {
    simt: TypedKernel<gemm_simt<E, T, O>>,
    tensor_cores: Option<Box<dyn TensorKernels<E, T, O>>>,
}

impl<E: Epilogue, T: GemmElement, O: Element<Compute = T::Compute>> GemmKernels<E, T, O> {
    /// Whether a kernel can compute a product.
    fn supports(&self, kernel: Gemm, shape: &GemmShape, views: &Views<'_, T, O>) -> bool {
        match &self.tensor_cores {
            Some(tensor_cores) => tensor_cores.supports(kernel, shape, views),
            None => kernel == Gemm::Simt,
        }
    }

    /// The kernel for a product: the one that is asked for, or the fastest that can compute it.
    pub(super) fn choose(
        &self,
        runtime: &Runtime,
        shape: &GemmShape,
        views: &Views<'_, T, O>,
        wanted: Option<Gemm>,
    ) -> Result<Gemm> {
        match wanted {
            None => Ok(heuristics::choose(runtime, shape, |kernel| self.supports(kernel, shape, views))),
            Some(kernel) if self.supports(kernel, shape, views) => Ok(kernel),
            Some(kernel) => Err(Error::MatrixLayout {
                operation: "linear",
                matrix: "the product",
                found: format!(
                    "of {} by {} by {} {}, with this epilogue, layout and alignment,",
                    shape.m,
                    shape.n,
                    shape.k,
                    T::NAME
                ),
                rule: UNSUPPORTED[kernel as usize],
            }),
        }
    }

    /// The most partial sums that a kernel makes of each sum.
    pub(super) fn most_parts(&self, shape: &GemmShape, sums: Sums) -> usize {
        let kernels = if self.tensor_cores.is_some() { &Gemm::ALL[..] } else { &Gemm::ALL[..1] };
        kernels.iter().map(|kernel| kernel.parts::<T>(shape, sums)).max().unwrap_or(0)
    }

    /// Launches one of them, which must support it.
    pub(super) fn launch(
        &mut self,
        stream: &Stream,
        choice: Gemm,
        (shape, epilogue): (GemmShape, E),
        views: Views<'_, T, O>,
        partials: ViewMut<'_, T::Compute>,
    ) -> Result<()> {
        if let (true, Some(tensor_cores)) = (choice != Gemm::Simt, &mut self.tensor_cores) {
            return tensor_cores.launch(stream, choice, (shape, epilogue), views, partials);
        }
        let Views { a, b, bias, source, aux_in, mask_in, aux_out, mask_out, out } = views;
        let arguments = (shape, epilogue, a, b, bias, source, aux_in, mask_in, aux_out, mask_out, out, partials);
        let (tiles, sums) = gemm_simt_blocks::<T::Compute>(&shape, E::SUMS);
        let grid = Shape::for_extents([tiles + sums, 1, 1], [1, 1, 1])?;
        let launch = Shape { block: [256, 1, 1], ..grid }.with_shared_bytes(T::Compute::SHARED_BYTES);
        self.simt.launch(stream, launch, arguments)
    }
}

/// Why a kernel that was asked for can't be had, by [`Gemm`].
const UNSUPPORTED: [&str; 5] = [
    "",
    "gemm_mma needs 16-bit factors and results, factors at multiples of 16 bytes with leading dimensions that are multiples of 8, \
     and no sums of a factor",
    "gemm_wgmma needs compute capability 9.0, 16-bit matrices at multiples of 16 bytes, leading dimensions and features that are multiples of 8, \
     an epilogue with at most one matrix read or kept, and factors in the layouts that the epilogue is for",
    "gemm_wgmma needs compute capability 9.0, 16-bit matrices at multiples of 16 bytes, leading dimensions and features that are multiples of 8, \
     an epilogue with at most one matrix read or kept, and factors in the layouts that the epilogue is for; with 200 columns, k contiguous in the \
     right one",
    "gemm_wgmma_split needs compute capability 9.0, 16-bit factors at multiples of 16 bytes with leading dimensions that are multiples of 8, \
     in the layouts that the epilogue is for, and an epilogue with at most one matrix read or kept (and then a result like that of gemm_wgmma)",
];
