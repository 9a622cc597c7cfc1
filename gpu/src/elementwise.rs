//! The engine of element-wise kernels: `y[i] = f(x[i], ...)`, 16 bytes at a time where all views are aligned, element by
//! element where they aren't and in the tail. A kernel built on it needs no `unsafe`. The [`Function`]s are shared with the
//! native CPU backend, which has a loop of its own.

use core::array;

use cuda_std::{DeviceCopy, Global, GlobalMut, thread};

use crate::{Activation, Element, Packed, Real};

/// A function of `N` numbers. A trait and not a closure, because only a named function can be made to inline into every
/// loop that uses it, whatever instruction set that loop is compiled for.
pub trait Function<C, const N: usize>: Copy + Send + Sync {
    /// The function's value.
    fn apply(&self, x: [C; N]) -> C;
}

/// x ↦ f(x)
#[derive(Clone, Copy, Debug)]
pub struct Forward<A>(pub A);

impl<A: Activation, C: Real> Function<C, 1> for Forward<A> {
    #[inline(always)]
    fn apply(&self, [x]: [C; 1]) -> C {
        self.0.forward(x)
    }
}

/// (x, dy) ↦ f'(x) · dy
#[derive(Clone, Copy, Debug)]
pub struct Backward<A>(pub A);

impl<A: Activation, C: Real> Function<C, 2> for Backward<A> {
    #[inline(always)]
    fn apply(&self, [x, dy]: [C; 2]) -> C {
        self.0.backward(x, dy)
    }
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
    fn apply(&self, [w, g]: [C; 2]) -> C {
        C::constant(-self.rate).mul_add(g, w)
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
    fn apply(&self, [v, g]: [C; 2]) -> C {
        C::constant(self.momentum).mul_add(v, g)
    }
}

/// `output[i] = f(inputs[0][i], inputs[1][i], ...)`. The inputs must be as long as the output; the kernel traps if one is
/// shorter.
#[inline(always)]
pub fn map<T: Element, const N: usize>(inputs: [Global<T>; N], output: GlobalMut<T>, f: impl Function<T::Compute, N>) {
    for input in &inputs {
        trap_if_shorter(input.len(), output.len());
    }
    // SAFETY: all views are as long as the output; the output is this launch's alone.
    unsafe { each(inputs.map(|input| input.as_ptr()), output.as_mut_ptr(), output.len(), f) }
}

/// `target[i] = f(target[i])`, in place.
#[inline(always)]
pub fn map_in_place<T: Element>(target: GlobalMut<T>, f: impl Function<T::Compute, 1>) {
    // SAFETY: one view, of this length.
    unsafe { each([target.as_mut_ptr().cast_const()], target.as_mut_ptr(), target.len(), f) }
}

/// `target[i] = f(target[i], input[i])`, in place; otherwise as [`map`].
#[inline(always)]
pub fn update<T: Element>(target: GlobalMut<T>, input: Global<T>, f: impl Function<T::Compute, 2>) {
    trap_if_shorter(input.len(), target.len());
    // SAFETY: both views are as long as the target.
    unsafe { each([target.as_mut_ptr().cast_const(), input.as_ptr()], target.as_mut_ptr(), target.len(), f) }
}

/// The loop: packs where everything is aligned, elements in the tail and where it isn't.
///
/// # Safety
/// All pointers must be valid for `len` elements. An input may be the output itself, but not overlap it otherwise; nothing
/// else may write the inputs or touch the output during the launch.
#[inline(always)]
unsafe fn each<T: Element, const N: usize>(
    inputs: [*const T; N],
    output: *mut T,
    len: usize,
    f: impl Function<T::Compute, N>,
) {
    let lanes = T::Pack::LANES;
    let addresses = inputs.iter().fold(output as usize, |bits, input| bits | *input as usize);
    let mut done = 0;
    if addresses.is_multiple_of(align_of::<T::Pack>()) {
        let packs = len / lanes;
        done = packs * lanes;
        for i in thread::elements(packs) {
            let i = i.get();
            // SAFETY: pack `i` lies within `len` elements and is aligned. This thread alone has index `i`, and it loads all
            // inputs before it stores.
            unsafe {
                let loaded = array::from_fn(|k| *inputs[k].cast::<T::Pack>().add(i));
                *output.cast::<T::Pack>().add(i) = T::Pack::map(loaded, f);
            }
        }
    }
    for i in thread::elements(len - done) {
        let i = done + i.get();
        // SAFETY: `i < len`. This thread alone has the index, and no pack reaches beyond `done`.
        unsafe {
            let x = array::from_fn(|k| (*inputs[k].add(i)).load());
            *output.add(i) = T::store(f.apply(x));
        }
    }
}

#[inline(always)]
fn trap_if_shorter(len: usize, needed: usize) {
    if len < needed {
        cuda_std::trap();
    }
}
