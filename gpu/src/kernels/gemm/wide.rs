//! Neighbouring elements moved together: up to 16 bytes in one access, aligned to as much.
//!
//! On the device through pointers to aligned arrays. On the host element by element through the views' accessors, so that the
//! simulator watches each of them.

use cuda_std::{GlobalMut, SharedSlice};

/// An array, element by element. A loop that LLVM doesn't unroll, because its body is large, would send arrays to local memory.
macro_rules! lanes {
    (4, |$i:ident| $element:expr) => { $crate::kernels::gemm::wide::lanes!(@ $i $element; 0 1 2 3) };
    (8, |$i:ident| $element:expr) => { $crate::kernels::gemm::wide::lanes!(@ $i $element; 0 1 2 3 4 5 6 7) };
    (@ $i:ident $element:expr; $($lane:literal)*) => { [$({
        let $i: usize = $lane;
        $element
    }),*] };
}
pub(super) use lanes;

/// Aligned for one access of 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Align16<T>(T);

/// Aligned for one access of 8 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Align8<T>(T);

/// Reads `N` neighbours.
///
/// # Safety
/// They must be readable, and aligned to their size or to 16 bytes, whichever is less.
#[inline(always)]
pub(super) unsafe fn read<T: Copy, const N: usize>(start: *const T) -> [T; N] {
    // SAFETY: by the caller.
    unsafe {
        if const { (N * size_of::<T>()).is_multiple_of(16) } {
            let neighbours: Align16<[T; N]> = *start.cast();
            neighbours.0
        } else if const { (N * size_of::<T>()).is_multiple_of(8) } {
            let neighbours: Align8<[T; N]> = *start.cast();
            neighbours.0
        } else {
            *start.cast()
        }
    }
}

/// Writes `N` neighbours.
///
/// # Safety
/// As [`read`], and nobody else may use them.
#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn write<T: Copy, const N: usize>(start: *mut T, values: [T; N]) {
    // SAFETY: by the caller.
    unsafe {
        if const { (N * size_of::<T>()).is_multiple_of(16) } {
            *start.cast() = Align16(values);
        } else if const { (N * size_of::<T>()).is_multiple_of(8) } {
            *start.cast() = Align8(values);
        } else {
            *start.cast() = values;
        }
    }
}

/// Writes `N` neighbours of a view.
///
/// # Safety
/// As [`GlobalMut::write_unchecked`] for each; `start` must be aligned as for [`read`].
#[inline(always)]
pub(super) unsafe fn write_global<T: Copy, const N: usize>(view: &mut GlobalMut<T>, start: usize, values: [T; N]) {
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        write(view.as_mut_ptr().add(start), values)
    }
    #[cfg(not(target_os = "cuda"))]
    for (lane, value) in values.into_iter().enumerate() {
        // SAFETY: by the caller.
        unsafe { view.write_unchecked(start + lane, value) }
    }
}

/// Reads `N` neighbours in shared memory.
///
/// # Safety
/// As [`SharedSlice::read`] for each, in bounds, and aligned as for [`read`].
#[inline(always)]
pub(super) unsafe fn read_shared<T: Copy, const N: usize>(memory: &SharedSlice<T>, start: usize) -> [T; N] {
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        read(memory.as_mut_ptr().add(start).cast_const())
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: by the caller.
    core::array::from_fn(|lane| unsafe { memory.read(start + lane) })
}

/// Writes `N` neighbours in shared memory.
///
/// # Safety
/// As [`SharedSlice::write`] for each, in bounds, and aligned as for [`read`].
#[inline(always)]
pub(super) unsafe fn write_shared<T: Copy, const N: usize>(memory: &SharedSlice<T>, start: usize, values: [T; N]) {
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        write(memory.as_mut_ptr().add(start), values)
    }
    #[cfg(not(target_os = "cuda"))]
    for (lane, value) in values.into_iter().enumerate() {
        // SAFETY: by the caller.
        unsafe { memory.write(start + lane, value) }
    }
}
