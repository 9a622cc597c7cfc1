//! Shuffles: a lane reads another lane's value, within segments of 1, 2, 4, ... 32 lanes.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

use super::Word;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;

/// Traps unless a warp can be cut into segments of that many lanes.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub(crate) fn expect_width(width: u32) {
    if !width.is_power_of_two() || width > 32 {
        #[cfg(target_os = "cuda")]
        crate::trap();
        #[cfg(not(target_os = "cuda"))]
        crate::simulator::refuse(
            format!("segments of {width} lanes: there must be 1, 2, 4, 8, 16 or 32"),
            Location::caller(),
        );
    }
}

#[cfg(target_os = "cuda")]
macro_rules! shuffle_instruction {
    ($mode:literal, $mask:expr, $value:expr, $lane:expr, $control:expr) => {{
        let (result, inside): (u32, u32);
        // SAFETY: moves registers between lanes; which lanes is the caller's business and concerns values only.
        unsafe {
            asm!(
                "{{", ".reg .pred inside;",
                concat!("shfl.sync.", $mode, ".b32 {result}|inside, {value}, {lane}, {control}, {mask};"),
                "selp.u32 {inside}, 1, 0, inside;", "}}",
                result = out(reg32) result, inside = out(reg32) inside, value = in(reg32) $value, lane = in(reg32) $lane,
                control = in(reg32) $control, mask = in(reg32) $mask, options(nostack)
            );
        }
        (result, inside != 0)
    }};
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident, $mode:literal, $clamp:literal, |$lane:ident, $delta:ident, $first:ident, $last:ident| $source:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub fn $name<T: Word>(mask: u32, value: T, lane: u32, width: u32) -> (T, bool) {
            expect_width(width);
            #[cfg(target_os = "cuda")]
            {
                // Bits 8..13 say which bits of a lane's number name its segment, bits 0..5 are the bound within it.
                let control = ((32 - width) << 8) | $clamp;
                let bits = value.to_raw_bits();
                let (low, inside) = shuffle_instruction!($mode, mask, bits as u32, lane, control);
                let mut result = u128::from(low);
                let mut moved = 32;
                while moved < T::BITS {
                    let part = shuffle_instruction!($mode, mask, (bits >> moved) as u32, lane, control).0;
                    result |= u128::from(part) << moved;
                    moved += 32;
                }
                (T::from_raw_bits(result), inside)
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let place = Location::caller();
                let values = context().exchange(stringify!($name), mask, value.to_raw_bits(), place);
                let ($lane, $delta) = (context().number as i64 % 32, i64::from(lane % 32));
                let $first = $lane / i64::from(width) * i64::from(width);
                let $last = $first + i64::from(width) - 1;
                let (source, inside): (i64, bool) = $source;
                let source = if inside { source } else { $lane };
                if mask >> source & 1 == 0 {
                    let name = stringify!($name);
                    let message = format!("{name} with mask {mask:#010x}: lane {} reads lane {source}, which the mask doesn't name", $lane);
                    context().refuse(message, place);
                }
                (T::from_raw_bits(values[source as usize]), inside)
            }
        }
    )*};
}

shuffles! {
    /// The value of lane `lane % width` of the caller's segment of `width` lanes (1, 2, 4, ... 32). The flag is always true.
    warp_shuffle_idx, "idx", 0x1f, |own, delta, first, last| (first + delta % (last - first + 1), true);
    /// The value of the lane that is `lane` lower, and whether it lies in the caller's segment of `width` lanes; otherwise
    /// the caller's own value. Only the low 5 bits of `lane` count.
    warp_shuffle_up, "up", 0, |own, delta, first, last| (own - delta, { let _ = last; own - delta >= first });
    /// The value of the lane that is `lane` higher, and whether it lies in the caller's segment of `width` lanes; otherwise
    /// the caller's own value. Only the low 5 bits of `lane` count.
    warp_shuffle_down, "down", 0x1f, |own, delta, first, last| (own + delta, { let _ = first; own + delta <= last });
    /// The value of lane `own ^ lane`, and whether it lies in the caller's segment of `width` lanes or a lower one; otherwise
    /// the caller's own value. Only the low 5 bits of `lane` count.
    warp_shuffle_xor, "bfly", 0x1f, |own, delta, first, last| (own ^ delta, { let _ = first; own ^ delta <= last });
}
