//! Atomic updates of single elements: `y.atomic(i).fetch_add(value, Scope::Device)`.
//!
//! They are relaxed: each is indivisible for all threads in its [`Scope`], but orders nothing else. Where other memory must
//! be seen along with it, put `thread::device_fence()` (or `block_fence`, `system_fence`) before the update that announces it
//! and after the one that finds the announcement. Additions of floats happen in any order, so their sums don't repeat bit
//! for bit. In the simulator they are the host's own atomics.

#[cfg(target_os = "cuda")]
use core::arch::asm;
use core::marker::PhantomData;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;
#[cfg(not(target_os = "cuda"))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[cfg(not(target_os = "cuda"))]
use crate::simulator::{SharedWatch, watch, watch::Kind};
use crate::warp::Word;

/// For which threads an update is indivisible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of the block.
    Block,
    /// The threads of the device.
    Device,
    /// All devices and the host.
    System,
}

/// The element is in global memory.
#[derive(Clone, Copy, Debug)]
pub struct InGlobal;

/// The element is in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct InShared;

/// Where an element is.
pub trait Space: sealed::Sealed {
    #[doc(hidden)]
    const SHARED: bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::InGlobal {}
    impl Sealed for super::InShared {}
}

impl Space for InGlobal {
    const SHARED: bool = false;
}

impl Space for InShared {
    const SHARED: bool = true;
}

/// How the simulator's watch finds the element.
#[cfg(not(target_os = "cuda"))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watch {
    Global,
    Shared(*const SharedWatch),
}

/// An element that many threads may update at once; from `GlobalMut::atomic`, `Shared::atomic` or `SharedSlice::atomic`.
#[derive(Clone, Copy, Debug)]
pub struct Atomic<'a, T, S> {
    element: *mut T,
    #[cfg(not(target_os = "cuda"))]
    index: usize,
    #[cfg(not(target_os = "cuda"))]
    watch: Watch,
    lifetime: PhantomData<(&'a T, S)>,
}

/// Types with atomic updates: i32, u32, i64, u64, f32 and f64.
pub trait AtomicValue: Word {
    #[doc(hidden)]
    unsafe fn add(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self;
    #[doc(hidden)]
    unsafe fn min(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self;
    #[doc(hidden)]
    unsafe fn max(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self;
    #[doc(hidden)]
    fn negative(self) -> Self;
}

/// Types with atomic updates of their bits: i32, u32, i64 and u64.
pub trait AtomicInteger: AtomicValue {}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $function:path;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub fn $name(self, value: T, scope: Scope) -> T {
            #[cfg(not(target_os = "cuda"))]
            self.note(Kind::AtomicUpdate, Location::caller());
            // SAFETY: valid by `new`.
            unsafe { $function(self.element, value, scope, S::SHARED) }
        }
    )*};
}

impl<T: AtomicValue, S: Space> Atomic<'_, T, S> {
    /// # Safety
    /// `element` must be aligned, valid during the lifetime, and in the space `S`.
    #[inline(always)]
    pub(crate) unsafe fn new(
        element: *mut T,
        #[cfg(not(target_os = "cuda"))] index: usize,
        #[cfg(not(target_os = "cuda"))] watch: Watch,
    ) -> Self {
        Self {
            element,
            #[cfg(not(target_os = "cuda"))]
            index,
            #[cfg(not(target_os = "cuda"))]
            watch,
            lifetime: PhantomData,
        }
    }

    #[cfg(not(target_os = "cuda"))]
    fn note(&self, kind: Kind, place: &'static Location<'static>) {
        match self.watch {
            Watch::Global => watch::global(self.element, self.index, kind, place),
            Watch::Shared(watch) => {
                // SAFETY: null or the block's, which outlives its threads.
                if let Some(watch) = unsafe { watch.as_ref() } {
                    watch.access(self.index, kind, place);
                }
            }
        }
    }

    /// The value.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn load(self, scope: Scope) -> T {
        #[cfg(not(target_os = "cuda"))]
        self.note(Kind::AtomicRead, Location::caller());
        // SAFETY: valid by `new`.
        unsafe { load(self.element, scope, S::SHARED) }
    }

    /// Replaces the value.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn store(self, value: T, scope: Scope) {
        #[cfg(not(target_os = "cuda"))]
        self.note(Kind::AtomicStore, Location::caller());
        // SAFETY: valid by `new`.
        unsafe { store(self.element, value, scope, S::SHARED) }
    }

    operations! {
        /// Adds, and gives what was there before. Integers wrap.
        fetch_add = T::add;
        /// Subtracts, and gives what was there before. Integers wrap.
        fetch_sub = subtract;
        /// Keeps the smaller, and gives what was there before. A NaN on either side stays (floats).
        fetch_min = T::min;
        /// Keeps the larger, and gives what was there before. A NaN on either side stays (floats).
        fetch_max = T::max;
        /// Replaces the value, and gives what was there before.
        exchange = exchange;
    }

    /// Replaces the value if its bits are those of `current`.
    ///
    /// # Errors
    /// What is there instead.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn compare_exchange(self, current: T, new: T, scope: Scope) -> Result<T, T> {
        #[cfg(not(target_os = "cuda"))]
        self.note(Kind::AtomicUpdate, Location::caller());
        // SAFETY: valid by `new`.
        let old = unsafe { compare_exchange(self.element, current, new, scope, S::SHARED) };
        if old.to_bits64() == current.to_bits64() { Ok(old) } else { Err(old) }
    }
}

impl<T: AtomicInteger, S: Space> Atomic<'_, T, S> {
    operations! {
        /// Keeps the bits that are in both, and gives what was there before.
        fetch_and = bits::and;
        /// Keeps the bits that are in either, and gives what was there before.
        fetch_or = bits::or;
        /// Keeps the bits that are in one of them, and gives what was there before.
        fetch_xor = bits::xor;
    }
}

#[inline(always)]
unsafe fn subtract<T: AtomicValue>(element: *mut T, value: T, scope: Scope, shared: bool) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::add(element, value.negative(), scope, shared) }
}

/// `if` instead of an operation that the hardware has: float minimum and maximum.
#[inline(always)]
unsafe fn update<T: AtomicValue>(element: *mut T, scope: Scope, shared: bool, f: impl Fn(T) -> T) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        let mut old = load(element, scope, shared);
        loop {
            let found = compare_exchange(element, old, f(old), scope, shared);
            if found.to_bits64() == old.to_bits64() {
                return old;
            }
            old = found;
        }
    }
}

/// One instruction for each scope and space; `{place}` and `{value}` are its operands.
#[cfg(target_os = "cuda")]
macro_rules! instruction {
    ($shared:expr, $scope:expr, $before:literal, ($($after:tt)*), [$($operand:tt)*]) => {
        match ($shared, $scope) {
            (false, Scope::Block) => instruction!(@ $before, "cta", "global", ($($after)*), [$($operand)*]),
            (false, Scope::Device) => instruction!(@ $before, "gpu", "global", ($($after)*), [$($operand)*]),
            (false, Scope::System) => instruction!(@ $before, "sys", "global", ($($after)*), [$($operand)*]),
            (true, Scope::Block) => instruction!(@ $before, "cta", "shared", ($($after)*), [$($operand)*]),
            (true, Scope::Device) => instruction!(@ $before, "gpu", "shared", ($($after)*), [$($operand)*]),
            (true, Scope::System) => instruction!(@ $before, "sys", "shared", ($($after)*), [$($operand)*]),
        }
    };
    (@ $before:literal, $scope:literal, $space:literal, ($($after:tt)*), [$($operand:tt)*]) => {
        asm!(
            "{{", ".reg .u64 place;", concat!("cvta.to.", $space, ".u64 place, {place};"),
            concat!($before, ".relaxed.", $scope, ".", $space, ".", $($after)*, ";"), "}}", $($operand)*, options(nostack)
        )
    };
}

/// `atom.OP` on 32 or 64 bits.
#[cfg(target_os = "cuda")]
macro_rules! atom {
    (reg32, $op:literal, $element:expr, $value:expr, $scope:expr, $shared:expr) => {{
        let old: u32;
        instruction!($shared, $scope, "atom", ($op, " {old}, [place], {value}"), [
            place = in(reg64) $element, value = in(reg32) $value as u32, old = out(reg32) old
        ]);
        u64::from(old)
    }};
    (reg64, $op:literal, $element:expr, $value:expr, $scope:expr, $shared:expr) => {{
        let old: u64;
        instruction!($shared, $scope, "atom", ($op, " {old}, [place], {value}"), [
            place = in(reg64) $element, value = in(reg64) $value, old = out(reg64) old
        ]);
        old
    }};
}

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn load<T: Word>(element: *mut T, scope: Scope, shared: bool) -> T {
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        T::from_bits64(match T::BITS {
            64 => {
                let value: u64;
                instruction!(shared, scope, "ld", ("b64 {value}, [place]"), [place = in(reg64) element, value = out(reg64) value]);
                value
            }
            _ => {
                let value: u32;
                instruction!(shared, scope, "ld", ("b32 {value}, [place]"), [place = in(reg64) element, value = out(reg32) value]);
                u64::from(value)
            }
        })
    }
}

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn store<T: Word>(element: *mut T, value: T, scope: Scope, shared: bool) {
    let bits = value.to_bits64();
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        match T::BITS {
            64 => {
                instruction!(shared, scope, "st", ("b64 [place], {value}"), [place = in(reg64) element, value = in(reg64) bits]);
            }
            _ => {
                instruction!(shared, scope, "st", ("b32 [place], {value}"), [place = in(reg64) element, value = in(reg32) bits as u32]);
            }
        }
    }
}

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn exchange<T: Word>(element: *mut T, value: T, scope: Scope, shared: bool) -> T {
    let bits = value.to_bits64();
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        T::from_bits64(match T::BITS {
            64 => atom!(reg64, "exch.b64", element, bits, scope, shared),
            _ => atom!(reg32, "exch.b32", element, bits, scope, shared),
        })
    }
}

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn compare_exchange<T: Word>(element: *mut T, current: T, new: T, scope: Scope, shared: bool) -> T {
    let (current, new) = (current.to_bits64(), new.to_bits64());
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        T::from_bits64(match T::BITS {
            64 => {
                let old: u64;
                instruction!(shared, scope, "atom", ("cas.b64 {old}, [place], {current}, {new}"), [
                    place = in(reg64) element, current = in(reg64) current, new = in(reg64) new, old = out(reg64) old
                ]);
                old
            }
            _ => {
                let old: u32;
                instruction!(shared, scope, "atom", ("cas.b32 {old}, [place], {current}, {new}"), [
                    place = in(reg64) element, current = in(reg32) current as u32, new = in(reg32) new as u32,
                    old = out(reg32) old
                ]);
                u64::from(old)
            }
        })
    }
}

#[cfg(target_os = "cuda")]
mod bits {
    use super::{Scope, Word, asm};

    macro_rules! functions {
        ($($name:ident, $narrow:literal, $wide:literal;)*) => {$(
            #[inline(always)]
            pub(super) unsafe fn $name<T: Word>(element: *mut T, value: T, scope: Scope, shared: bool) -> T {
                let bits = value.to_bits64();
                // SAFETY: the caller promises a valid element in this space.
                unsafe {
                    T::from_bits64(match T::BITS {
                        64 => atom!(reg64, $wide, element, bits, scope, shared),
                        _ => atom!(reg32, $narrow, element, bits, scope, shared),
                    })
                }
            }
        )*};
    }

    functions! {
        and, "and.b32", "and.b64";
        or, "or.b32", "or.b64";
        xor, "xor.b32", "xor.b64";
    }
}

/// The host's atomics, for the simulator.
#[cfg(not(target_os = "cuda"))]
unsafe fn on_host<T: Word>(element: *mut T, f: impl Fn(T) -> T) -> T {
    let new = |bits: u64| f(T::from_bits64(bits)).to_bits64();
    // SAFETY: the caller promises a valid, aligned element.
    let bits = unsafe {
        match T::BITS {
            64 => {
                AtomicU64::from_ptr(element.cast()).fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| Some(new(x)))
            }
            _ => AtomicU32::from_ptr(element.cast())
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| Some(new(u64::from(x)) as u32))
                .map(u64::from)
                .map_err(u64::from),
        }
    };
    T::from_bits64(bits.unwrap_or_else(|bits| bits))
}

#[cfg(not(target_os = "cuda"))]
unsafe fn load<T: Word>(element: *mut T, _: Scope, _: bool) -> T {
    // SAFETY: the caller promises a valid, aligned element.
    unsafe {
        T::from_bits64(match T::BITS {
            64 => AtomicU64::from_ptr(element.cast()).load(Ordering::SeqCst),
            _ => u64::from(AtomicU32::from_ptr(element.cast()).load(Ordering::SeqCst)),
        })
    }
}

#[cfg(not(target_os = "cuda"))]
unsafe fn store<T: Word>(element: *mut T, value: T, _: Scope, _: bool) {
    // SAFETY: the caller's promise.
    unsafe { on_host(element, |_| value) };
}

#[cfg(not(target_os = "cuda"))]
unsafe fn exchange<T: Word>(element: *mut T, value: T, _: Scope, _: bool) -> T {
    // SAFETY: the caller's promise.
    unsafe { on_host(element, |_| value) }
}

#[cfg(not(target_os = "cuda"))]
unsafe fn compare_exchange<T: Word>(element: *mut T, current: T, new: T, _: Scope, _: bool) -> T {
    // SAFETY: the caller's promise.
    unsafe { on_host(element, |old| if old.to_bits64() == current.to_bits64() { new } else { old }) }
}

#[cfg(not(target_os = "cuda"))]
mod bits {
    use super::{Scope, Word, on_host};

    macro_rules! functions {
        ($($name:ident = $operator:tt;)*) => {$(
            pub(super) unsafe fn $name<T: Word>(element: *mut T, value: T, _: Scope, _: bool) -> T {
                // SAFETY: the caller's promise.
                unsafe { on_host(element, |old| T::from_bits64(old.to_bits64() $operator value.to_bits64())) }
            }
        )*};
    }

    functions! {
        and = &;
        or = |;
        xor = ^;
    }
}

macro_rules! integers {
    ($($ty:ty: $class:ident, $add:literal, $min:literal, $max:literal;)*) => {$(
        impl AtomicInteger for $ty {}
        impl AtomicValue for $ty {
            #[inline(always)]
            unsafe fn add(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self {
                integers!(@ element, value, scope, shared, $class, $add, |old: $ty| old.wrapping_add(value))
            }
            #[inline(always)]
            unsafe fn min(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self {
                integers!(@ element, value, scope, shared, $class, $min, |old: $ty| Ord::min(old, value))
            }
            #[inline(always)]
            unsafe fn max(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self {
                integers!(@ element, value, scope, shared, $class, $max, |old: $ty| Ord::max(old, value))
            }
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
        }
    )*};
    (@ $element:ident, $value:ident, $scope:ident, $shared:ident, $class:ident, $op:literal, $host:expr) => {{
        #[cfg(target_os = "cuda")]
        // SAFETY: the caller promises a valid element in this space.
        unsafe {
            Self::from_bits64(atom!($class, $op, $element, $value.to_bits64(), $scope, $shared))
        }
        #[cfg(not(target_os = "cuda"))]
        // SAFETY: the caller promises a valid element.
        unsafe {
            let _ = ($scope, $shared);
            on_host($element, $host)
        }
    }};
}

integers! {
    i32: reg32, "add.s32", "min.s32", "max.s32";
    u32: reg32, "add.u32", "min.u32", "max.u32";
    i64: reg64, "add.u64", "min.s64", "max.s64";
    u64: reg64, "add.u64", "min.u64", "max.u64";
}

macro_rules! floats {
    ($($ty:ty: $class:ident, $add:literal;)*) => {$(
        impl AtomicValue for $ty {
            #[inline(always)]
            unsafe fn add(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self {
                integers!(@ element, value, scope, shared, $class, $add, |old: $ty| old + value)
            }
            #[inline(always)]
            unsafe fn min(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self {
                // SAFETY: the caller's promise.
                unsafe { update(element, scope, shared, |old| if value < old || value.is_nan() { value } else { old }) }
            }
            #[inline(always)]
            unsafe fn max(element: *mut Self, value: Self, scope: Scope, shared: bool) -> Self {
                // SAFETY: the caller's promise.
                unsafe { update(element, scope, shared, |old| if value > old || value.is_nan() { value } else { old }) }
            }
            #[inline(always)]
            fn negative(self) -> Self {
                -self
            }
        }
    )*};
}

floats! {
    f32: reg32, "add.f32";
    f64: reg64, "add.f64";
}
