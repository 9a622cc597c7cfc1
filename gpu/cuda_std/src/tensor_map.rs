//! Tensor maps as kernels receive them: [`TensorMap`] to read, [`TensorMapMut`] to write. From sm_90 on.
//!
//! A tensor map describes an array of one to five dimensions in global memory and the box that one asynchronous copy moves,
//! down to the order of the bytes in shared memory. The host makes it (`warpsmith::TensorMap`, or here for the simulator, from
//! a [`Tiling`]); [`tma`](crate::tma) has the copies. Axes are counted from the innermost: axis 0 is contiguous.

#[cfg(not(target_os = "cuda"))]
mod tiling;

use core::marker::PhantomData;

use crate::{bf16, f16};

#[cfg(not(target_os = "cuda"))]
pub use tiling::{Error, L2Promotion, Tensor, Tiling};

/// The 128 bytes that the hardware reads, as the driver encodes them.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Descriptor(pub [u64; 16]);

/// The type of a tensor's elements, as a tensor map knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the names of the types")]
pub enum ElementKind {
    U8,
    U16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    Bf16,
}

/// What a tensor that a map describes may consist of.
///
/// # Safety
/// `KIND` must be the type's own.
pub unsafe trait TensorElement: crate::DeviceCopy {
    /// The type.
    const KIND: ElementKind;
}

/// Elements that an asynchronous copy can add to what is in global memory.
pub trait TensorAdd: TensorElement {
    /// The sum, rounded once.
    fn sum(self, other: Self) -> Self;
}

macro_rules! elements {
    ($($ty:ty: $kind:ident $(, $sum:expr)?;)*) => {$(
        // SAFETY: the type's own kind.
        unsafe impl TensorElement for $ty {
            const KIND: ElementKind = ElementKind::$kind;
        }
        $(impl TensorAdd for $ty {
            fn sum(self, other: Self) -> Self {
                $sum(self, other)
            }
        })?
    )*};
}

elements! {
    u8: U8;
    u16: U16;
    u32: U32, u32::wrapping_add;
    i32: I32, i32::wrapping_add;
    u64: U64, u64::wrapping_add;
    i64: I64;
    f32: F32, core::ops::Add::add;
    f64: F64;
    f16: F16, |a: f16, b: f16| f16::from_f32(a.to_f32() + b.to_f32());
    bf16: Bf16, |a: bf16, b: bf16| bf16::from_f32(a.to_f32() + b.to_f32());
}

/// How 16-byte pieces of a box are permuted in shared memory, so that threads of a warp that read a column meet different banks:
/// bits 4 and up of the address are xored with the bits from 7 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Bit 4 is xored with bit 7; rows of a box have at most 32 bytes.
    Bytes32,
    /// Bits 4 and 5 are xored with bits 7 and 8; rows of a box have at most 64 bytes.
    Bytes64,
    /// Bits 4 to 6 are xored with bits 7 to 9; rows of a box have at most 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// Where a byte lies that would be at `address` without a swizzle.
    #[inline(always)]
    pub const fn apply(self, address: u32) -> u32 {
        let mask = match self {
            Self::None => 0,
            Self::Bytes32 => 1,
            Self::Bytes64 => 3,
            Self::Bytes128 => 7,
        };
        address ^ (address >> 7 & mask) << 4
    }

    /// The most bytes of a row of a box; `None` if any number is allowed.
    pub const fn span(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }
}

/// What copies need to know of a map: on the device where it lies, in the simulator what it says.
#[derive(Clone, Copy)]
pub(crate) struct Map {
    #[cfg(target_os = "cuda")]
    pub(crate) address: u64,
    #[cfg(not(target_os = "cuda"))]
    pub(crate) tensor: Tensor,
}

/// A tensor that no thread writes during the launch; its parts are copied to shared memory.
pub struct TensorMap<'a, T, const RANK: usize> {
    pub(crate) map: Map,
    lifetime: PhantomData<&'a [T]>,
}

/// A tensor that the launch may write, from shared memory.
pub struct TensorMapMut<'a, T, const RANK: usize> {
    pub(crate) map: Map,
    lifetime: PhantomData<&'a mut [T]>,
}

impl<T, const RANK: usize> Clone for TensorMap<'_, T, RANK> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const RANK: usize> Copy for TensorMap<'_, T, RANK> {}

macro_rules! maps {
    ($($map:ident, $slice:ty;)*) => {$(
        impl<'a, T: TensorElement, const RANK: usize> $map<'a, T, RANK> {
            /// What an entry point got.
            ///
            /// # Safety
            /// The descriptor must lie in the kernel's parameters and describe a tensor of this type and rank, valid, and
            /// reached only in the way that the type says, for `'a`.
            #[cfg(target_os = "cuda")]
            #[doc(hidden)]
            #[inline(always)]
            pub unsafe fn from_parameter(descriptor: &'static Descriptor) -> Self {
                Self { map: Map { address: (&raw const *descriptor).addr() as u64 }, lifetime: PhantomData }
            }

            /// A map of host memory, for the simulator.
            ///
            /// # Safety
            /// As for the view of all its elements: valid, and reached only in the way that the type says, for `'a`.
            #[cfg(not(target_os = "cuda"))]
            pub unsafe fn from_tensor(tensor: Tensor) -> Self {
                Self { map: Map { tensor }, lifetime: PhantomData }
            }

            /// A map of a host slice, for the simulator.
            ///
            /// # Errors
            /// What the hardware would refuse.
            #[cfg(not(target_os = "cuda"))]
            pub fn from_slice(slice: $slice, tiling: &Tiling<RANK>) -> Result<Self, Error> {
                let tensor = tiling.check::<T>(slice.as_ptr() as u64, slice.len())?;
                // SAFETY: the slice is borrowed for 'a.
                Ok(unsafe { Self::from_tensor(tensor) })
            }
        }
    )*};
}

maps! {
    TensorMap, &'a [T];
    TensorMapMut, &'a mut [T];
}
