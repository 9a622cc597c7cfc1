//! The device side of a fault: a record in memory of the host, then a trap.

use core::arch::asm;
use core::panic::Location;

use super::record::{Record, VALUES};
use crate::thread;

// The host writes it when it loads a module. One that nobody told anything ends with a plain trap.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".constant")]
static mut __warpsmith_fault_record: u64 = 0;

/// Ends the kernel with a message and the caller's line.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn fail<const N: usize>(message: &'static str, values: [(u8, u64); N]) -> ! {
    fail_at(message, Location::caller(), values)
}

#[inline(always)]
pub(super) fn fail_at<const N: usize>(message: &'static str, place: &Location<'_>, values: [(u8, u64); N]) -> ! {
    const { assert!(N <= VALUES) };
    let value = |i: usize| if i < N { values[i].1 } else { 0 };
    let kinds = values.iter().rev().fold(0, |kinds, &(kind, _)| kinds << 8 | u32::from(kind));
    leave(message, place, kinds, [value(0), value(1), value(2), value(3)].into());
    super::trap()
}

/// The values in registers: an array would be passed in memory.
struct Values(u64, u64, u64, u64);

impl From<[u64; VALUES]> for Values {
    #[inline(always)]
    fn from([a, b, c, d]: [u64; VALUES]) -> Self {
        Self(a, b, c, d)
    }
}

#[inline(always)]
fn leave(message: &str, place: &Location<'_>, kinds: u32, values: Values) {
    let Values(a, b, c, d) = values;
    let file = place.file();
    write(message.as_ptr(), message.len(), file.as_ptr(), file.len(), place.line(), kinds, a, b, c, d);
}

/// One copy for each module: it is many times as long as what a kernel does beside it.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "each is one or two registers")]
fn write(
    message: *const u8,
    message_len: usize,
    file: *const u8,
    file_len: usize,
    line: u32,
    kinds: u32,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
) {
    // SAFETY: null, or a record in host memory that the device can write, by what the host has stored there.
    unsafe {
        let record = (&raw const __warpsmith_fault_record).read() as *mut Record;
        if record.is_null() {
            return;
        }
        let state = &raw mut (*record).state;
        let before: u32;
        asm!("atom.relaxed.gpu.cas.b32 {}, [{}], 0, 1;", out(reg32) before, in(reg64) state, options(nostack));
        if before != 0 {
            // A trap ends the whole grid at once: not before the record is complete. About a tenth of a second at most.
            let mut patience = 1 << 20;
            while state.read_volatile() != 2 && patience > 0 {
                thread::nanosleep(100);
                patience -= 1;
            }
            return;
        }
        (&raw mut (*record).line).write_volatile(line);
        (&raw mut (*record).kinds).write_volatile(kinds);
        let block = &raw mut (*record).block;
        (&raw mut (*block)[0]).write_volatile(thread::block_idx_x());
        (&raw mut (*block)[1]).write_volatile(thread::block_idx_y());
        (&raw mut (*block)[2]).write_volatile(thread::block_idx_z());
        let thread = &raw mut (*record).thread;
        (&raw mut (*thread)[0]).write_volatile(thread::thread_idx_x());
        (&raw mut (*thread)[1]).write_volatile(thread::thread_idx_y());
        (&raw mut (*thread)[2]).write_volatile(thread::thread_idx_z());
        let values = &raw mut (*record).values;
        (&raw mut (*values)[0]).write_volatile(a);
        (&raw mut (*values)[1]).write_volatile(b);
        (&raw mut (*values)[2]).write_volatile(c);
        (&raw mut (*values)[3]).write_volatile(d);
        let capacity = const { Record::EMPTY.message.len() };
        let kept = message_len.min(capacity);
        (&raw mut (*record).message_len).write_volatile(kept as u32);
        copy(message, (&raw mut (*record).message).cast(), kept);
        let capacity = const { Record::EMPTY.file.len() };
        let kept = file_len.min(capacity);
        (&raw mut (*record).file_len).write_volatile(kept as u32);
        copy(file.add(file_len - kept), (&raw mut (*record).file).cast(), kept);
        thread::system_fence();
        state.write_volatile(2);
        thread::system_fence();
    }
}

/// # Safety
/// As [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    let mut i = 0;
    while i < len {
        // SAFETY: the caller's promise.
        unsafe { to.add(i).write_volatile(from.add(i).read()) };
        i += 1;
    }
}
