//! [`GlobalAtomic`]: global memory that all threads update at once.

use core::marker::PhantomData;

use super::{Atomic, AtomicValue, InGlobal};
use crate::global::lengths;

/// Memory that any thread may update atomically, and none otherwise: a kernel's parameter that needs no `unsafe`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// counts[x] += 1 for each x of the input.
/// #[kernel]
/// pub fn histogram(input: Global<u32>, counts: GlobalAtomic<u32>) {
///     for i in thread::elements(input.len()) {
///         counts.atomic(input[i] as usize).fetch_add(1, Scope::Device);
///     }
/// }
///
/// let (input, mut counts) = ([0, 2, 2, 1, 2], [0; 3]);
/// let parameters = (Global::from_slice(&input), GlobalAtomic::from_slice(&mut counts));
/// simulator::launch::<histogram>(simulator::Shape::new(1, 32), parameters)?;
/// assert_eq!(counts, [1, 1, 3]);
/// # Ok::<(), simulator::Error>(())
/// ```
#[derive(Debug)]
pub struct GlobalAtomic<'a, T> {
    start: *mut T,
    len: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

lengths!(GlobalAtomic);

impl<T> Clone for GlobalAtomic<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for GlobalAtomic<'_, T> {}

impl<'a, T: AtomicValue> GlobalAtomic<'a, T> {
    /// # Safety
    /// `start` must point to `len` initialised elements that are valid during the view's lifetime and reached only through
    /// views of this kind.
    #[inline(always)]
    pub unsafe fn from_raw_parts(start: *mut T, len: usize) -> Self {
        Self { start, len, lifetime: PhantomData }
    }

    /// A view of host memory, for the simulator.
    pub fn from_slice(slice: &'a mut [T]) -> Self {
        // SAFETY: the slice is valid and exclusively borrowed for 'a.
        unsafe { Self::from_raw_parts(slice.as_mut_ptr(), slice.len()) }
    }

    /// The element. Traps out of bounds.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub fn atomic(&self, index: usize) -> Atomic<'a, T, InGlobal> {
        if index >= self.len {
            crate::fault::out_of_bounds(index, self.len);
        }
        // SAFETY: in bounds by the comparison.
        unsafe { self.atomic_unchecked(index) }
    }

    /// The element, without the comparison.
    ///
    /// # Safety
    /// `index < self.len()`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn atomic_unchecked(&self, index: usize) -> Atomic<'a, T, InGlobal> {
        #[cfg(not(target_os = "cuda"))]
        self.expect_promised(index);
        // SAFETY: in bounds by the caller, valid by `from_raw_parts`.
        unsafe { Atomic::in_global(self.start, index) }
    }
}
