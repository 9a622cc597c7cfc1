//! Matrix products on the CPU: `matrixmultiply` makes the sums, a block of columns at a time, and the kernels' own epilogue
//! finishes each block while it is in the cache.

use std::any::TypeId;
use std::borrow::Cow;
use std::ops::Range;

use cuda_std::{Global, GlobalMut};
use rayon::prelude::*;
use warpsmith_gpu::epilogue::{Epilogue, Sums};
use warpsmith_gpu::kernels::{GemmShape, Output, RUN, Simt, Strides, gemm_sums};
use warpsmith_gpu::{Element, Kernels, Real};

use super::GemmElement;
use super::problem::{Operands, Problem};
use crate::ops::Ops;
use crate::ops::processor::for_this_processor;
use crate::{MatrixViewMut, Result, TypedKernel};

/// Sums of a block: as many as fit a core's cache.
const BLOCK: usize = 1 << 17;
/// Columns of a block, unless there are fewer: enough for the multiplication to be worth its preparation.
const LEAST_COLUMNS: usize = 64;

/// Arithmetic of matrix products on the CPU.
pub trait NativeSum: Simt {
    /// c = a · b, for matrices of any strides, with a of m x k and b of k x n.
    ///
    /// # Safety
    /// The pointers and strides must address those matrices, and c no element twice.
    #[doc(hidden)]
    unsafe fn multiply(size: [usize; 3], a: (*const Self, Strides), b: (*const Self, Strides), c: (*mut Self, Strides));

    /// The kernel that adds up partial sums.
    #[doc(hidden)]
    fn sums_kernel(ops: &Ops<Kernels>) -> Result<TypedKernel<gemm_sums<Self>>>;
}

macro_rules! native_sum {
    ($($float:ident: $gemm:ident;)*) => {$(
        impl NativeSum for $float {
            unsafe fn multiply(
                [m, n, k]: [usize; 3],
                (a, a_strides): (*const Self, Strides),
                (b, b_strides): (*const Self, Strides),
                (c, c_strides): (*mut Self, Strides),
            ) {
                let strides = |strides: Strides| (strides.row as isize, strides.column as isize);
                let ((a_row, a_column), (b_row, b_column), (c_row, c_column)) =
                    (strides(a_strides), strides(b_strides), strides(c_strides));
                // SAFETY: by the caller.
                unsafe {
                    matrixmultiply::$gemm(m, k, n, 1.0, a, a_row, a_column, b, b_row, b_column, 0.0, c, c_row, c_column);
                }
            }

            fn sums_kernel(ops: &Ops<Kernels>) -> Result<TypedKernel<gemm_sums<Self>>> {
                ops.kernel()
            }
        }
    )*};
}

native_sum! {
    f32: sgemm;
    f64: dgemm;
}

/// Numbers as arithmetic takes them: themselves, or a wider copy.
fn widened<T: GemmElement>(elements: &[T]) -> Cow<'_, [T::Compute]> {
    if TypeId::of::<T>() == TypeId::of::<T::Compute>() {
        // SAFETY: the same type.
        return Cow::Borrowed(unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), elements.len()) });
    }
    Cow::Owned(elements.par_iter().with_min_len(1 << 14).map(|element| element.load()).collect())
}

/// A view's memory as `GlobalMut` wants it, for tasks that write different columns.
#[derive(Clone, Copy)]
struct Memory<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: only `columns` uses it, whose tasks write different elements.
unsafe impl<T: Send> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Memory<T> {}

impl<T: Copy> Memory<T> {
    fn of(slice: &mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len() }
    }

    /// # Safety
    /// The slice it was made of must be alive, and no other task may write the same elements.
    #[inline(always)]
    unsafe fn global<'a>(self) -> GlobalMut<'a, T> {
        // SAFETY: by the caller.
        unsafe { GlobalMut::from_raw_parts(self.start, self.len) }
    }
}

/// What the epilogue reads and writes.
struct Destination<'a, E, T, O> {
    shape: GemmShape,
    epilogue: E,
    bias: &'a [T],
    source: &'a [O],
    aux_in: &'a [T],
    mask_in: &'a [u8],
    aux_out: Memory<T>,
    mask_out: Memory<u8>,
    out: Memory<O>,
}

for_this_processor! {
    /// Finishes the sums of one column, and leaves the values in their place.
    fn finish_column[E: Epilogue, T: GemmElement, O: Element<Compute = T::Compute>](
        destination: &Destination<'_, E, T, O>, batch: usize, column: usize, sums: &mut [T::Compute],
    ) {
        let Destination { shape, epilogue, bias, source, aux_in, mask_in, aux_out, mask_out, out } = destination;
        // SAFETY: the slices outlive this; each column is one task's.
        let (aux_out, mask_out, out) = unsafe { (aux_out.global(), mask_out.global(), out.global()) };
        let mut output = Output {
            shape: *shape,
            epilogue: *epilogue,
            bias: Global::from_slice(bias),
            source: Global::from_slice(source),
            aux_in: Global::from_slice(aux_in),
            mask_in: Global::from_slice(mask_in),
            aux_out,
            mask_out,
            out,
        };
        for (number, sums) in sums.chunks_mut(RUN).enumerate() {
            let mut run = [T::Compute::constant(0.0); RUN];
            run[..sums.len()].copy_from_slice(sums);
            // SAFETY: the shape was checked when the views were made; the run is this task's.
            let values = unsafe { output.finish(batch, number * RUN, column, run, false) };
            sums.copy_from_slice(&values[..sums.len()]);
        }
    }
}

/// The product and its epilogue.
pub(super) fn linear<L, T, O, E>(
    ops: &Ops<L>,
    problem: Problem<E>,
    operands: &mut Operands<'_, T, O>,
    out: MatrixViewMut<'_, O>,
) -> Result<()>
where
    L: cuda_std::Library,
    T: GemmElement,
    O: Element<Compute = T::Compute>,
    E: Epilogue,
{
    const OPERATION: &str = "linear";
    let Problem { shape, epilogue, turned } = problem;
    let (left, right) = (operands.a.view().elements(), operands.b.view().elements());
    let (a, b) = if turned { (right, left) } else { (left, right) };
    let (a, b) = (ops.slice(OPERATION, a)?, ops.slice(OPERATION, b)?);
    let bias = operands.bias.as_ref().map_or(Ok(&[][..]), |bias| ops.slice(OPERATION, bias.view()))?;
    let source = operands.source.map_or(Ok(&[][..]), |source| ops.slice(OPERATION, source.elements()))?;
    let aux_in = operands.aux_in.map_or(Ok(&[][..]), |aux| ops.slice(OPERATION, aux.elements()))?;
    let mask_in = operands.mask_in.map_or(Ok(&[][..]), |mask| ops.slice(OPERATION, mask.bytes().as_view()))?;
    let aux_out = match &mut operands.aux_out {
        Some(aux) => ops.slice_mut(OPERATION, aux.reborrow().into_elements())?,
        None => &mut [],
    };
    let mask_out = match &mut operands.mask_out {
        Some(mask) => ops.slice_mut(OPERATION, mask.bytes_mut().as_view_mut())?,
        None => &mut [],
    };
    let out = ops.slice_mut(OPERATION, out.into_elements())?;
    let sums = match &mut operands.sums {
        Some(sums) => ops.slice_mut(OPERATION, sums.reborrow())?,
        None => &mut [],
    };
    let destination = Destination {
        shape,
        epilogue,
        bias,
        source,
        aux_in,
        mask_in,
        aux_out: Memory::of(aux_out),
        mask_out: Memory::of(mask_out),
        out: Memory::of(out),
    };
    multiply(&destination, (&widened(a), &widened(b)), sums);
    Ok(())
}

/// All blocks of all matrices.
fn multiply<E, T, O>(
    destination: &Destination<'_, E, T, O>,
    (a, b): (&[T::Compute], &[T::Compute]),
    sums: &mut [T::Compute],
) where
    T: GemmElement,
    O: Element<Compute = T::Compute>,
    E: Epilogue,
{
    let shape = destination.shape;
    let GemmShape { m, n, k, batch, .. } = shape;
    let zero = T::Compute::constant(0.0);
    sums.fill(zero);
    let width = (BLOCK / m.max(1)).max(LEAST_COLUMNS).min(n.max(1));
    let mut block = vec![zero; m * width];
    for number in 0..if m == 0 { 0 } else { batch } {
        for first in (0..n).step_by(width) {
            let columns = first..(first + width).min(n);
            let block = &mut block[..m * columns.len()];
            product(&shape, (a, b), number, columns.clone(), block);
            block.par_chunks_mut(m).zip(columns.clone()).with_min_len(1 + (1 << 12) / m).for_each(|(sums, column)| {
                finish_column(destination, number, column, sums);
            });
            match E::SUMS {
                Sums::Rows => {
                    for values in block.chunks(m) {
                        sums[number * m..][..m].iter_mut().zip(values).for_each(|(sum, value)| *sum = *sum + *value);
                    }
                }
                Sums::Columns => {
                    for (sum, values) in sums[number * n..][columns].iter_mut().zip(block.chunks(m)) {
                        *sum = values.iter().fold(zero, |sum, value| sum + *value);
                    }
                }
                _ => {}
            }
        }
    }
    if matches!(E::SUMS, Sums::Factor) {
        let (factor, strides) = if shape.sum_right { (b, shape.b.transposed()) } else { (a, shape.a) };
        let len = shape.sums_len(E::SUMS);
        sums.par_iter_mut().with_min_len(64).enumerate().for_each(|(i, sum)| {
            *sum = (0..k).fold(zero, |sum, k| sum + factor[strides.offset(i / len, i % len, k)]);
        });
    }
}

/// Some columns of one product.
fn product<C: NativeSum>(
    shape: &GemmShape,
    (a, b): (&[C], &[C]),
    batch: usize,
    columns: Range<usize>,
    block: &mut [C],
) {
    let GemmShape { m, k, .. } = *shape;
    if k == 0 {
        return block.fill(C::constant(0.0));
    }
    let (a, b_start) = (&a[shape.a.offset(batch, 0, 0)..], &b[shape.b.offset(batch, 0, columns.start)..]);
    let size = [m, columns.len(), k];
    // SAFETY: the strides address the elements of the factors, which the views were checked to hold; the block has m rows and
    // these columns.
    unsafe {
        C::multiply(
            size,
            (a.as_ptr(), shape.a),
            (b_start.as_ptr(), shape.b),
            (block.as_mut_ptr(), Strides::columns(m)),
        );
    }
}
