//! Softmax and its kin over each column.

use cuda_std::Has;
use rayon::prelude::*;
use warpsmith_gpu::Element;
use warpsmith_gpu::kernels::{
    Normalizer, SOFTMAX_BLOCK, backward_element, backward_term, denominator, larger, normalized, partial_sums,
    softmax_backward, softmax_forward, summands,
};

use super::{Ops, expect_same_shape};
use crate::{Matrix, Result, Shape};

/// # Softmax
impl<L: cuda_std::Library> Ops<L> {
    /// Softmax, log-softmax, softmin or masked softmax, as `_kind` says, of each column of x.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch), and those of a launch.
    pub fn softmax_forward<K, T>(&self, _kind: K, x: &Matrix<T>, y: &mut Matrix<T>) -> Result<()>
    where
        K: Normalizer,
        T: Element<Compute = f32>,
        L: Has<softmax_forward<K, T>>,
    {
        expect_same_shape(K::NAME, ("x", x), ("y", y))?;
        let len = x.rows();
        if x.is_empty() {
            return Ok(());
        }
        if !self.runtime().runs_kernels() {
            let (x, y) = (self.slice(K::NAME, x.as_view())?, self.slice_mut(K::NAME, y.as_view_mut())?);
            let columns = y.par_chunks_exact_mut(len).zip(x.par_chunks_exact(len)).with_min_len(1 + 4096 / len);
            columns.for_each(|(y, x)| forward_column::<K, T>(x, y));
            return Ok(());
        }
        let shape = self.teams(len, x.columns());
        self.kernel::<softmax_forward<K, T>>()?.launch(&self.stream, shape, (len, x, y))
    }

    /// The gradient with respect to x, given the result y and the gradient dy with respect to it.
    ///
    /// # Errors
    /// As [`softmax_forward`](Self::softmax_forward).
    pub fn softmax_backward<K, T>(&self, _kind: K, y: &Matrix<T>, dy: &Matrix<T>, dx: &mut Matrix<T>) -> Result<()>
    where
        K: Normalizer,
        T: Element<Compute = f32>,
        L: Has<softmax_backward<K, T>>,
    {
        expect_same_shape(K::NAME, ("y", y), ("dy", dy))?;
        expect_same_shape(K::NAME, ("y", y), ("dx", dx))?;
        let len = y.rows();
        if y.is_empty() {
            return Ok(());
        }
        if !self.runtime().runs_kernels() {
            let (y, dy) = (self.slice(K::NAME, y.as_view())?, self.slice(K::NAME, dy.as_view())?);
            let dx = self.slice_mut(K::NAME, dx.as_view_mut())?;
            let inputs = y.par_chunks_exact(len).zip(dy.par_chunks_exact(len));
            let columns = dx.par_chunks_exact_mut(len).zip(inputs).with_min_len(1 + 4096 / len);
            columns.for_each(|(dx, (y, dy))| backward_column::<K, T>(y, dy, dx));
            return Ok(());
        }
        let shape = self.teams(len, y.columns());
        self.kernel::<softmax_backward<K, T>>()?.launch(&self.stream, shape, (len, y, dy, dx))
    }

    /// A warp or a block for each line.
    fn teams(&self, len: usize, lines: usize) -> Shape {
        let per_block = SOFTMAX_BLOCK / partial_sums(len);
        let blocks = lines.div_ceil(per_block).min(crate::shape::GRID_LIMIT[0] as usize);
        Shape::new([blocks as u32, 1, 1], [SOFTMAX_BLOCK as u32, 1, 1])
    }
}

/// Partial results in the kernel's order.
fn combined(len: usize, first: f32, term: impl Fn(usize) -> f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    const WARP: usize = 32;
    let size = partial_sums(len);
    let mut partials = [first; SOFTMAX_BLOCK];
    for i in 0..len {
        partials[i % size] = f(term(i), partials[i % size]);
    }
    let of_warp = |warp: usize| {
        let mut values = [first; WARP];
        values.copy_from_slice(&partials[warp * WARP..(warp + 1) * WARP]);
        let mut distance = WARP / 2;
        while distance > 0 {
            for i in 0..distance {
                values[i] = f(values[i], values[i + distance]);
            }
            distance /= 2;
        }
        values[0]
    };
    (1..size / WARP).fold(of_warp(0), |combined, warp| f(combined, of_warp(warp)))
}

fn forward_column<K: Normalizer, T: Element<Compute = f32>>(x: &[T], y: &mut [T]) {
    let value = |i: usize| if K::NEGATED { -x[i].load() } else { x[i].load() };
    let largest = combined(x.len(), f32::NEG_INFINITY, value, larger);
    let sum = |which: usize| combined(x.len(), 0.0, |i| summands::<K>(x[i].load(), largest)[which], |a, b| a + b);
    let denominator = denominator::<K>([sum(0), if K::LOGARITHM { sum(1) } else { 0.0 }]);
    for (y, x) in y.iter_mut().zip(x) {
        *y = T::store(normalized::<K>(x.load(), largest, denominator));
    }
}

fn backward_column<K: Normalizer, T: Element<Compute = f32>>(y: &[T], dy: &[T], dx: &mut [T]) {
    let sum = combined(y.len(), 0.0, |i| backward_term::<K>(y[i].load(), dy[i].load()), |a, b| a + b);
    for (dx, (y, dy)) in dx.iter_mut().zip(y.iter().zip(dy)) {
        *dx = T::store(backward_element::<K>(y.load(), dy.load(), sum));
    }
}
