//! Mbarriers: barriers in shared memory that count arrivals of threads and bytes of asynchronous copies. From sm_80 on
//! (with `ptx = "7.1"`, which has waiting by parity); those that count bytes from sm_90 on.
//!
//! A barrier goes through phases, numbered from 0. Phase `n` is complete when as many threads have arrived as
//! [`init`](Barrier::init) says and all bytes that were expected have come; then phase `n + 1` begins. A thread waits for a
//! phase by its parity, `n & 1`: waiting for the parity of the phase *before* the current one returns at once. So for a ring
//! of buffers "full" barriers are waited for with parity 0 first, "empty" ones with parity 1.
//!
//! ```
//! use cuda_std::mbarrier::{self, Barrier};
//! use cuda_std::prelude::*;
//!
//! /// Each thread hands its number to the next one.
//! #[kernel]
//! fn pass_on(mut y: GlobalMut<u32>) {
//!     let (numbers, words) = (shared_array![u32; 64], shared_array![u64; 1]);
//!     let t = thread::thread_idx_x();
//!     // SAFETY: the word is used for nothing else; a thread reads its neighbour's number after the barrier.
//!     unsafe {
//!         let full = Barrier::at(words.address());
//!         if t == 0 {
//!             full.init(64);
//!             mbarrier::fence_init();
//!         }
//!         thread::sync_threads();
//!         numbers.write(t as usize, t);
//!         full.arrive();
//!         full.wait(0);
//!         y.write(t as usize, numbers.read((t as usize + 63) % 64));
//!     }
//! }
//!
//! let mut y = vec![0; 64];
//! simulator::launch::<pass_on>(simulator::Shape::new(1, 64), (GlobalMut::from_slice(&mut y),))?;
//! assert_eq!((y[0], y[1]), (63, 0));
//! # Ok::<(), simulator::Error>(())
//! ```
//!
//! On the device a thread's plain reads and writes of shared memory are ordered by arriving and waiting; between those and
//! asynchronous copies a `tma::fence_async` must lie as well.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

use crate::shared::Address;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::{context, mbarrier::Change};

/// A barrier in shared memory: 8 bytes at a multiple of 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Barrier(Address);

/// What the simulator must do, or one instruction.
macro_rules! operation {
    ($barrier:ident, $what:literal, $change:expr, $($instruction:tt)*) => {{
        #[cfg(target_os = "cuda")]
        // SAFETY: the barrier was initialised, by `Barrier::at`.
        unsafe {
            asm!($($instruction)*)
        }
        #[cfg(not(target_os = "cuda"))]
        context().mbarrier_change($barrier.0.get(), $change, $what, Location::caller());
    }};
}

impl Barrier {
    /// Bytes of a barrier.
    pub const BYTES: u32 = 8;

    /// The barrier at this address.
    ///
    /// # Safety
    /// The 8 bytes at `address`, a multiple of 8 in this block's shared memory, must be used for nothing else until
    /// [`invalidate`](Self::invalidate). One thread must call [`init`](Self::init) once, then [`fence_init`] and a barrier of
    /// the block (of the cluster, if other blocks use it) must come before any other use. Arrivals and bytes of a phase must
    /// not be more than were announced.
    #[inline(always)]
    pub const unsafe fn at(address: Address) -> Self {
        Self(address)
    }

    /// The address.
    #[inline(always)]
    pub const fn address(self) -> Address {
        self.0
    }

    /// The barrier so many places further in an array of barriers.
    ///
    /// # Safety
    /// As [`at`](Self::at).
    #[inline(always)]
    pub const unsafe fn add(self, count: u32) -> Self {
        Self(self.0.offset(count * Self::BYTES))
    }

    /// Begins phase 0: each phase expects `arrivals`, 1 to 2^20 - 1. By one thread, once.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn init(self, arrivals: u32) {
        #[cfg(target_os = "cuda")]
        // SAFETY: the bytes are the barrier's own, by `at`.
        unsafe {
            asm!("mbarrier.init.shared.b64 [{}], {};", in(reg32) self.0.get(), in(reg32) arrivals, options(nostack))
        }
        #[cfg(not(target_os = "cuda"))]
        context().mbarrier_init(self.0.get(), arrivals, Location::caller());
    }

    /// Ends the barrier: its bytes may be used for something else. By one thread, after all others are done with it.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn invalidate(self) {
        #[cfg(target_os = "cuda")]
        // SAFETY: the barrier was initialised, by `at`.
        unsafe {
            asm!("mbarrier.inval.shared.b64 [{}];", in(reg32) self.0.get(), options(nostack))
        }
        #[cfg(not(target_os = "cuda"))]
        context().mbarrier_invalidate(self.0.get(), Location::caller());
    }

    /// Arrives: one arrival less to wait for. What this thread wrote before is visible to those who wait for the phase.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn arrive(self) {
        operation!(
            self, "arrive", Change { arrivals: 1, ..Change::NONE },
            "{{", ".reg .b64 state;", "mbarrier.arrive.shared.b64 state, [{}];", "}}",
            in(reg32) self.0.get(), options(nostack)
        );
    }

    /// Says that this phase also waits for `bytes` bytes of asynchronous copies, and arrives. From sm_90 on.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn arrive_expect_tx(self, bytes: u32) {
        operation!(
            self, "arrive_expect_tx", Change { arrivals: 1, expected_bytes: bytes, ..Change::NONE },
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};",
            in(reg32) self.0.get(), in(reg32) bytes, options(nostack)
        );
    }

    /// Says that this phase also waits for `bytes` bytes of asynchronous copies. From sm_90 on.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn expect_tx(self, bytes: u32) {
        operation!(
            self, "expect_tx", Change { expected_bytes: bytes, ..Change::NONE },
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{}], {};",
            in(reg32) self.0.get(), in(reg32) bytes, options(nostack)
        );
    }

    /// Arrives at the barrier that lies in the same place of block `rank` of the cluster. From sm_90 on.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn arrive_in_block(self, rank: u32) {
        let remote = crate::cluster::map(self.0, rank);
        #[cfg(target_os = "cuda")]
        // SAFETY: that block's barrier was initialised, by `at`.
        unsafe {
            asm!("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{}];", in(reg32) remote.get(), options(nostack))
        }
        #[cfg(not(target_os = "cuda"))]
        {
            let change = Change { arrivals: 1, ..Change::NONE };
            context().mbarrier_change(remote.get(), change, "arrive_in_block", Location::caller());
        }
    }

    /// Whether the phase of this parity is complete. If so, what was written before the arrivals is visible here.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn test_wait(self, parity: u32) -> bool {
        #[cfg(target_os = "cuda")]
        {
            let complete: u32;
            // SAFETY: the barrier was initialised, by `at`.
            unsafe {
                asm!(
                    "{{", ".reg .pred complete;", "mbarrier.test_wait.parity.shared.b64 complete, [{address}], {parity};",
                    "selp.u32 {complete}, 1, 0, complete;", "}}",
                    address = in(reg32) self.0.get(), parity = in(reg32) parity, complete = out(reg32) complete,
                    options(nostack)
                );
            }
            complete != 0
        }
        #[cfg(not(target_os = "cuda"))]
        {
            let complete = context().mbarrier_test(self.0.get(), parity, "test_wait", Location::caller());
            if !complete {
                context().pause();
            }
            complete
        }
    }

    /// As [`test_wait`](Self::test_wait), but may sleep for a while before it gives `false`. From sm_90 on.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn try_wait(self, parity: u32) -> bool {
        #[cfg(target_os = "cuda")]
        {
            let complete: u32;
            // SAFETY: the barrier was initialised, by `at`.
            unsafe {
                asm!(
                    "{{", ".reg .pred complete;", "mbarrier.try_wait.parity.shared::cta.b64 complete, [{address}], {parity};",
                    "selp.u32 {complete}, 1, 0, complete;", "}}",
                    address = in(reg32) self.0.get(), parity = in(reg32) parity, complete = out(reg32) complete,
                    options(nostack)
                );
            }
            complete != 0
        }
        #[cfg(not(target_os = "cuda"))]
        self.test_wait(parity)
    }

    /// Waits until the phase of this parity is complete; what was written before the arrivals is then visible here. The
    /// simulator reports a phase that nobody is left to complete.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn wait(self, parity: u32) {
        #[cfg(target_os = "cuda")]
        {
            macro_rules! until_complete {
                ($test:literal) => {
                    asm!(
                        "{{", ".reg .pred complete;", "again:", concat!($test, " complete, [{}], {};"),
                        "@!complete bra again;", "}}",
                        in(reg32) self.0.get(), in(reg32) parity, options(nostack)
                    )
                };
            }
            #[expect(named_asm_labels, reason = "PTX has no numbered labels; the braces give each copy its own scope")]
            // SAFETY: the barrier was initialised, by `at`.
            unsafe {
                if crate::arch() >= 900 {
                    until_complete!("mbarrier.try_wait.parity.shared::cta.b64")
                } else {
                    until_complete!("mbarrier.test_wait.parity.shared.b64")
                }
            }
        }
        #[cfg(not(target_os = "cuda"))]
        context().mbarrier_wait(self.0.get(), parity, Location::caller());
    }
}

/// Makes initialised barriers visible to the rest of the cluster and to asynchronous copies; a barrier of the block (or the
/// cluster) must follow. From sm_90 on; below it does nothing, and nothing is needed.
#[inline(always)]
pub fn fence_init() {
    #[cfg(target_os = "cuda")]
    if crate::arch() >= 900 {
        // SAFETY: a fence has no preconditions.
        unsafe { asm!("fence.mbarrier_init.release.cluster;", options(nostack)) }
    }
}
