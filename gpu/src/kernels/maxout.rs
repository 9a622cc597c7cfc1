//! Maxout: the largest of several pieces of the features. Goodfellow et al., arXiv:1302.4389.

use cuda_std::{Global, GlobalMut, kernel};

use crate::elementwise::{self, Extents, Function, Lines};
use crate::{Element, Real};

/// The largest of `K` numbers, the first of equal ones; NaN if any is.
#[derive(Clone, Copy, Debug)]
pub struct Largest;

/// The number of the largest, counting from 0, and it.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "an iterator over the numbers would send them to local memory")]
fn largest<C: Real, const K: usize>(x: [C; K]) -> (usize, C) {
    let mut best = (0, x[0]);
    for k in 1..K {
        let better = x[k] > best.1 || (x[k].is_nan() && !best.1.is_nan());
        best = if better { (k, x[k]) } else { best };
    }
    best
}

impl<C: Real, const K: usize> Function<C, K> for Largest {
    #[inline(always)]
    fn apply(&self, x: [C; K], _: u32) -> [C; 1] {
        [largest(x).1]
    }
}

/// (pieces, dy) ↦ dy for the largest piece and 0 for the others; all NaN if any piece is.
#[derive(Clone, Copy, Debug)]
pub struct LargestBackward;

macro_rules! maxout_backward {
    ($($pieces:literal with $inputs:literal: $($index:literal)*;)*) => {$(
        impl<C: Real> Function<C, $inputs, $pieces> for LargestBackward {
            #[inline(always)]
            fn apply(&self, x: [C; $inputs], _: u32) -> [C; $pieces] {
                let (best, value) = largest([$(x[$index]),*]);
                let dy = x[$pieces];
                [$(C::select(value.is_nan(), value, C::select(best == $index, dy, C::constant(0.0)))),*]
            }
        }
    )*};
}
maxout_backward! {
    2 with 3: 0 1;
    3 with 4: 0 1 2;
    4 with 5: 0 1 2 3;
}

/// `y[j, i]` = the largest of `x[j, i], x[j, i + len], ...`, `K` pieces of len elements in each line j of x.
#[kernel(module = "maxout")]
pub fn maxout_forward<T: Element, const K: usize>(extents: Extents, x: Global<T>, y: GlobalMut<T>) {
    let inputs = core::array::from_fn(|k| Lines::read(&x, k * extents.len, K * extents.len, extents));
    let outputs = [Lines::written(&y, 0, extents.len, extents)];
    // SAFETY: the views are checked above; y is this launch's alone.
    unsafe { elementwise::each::<T, K, 1>(inputs, outputs, extents, Largest) }
}

macro_rules! backward_kernels {
    ($($name:ident: $pieces:literal pieces with $inputs:literal inputs, $($index:literal)*;)*) => {$(
        #[doc = concat!("The gradient of [`maxout_forward()`] with ", stringify!($pieces), " pieces: dy goes to the largest.")]
        #[kernel(module = "maxout")]
        pub fn $name<T: Element>(extents: Extents, x: Global<T>, dy: Global<T>, dx: GlobalMut<T>) {
            let pitch = $pieces * extents.len;
            let inputs = [
                $(Lines::read(&x, $index * extents.len, pitch, extents),)*
                Lines::read(&dy, 0, extents.len, extents),
            ];
            let outputs = [$(Lines::written(&dx, $index * extents.len, pitch, extents)),*];
            // SAFETY: the views are checked above; the pieces of a line don't overlap.
            unsafe { elementwise::each::<T, $inputs, $pieces>(inputs, outputs, extents, LargestBackward) }
        }
    )*};
}
backward_kernels! {
    maxout2_backward: 2 pieces with 3 inputs, 0 1;
    maxout4_backward: 4 pieces with 5 inputs, 0 1 2 3;
}
