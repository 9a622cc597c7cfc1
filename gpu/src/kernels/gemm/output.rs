//! [`Output`]: what every kernel for matrix products does with its sums.

use cuda_std::{Global, GlobalMut};

use super::wide::{self, lanes};
use super::{GemmShape, Strides};
use crate::epilogue::{Aux, Axis, Epilogue, Finished, Operands};
use crate::{Element, Real};

/// Rows that are finished together: as many as a mask has in a byte.
pub const RUN: usize = 8;

/// The end of every kernel: the epilogue with all that it reads and writes.
pub struct Output<'a, E, T, O> {
    /// Sizes and places.
    pub shape: GemmShape,
    /// The epilogue.
    pub epilogue: E,
    /// For each row or column.
    pub bias: Global<'a, T>,
    /// The source.
    pub source: Global<'a, O>,
    /// What a forward pass kept.
    pub aux_in: Global<'a, T>,
    /// Where to keep it.
    pub aux_out: GlobalMut<'a, T>,
    /// The mask that a forward pass kept.
    pub mask_in: Global<'a, u8>,
    /// Where to keep it.
    pub mask_out: GlobalMut<'a, u8>,
    /// The result.
    pub out: GlobalMut<'a, O>,
}

impl<E: Epilogue, T: Element, O: Element<Compute = T::Compute>> Output<'_, E, T, O> {
    /// Traps unless the views hold what the shape says, and writes of different elements go to different places.
    #[inline(always)]
    pub fn check(&self, a: &Global<T>, b: &Global<T>) {
        let GemmShape { m, n, k, batch, .. } = self.shape;
        let holds = |len: usize, strides: &Strides, rows, columns| {
            strides.extent(batch, rows, columns).is_some_and(|extent| extent <= len)
        };
        let apart = |strides: &Strides, rows: usize| {
            let matrix = n.checked_mul(strides.column);
            let batches = batch <= 1 || matrix.is_some_and(|matrix| matrix <= strides.batch);
            strides.row == 1 && (n <= 1 || strides.column >= rows) && batches
        };
        let vector = |axis| match axis {
            Axis::None => 0,
            Axis::Rows => m,
            Axis::Columns => n,
        };
        let bias = Strides { row: 1, column: 0, batch: self.shape.bias_batch };
        let (rows, bytes) = (if E::GATED { m / 2 } else { m }, m.div_ceil(RUN));
        let right = holds(a.len(), &self.shape.a, m, k)
            && holds(b.len(), &self.shape.b, k, n)
            && holds(self.out.len(), &self.shape.out, rows, n)
            && apart(&self.shape.out, rows)
            && !(E::GATED && m % 2 == 1)
            && holds(self.bias.len(), &bias, vector(E::BIAS), 1)
            && match (E::SOURCE, self.shape.in_place) {
                (true, true) => holds(self.out.len(), &self.shape.out, m, n),
                (true, false) => holds(self.source.len(), &self.shape.source, m, n),
                (false, _) => true,
            }
            && match E::AUX {
                Aux::None => true,
                Aux::Read => holds(self.aux_in.len(), &self.shape.aux, m, n),
                Aux::Written => holds(self.aux_out.len(), &self.shape.aux, m, n) && apart(&self.shape.aux, m),
                Aux::MaskRead => holds(self.mask_in.len(), &self.shape.mask, bytes, n),
                Aux::MaskWritten => {
                    holds(self.mask_out.len(), &self.shape.mask, bytes, n) && apart(&self.shape.mask, bytes)
                }
            };
        if !right {
            cuda_std::trap();
        }
    }

    /// Whether whole runs can be moved together in all matrices that the epilogue uses. The same for all threads.
    #[inline(always)]
    pub fn is_wide(&self) -> bool {
        let GemmShape { out, aux, .. } = &self.shape;
        let (source, source_start) = self.source();
        let lanes = if E::GATED { RUN / 2 } else { RUN };
        out.columns_are_aligned::<O>(self.out.as_mut_ptr() as usize, lanes)
            && (!E::SOURCE || source.columns_are_aligned::<O>(source_start as usize, RUN))
            && match E::AUX {
                Aux::Read => aux.columns_are_aligned::<T>(self.aux_in.as_ptr() as usize, RUN),
                Aux::Written => aux.columns_are_aligned::<T>(self.aux_out.as_mut_ptr() as usize, RUN),
                _ => true,
            }
    }

    /// Where the source lies.
    #[inline(always)]
    fn source(&self) -> (&Strides, *const O) {
        match self.shape.in_place {
            true => (&self.shape.out, self.out.as_mut_ptr().cast_const()),
            false => (&self.shape.source, self.source.as_ptr()),
        }
    }

    /// Finishes the sums of rows `row..row + 8` of a column, `row` being a multiple of 8: those that exist. Returns the values
    /// before they are rounded, zero for rows that don't exist. `wide` is what [`is_wide`](Self::is_wide) returned.
    ///
    /// # Safety
    /// The shape was [checked](Self::check), `column < n`, and no other thread finishes this run.
    #[inline(always)]
    pub unsafe fn finish(
        &mut self,
        batch: usize,
        row: usize,
        column: usize,
        sums: [T::Compute; RUN],
        wide: bool,
    ) -> [T::Compute; RUN] {
        let GemmShape { m, n, .. } = self.shape;
        let wide = wide && row + RUN <= m;
        let exists = |lane: usize| row + lane < m;
        let zero = T::Compute::constant(0.0);
        let bias_start = batch * self.shape.bias_batch;
        // SAFETY: (here and below) by `check`, for the rows that exist.
        let bias: [T::Compute; RUN] = unsafe {
            match E::BIAS {
                Axis::None => [zero; RUN],
                Axis::Rows => lanes!(8, |lane| match exists(lane) {
                    true => self.bias.get_unchecked(bias_start + row + lane).load(),
                    false => zero,
                }),
                Axis::Columns => [self.bias.get_unchecked(bias_start + column).load(); RUN],
            }
        };
        let source = match E::SOURCE {
            // SAFETY: as above.
            true => unsafe {
                let (strides, start) = self.source();
                read_run(start, strides, [batch, row, column], m, wide)
            },
            false => [zero; RUN],
        };
        // SAFETY: as above.
        let aux = unsafe {
            match E::AUX {
                Aux::Read => read_run(self.aux_in.as_ptr(), &self.shape.aux, [batch, row, column], m, wide),
                Aux::MaskRead if exists(0) => {
                    let byte = self.mask_in.get_unchecked(self.shape.mask.offset(batch, row / RUN, column));
                    let bit = |lane: usize| byte & (1 << lane) != 0;
                    lanes!(8, |lane| T::Compute::select(bit(lane), T::Compute::constant(1.0), zero))
                }
                _ => [zero; RUN],
            }
        };
        let first = (batch * n + column) * m + row;
        let finished: [Finished<T::Compute>; RUN] = lanes!(8, |lane| {
            let math = |x: T::Compute| O::Math::from(x);
            let finished = self.epilogue.apply::<O::Math>(Operands {
                sum: math(sums[lane]),
                bias: math(bias[lane]),
                source: math(source[lane]),
                aux: math(aux[lane]),
                row: row + lane,
                column,
                index: first + lane,
            });
            Finished { value: finished.value.into(), aux: finished.aux.into() }
        });
        let values = lanes!(8, |lane| finished[lane].value);
        // SAFETY: as above; the run is this thread's alone, and `check` keeps different runs apart.
        unsafe {
            match E::AUX {
                Aux::Written => {
                    let kept = lanes!(8, |lane| T::store(finished[lane].aux));
                    write_run(
                        &mut self.aux_out,
                        self.shape.aux.offset(batch, row, column),
                        kept,
                        m.saturating_sub(row),
                        wide,
                    );
                }
                Aux::MaskWritten if exists(0) => {
                    let bits = lanes!(8, |lane| u8::from(exists(lane) && finished[lane].aux != zero) << lane);
                    let byte = bits[0] | bits[1] | bits[2] | bits[3] | bits[4] | bits[5] | bits[6] | bits[7];
                    self.mask_out.write_unchecked(self.shape.mask.offset(batch, row / RUN, column), byte);
                }
                _ => {}
            }
            if E::GATED {
                let joined: [O; RUN / 2] = lanes!(4, |pair| O::store(
                    self.epilogue.join(O::Math::from(values[2 * pair]), O::Math::from(values[2 * pair + 1])).into()
                ));
                let start = self.shape.out.offset(batch, row / 2, column);
                write_run(&mut self.out, start, joined, (m / 2).saturating_sub(row / 2), wide);
            } else {
                let stored = lanes!(8, |lane| O::store(values[lane]));
                write_run(
                    &mut self.out,
                    self.shape.out.offset(batch, row, column),
                    stored,
                    m.saturating_sub(row),
                    wide,
                );
            }
        }
        lanes!(8, |lane| if exists(lane) { values[lane] } else { zero })
    }
}

/// The eight elements from this row on that lie in the matrix; zero beyond.
///
/// # Safety
/// At `start` begins a matrix of `rows` rows with these strides; `wide` only if the run is whole and aligned.
#[inline(always)]
unsafe fn read_run<T: Element>(
    start: *const T,
    strides: &Strides,
    [batch, row, column]: [usize; 3],
    rows: usize,
    wide: bool,
) -> [T::Compute; RUN] {
    let start = start.wrapping_add(strides.offset(batch, row, column));
    if wide {
        // SAFETY: the run lies in the matrix, and is aligned.
        let run: [T; RUN] = unsafe { wide::read(start) };
        return lanes!(8, |lane| run[lane].load());
    }
    lanes!(8, |lane| match row + lane < rows {
        // SAFETY: the element lies in the matrix.
        true => unsafe { *start.wrapping_add(lane * strides.row) }.load(),
        false => T::Compute::constant(0.0),
    })
}

/// Writes neighbouring elements, the first `count` of them.
///
/// # Safety
/// They lie in the view and are this thread's alone; `wide` only if `count >= N` and `start` is aligned.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "an iterator would send the run to local memory")]
unsafe fn write_run<T: Element, const N: usize>(
    view: &mut GlobalMut<T>,
    start: usize,
    values: [T; N],
    count: usize,
    wide: bool,
) {
    if wide {
        // SAFETY: by the caller.
        return unsafe { wide::write_global(view, start, values) };
    }
    for lane in 0..N {
        if lane < count {
            // SAFETY: by the caller.
            unsafe { view.write_unchecked(start + lane, values[lane]) };
        }
    }
}
