//! [`Word`]: what travels between the lanes of a warp.

use crate::{bf16, f16};

/// A value that lanes can exchange and compare: integers and floats of 8 to 128 bits, and arrays of them up to 128 bits.
///
/// Implement it for a plain type of your own by saying how it becomes bits and back; what doesn't fit 32 bits moves in several
/// instructions.
pub trait Word: Copy {
    /// How many bits, at most 128.
    const BITS: u32;
    /// The bits, in the low part; zero above.
    fn to_raw_bits(self) -> u128;
    /// The value whose bits are in the low part.
    fn from_raw_bits(bits: u128) -> Self;
}

macro_rules! words {
    ($($ty:ty: $bits:literal, |$value:ident| $to:expr, |$raw:ident| $from:expr;)*) => {$(
        impl Word for $ty {
            const BITS: u32 = $bits;
            #[inline(always)]
            fn to_raw_bits(self) -> u128 {
                let $value = self;
                $to
            }
            #[inline(always)]
            fn from_raw_bits($raw: u128) -> Self {
                $from
            }
        }
    )*};
}

words! {
    u8: 8, |x| u128::from(x), |bits| bits as u8;
    i8: 8, |x| u128::from(x as u8), |bits| bits as i8;
    u16: 16, |x| u128::from(x), |bits| bits as u16;
    i16: 16, |x| u128::from(x as u16), |bits| bits as i16;
    f16: 16, |x| u128::from(x.to_bits()), |bits| f16::from_bits(bits as u16);
    bf16: 16, |x| u128::from(x.to_bits()), |bits| bf16::from_bits(bits as u16);
    u32: 32, |x| u128::from(x), |bits| bits as u32;
    i32: 32, |x| u128::from(x as u32), |bits| bits as i32;
    f32: 32, |x| u128::from(x.to_bits()), |bits| f32::from_bits(bits as u32);
    u64: 64, |x| u128::from(x), |bits| bits as u64;
    i64: 64, |x| u128::from(x as u64), |bits| bits as i64;
    f64: 64, |x| u128::from(x.to_bits()), |bits| f64::from_bits(bits as u64);
    u128: 128, |x| x, |bits| bits;
    i128: 128, |x| x as u128, |bits| bits as i128;
}

/// The first element in the lowest bits.
impl<T: Word, const N: usize> Word for [T; N] {
    const BITS: u32 = {
        assert!(T::BITS as usize * N <= 128, "a word has at most 128 bits");
        T::BITS * N as u32
    };

    #[inline(always)]
    fn to_raw_bits(self) -> u128 {
        // Backwards, because a shift by all 128 bits is none.
        self.into_iter().rev().fold(0, |bits, element| bits.unbounded_shl(T::BITS) | element.to_raw_bits())
    }

    #[inline(always)]
    fn from_raw_bits(bits: u128) -> Self {
        core::array::from_fn(|i| T::from_raw_bits(bits.unbounded_shr(T::BITS * i as u32)))
    }
}
