//! The device side: one instruction for each hint and size.

use core::arch::asm;

use super::{Load, Store};
use crate::warp::Word;

macro_rules! loads {
    ($start:ident, $bytes:expr, $instruction:literal) => {
        match $bytes {
            16 => {
                let (low, high): (u64, u64);
                loads!(@ $instruction, ".v2.b64 {{{low}, {high}}}", place = in(reg64) $start, low = out(reg64) low, high = out(reg64) high);
                u128::from(high) << 64 | u128::from(low)
            }
            8 => {
                let word: u64;
                loads!(@ $instruction, ".b64 {word}", place = in(reg64) $start, word = out(reg64) word);
                u128::from(word)
            }
            4 => {
                let word: u32;
                loads!(@ $instruction, ".b32 {word}", place = in(reg64) $start, word = out(reg32) word);
                u128::from(word)
            }
            2 => {
                let word: u16;
                loads!(@ $instruction, ".b16 {word}", place = in(reg64) $start, word = out(reg16) word);
                u128::from(word)
            }
            _ => {
                let word: u16;
                loads!(@ $instruction, ".u8 {word}", place = in(reg64) $start, word = out(reg16) word);
                u128::from(word)
            }
        }
    };
    (@ $instruction:literal, $target:literal, $($operands:tt)*) => {
        asm!(
            "{{", ".reg .u64 place;", "cvta.to.global.u64 place, {place};", concat!($instruction, $target, ", [place];"), "}}",
            $($operands)*, options(pure, readonly, nostack, preserves_flags)
        )
    };
}

/// # Safety
/// `N` elements at `start` must be valid, aligned to their size, and not written by anyone during the launch.
#[inline(always)]
pub(super) unsafe fn load<T: Word, const N: usize>(start: *const T, how: Load) -> [T; N] {
    let bytes = N * size_of::<T>();
    // SAFETY: the caller's promise.
    let bits = unsafe {
        match how {
            Load::ReadOnly => loads!(start, bytes, "ld.global.nc"),
            Load::L2 => loads!(start, bytes, "ld.global.cg"),
            Load::Streaming => loads!(start, bytes, "ld.global.cs"),
            // In the PTX version of earlier architectures there is no such word.
            Load::Keep if crate::arch() >= 890 => loads!(start, bytes, "ld.global.L1::evict_last"),
            Load::Default | Load::Keep => loads!(start, bytes, "ld.global"),
        }
    };
    <[T; N]>::from_raw_bits(bits)
}

macro_rules! stores {
    ($start:ident, $bytes:expr, $bits:ident, $instruction:literal) => {
        match $bytes {
            16 => stores!(@ $instruction, ".v2.b64 [place], {{{low}, {high}}}", place = in(reg64) $start,
                low = in(reg64) $bits as u64, high = in(reg64) ($bits >> 64) as u64),
            8 => stores!(@ $instruction, ".b64 [place], {word}", place = in(reg64) $start, word = in(reg64) $bits as u64),
            4 => stores!(@ $instruction, ".b32 [place], {word}", place = in(reg64) $start, word = in(reg32) $bits as u32),
            2 => stores!(@ $instruction, ".b16 [place], {word}", place = in(reg64) $start, word = in(reg16) $bits as u16),
            _ => stores!(@ $instruction, ".u8 [place], {word}", place = in(reg64) $start, word = in(reg16) $bits as u16),
        }
    };
    (@ $instruction:literal, $target:literal, $($operands:tt)*) => {
        asm!(
            "{{", ".reg .u64 place;", "cvta.to.global.u64 place, {place};", concat!($instruction, $target, ";"), "}}",
            $($operands)*, options(nostack, preserves_flags)
        )
    };
}

/// # Safety
/// `N` elements at `start` must be valid, aligned to their size, and this thread's alone.
#[inline(always)]
pub(super) unsafe fn store<T: Word, const N: usize>(start: *mut T, values: [T; N], how: Store) {
    let (bytes, bits) = (N * size_of::<T>(), values.to_raw_bits());
    // SAFETY: the caller's promise.
    unsafe {
        match how {
            Store::Default => stores!(start, bytes, bits, "st.global"),
            Store::L2 => stores!(start, bytes, bits, "st.global.cg"),
            Store::Streaming => stores!(start, bytes, bits, "st.global.cs"),
            Store::WriteThrough => stores!(start, bytes, bits, "st.global.wt"),
        }
    }
}
