//! [`f16`] and [`bf16`]: storage of 16 bits whose arithmetic is f32's.
//!
//! Converted by the hardware on the device and by the crate `half` on the host. Adding two of them in f32 and rounding once
//! is the correctly rounded sum, since f32 has more than twice their digits.

use crate::DeviceCopy;

macro_rules! sixteen_bit {
    ($(#[$doc:meta])* $name:ident, $to_f32:item, $from_f32:item) => {
        $(#[$doc])*
        #[expect(non_camel_case_types, reason = "named like the primitive types")]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u16);

        // SAFETY: two plain bytes.
        unsafe impl DeviceCopy for $name {}

        impl $name {
            /// The number with these bits.
            #[inline(always)]
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }

            /// The number's bits.
            #[inline(always)]
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            /// Whether this is not a number.
            #[inline(always)]
            pub fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }

            /// The same value in single precision.
            #[inline(always)]
            $to_f32

            /// The nearest number, ties to even.
            #[inline(always)]
            $from_f32
        }

        impl core::ops::Neg for $name {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                Self(self.0 ^ 0x8000)
            }
        }

        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl From<$name> for f32 {
            #[inline(always)]
            fn from(x: $name) -> f32 {
                x.to_f32()
            }
        }

        #[cfg(not(target_os = "cuda"))]
        impl From<half::$name> for $name {
            fn from(x: half::$name) -> Self {
                Self(x.to_bits())
            }
        }

        #[cfg(not(target_os = "cuda"))]
        impl From<$name> for half::$name {
            fn from(x: $name) -> Self {
                Self::from_bits(x.0)
            }
        }
    };
}

sixteen_bit! {
    /// IEEE 754 half precision: 11 significant bits, up to 65504.
    f16,
    pub fn to_f32(self) -> f32 {
        #[cfg(target_os = "cuda")]
        {
            let value: f32;
            // SAFETY: a conversion between registers.
            unsafe {
                core::arch::asm!("cvt.f32.f16 {}, {};", out(reg32) value, in(reg16) self.0,
                    options(pure, nomem, nostack, preserves_flags));
            }
            value
        }
        #[cfg(not(target_os = "cuda"))]
        half::f16::from_bits(self.0).to_f32()
    },
    pub fn from_f32(value: f32) -> Self {
        #[cfg(target_os = "cuda")]
        {
            let bits: u16;
            // SAFETY: a conversion between registers.
            unsafe {
                core::arch::asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) value,
                    options(pure, nomem, nostack, preserves_flags));
            }
            Self(bits)
        }
        #[cfg(not(target_os = "cuda"))]
        Self(half::f16::from_f32(value).to_bits())
    }
}

sixteen_bit! {
    /// Brain floating point: the upper half of an f32, 8 significant bits.
    bf16,
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    },
    pub fn from_f32(value: f32) -> Self {
        #[cfg(target_os = "cuda")]
        if crate::arch() >= 800 {
            let bits: u16;
            // SAFETY: a conversion between registers, on architectures that have it.
            unsafe {
                core::arch::asm!("cvt.rn.bf16.f32 {}, {};", out(reg16) bits, in(reg32) value,
                    options(pure, nomem, nostack, preserves_flags));
            }
            return Self(bits);
        }
        // Adding just under half of the last kept place, plus its lowest bit, rounds ties to even.
        let bits = value.to_bits();
        let rounded = ((bits.wrapping_add(0x7fff + ((bits >> 16) & 1))) >> 16) as u16;
        Self(if value.is_nan() { 0x7fff } else { rounded })
    }
}
