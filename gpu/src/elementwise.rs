//! The engine of element-wise kernels: `y[i] = f(x[i], ...)` over lines of elements, 16 bytes at a time with several loads in
//! flight where all operands are aligned alike, element by element at ragged ends and where they aren't. A kernel built on it
//! needs no `unsafe`. The [`Function`]s are shared with the native CPU backend, which has loops of its own.

use core::array;
use core::marker::PhantomData;

use cuda_std::global::{note_reads, note_writes};
use cuda_std::{DeviceCopy, Global, GlobalMut, thread};

use crate::{Activation, Element, FromOutput, Packed, Real, access};

/// Packs that a thread loads from each operand before it stores any.
pub const DEPTH: usize = 2;

/// A function of `N` numbers with `M` results. A trait and not a closure, because only a named function can be made to inline
/// into every loop that uses it, whatever instruction set that loop is compiled for.
///
/// ```
/// use warpsmith_gpu::elementwise::Function;
///
/// /// The larger and the smaller of two numbers.
/// #[derive(Clone, Copy)]
/// struct Sorted;
///
/// impl Function<f32, 2, 2> for Sorted {
///     fn apply(&self, [x, y]: [f32; 2], _: u32) -> [f32; 2] {
///         [x.max(y), x.min(y)]
///     }
/// }
///
/// assert_eq!(Sorted.apply([1.0, 3.0], 0), [3.0, 1.0]);
/// ```
pub trait Function<C, const N: usize, const M: usize = 1>: Copy + Send + Sync {
    /// Whether [`random`](Self::random) is worth its time.
    const RANDOM: bool = false;

    /// Random words for elements 4·quad to 4·quad + 3.
    #[inline(always)]
    fn random(&self, quad: u64) -> [u32; 4] {
        let _ = quad;
        [0; 4]
    }

    /// The function's values; `word` is the element's own random word.
    fn apply(&self, x: [C; N], word: u32) -> [C; M];
}

/// An activation `A` or a pair of them, computed in `R`: [`Element::Math`], or [`Fast`](crate::Fast) where it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct In<R, A>(pub A, PhantomData<fn() -> R>);

impl<R, A> In<R, A> {
    /// The activation.
    #[inline(always)]
    pub fn new(activation: A) -> Self {
        Self(activation, PhantomData)
    }
}

macro_rules! functions_of_activations {
    ($($(#[$doc:meta])* $name:ident<$bound:path>, $inputs:literal to $outputs:literal: |$f:ident, $x:pat_param, $word:pat_param| $value:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<R, A>($crate::elementwise::In<R, A>);

        impl<R, A> $name<R, A> {
            /// With its activation.
            #[inline(always)]
            pub fn new(activation: A) -> Self {
                Self($crate::elementwise::In::new(activation))
            }
        }

        impl<A: $bound, C, R> $crate::elementwise::Function<C, $inputs, $outputs> for $name<R, A>
        where
            C: $crate::Real,
            R: $crate::Real + From<C> + Into<C>,
        {
            #[inline(always)]
            fn apply(&self, x: [C; $inputs], $word: u32) -> [C; $outputs] {
                let ($f, $x) = (&self.0.0, x.map(R::from));
                let results: [R; $outputs] = $value;
                results.map(R::into)
            }
        }
    )*};
}

pub(crate) use functions_of_activations;

functions_of_activations! {
    /// x ↦ f(x)
    Forward<Activation>, 1 to 1: |f, [x], _| [f.forward(x)];
    /// (x, dy) ↦ f'(x) · dy
    Backward<Activation>, 2 to 1: |f, [x, dy], _| [f.backward(x, dy)];
    /// (y, dy) ↦ f'(x) · dy, given y = f(x)
    BackwardFromOutput<FromOutput>, 2 to 1: |f, [y, dy], _| [f.backward_from_output(y, dy)];
}

/// (w, g) ↦ w - rate·g, with one rounding.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Descend {
    /// The learning rate.
    pub rate: f32,
}

impl<C: Real> Function<C, 2> for Descend {
    #[inline(always)]
    fn apply(&self, [w, g]: [C; 2], _: u32) -> [C; 1] {
        [C::constant(-self.rate).mul_add(g, w)]
    }
}

/// (v, g) ↦ momentum·v + g, with one rounding.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Accumulate {
    /// How much of the velocity is kept.
    pub momentum: f32,
}

impl<C: Real> Function<C, 2> for Accumulate {
    #[inline(always)]
    fn apply(&self, [v, g]: [C; 2], _: u32) -> [C; 1] {
        [C::constant(self.momentum).mul_add(v, g)]
    }
}

/// How much there is: `lines` lines of `len` neighbouring elements, the columns of a matrix for instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct Extents {
    /// Elements of a line.
    pub len: usize,
    /// Lines.
    pub lines: usize,
}

impl Extents {
    /// One line.
    #[inline(always)]
    pub fn flat(len: usize) -> Self {
        Self { len, lines: 1 }
    }

    /// Whether lines that begin `pitch` elements apart lie within `available` elements.
    #[inline(always)]
    pub fn fit(&self, pitch: usize, available: usize) -> bool {
        let Some(last) = self.lines.checked_sub(1) else { return true };
        let end = last.checked_mul(pitch).and_then(|start| start.checked_add(self.len));
        self.len == 0 || end.is_some_and(|end| end <= available)
    }

    /// Whether lines from `offset` on lie within `len` elements. Without elements they lie anywhere, such as the second half of nothing.
    #[inline(always)]
    fn lie_in(&self, offset: usize, pitch: usize, len: usize) -> bool {
        self.len == 0 || self.lines == 0 || (offset <= len && self.fit(pitch, len - offset))
    }
}

/// An operand by its first element and the distance of its lines in elements. Pitch 0 repeats one line, such as a bias.
#[derive(Clone, Copy, Debug)]
pub struct Lines<P> {
    /// The first element.
    pub start: P,
    /// From one line to the next.
    pub pitch: usize,
}

impl<T: Element> Lines<*const T> {
    /// What is read: lines from element `offset` of the view on. Traps if they don't lie in it.
    #[inline(always)]
    pub fn read(view: &Global<T>, offset: usize, pitch: usize, extents: Extents) -> Self {
        trap_unless(extents.lie_in(offset, pitch, view.len()));
        Self { start: view.as_ptr().wrapping_add(offset), pitch }
    }
}

impl<T: Element> Lines<*mut T> {
    /// What is written. Traps if it doesn't lie in the view, or if lines overlap.
    #[inline(always)]
    pub fn written(view: &GlobalMut<T>, offset: usize, pitch: usize, extents: Extents) -> Self {
        trap_unless(extents.lie_in(offset, pitch, view.len()));
        trap_unless(extents.lines <= 1 || pitch >= extents.len);
        Self { start: view.as_noted_mut_ptr().wrapping_add(offset), pitch }
    }

    /// The same to be read before it is written.
    #[inline(always)]
    pub fn before(self) -> Lines<*const T> {
        Lines { start: self.start.cast_const(), pitch: self.pitch }
    }
}

/// `output[i] = f(inputs[0][i], inputs[1][i], ...)`. The inputs must be as long as the output; the kernel traps if one is
/// shorter.
#[inline(always)]
pub fn map<T: Element, const N: usize>(inputs: [Global<T>; N], output: GlobalMut<T>, f: impl Function<T::Compute, N>) {
    let extents = Extents::flat(output.len());
    let inputs = inputs.map(|input| Lines::read(&input, 0, 0, extents));
    // SAFETY: all views are as long as the output; the output is this launch's alone.
    unsafe { each::<T, N, 1>(inputs, [Lines::written(&output, 0, 0, extents)], extents, f) }
}

/// [`map`] with an output of another element type.
#[inline(always)]
pub fn convert<I, O, const N: usize>(inputs: [Global<I>; N], output: GlobalMut<O>, f: impl Function<O::Compute, N>)
where
    O: Element,
    I: Element<Compute = O::Compute>,
{
    let extents = Extents::flat(output.len());
    let inputs = inputs.map(|input| Lines::read(&input, 0, 0, extents));
    let outputs = [Lines::written(&output, 0, 0, extents)];
    // SAFETY: as in `map`.
    unsafe { lines::<I, O, I::Quad, O::Quad, N, 1>(inputs, outputs, extents, f) }
}

/// `target[i] = f(target[i])`, in place.
#[inline(always)]
pub fn map_in_place<T: Element>(target: GlobalMut<T>, f: impl Function<T::Compute, 1>) {
    let extents = Extents::flat(target.len());
    let target = Lines::written(&target, 0, 0, extents);
    // SAFETY: one view, of this length.
    unsafe { each::<T, 1, 1>([target.before()], [target], extents, f) }
}

/// `target[i] = f(target[i], input[i])`, in place; otherwise as [`map`].
#[inline(always)]
pub fn update<T: Element>(target: GlobalMut<T>, input: Global<T>, f: impl Function<T::Compute, 2>) {
    let extents = Extents::flat(target.len());
    let input = Lines::read(&input, 0, 0, extents);
    let target = Lines::written(&target, 0, 0, extents);
    // SAFETY: both views are as long as the target.
    unsafe { each::<T, 2, 1>([target.before(), input], [target], extents, f) }
}

/// `outputs[..][j, i] = f(inputs[0][j, i], ...)` for each line j, with one element type.
///
/// # Safety
/// As the views that the operands were made from promise, and: an output is this launch's alone; it may be one of the inputs
/// itself, but not overlap an input or an output otherwise.
#[inline(always)]
pub unsafe fn each<T: Element, const N: usize, const M: usize>(
    inputs: [Lines<*const T>; N],
    outputs: [Lines<*mut T>; M],
    extents: Extents,
    f: impl Function<T::Compute, N, M>,
) {
    // SAFETY: the caller's promise.
    unsafe { lines::<T, T, T::Pack, T::Pack, N, M>(inputs, outputs, extents, f) }
}

/// The lines that this thread takes part in: those of its y and z coordinate in the grid.
///
/// # Safety
/// As [`each`].
#[inline(always)]
unsafe fn lines<I, O, P, Q, const N: usize, const M: usize>(
    inputs: [Lines<*const I>; N],
    outputs: [Lines<*mut O>; M],
    extents: Extents,
    f: impl Function<O::Compute, N, M>,
) where
    O: Element,
    I: Element<Compute = O::Compute>,
    P: Packed<I>,
    Q: Packed<O>,
{
    let (_, y, z) = thread::index_3d();
    let rows = thread::grid_dim_y() as usize * thread::block_dim_y() as usize;
    let layers = thread::grid_dim_z() as usize * thread::block_dim_z() as usize;
    let mut j = y as usize + rows * z as usize;
    while j < extents.lines {
        // SAFETY: line `j` lies in the operands; lines of outputs don't overlap.
        unsafe {
            let inputs = inputs.map(|input| input.start.add(j * input.pitch));
            let outputs = outputs.map(|output| output.start.add(j * output.pitch));
            line::<I, O, P, Q, N, M>(inputs, outputs, extents.len, j * extents.len, f);
        }
        j += rows * layers;
    }
}

/// One line, whose first element has number `first` among all: packs where all operands are aligned alike, elements before,
/// after, and where they aren't.
///
/// # Safety
/// All pointers must be valid for `len` elements, and as [`each`] says.
#[inline(always)]
unsafe fn line<I, O, P, Q, const N: usize, const M: usize>(
    inputs: [*const I; N],
    outputs: [*mut O; M],
    len: usize,
    first: usize,
    f: impl Function<O::Compute, N, M>,
) where
    O: Element,
    I: Element<Compute = O::Compute>,
    P: Packed<I>,
    Q: Packed<O>,
{
    let index = thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize;
    let count = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let (head, packs) = aligned_part(&inputs, &outputs, len, P::LANES);
    // A pack shares its random words only if it begins where they do.
    let packs = if random(&f) && !(first + head).is_multiple_of(P::LANES.min(4)) { 0 } else { packs };
    let head = if packs == 0 { 0 } else { head };

    // One pack a thread where the grid has that many threads; otherwise neighbouring packs for the block's threads, DEPTH times.
    let (mut next, stride) = if count >= packs {
        (index, count)
    } else {
        let block = thread::block_dim_x() as usize;
        (index + thread::block_idx_x() as usize * block * (DEPTH - 1), block)
    };
    while next < packs {
        // Beyond the end, the thread's own first pack: no branch stands between the loads.
        let mut loaded: [[P; N]; DEPTH] = array::from_fn(|k| {
            let at = next + k * stride;
            let at = if at < packs { at } else { next };
            // SAFETY: pack `at` lies within the line, is aligned, and is this thread's; all are loaded before one is stored.
            inputs.map(|input| unsafe {
                let pack = input.add(head).cast::<P>().add(at);
                note_reads(pack.cast::<I>(), P::LANES);
                access::load(pack)
            })
        });
        // A loop whose length is not a constant: unrolled, the assembler would delay a pack's load until the one before it is
        // done. Moving the packs along keeps their indices constant.
        let end = packs.min(next + DEPTH * stride);
        let mut at = next;
        while at < end {
            let results = Q::map::<I, P, N, M>(loaded[0], first + head + at * P::LANES, f);
            for m in 0..M {
                // SAFETY: as above; no other thread has this pack.
                unsafe {
                    let pack = outputs[m].add(head).cast::<Q>().add(at);
                    note_writes(pack.cast::<O>(), P::LANES);
                    access::store(pack, results[m]);
                }
            }
            loaded.rotate_left(1);
            at += stride;
        }
        next += count * DEPTH;
    }

    let mut ragged = index;
    while ragged < len - packs * P::LANES {
        let i = if ragged < head { ragged } else { ragged + packs * P::LANES };
        // SAFETY: `i < len`; this thread alone has it, and no pack holds it.
        unsafe {
            let x = array::from_fn(|k| {
                note_reads(inputs[k].add(i), 1);
                (*inputs[k].add(i)).load()
            });
            let number = first + i;
            let word = own_word(f.random((number / 4) as u64), number);
            let results = f.apply(x, word);
            for m in 0..M {
                note_writes(outputs[m].add(i), 1);
                *outputs[m].add(i) = O::store(results[m]);
            }
        }
        ragged += count;
    }
}

/// Where packs begin and how many there are: the elements before the first address that is aligned for all operands, and none
/// at all where there is no such address.
#[inline(always)]
fn aligned_part<I, O, const N: usize, const M: usize>(
    inputs: &[*const I; N],
    outputs: &[*mut O; M],
    len: usize,
    lanes: usize,
) -> (usize, usize) {
    let phase = (outputs[0] as usize / size_of::<O>()) % lanes;
    let alike = inputs.iter().all(|&input| (input as usize / size_of::<I>()) % lanes == phase)
        && outputs.iter().all(|&output| (output as usize / size_of::<O>()) % lanes == phase);
    let head = (lanes - phase) % lanes;
    if alike && head <= len { (head, (len - head) / lanes) } else { (0, 0) }
}

/// The word of element `number`. Not by an index, which would send the words to local memory.
#[inline(always)]
pub fn own_word([a, b, c, d]: [u32; 4], number: usize) -> u32 {
    match number % 4 {
        0 => a,
        1 => b,
        2 => c,
        _ => d,
    }
}

/// [`Function::RANDOM`] of a value whose type has no name here.
#[inline(always)]
fn random<C, F: Function<C, N, M>, const N: usize, const M: usize>(_: &F) -> bool {
    F::RANDOM
}

#[inline(always)]
fn trap_unless(condition: bool) {
    if !condition {
        cuda_std::trap();
    }
}

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;

    #[test]
    fn lines_lie_in_their_view() {
        let extents = |len, lines| Extents { len, lines };
        assert!(extents(3, 2).lie_in(1, 4, 8));
        assert!(!extents(3, 2).lie_in(2, 4, 8));
        assert!(!extents(3, 2).lie_in(9, 4, 8));
        assert!(!extents(2, usize::MAX).lie_in(0, 2, 8));
        // The second half of no columns, and of columns of nothing.
        assert!(extents(6, 0).lie_in(6, 12, 0));
        assert!(extents(0, 6).lie_in(0, 0, 0));
    }
}
