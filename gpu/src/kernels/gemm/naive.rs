//! Matrix products, the simple way: the oracle of the fast kernels, and what takes over where they don't fit.

use cuda_std::{Global, GlobalMut, kernel, thread};

use super::wide::lanes;
use super::{GemmShape, Output, RUN};
use crate::epilogue::{Epilogue, Sums};
use crate::{Element, Real};

/// One thread for each run of [`RUN`] rows of a column, whatever the grid. Each sum is in order of k, with fused multiply-add.
///
/// Partial sums: for [`Sums::Rows`] one for each column, for [`Sums::Columns`] one for each run, else one.
#[kernel(module = "gemm")]
#[expect(clippy::needless_range_loop, reason = "an iterator would send the run to local memory")]
pub fn gemm_naive<E: Epilogue, T: Element, O: Element<Compute = T::Compute>>(
    shape: GemmShape,
    epilogue: E,
    a: Global<T>,
    b: Global<T>,
    bias: Global<T>,
    source: Global<O>,
    aux_in: Global<T>,
    mask_in: Global<u8>,
    aux_out: GlobalMut<T>,
    mask_out: GlobalMut<u8>,
    out: GlobalMut<O>,
    mut partials: GlobalMut<T::Compute>,
) {
    let GemmShape { m, n, k, batch, .. } = shape;
    let mut output = Output { shape, epilogue, bias, source, aux_in, aux_out, mask_in, mask_out, out };
    output.check(&a, &b);
    let zero = T::Compute::constant(0.0);
    // SAFETY: the element lies in op(A), which lies in the view by `check`.
    let left = |batch, row, i| unsafe { a.get_unchecked(shape.a.offset(batch, row, i)) }.load();
    // SAFETY: as above, for op(B).
    let right = |batch, i, column| unsafe { b.get_unchecked(shape.b.offset(batch, i, column)) }.load();
    let runs = m.div_ceil(RUN);
    for run in thread::elements(batch * n * runs) {
        let (run, column) = (run.get() % runs, run.get() / runs);
        let (column, number) = (column % n, column / n);
        let row = run * RUN;
        let mut sums = [zero; RUN];
        for i in 0..k {
            let factor = right(number, i, column);
            sums = lanes!(8, |lane| match row + lane < m {
                true => left(number, row + lane, i).mul_add(factor, sums[lane]),
                false => zero,
            });
        }
        // SAFETY: checked; each run is one thread's.
        let values = unsafe { output.finish(number, row, column, sums, false) };
        match E::SUMS {
            Sums::Rows => {
                for lane in 0..RUN {
                    if row + lane < m {
                        // SAFETY: this thread's own run and column.
                        unsafe { partials.write((number * n + column) * m + row + lane, values[lane]) };
                    }
                }
            }
            Sums::Columns => {
                let mut sum = zero;
                for lane in 0..RUN {
                    sum = sum + values[lane];
                }
                // SAFETY: this thread's own run and column.
                unsafe { partials.write((number * runs + run) * n + column, sum) };
            }
            _ => {}
        }
    }
    if matches!(E::SUMS, Sums::Factor) {
        let len = shape.sums_len(E::SUMS);
        for element in thread::elements(batch * len) {
            let (number, row) = (element.get() / len, element.get() % len);
            let sum = (0..k).fold(zero, |sum, i| match shape.sum_right {
                true => sum + right(number, i, row),
                false => sum + left(number, row, i),
            });
            partials.set(element, sum);
        }
    }
}

/// The sums of an epilogue from the partial ones, in order: `parts` vectors, one behind the other, for each matrix of the batch.
/// One thread for each sum, whatever the grid.
#[kernel(module = "gemm")]
pub fn gemm_sums<C: Real + Element>(parts: usize, len: usize, partials: Global<C>, mut sums: GlobalMut<C>) {
    if len == 0 {
        return;
    }
    for element in thread::elements(sums.len()) {
        let (batch, i) = (element.get() / len, element.get() % len);
        let mut sum = C::constant(0.0);
        for part in 0..parts {
            sum = sum + partials[(batch * parts + part) * len + i];
        }
        sums.set(element, sum);
    }
}
