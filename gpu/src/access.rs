//! One instruction for each 8 or 16 bytes that move between global memory and registers.
//!
//! In assembly, because LLVM splits an access by whoever uses its parts: a pack of 16-bit elements became six loads.

/// How packs pass the caches. `""` is the default; `.L1::no_allocate` for loads and `.cs` for stores say that the data is used
/// once.
#[cfg(target_os = "cuda")]
macro_rules! hint {
    (load) => {
        ""
    };
    (store) => {
        ""
    };
}

/// Reads a value of 8 or 16 bytes that is aligned to its size.
///
/// # Safety
/// As [`core::ptr::read`]; the address must be in global memory, and on the device `P` must have every bit in use.
#[inline(always)]
pub(crate) unsafe fn load<P: Copy>(from: *const P) -> P {
    #[cfg(target_os = "cuda")]
    {
        const { assert!(size_of::<P>() == 16 || size_of::<P>() == 8) };
        if size_of::<P>() == 16 {
            let (a, b, c, d): (u32, u32, u32, u32);
            // SAFETY: reads the 16 bytes that the caller vouches for. Not `pure`: loads stay before the stores that follow.
            unsafe {
                core::arch::asm!(
                    concat!("ld.global", hint!(load), ".v4.b32 {{{}, {}, {}, {}}}, [{}];"),
                    out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) from,
                    options(readonly, nostack, preserves_flags)
                );
                core::mem::transmute_copy(&[a, b, c, d])
            }
        } else {
            let (a, b): (u32, u32);
            // SAFETY: as above, 8 bytes.
            unsafe {
                core::arch::asm!(
                    concat!("ld.global", hint!(load), ".v2.b32 {{{}, {}}}, [{}];"),
                    out(reg32) a, out(reg32) b, in(reg64) from,
                    options(readonly, nostack, preserves_flags)
                );
                core::mem::transmute_copy(&[a, b])
            }
        }
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: the caller's promise.
    unsafe {
        *from
    }
}

/// Writes a value of 8 or 16 bytes that is aligned to its size.
///
/// # Safety
/// As [`core::ptr::write`], and as [`load`].
#[inline(always)]
pub(crate) unsafe fn store<P: Copy>(to: *mut P, value: P) {
    #[cfg(target_os = "cuda")]
    {
        const { assert!(size_of::<P>() == 16 || size_of::<P>() == 8) };
        if size_of::<P>() == 16 {
            // SAFETY: writes the 16 bytes that the caller vouches for.
            unsafe {
                let [a, b, c, d]: [u32; 4] = core::mem::transmute_copy(&value);
                core::arch::asm!(
                    concat!("st.global", hint!(store), ".v4.b32 [{}], {{{}, {}, {}, {}}};"),
                    in(reg64) to, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                    options(nostack, preserves_flags)
                );
            }
        } else {
            // SAFETY: as above, 8 bytes.
            unsafe {
                let [a, b]: [u32; 2] = core::mem::transmute_copy(&value);
                core::arch::asm!(
                    concat!("st.global", hint!(store), ".v2.b32 [{}], {{{}, {}}};"),
                    in(reg64) to, in(reg32) a, in(reg32) b,
                    options(nostack, preserves_flags)
                );
            }
        }
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: the caller's promise.
    unsafe {
        *to = value;
    }
}
