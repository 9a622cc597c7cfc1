//! The CPU's loops over the functions that the kernels use: vectorised, with fused multiply-add where the processor has it,
//! and in parallel where there is enough work.
//!
//! Every result is one element's function of its inputs, so neither vectors nor threads change a bit.

use std::array;

use cuda_std::{Global, GlobalMut};
use warpsmith_gpu::elementwise::{Extents, Function, Lines};
use warpsmith_gpu::{Element, Real};

use super::parallel;

/// Elements below which another thread costs more than it brings.
const CHUNK: usize = 1 << 14;

/// Elements that are loaded, computed and stored together: enough for long vectors, few enough for the first cache.
const BATCH: usize = 64;

/// `outputs[..][i] = f(inputs[..][i])` for `len` elements, the first of which has number `first`. Compiled once for processors
/// with AVX2 and fused multiply-add, and once for all others: without the instruction, `mul_add` is a library call, right but
/// slow.
///
/// # Safety
/// The pointers must be valid for `len` elements. Inputs may be outputs, but not overlap them otherwise; nothing else may use
/// the outputs meanwhile.
unsafe fn chunk<I, O, F, const N: usize, const M: usize>(
    inputs: [*const I; N],
    outputs: [*mut O; M],
    len: usize,
    first: usize,
    f: F,
) where
    O: Element,
    I: Element<Compute = O::Compute>,
    F: Function<O::Compute, N, M>,
{
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! compiled_for {
            ($name:ident: $features:literal, $($feature:tt)*) => {
                #[target_feature(enable = $features)]
                unsafe fn $name<I, O, F, const N: usize, const M: usize>(
                    inputs: [*const I; N],
                    outputs: [*mut O; M],
                    len: usize,
                    first: usize,
                    f: F,
                ) where
                    O: Element,
                    I: Element<Compute = O::Compute>,
                    F: Function<O::Compute, N, M>,
                {
                    // SAFETY: the caller's promise.
                    unsafe { portable(inputs, outputs, len, first, f) }
                }
                if $(is_x86_feature_detected!($feature))&&* {
                    // SAFETY: the processor has these instructions; the rest by the caller.
                    return unsafe { $name(inputs, outputs, len, first, f) };
                }
            };
        }
        compiled_for!(wide: "avx512f,avx512vl,avx512bw,avx512dq,avx512cd,avx2,fma,f16c",
            "avx512f" "avx512vl" "avx512bw" "avx512dq" "avx512cd" "avx2" "fma" "f16c");
        compiled_for!(fused: "avx2,fma,f16c", "avx2" "fma" "f16c");
    }
    // SAFETY: the caller's promise.
    unsafe { portable(inputs, outputs, len, first, f) }
}

/// Whole batches, whose length the compiler knows, and what is left.
///
/// # Safety
/// As [`chunk`].
#[inline(always)]
unsafe fn portable<I, O, F, const N: usize, const M: usize>(
    inputs: [*const I; N],
    outputs: [*mut O; M],
    len: usize,
    first: usize,
    f: F,
) where
    O: Element,
    I: Element<Compute = O::Compute>,
    F: Function<O::Compute, N, M>,
{
    let whole = len - len % BATCH;
    for start in (0..whole).step_by(BATCH) {
        // SAFETY: `start + BATCH <= len`.
        unsafe { batch(inputs, outputs, start, BATCH, first, f) };
    }
    if whole < len {
        // SAFETY: `whole` and the rest are `len`.
        unsafe { batch(inputs, outputs, whole, len - whole, first, f) };
    }
}

/// Up to [`BATCH`] elements from `start` on. They are loaded before they are stored, so that inputs may be outputs, and so that the
/// compiler need not prove that they aren't.
///
/// # Safety
/// As [`chunk`], for `start + count` elements.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "the same index in several arrays")]
unsafe fn batch<I, O, F, const N: usize, const M: usize>(
    inputs: [*const I; N],
    outputs: [*mut O; M],
    start: usize,
    count: usize,
    first: usize,
    f: F,
) where
    O: Element,
    I: Element<Compute = O::Compute>,
    F: Function<O::Compute, N, M>,
{
    let mut x = [[O::Compute::constant(0.0); BATCH]; N];
    let mut y = [[O::Compute::constant(0.0); BATCH]; M];
    let mut words = [0; BATCH];
    for k in 0..N {
        for i in 0..count {
            // SAFETY: by the caller.
            x[k][i] = unsafe { (*inputs[k].add(start + i)).load() };
        }
    }
    if F::RANDOM {
        random_words(&mut words[..count], first + start, f);
    }
    for i in 0..count {
        let results = f.apply(array::from_fn(|k| x[k][i]), words[i]);
        for m in 0..M {
            y[m][i] = results[m];
        }
    }
    for m in 0..M {
        for i in 0..count {
            // SAFETY: by the caller.
            unsafe { *outputs[m].add(start + i) = O::store(y[m][i]) };
        }
    }
}

/// The words of the elements from number `first` on.
fn random_words<C, F: Function<C, N, M>, const N: usize, const M: usize>(words: &mut [u32], first: usize, f: F) {
    let mut quad = [0; 4];
    for (i, word) in words.iter_mut().enumerate() {
        let number = first + i;
        if i == 0 || number.is_multiple_of(4) {
            quad = f.random((number / 4) as u64);
        }
        *word = quad[number % 4];
    }
}

/// Operands that threads may share.
#[derive(Clone, Copy)]
struct Shared<T>(T);
// SAFETY: `each` gives every thread other elements of the outputs, and nobody writes the inputs.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

/// As [`elementwise::each`](warpsmith_gpu::elementwise::each), and with outputs of another element type.
///
/// # Safety
/// As there.
pub(super) unsafe fn each<I, O, const N: usize, const M: usize>(
    inputs: [Lines<*const I>; N],
    outputs: [Lines<*mut O>; M],
    extents: Extents,
    f: impl Function<O::Compute, N, M>,
) where
    O: Element,
    I: Element<Compute = O::Compute>,
{
    let Extents { len, lines } = extents;
    let chunks = len.div_ceil(CHUNK);
    let pieces = lines * chunks;
    // Short lines go together.
    let together = (CHUNK / len.max(1)).max(1);
    let operands = Shared((inputs, outputs));
    parallel::for_each(pieces.div_ceil(together), &|unit| {
        let Shared((inputs, outputs)) = { operands };
        for piece in unit * together..pieces.min((unit + 1) * together) {
            let (line, start) = (piece / chunks, piece % chunks * CHUNK);
            // SAFETY: the lines lie in the operands; each piece of an output belongs to one call.
            unsafe {
                let inputs = inputs.map(|input| input.start.add(line * input.pitch + start));
                let outputs = outputs.map(|output| output.start.add(line * output.pitch + start));
                chunk(inputs, outputs, CHUNK.min(len - start), line * len + start, f);
            }
        }
    });
}

/// `output[i] = f(inputs[0][i], ...)`; all of one length.
pub(super) fn map<I, O, const N: usize>(inputs: [&[I]; N], output: &mut [O], f: impl Function<O::Compute, N>)
where
    O: Element,
    I: Element<Compute = O::Compute>,
{
    let extents = Extents::flat(output.len());
    let inputs = inputs.map(|input| Lines::read(&Global::from_slice(input), 0, 0, extents));
    let output = Lines::written(&GlobalMut::from_slice(output), 0, 0, extents);
    // SAFETY: the output is exclusively borrowed.
    unsafe { each(inputs, [output], extents, f) }
}

/// `target[i] = f(target[i], input[i])`; both of one length.
pub(super) fn update<T: Element>(target: &mut [T], input: &[T], f: impl Function<T::Compute, 2>) {
    let extents = Extents::flat(target.len());
    let input = Lines::read(&Global::from_slice(input), 0, 0, extents);
    let target = Lines::written(&GlobalMut::from_slice(target), 0, 0, extents);
    // SAFETY: the target is exclusively borrowed, and the input itself.
    unsafe { each([target.before(), input], [target], extents, f) }
}

/// `target[i] = f(target[i])`
pub(super) fn map_in_place<T: Element>(target: &mut [T], f: impl Function<T::Compute, 1>) {
    let extents = Extents::flat(target.len());
    let target = Lines::written(&GlobalMut::from_slice(target), 0, 0, extents);
    // SAFETY: the target is exclusively borrowed, and the input itself.
    unsafe { each([target.before()], [target], extents, f) }
}
