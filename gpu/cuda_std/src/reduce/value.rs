//! What can be reduced and how: [`Reduce`], [`BlockReduce`], [`WarpReductionOp`].

use crate::warp::Word;
use crate::{Shared, shared_array};

/// How values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, wrapping for integers.
    Add,
    /// The smallest; NaN if any is NaN.
    Min,
    /// The largest; NaN if any is NaN.
    Max,
    /// Bits that are set in all. Integers only.
    And,
    /// Bits that are set in any. Integers only.
    Or,
    /// Bits that are set in an odd number. Integers only.
    Xor,
}

/// What can be reduced: u32, i32, u64, i64, f32 and f64.
pub trait Reduce: Word {
    /// The two values combined. Traps for an operation that the type doesn't have.
    fn combine(self, other: Self, op: WarpReductionOp) -> Self;

    /// The value that changes no other one when they are combined; for floats +0.0, and infinities. Traps as
    /// [`combine`](Self::combine).
    fn identity(op: WarpReductionOp) -> Self;

    /// The reduction by one instruction, where the architecture has it for this type.
    #[doc(hidden)]
    #[cfg(target_os = "cuda")]
    #[inline(always)]
    fn instruction(self, _mask: u32, _op: WarpReductionOp) -> Option<Self> {
        None
    }
}

#[cfg(target_os = "cuda")]
macro_rules! redux {
    ($value:expr, $mask:expr, $($op:tt)*) => {{
        let result: u32;
        // SAFETY: moves registers between lanes.
        unsafe {
            core::arch::asm!(
                concat!("redux.sync.", $($op)*, " {result}, {value}, {mask};"),
                result = out(reg32) result, value = in(reg32) $value, mask = in(reg32) $mask, options(nostack)
            );
        }
        result
    }};
}

macro_rules! reduce_integers {
    ($($ty:ty $(, $suffix:literal)?;)*) => {$(
        impl Reduce for $ty {
            #[inline(always)]
            fn combine(self, other: Self, op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => self.wrapping_add(other),
                    WarpReductionOp::Min => self.min(other),
                    WarpReductionOp::Max => self.max(other),
                    WarpReductionOp::And => self & other,
                    WarpReductionOp::Or => self | other,
                    WarpReductionOp::Xor => self ^ other,
                }
            }

            #[inline(always)]
            fn identity(op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add | WarpReductionOp::Or | WarpReductionOp::Xor => 0,
                    WarpReductionOp::Min => Self::MAX,
                    WarpReductionOp::Max => Self::MIN,
                    WarpReductionOp::And => !0,
                }
            }

            $(
                #[cfg(target_os = "cuda")]
                #[inline(always)]
                fn instruction(self, mask: u32, op: WarpReductionOp) -> Option<Self> {
                    if crate::arch() < 800 {
                        return None;
                    }
                    let value = self as u32;
                    let result = match op {
                        WarpReductionOp::Add => redux!(value, mask, "add.", $suffix),
                        WarpReductionOp::Min => redux!(value, mask, "min.", $suffix),
                        WarpReductionOp::Max => redux!(value, mask, "max.", $suffix),
                        WarpReductionOp::And => redux!(value, mask, "and.b32"),
                        WarpReductionOp::Or => redux!(value, mask, "or.b32"),
                        WarpReductionOp::Xor => redux!(value, mask, "xor.b32"),
                    };
                    Some(result as $ty)
                }
            )?
        }
    )*};
}

reduce_integers! {
    u32, "u32";
    i32, "s32";
    u64;
    i64;
}

macro_rules! reduce_floats {
    ($($ty:ident)*) => {$(
        impl Reduce for $ty {
            #[inline(always)]
            fn combine(self, other: Self, op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => self + other,
                    // Equal numbers differ in the sign of zero only: the negative zero is the smaller one.
                    WarpReductionOp::Min if self == other => $ty::from_bits(self.to_bits() | other.to_bits()),
                    WarpReductionOp::Max if self == other => $ty::from_bits(self.to_bits() & other.to_bits()),
                    WarpReductionOp::Min if self < other || self.is_nan() => self,
                    WarpReductionOp::Max if self > other || self.is_nan() => self,
                    WarpReductionOp::Min | WarpReductionOp::Max => other,
                    WarpReductionOp::And | WarpReductionOp::Or | WarpReductionOp::Xor => crate::trap(),
                }
            }

            #[inline(always)]
            fn identity(op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => 0.0,
                    WarpReductionOp::Min => $ty::INFINITY,
                    WarpReductionOp::Max => $ty::NEG_INFINITY,
                    WarpReductionOp::And | WarpReductionOp::Or | WarpReductionOp::Xor => crate::trap(),
                }
            }
        }
    )*};
}
reduce_floats!(f32 f64);

/// What block-wide operations on `T` need: a shared array of its own, which a generic function can't declare.
pub trait BlockReduce: Reduce {
    #[doc(hidden)]
    fn partials() -> Shared<Self, 32>;
}

macro_rules! block_reduce {
    ($($ty:ident)*) => {$(
        impl BlockReduce for $ty {
            #[inline(always)]
            fn partials() -> Shared<Self, 32> {
                shared_array![$ty; 32]
            }
        }
    )*};
}
block_reduce!(u32 i32 u64 i64 f32 f64);
