//! Launching the kernels for tensor cores: what each needs of a product, and the tensor maps of the fastest.

use cust_core::DeviceCopy;
use warpsmith_gpu::epilogue::{Aux, Epilogue, Layouts, Sums};
use warpsmith_gpu::kernels::{
    AlongK, AlongLines, GEMM_MMA_BLOCK, GEMM_MMA_SHARED_BYTES, GemmShape, PlainResult, SPLIT, SPLIT_CHUNK,
    SPLIT_COLUMNS, SPLIT_ROWS, SPLIT_THREADS, Strides, TensorCore, Tile, Tile128, Tile200, WGMMA_DEPTH, WGMMA_ROWS,
    WGMMA_THREADS, WgmmaShape, gemm_mma, gemm_mma_blocks, gemm_wgmma, gemm_wgmma_split, mma_supports,
    split_shared_bytes, wgmma_shared_bytes, wgmma_supports,
};

use super::dispatch::{Gemm, GemmElement};
use super::problem::Views;
use crate::{
    Buffer, Result, Runtime, Shape, Stream, Swizzle, TensorMap, TensorMapMut, Tiling, TypedKernel, View, ViewMut,
};

/// Elements that TMA and `cp.async` move at least: 16 bytes.
const RUN: usize = 8;

/// The kernels for tensor cores of one epilogue. Behind a trait, because only some element types have them.
pub(super) trait TensorKernels<E, T: GemmElement, O: DeviceCopy>: Send + Sync {
    /// Whether a kernel can compute a product of these operands.
    fn supports(&self, kernel: Gemm, shape: &GemmShape, views: &Views<'_, T, O>) -> bool;

    /// Launches one of them, which must support it.
    fn launch(
        &mut self,
        stream: &Stream,
        kernel: Gemm,
        problem: (GemmShape, E),
        views: Views<'_, T, O>,
        partials: ViewMut<'_, T::Compute>,
    ) -> Result<()>;
}

/// The kernels for 16-bit factors and results.
pub(super) struct TensorCores<E: Epilogue, T: TensorCore> {
    pub(super) mma: TypedKernel<gemm_mma<E, T>>,
    /// On GPUs that have `wgmma`.
    pub(super) wgmma: Option<Wgmma<E, T>>,
}

pub(super) struct Wgmma<E: Epilogue, T: TensorCore> {
    pub(super) columns_128: TypedKernel<gemm_wgmma<E, T, Tile128>>,
    pub(super) columns_200: TypedKernel<gemm_wgmma<E, T, Tile200>>,
    pub(super) split: TypedKernel<gemm_wgmma_split<E, T>>,
    /// A result that TMA doesn't store, what the epilogue doesn't keep, and a result that TMA stores would lie here.
    pub(super) nothing: [Buffer<T>; 3],
}

/// Elements of each of [`Wgmma::nothing`].
pub(super) const NOTHING: usize = 64;

/// Whether a GPU has `wgmma`; the simulator has.
pub(super) fn has_wgmma(runtime: &Runtime) -> bool {
    runtime.device().cuda().is_none_or(|cuda| cuda.compute_capability.0 == 9)
}

impl<E: Epilogue, T: TensorCore + GemmElement<Compute = f32>> TensorKernels<E, T, T> for TensorCores<E, T> {
    fn supports(&self, kernel: Gemm, shape: &GemmShape, views: &Views<'_, T, T>) -> bool {
        match kernel {
            Gemm::Simt => true,
            Gemm::Mma => {
                let (a, b) = (views.a.device_address() as usize, views.b.device_address() as usize);
                mma_supports::<T>(shape, E::SUMS, a, b)
            }
            Gemm::Wgmma128 => {
                self.wgmma.is_some() && wgmma_takes::<E, T>(shape, views, true) && stores::<E, T>(shape, views)
            }
            Gemm::Wgmma200 => {
                self.wgmma.is_some() && wgmma_takes::<E, T>(shape, views, false) && stores::<E, T>(shape, views)
            }
            Gemm::WgmmaSplit => {
                let alone = !E::SOURCE && !matches!(E::AUX, Aux::Read | Aux::Written);
                self.wgmma.is_some()
                    && wgmma_takes::<E, T>(shape, views, true)
                    && (alone || stores::<E, T>(shape, views))
            }
        }
    }

    fn launch(
        &mut self,
        stream: &Stream,
        kernel: Gemm,
        (shape, epilogue): (GemmShape, E),
        views: Views<'_, T, T>,
        partials: ViewMut<'_, f32>,
    ) -> Result<()> {
        match (kernel, &mut self.wgmma) {
            (Gemm::Wgmma128, Some(Wgmma { columns_128, nothing, .. })) => {
                launch_wgmma(columns_128, stream, (shape, epilogue), views, nothing, partials)
            }
            (Gemm::Wgmma200, Some(Wgmma { columns_200, nothing, .. })) => {
                launch_wgmma(columns_200, stream, (shape, epilogue), views, nothing, partials)
            }
            (Gemm::WgmmaSplit, Some(Wgmma { split, nothing, .. })) => {
                launch_split(split, stream, (shape, epilogue), views, nothing, partials)
            }
            _ => {
                let grid = Shape::for_extents([gemm_mma_blocks(&shape), 1, 1], [1, 1, 1])?;
                let launch =
                    Shape { block: [GEMM_MMA_BLOCK as u32, 1, 1], ..grid }.with_shared_bytes(GEMM_MMA_SHARED_BYTES);
                let Views { a, b, bias, source, aux_in, mask_in, aux_out, mask_out, out } = views;
                let arguments =
                    (shape, epilogue, a, b, bias, source, aux_in, mask_in, aux_out, mask_out, out, partials);
                self.mma.launch(stream, launch, arguments)
            }
        }
    }
}

/// How a factor lies, as lines x k: `Some(true)` if k is contiguous, `Some(false)` if the lines are.
fn along_k(strides: &Strides) -> Option<bool> {
    match (strides.column, strides.row) {
        (1, _) => Some(true),
        (_, 1) => Some(false),
        _ => None,
    }
}

/// Whether TMA can move such a matrix, the strides being those between its lines and between matrices.
fn movable(address: u64, line: usize, batch: usize, count: usize) -> bool {
    // A stride of 0 is not one that the hardware knows.
    let apart = count <= 1 || (batch.is_multiple_of(RUN) && batch > 0);
    address.is_multiple_of(16) && line.is_multiple_of(RUN) && line > 0 && apart
}

/// Whether the kernels with `wgmma` can compute the products of these factors and finish them.
fn wgmma_takes<E: Epilogue, T: GemmElement>(shape: &GemmShape, views: &Views<'_, T, T>, any_right: bool) -> bool {
    let &GemmShape { m, n, k, batch, a, b, .. } = shape;
    let b = b.transposed();
    let (Some(left), Some(right)) = (along_k(&a), along_k(&b)) else { return false };
    let layouts = match E::LAYOUTS {
        Layouts::Forward => left && right,
        Layouts::Gradient => !left && right,
        Layouts::All => any_right || right,
    };
    let factor = |view: &View<'_, T>, strides: &Strides, along: bool| {
        let line = if along { strides.row } else { strides.column };
        movable(view.device_address(), line, strides.batch, batch)
    };
    let sizes = [m, n, k, batch].iter().all(|&size| size > 0 && size < 1 << 30)
        && m.div_ceil(SPLIT_ROWS as usize).saturating_mul(n.div_ceil(128)).saturating_mul(batch) < 1 << 30;
    wgmma_supports::<E>() && sizes && layouts && factor(&views.a, &a, left) && factor(&views.b, &b, right)
}

/// Whether TMA can store the result, and move what else the epilogue reads or keeps.
fn stores<E: Epilogue, T: GemmElement>(shape: &GemmShape, views: &Views<'_, T, T>) -> bool {
    let &GemmShape { m, batch, out, source, aux, .. } = shape;
    let result = |address: u64, strides: &Strides| {
        strides.row == 1 && m.is_multiple_of(RUN) && movable(address, strides.column, strides.batch, batch)
    };
    result(views.out.device_address(), &out)
        && (!E::SOURCE || (!shape.in_place && result(views.source.device_address(), &source)))
        && match E::AUX {
            Aux::Read => result(views.aux_in.device_address(), &aux),
            Aux::Written => result(views.aux_out.device_address(), &aux),
            _ => true,
        }
}

/// A tile of the result, as the maps must know it.
struct Boxes {
    rows: u32,
    columns: u32,
    /// Columns of the result that are stored together.
    chunk: u32,
    /// The fewest steps along k.
    least_steps: u32,
}

/// What all kernels with `wgmma` take.
struct Arguments<'a, T: GemmElement> {
    shape: WgmmaShape,
    left: TensorMap<'a, T, 3>,
    right: TensorMap<'a, T, 3>,
    operand: Option<TensorMap<'a, T, 3>>,
    output: TensorMapMut<'a, T, 3>,
    kept: TensorMapMut<'a, T, 3>,
    bias: View<'a, T>,
    /// The result, if `output` is not.
    plain: ViewMut<'a, T>,
    /// Whether k is contiguous in the left and in the right factor.
    along_k: [bool; 2],
}

impl<'a, T: TensorCore + GemmElement> Arguments<'a, T> {
    fn new<E: Epilogue>(
        shape: GemmShape,
        views: Views<'a, T, T>,
        [no_output, no_kept, no_plain]: &'a mut [Buffer<T>; 3],
        boxes: &Boxes,
    ) -> Result<Self> {
        let GemmShape { m, n, k, batch, a, b, out, source, aux, bias_batch, .. } = shape;
        let b = b.transposed();
        let by_tma = stores::<E, T>(&shape, &views);
        let (left_along, right_along) = (along_k(&a) == Some(true), along_k(&b) == Some(true));
        // Strides between matrices must be valid also where there is one.
        let apart = |stride: usize| if batch > 1 { stride } else { RUN };
        let factor = |lines: usize, strides: &Strides, along: bool, tile: u32| {
            let (extents, line, tile) = match along {
                true => ([k, lines, batch], strides.row, [WGMMA_DEPTH, tile, 1]),
                false => ([lines, k, batch], strides.column, [64, WGMMA_DEPTH, 1]),
            };
            Tiling::new(extents, tile)
                .strides([1, line, apart(strides.batch)])
                .swizzle(Swizzle::Bytes128)
                .promote(crate::L2Promotion::Bytes128)
        };
        let result = |strides: &Strides| {
            Tiling::new([m, n, batch], [64, boxes.chunk, 1])
                .strides([1, strides.column, apart(strides.batch)])
                .swizzle(Swizzle::Bytes128)
        };
        let operand = match (E::SOURCE, E::AUX) {
            (true, _) => Some(TensorMap::new(views.source, &result(&source))?),
            (_, Aux::Read) => Some(TensorMap::new(views.aux_in, &result(&aux))?),
            _ => None,
        };
        let kept = match E::AUX {
            Aux::Written => TensorMapMut::new(views.aux_out, &result(&aux))?,
            _ => unused(no_kept)?,
        };
        let (output, plain) = match by_tma {
            true => (TensorMapMut::new(views.out, &result(&out))?, no_plain.as_view_mut()),
            false => (unused(no_output)?, views.out),
        };
        Ok(Self {
            shape: WgmmaShape {
                rows: m as u32,
                columns: n as u32,
                steps: (k.div_ceil(WGMMA_DEPTH as usize) as u32).max(boxes.least_steps),
                row_tiles: m.div_ceil(boxes.rows as usize) as u32,
                column_tiles: n.div_ceil(boxes.columns as usize) as u32,
                batch: batch as u32,
                bias_stride: bias_batch as u32,
                layout: u32::from(!left_along) + 2 * u32::from(!right_along),
                band: BAND_ROWS / boxes.rows,
                // Below, the order of the sums would depend on the tile for nothing.
                snake: u32::from(k >= 2048 && !shape.same_order),
                plain: if by_tma { PlainResult::default() } else { PlainResult::new(out) },
            },
            left: TensorMap::new(views.a, &factor(m, &a, left_along, boxes.rows))?,
            right: TensorMap::new(views.b, &factor(n, &b, right_along, boxes.columns))?,
            operand,
            output,
            kept,
            bias: views.bias,
            plain,
            along_k: [left_along, right_along],
        })
    }

    fn tiles(&self) -> u32 {
        self.shape.row_tiles * self.shape.column_tiles * self.shape.batch
    }
}

/// A map for what a kernel doesn't use.
fn unused<T: TensorCore>(nothing: &mut Buffer<T>) -> Result<TensorMapMut<'_, T, 3>> {
    let tiling = Tiling::new([NOTHING, 1, 1], [64, 1, 1]).strides([1, NOTHING, NOTHING]).swizzle(Swizzle::Bytes128);
    TensorMapMut::new(nothing.as_view_mut(), &tiling)
}

fn launch_wgmma<E: Epilogue, T: TensorCore + GemmElement<Compute = f32>, S: Tile>(
    kernel: &TypedKernel<gemm_wgmma<E, T, S>>,
    stream: &Stream,
    (shape, epilogue): (GemmShape, E),
    views: Views<'_, T, T>,
    nothing: &mut [Buffer<T>; 3],
    partials: ViewMut<'_, f32>,
) -> Result<()> {
    let boxes = Boxes { rows: WGMMA_ROWS, columns: S::COLUMNS, chunk: 8 * S::CHUNK, least_steps: S::LEAST_STEPS };
    let mut given = Arguments::new::<E>(shape, views, nothing, &boxes)?;
    let bytes = match given.along_k {
        [true, true] => wgmma_shared_bytes::<S, AlongK, AlongK>(),
        [false, true] => wgmma_shared_bytes::<S, AlongLines, AlongK>(),
        [true, false] => wgmma_shared_bytes::<S, AlongK, AlongLines>(),
        [false, false] => wgmma_shared_bytes::<S, AlongLines, AlongLines>(),
    };
    let multiprocessors = stream.runtime().device().cuda().map_or(2, |cuda| cuda.multiprocessors);
    let blocks = given.tiles().min(multiprocessors);
    let grid = Shape::new([blocks, 1, 1], [WGMMA_THREADS, 1, 1]).with_shared_bytes(bytes as usize);
    let operand = given.operand.as_ref().unwrap_or(&given.left);
    let (left, right, output, kept) = (&given.left, &given.right, &mut given.output, &mut given.kept);
    let arguments = (given.shape, epilogue, left, right, operand, output, kept, given.bias, partials);
    // SAFETY: the maps describe the matrices of the shape, which `Problem` has checked; the boxes are those that the kernel's documentation
    // asks for.
    unsafe { kernel.launch_unchecked(stream, grid, arguments) }
}

fn launch_split<E: Epilogue, T: TensorCore + GemmElement<Compute = f32>>(
    kernel: &TypedKernel<gemm_wgmma_split<E, T>>,
    stream: &Stream,
    (shape, epilogue): (GemmShape, E),
    views: Views<'_, T, T>,
    nothing: &mut [Buffer<T>; 3],
    partials: ViewMut<'_, f32>,
) -> Result<()> {
    let boxes = Boxes { rows: SPLIT_ROWS, columns: SPLIT_COLUMNS, chunk: SPLIT_CHUNK, least_steps: SPLIT };
    let mut given = Arguments::new::<E>(shape, views, nothing, &boxes)?;
    let blocks = given.tiles() * SPLIT;
    let grid = Shape::new([blocks, 1, 1], [SPLIT_THREADS, 1, 1]).with_shared_bytes(split_shared_bytes() as usize);
    let operand = given.operand.as_ref().unwrap_or(&given.left);
    let (left, right, output, kept) = (&given.left, &given.right, &mut given.output, &mut given.kept);
    let arguments = (given.shape, epilogue, left, right, operand, output, kept, given.bias, partials, given.plain);
    // SAFETY: as for `launch_wgmma`; `plain` holds the result where TMA can't store it.
    unsafe { kernel.launch_unchecked(stream, grid, arguments) }
}

/// Rows of a band of tiles.
const BAND_ROWS: u32 = 2048;

/// How many partial sums there are of each row, if a tile has so many columns.
pub(super) fn wgmma_parts<S: Tile>(shape: &GemmShape, sums: Sums) -> usize {
    match sums {
        Sums::Rows => shape.n.div_ceil(S::COLUMNS as usize),
        _ => 0,
    }
}

/// How many partial sums [`gemm_wgmma_split`] makes of each row.
pub(super) fn split_parts(shape: &GemmShape, sums: Sums) -> usize {
    match sums {
        Sums::Rows => shape.n.div_ceil(SPLIT_COLUMNS as usize) * SPLIT as usize,
        _ => 0,
    }
}
