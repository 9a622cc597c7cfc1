//! The device side: one instruction for each order, scope and space. All three are constants where a kernel is compiled, so
//! that one of the branches is left.

use core::arch::asm;
use core::sync::atomic::Ordering;

use super::value::update;
use super::{Access, Memory, Scope};
use crate::warp::Word;
use crate::{bf16, f16};

/// `ld`, `st` or `atom`; `{place}` is the address in its own space, the other operands are named by the caller.
macro_rules! instruction {
    (ld $access:ident, $rest:tt, $operands:tt) => {
        match $access.ordering {
            Ordering::Relaxed => instruction!(@space $access, "ld.relaxed", $rest, $operands),
            _ => instruction!(@space $access, "ld.acquire", $rest, $operands),
        }
    };
    (st $access:ident, $rest:tt, $operands:tt) => {
        match $access.ordering {
            Ordering::Relaxed => instruction!(@space $access, "st.relaxed", $rest, $operands),
            _ => instruction!(@space $access, "st.release", $rest, $operands),
        }
    };
    (atom $access:ident, $rest:tt, $operands:tt) => {
        match $access.ordering {
            Ordering::Relaxed => instruction!(@space $access, "atom.relaxed", $rest, $operands),
            Ordering::Acquire => instruction!(@space $access, "atom.acquire", $rest, $operands),
            Ordering::Release => instruction!(@space $access, "atom.release", $rest, $operands),
            _ => instruction!(@space $access, "atom.acq_rel", $rest, $operands),
        }
    };
    (@space $access:ident, $name:literal, $rest:tt, $operands:tt) => {
        match $access.memory {
            Memory::Global => instruction!(@scope $access, $name, "global", "cvta.to.global", $rest, $operands),
            Memory::Shared => instruction!(@scope $access, $name, "shared", "cvta.to.shared", $rest, $operands),
            // The element's address is its address there already.
            Memory::Cluster => instruction!(@scope $access, $name, "shared::cluster", "mov", $rest, $operands),
        }
    };
    (@scope $access:ident, $name:literal, $space:literal, $convert:literal, $rest:tt, $operands:tt) => {
        match $access.scope {
            Scope::Block => instruction!(@ $name, "cta", $space, $convert, $rest, $operands),
            Scope::Cluster if has_clusters() => instruction!(@ $name, "cluster", $space, $convert, $rest, $operands),
            Scope::Device | Scope::Cluster => instruction!(@ $name, "gpu", $space, $convert, $rest, $operands),
            Scope::System => instruction!(@ $name, "sys", $space, $convert, $rest, $operands),
        }
    };
    (@ $name:literal, $scope:literal, $space:literal, $convert:literal, ($($rest:literal),*), [$($operand:tt)*]) => {
        asm!(
            "{{", ".reg .u64 place;", concat!($convert, ".u64 place, {place};"),
            concat!($name, ".", $scope, ".", $space, ".", $($rest),*, ";"), "}}", $($operand)*, options(nostack)
        )
    };
}

/// Whether there is a scope between block and device. Elsewhere a cluster is one block, which the device's scope includes.
#[inline(always)]
fn has_clusters() -> bool {
    crate::arch() >= 900
}

/// Sequential consistency is a fence before the access: PTX's memory model, mapped as CUDA's C++ does it.
#[inline(always)]
fn fence_before(access: Access) {
    if access.ordering == Ordering::SeqCst {
        // SAFETY: a fence has no preconditions.
        unsafe {
            match access.scope {
                Scope::Block => asm!("fence.sc.cta;", options(nostack)),
                Scope::Cluster if has_clusters() => asm!("fence.sc.cluster;", options(nostack)),
                Scope::Device | Scope::Cluster => asm!("fence.sc.gpu;", options(nostack)),
                Scope::System => asm!("fence.sc.sys;", options(nostack)),
            }
        }
    }
}

/// An update of one operand, which gives the old bits.
macro_rules! atom {
    ($access:ident, $class:ident, $word:ty, $op:literal, $element:expr, $value:expr) => {{
        fence_before($access);
        let old: $word;
        instruction!(atom $access, ($op, " {old}, [place], {value}"), [
            place = in(reg64) $element, value = in($class) $value as $word, old = out($class) old
        ]);
        old
    }};
}

#[inline(always)]
pub(super) unsafe fn load<T: Word>(element: *mut T, access: Access) -> T {
    fence_before(access);
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        T::from_raw_bits(match T::BITS {
            16 => {
                let value: u16;
                instruction!(ld access, ("b16 {value}, [place]"), [place = in(reg64) element, value = out(reg16) value]);
                u128::from(value)
            }
            32 => {
                let value: u32;
                instruction!(ld access, ("b32 {value}, [place]"), [place = in(reg64) element, value = out(reg32) value]);
                u128::from(value)
            }
            _ => {
                let value: u64;
                instruction!(ld access, ("b64 {value}, [place]"), [place = in(reg64) element, value = out(reg64) value]);
                u128::from(value)
            }
        })
    }
}

#[inline(always)]
pub(super) unsafe fn store<T: Word>(element: *mut T, value: T, access: Access) {
    fence_before(access);
    let bits = value.to_raw_bits();
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        match T::BITS {
            16 => {
                instruction!(st access, ("b16 [place], {value}"), [place = in(reg64) element, value = in(reg16) bits as u16]);
            }
            32 => {
                instruction!(st access, ("b32 [place], {value}"), [place = in(reg64) element, value = in(reg32) bits as u32]);
            }
            _ => {
                instruction!(st access, ("b64 [place], {value}"), [place = in(reg64) element, value = in(reg64) bits as u64]);
            }
        }
    }
}

#[inline(always)]
pub(super) unsafe fn exchange<T: Word>(element: *mut T, value: T, access: Access) -> T {
    let bits = value.to_raw_bits();
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        match T::BITS {
            16 => update(element, access, |_| value),
            32 => T::from_raw_bits(u128::from(atom!(access, reg32, u32, "exch.b32", element, bits))),
            _ => T::from_raw_bits(u128::from(atom!(access, reg64, u64, "exch.b64", element, bits))),
        }
    }
}

macro_rules! compare_exchange {
    ($access:ident, $class:ident, $word:ty, $op:literal, $element:ident, $current:ident, $new:ident) => {{
        let old: $word;
        instruction!(atom $access, ($op, " {old}, [place], {current}, {new}"), [
            place = in(reg64) $element, current = in($class) $current as $word, new = in($class) $new as $word,
            old = out($class) old
        ]);
        u128::from(old)
    }};
}

#[inline(always)]
pub(super) unsafe fn compare_exchange<T: Word>(element: *mut T, current: T, new: T, access: Access) -> T {
    fence_before(access);
    let (current, new) = (current.to_raw_bits(), new.to_raw_bits());
    // SAFETY: the caller promises a valid element in this space.
    unsafe {
        T::from_raw_bits(match T::BITS {
            16 => compare_exchange!(access, reg16, u16, "cas.b16", element, current, new),
            32 => compare_exchange!(access, reg32, u32, "cas.b32", element, current, new),
            _ => compare_exchange!(access, reg64, u64, "cas.b64", element, current, new),
        })
    }
}

macro_rules! bitwise {
    ($($name:ident, $narrow:literal, $wide:literal;)*) => {$(
        #[inline(always)]
        pub(super) unsafe fn $name<T: Word>(element: *mut T, value: T, access: Access) -> T {
            let bits = value.to_raw_bits();
            // SAFETY: the caller promises a valid element in this space.
            unsafe {
                T::from_raw_bits(match T::BITS {
                    32 => u128::from(atom!(access, reg32, u32, $narrow, element, bits)),
                    _ => u128::from(atom!(access, reg64, u64, $wide, element, bits)),
                })
            }
        }
    )*};
}

bitwise! {
    and, "and.b32", "and.b64";
    or, "or.b32", "or.b64";
    xor, "xor.b32", "xor.b64";
}

macro_rules! arithmetic {
    ($($name:ident($ty:ty: $class:ident, $word:ty) = $op:literal $(, from $arch:literal, before $before:expr)?;)*) => {$(
        #[inline(always)]
        pub(super) unsafe fn $name(element: *mut $ty, value: $ty, access: Access) -> $ty {
            $(if crate::arch() < $arch {
                // SAFETY: the caller's promise.
                return unsafe { update(element, access, |old| $before(old, value)) };
            })?
            // SAFETY: the caller promises a valid element in this space.
            unsafe { <$ty>::from_raw_bits(u128::from(atom!(access, $class, $word, $op, element, value.to_raw_bits()))) }
        }
    )*};
}

arithmetic! {
    add_i32(i32: reg32, u32) = "add.s32";
    add_u32(u32: reg32, u32) = "add.u32";
    add_i64(i64: reg64, u64) = "add.u64";
    add_u64(u64: reg64, u64) = "add.u64";
    min_i32(i32: reg32, u32) = "min.s32";
    min_u32(u32: reg32, u32) = "min.u32";
    min_i64(i64: reg64, u64) = "min.s64";
    min_u64(u64: reg64, u64) = "min.u64";
    max_i32(i32: reg32, u32) = "max.s32";
    max_u32(u32: reg32, u32) = "max.u32";
    max_i64(i64: reg64, u64) = "max.s64";
    max_u64(u64: reg64, u64) = "max.u64";
    add_f32(f32: reg32, u32) = "add.f32";
    add_f64(f64: reg64, u64) = "add.f64";
    add_f16(f16: reg16, u16) = "add.noftz.f16";
    add_bf16(bf16: reg16, u16) = "add.noftz.bf16", from 900, before |a: bf16, b: bf16| bf16::from_f32(a.to_f32() + b.to_f32());
}
