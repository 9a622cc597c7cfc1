//! Clocks, for measurements inside a kernel.

#[cfg(not(target_os = "cuda"))]
use std::{sync::LazyLock, time::Instant};

macro_rules! clocks {
    ($($(#[$doc:meta])* $name:ident -> $ty:ty = $class:ident $instruction:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> $ty {
            #[cfg(target_os = "cuda")]
            {
                let ticks;
                // SAFETY: reads a special register. Neither moved nor merged: each reading counts.
                unsafe { core::arch::asm!($instruction, out($class) ticks, options(nostack)) };
                ticks
            }
            #[cfg(not(target_os = "cuda"))]
            {
                nanoseconds() as $ty
            }
        }
    )*};
}

clocks! {
    /// Cycles of this multiprocessor, the low 32 bits. In the simulator: nanoseconds.
    clock -> u32 = reg32 "mov.u32 {}, %clock;";
    /// Cycles of this multiprocessor. In the simulator: nanoseconds.
    clock64 -> u64 = reg64 "mov.u64 {}, %clock64;";
    /// Nanoseconds of the device's clock, the same on all multiprocessors; it advances in steps of up to a microsecond or, on
    /// some devices, 32. In the simulator: nanoseconds of the host's clock.
    globaltimer -> u64 = reg64 "mov.u64 {}, %globaltimer;";
}

#[cfg(not(target_os = "cuda"))]
fn nanoseconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}
