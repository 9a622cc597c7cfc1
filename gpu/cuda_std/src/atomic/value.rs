//! The types that have atomic updates, and which update is which instruction.

use super::{Access, machine};
use crate::warp::Word;
use crate::{bf16, f16};

/// Types with atomic updates: i32, u32, i64, u64, f32, f64, f16 and bf16.
pub trait AtomicValue: Word + sealed::Sealed {
    #[doc(hidden)]
    unsafe fn add(element: *mut Self, value: Self, access: Access) -> Self;
    #[doc(hidden)]
    unsafe fn min(element: *mut Self, value: Self, access: Access) -> Self;
    #[doc(hidden)]
    unsafe fn max(element: *mut Self, value: Self, access: Access) -> Self;
    #[doc(hidden)]
    fn negative(self) -> Self;
}

/// Types with atomic updates of their bits: i32, u32, i64 and u64.
pub trait AtomicInteger: AtomicValue {}

mod sealed {
    pub trait Sealed {}
}

#[inline(always)]
pub(super) unsafe fn subtract<T: AtomicValue>(element: *mut T, value: T, access: Access) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::add(element, value.negative(), access) }
}

/// An update that the hardware doesn't have: tried until no other thread came between.
#[inline(always)]
pub(super) unsafe fn update<T: Word>(element: *mut T, access: Access, f: impl Fn(T) -> T) -> T {
    use core::sync::atomic::Ordering::Relaxed;
    // SAFETY: the caller's promise.
    unsafe {
        let mut old = machine::load(element, Access { ordering: Relaxed, ..access });
        loop {
            let found = machine::compare_exchange(element, old, f(old), access);
            if found.to_raw_bits() == old.to_raw_bits() {
                return old;
            }
            old = found;
        }
    }
}

macro_rules! integers {
    ($($ty:ty: $add:ident, $min:ident, $max:ident;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl AtomicInteger for $ty {}
        impl AtomicValue for $ty {
            #[inline(always)]
            unsafe fn add(element: *mut Self, value: Self, access: Access) -> Self {
                // SAFETY: the caller's promise.
                unsafe { machine::$add(element, value, access) }
            }
            #[inline(always)]
            unsafe fn min(element: *mut Self, value: Self, access: Access) -> Self {
                // SAFETY: the caller's promise.
                unsafe { machine::$min(element, value, access) }
            }
            #[inline(always)]
            unsafe fn max(element: *mut Self, value: Self, access: Access) -> Self {
                // SAFETY: the caller's promise.
                unsafe { machine::$max(element, value, access) }
            }
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
        }
    )*};
}

integers! {
    i32: add_i32, min_i32, max_i32;
    u32: add_u32, min_u32, max_u32;
    i64: add_i64, min_i64, max_i64;
    u64: add_u64, min_u64, max_u64;
}

macro_rules! floats {
    ($($ty:ty: $add:ident;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl AtomicValue for $ty {
            #[inline(always)]
            unsafe fn add(element: *mut Self, value: Self, access: Access) -> Self {
                // SAFETY: the caller's promise.
                unsafe { machine::$add(element, value, access) }
            }
            #[inline(always)]
            unsafe fn min(element: *mut Self, value: Self, access: Access) -> Self {
                // SAFETY: the caller's promise.
                unsafe { update(element, access, |old| if value < old || value.is_nan() { value } else { old }) }
            }
            #[inline(always)]
            unsafe fn max(element: *mut Self, value: Self, access: Access) -> Self {
                // SAFETY: the caller's promise.
                unsafe { update(element, access, |old| if value > old || value.is_nan() { value } else { old }) }
            }
            #[inline(always)]
            fn negative(self) -> Self {
                -self
            }
        }
    )*};
}

floats! {
    f32: add_f32;
    f64: add_f64;
    f16: add_f16;
    bf16: add_bf16;
}
