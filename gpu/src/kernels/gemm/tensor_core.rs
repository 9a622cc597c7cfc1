//! What the kernels for tensor cores share: the number types, and the two ways in which a factor may lie in memory.

use cuda_std::tensor_map::TensorElement;
use cuda_std::wgmma;

use crate::{Element, bf16, f16};

/// 16-bit numbers that tensor cores multiply.
pub trait TensorCore: Element<Compute = f32> + TensorElement {
    /// The name of the format in instructions.
    type Format: wgmma::Format;
    /// Two numbers, each rounded to nearest, ties to even; `low` in the lower half.
    fn pack(low: f32, high: f32) -> u32;
    /// The two numbers, the lower half first.
    fn unpack(pair: u32) -> [f32; 2];
    /// The number with these bits.
    fn from_raw(bits: u16) -> Self;
}

macro_rules! tensor_core {
    ($($number:ident: $format:ident, $convert:literal;)*) => {$(
        impl TensorCore for $number {
            type Format = wgmma::$format;

            #[inline(always)]
            fn pack(low: f32, high: f32) -> u32 {
                #[cfg(target_os = "cuda")]
                {
                    let pair: u32;
                    // SAFETY: a conversion between registers.
                    unsafe {
                        core::arch::asm!(concat!($convert, " {}, {}, {};"), out(reg32) pair, in(reg32) high, in(reg32) low,
                            options(pure, nomem, nostack, preserves_flags));
                    }
                    pair
                }
                #[cfg(not(target_os = "cuda"))]
                {
                    u32::from(Self::from_f32(low).to_bits()) | u32::from(Self::from_f32(high).to_bits()) << 16
                }
            }

            #[inline(always)]
            fn from_raw(bits: u16) -> Self {
                Self::from_bits(bits)
            }

            #[inline(always)]
            fn unpack(pair: u32) -> [f32; 2] {
                [Self::from_bits(pair as u16).to_f32(), Self::from_bits((pair >> 16) as u16).to_f32()]
            }
        }
    )*};
}

tensor_core! {
    f16: F16, "cvt.rn.f16x2.f32";
    bf16: Bf16, "cvt.rn.bf16x2.f32";
}

/// The elements along k are contiguous: a left factor that is stored transposed, a right factor that is stored as it is (column-major
/// both).
#[derive(Clone, Copy, Debug)]
pub struct AlongK;

/// The elements along the lines, the rows of the left factor or the columns of the right one, are contiguous: a left factor that is stored
/// as it is, a right factor that is stored transposed.
#[derive(Clone, Copy, Debug)]
pub struct AlongLines;
