//! The CPU's loops over the functions that the kernels use: vectorised, with fused multiply-add where the processor has it,
//! and in parallel where there is enough work.
//!
//! Every result is one element's function of its inputs, so neither vectors nor threads change a bit.

use rayon::prelude::*;
use warpsmith_gpu::Element;
use warpsmith_gpu::elementwise::Function;

/// Elements below which another thread costs more than it brings.
const CHUNK: usize = 1 << 14;

/// Runs a function compiled once for processors with AVX2 and fused multiply-add, and once for all others. Without the
/// instruction, `mul_add` is a library call: right, but slow.
macro_rules! for_this_processor {
    ($(#[$doc:meta])* fn $name:ident[$($generics:tt)*]($($argument:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        fn $name<$($generics)*>($($argument: $ty),*) {
            #[inline(always)]
            fn portable<$($generics)*>($($argument: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn fused<$($generics)*>($($argument: $ty),*) {
                    portable($($argument),*)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has these instructions.
                    return unsafe { fused($($argument),*) };
                }
            }
            portable($($argument),*)
        }
    };
}
pub(super) use for_this_processor;

for_this_processor! {
    /// `output[i] = f(inputs[..][i])` for one chunk.
    fn map_chunk[T: Element, F: Function<T::Compute, N>, const N: usize](inputs: [&[T]; N], output: &mut [T], f: F) {
        for (i, y) in output.iter_mut().enumerate() {
            *y = T::store(f.apply(inputs.map(|x| x[i].load())));
        }
    }
}

for_this_processor! {
    /// `target[i] = f(target[i], inputs[..][i])` for one chunk.
    fn update_chunk[T: Element, F: Function<T::Compute, 2>](target: &mut [T], input: &[T], f: F) {
        for (w, g) in target.iter_mut().zip(input) {
            *w = T::store(f.apply([w.load(), g.load()]));
        }
    }
}

for_this_processor! {
    /// `target[i] = f(target[i])` for one chunk.
    fn map_in_place_chunk[T: Element, F: Function<T::Compute, 1>](target: &mut [T], f: F) {
        for x in target {
            *x = T::store(f.apply([x.load()]));
        }
    }
}

/// `output[i] = f(inputs[0][i], ...)`; all of one length.
pub(super) fn map<T: Element, const N: usize>(inputs: [&[T]; N], output: &mut [T], f: impl Function<T::Compute, N>) {
    let len = output.len();
    output.par_chunks_mut(CHUNK).enumerate().for_each(|(number, output)| {
        let start = number * CHUNK;
        let range = start..(start + CHUNK).min(len);
        map_chunk(inputs.map(|input| &input[range.clone()]), output, f);
    });
}

/// `target[i] = f(target[i], input[i])`; both of one length.
pub(super) fn update<T: Element>(target: &mut [T], input: &[T], f: impl Function<T::Compute, 2>) {
    let chunks = target.par_chunks_mut(CHUNK).zip(input.par_chunks(CHUNK));
    chunks.for_each(|(target, input)| update_chunk(target, input, f));
}

/// `target[i] = f(target[i])`
pub(super) fn map_in_place<T: Element>(target: &mut [T], f: impl Function<T::Compute, 1>) {
    target.par_chunks_mut(CHUNK).for_each(|target| map_in_place_chunk(target, f));
}
