//! How a kernel ends with an error: [`trap`], [`gpu_panic!`](crate::gpu_panic), [`gpu_assert!`](crate::gpu_assert), and
//! accesses out of bounds.
//!
//! A trap says nothing: the host's next synchronisation fails. The two macros leave a [`Record`] with a message, the source
//! line, the block and the thread, which becomes the host's error; the memory they write is the host's, and so outlives the
//! context, which no trap does. The first thread of the grid wins, the others wait for it.
//!
//! What it costs, counted in sm_90a instructions (ptxas 13.5): a bounds check of an element-wise kernel is 4, a 64-bit comparison
//! and a branch to a trap; `get_unchecked`, `write_unchecked` and the others save them. A `gpu_assert!` is its condition, a branch,
//! and 5 to 20 instructions that only a failure executes; each module that has one also holds the function that writes the
//! record, 140 to 230 instructions. `CudaBuilder::fault_messages(true)` gives bounds checks, and Rust's own panics, messages as
//! well. Kernels that use none of this pay nothing.

#[cfg(target_os = "cuda")]
mod device;
mod record;

#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(target_os = "cuda")]
#[doc(hidden)]
pub use device::fail;
pub use record::{Printable, Record};
#[doc(hidden)]
pub use record::{VALUES, expect_placeholders};

/// The constant of a module that says where its kernels leave their record: an address, set by whoever loads the module.
pub const ADDRESS: &str = "__warpsmith_fault_record";

/// Ends the kernel with an error that the host sees at its next synchronisation (in the simulator: a panic).
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn trap() -> ! {
    #[cfg(target_os = "cuda")]
    // SAFETY: `trap` has no preconditions.
    unsafe {
        core::arch::nvptx::trap()
    }
    #[cfg(not(target_os = "cuda"))]
    fail("the kernel trapped".into())
}

/// Ends the running thread, and with it the launch, with a message and the caller's line.
#[cfg(not(target_os = "cuda"))]
#[doc(hidden)]
#[cold]
#[track_caller]
pub fn fail(message: String) -> ! {
    crate::simulator::refuse(message, Location::caller())
}

/// Ends the kernel with a message that reaches the host: `gpu_panic!("row {} of {}", row, rows)`.
///
/// The message is a literal; each `{}` in it stands for one of up to four numbers.
#[macro_export]
macro_rules! gpu_panic {
    ($message:literal $(, $value:expr)* $(,)?) => {{
        const { $crate::fault::expect_placeholders($message, &[$(stringify!($value)),*]) };
        #[cfg(target_os = "cuda")]
        $crate::fault::fail($message, [$($crate::fault::Printable::print($value)),*]);
        #[cfg(not(target_os = "cuda"))]
        $crate::fault::fail($crate::__private::format!($message $(, $value)*));
    }};
}

/// Ends the kernel as [`gpu_panic!`](crate::gpu_panic) does unless the condition holds. Without a message, the message is the
/// condition.
#[macro_export]
macro_rules! gpu_assert {
    ($condition:expr $(,)?) => {
        if !$condition {
            $crate::__gpu_assertion_failed!(concat!("assertion failed: ", stringify!($condition)));
        }
    };
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::gpu_panic!($($message)+);
        }
    };
}

/// The message is a condition's text, in which braces stand for themselves.
#[doc(hidden)]
#[macro_export]
macro_rules! __gpu_assertion_failed {
    ($message:expr) => {{
        #[cfg(target_os = "cuda")]
        $crate::fault::fail($message, []);
        #[cfg(not(target_os = "cuda"))]
        $crate::fault::fail($message.into());
    }};
}

/// Each ends the kernel because of an index; on the device without a message, unless the build asks for them.
macro_rules! bounds {
    ($($name:ident = $message:literal;)*) => {$(
        #[cfg_attr(target_os = "cuda", inline(always))]
        #[cfg_attr(not(target_os = "cuda"), cold, inline(never))]
        #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
        pub(crate) fn $name(index: usize, len: usize) -> ! {
            #[cfg(all(target_os = "cuda", not(warpsmith_debug)))]
            {
                let _ = (index, len);
                trap()
            }
            #[cfg(all(target_os = "cuda", warpsmith_debug))]
            fail($message, [index.print(), len.print()]);
            #[cfg(not(target_os = "cuda"))]
            fail(format!($message, index, len))
        }
    )*};
}

bounds! {
    out_of_bounds = "index {} is out of bounds: the view has {} elements";
    misaligned = "element {} does not begin at a multiple of {} bytes, as its vector must";
    out_of_shared_bounds = "index {} is out of bounds: the shared array has {} elements";
}

#[cfg(target_os = "cuda")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo) -> ! {
    #[cfg(warpsmith_debug)]
    if let Some(place) = _info.location() {
        let message = _info.message().as_str();
        device::fail_at(message.unwrap_or("panicked; the simulator gives the whole message"), place, []);
    }
    trap()
}
