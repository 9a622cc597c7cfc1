//! The simulated side: the host's own atomics, and a note for the simulator's watch.

use core::panic::Location;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::{Access, Atomic, AtomicValue, Space};
use crate::simulator::watch::{self, Kind};
use crate::simulator::{SharedWatch, context};
use crate::warp::Word;
use crate::{bf16, f16};

/// How the simulator's watch finds the element.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watch {
    Global,
    Shared(*const SharedWatch),
    /// Another block's shared memory is not watched.
    Cluster,
}

impl<T: AtomicValue, S: Space> Atomic<'_, T, S> {
    pub(super) fn note(&self, access: Access, kind: Kind, place: &'static Location<'static>) {
        let ordered = |orderings: &[Ordering]| orderings.contains(&access.ordering);
        let acquires = ordered(&[Ordering::Acquire, Ordering::AcqRel, Ordering::SeqCst]);
        let releases = ordered(&[Ordering::Release, Ordering::AcqRel, Ordering::SeqCst]);
        let block = context().state();
        block.orders.access(context().number, acquires, releases);
        if releases {
            block.fenced.set(true);
        }
        match self.watch {
            Watch::Cluster => {}
            Watch::Global => watch::global(self.element, self.index, kind, place),
            Watch::Shared(watch) => {
                // SAFETY: null or the block's, which outlives its threads.
                if let Some(watch) = unsafe { watch.as_ref() } {
                    watch.access(self.index, kind, place);
                }
            }
        }
    }
}

macro_rules! by_size {
    ($element:ident, |$atomic:ident, $bits:ident| $body:expr) => {
        match T::BITS {
            16 => by_size!(@ $element, $atomic, AtomicU16, $bits, u16, $body),
            32 => by_size!(@ $element, $atomic, AtomicU32, $bits, u32, $body),
            _ => by_size!(@ $element, $atomic, AtomicU64, $bits, u64, $body),
        }
    };
    (@ $element:ident, $atomic:ident, $ty:ident, $bits:ident, $word:ty, $body:expr) => {{
        type $bits = $word;
        // SAFETY: the caller promises a valid, aligned element of this size.
        let $atomic = unsafe { $ty::from_ptr($element.cast()) };
        $body
    }};
}

/// Replaces the value by f of it, and gives what was there before.
unsafe fn change<T: Word>(element: *mut T, f: impl Fn(T) -> T) -> T {
    let f = |bits: u128| f(T::from_raw_bits(bits)).to_raw_bits();
    T::from_raw_bits(by_size!(element, |atomic, Bits| {
        let old = atomic.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| Some(f(u128::from(x)) as Bits));
        u128::from(old.unwrap_or_else(|old| old))
    }))
}

pub(super) unsafe fn load<T: Word>(element: *mut T, _: Access) -> T {
    T::from_raw_bits(by_size!(element, |atomic, _Bits| u128::from(atomic.load(Ordering::SeqCst))))
}

pub(super) unsafe fn store<T: Word>(element: *mut T, value: T, _: Access) {
    by_size!(element, |atomic, Bits| atomic.store(value.to_raw_bits() as Bits, Ordering::SeqCst));
}

pub(super) unsafe fn exchange<T: Word>(element: *mut T, value: T, _: Access) -> T {
    // SAFETY: the caller's promise.
    unsafe { change(element, |_| value) }
}

pub(super) unsafe fn compare_exchange<T: Word>(element: *mut T, current: T, new: T, _: Access) -> T {
    // SAFETY: the caller's promise.
    unsafe { change(element, |old| if old.to_raw_bits() == current.to_raw_bits() { new } else { old }) }
}

macro_rules! bitwise {
    ($($name:ident = $operator:tt;)*) => {$(
        pub(super) unsafe fn $name<T: Word>(element: *mut T, value: T, _: Access) -> T {
            // SAFETY: the caller's promise.
            unsafe { change(element, |old| T::from_raw_bits(old.to_raw_bits() $operator value.to_raw_bits())) }
        }
    )*};
}

bitwise! {
    and = &;
    or = |;
    xor = ^;
}

macro_rules! arithmetic {
    ($($name:ident($ty:ty) = |$old:ident, $value:ident| $new:expr;)*) => {$(
        pub(super) unsafe fn $name(element: *mut $ty, $value: $ty, _: Access) -> $ty {
            // SAFETY: the caller's promise.
            unsafe { change(element, |$old| $new) }
        }
    )*};
}

arithmetic! {
    add_i32(i32) = |old, value| old.wrapping_add(value);
    add_u32(u32) = |old, value| old.wrapping_add(value);
    add_i64(i64) = |old, value| old.wrapping_add(value);
    add_u64(u64) = |old, value| old.wrapping_add(value);
    min_i32(i32) = |old, value| old.min(value);
    min_u32(u32) = |old, value| old.min(value);
    min_i64(i64) = |old, value| old.min(value);
    min_u64(u64) = |old, value| old.min(value);
    max_i32(i32) = |old, value| old.max(value);
    max_u32(u32) = |old, value| old.max(value);
    max_i64(i64) = |old, value| old.max(value);
    max_u64(u64) = |old, value| old.max(value);
    add_f32(f32) = |old, value| old + value;
    add_f64(f64) = |old, value| old + value;
    add_f16(f16) = |old, value| f16::from_f32(old.to_f32() + value.to_f32());
    add_bf16(bf16) = |old, value| bf16::from_f32(old.to_f32() + value.to_f32());
}
