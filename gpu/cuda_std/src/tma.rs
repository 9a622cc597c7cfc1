//! Asynchronous copies of boxes and of runs of bytes between global and shared memory, by the copy engine (TMA). From sm_90 on,
//! with PTX 8.0: kernels say `arch = "sm_90a"`, or `arch = "sm_90", ptx = "8.0"`.
//!
//! One thread begins a copy; the engine makes it. A load reports its bytes to an [`mbarrier`](crate::mbarrier), which the
//! readers wait for. Stores are put into groups: [`commit_group`] closes one, [`wait_group`] waits until at most `N` of the
//! thread's groups are unfinished, [`wait_group_read`] only until their shared memory may be written again. What threads
//! wrote to shared memory is seen by the engine after [`fence_async`], which each of them calls, and a barrier.
//!
//! The tile of a tensor copy lies in shared memory densely, the innermost axis first, at a multiple of 128 bytes; with a
//! swizzle the pattern counts from address 0, so tiles begin at a multiple of 256, 512 or 1024 bytes. A box that is partly out of
//! the tensor is filled with zeros there, and its load reports the whole box's bytes.
//!
//! A box may begin anywhere, except that its first coordinate, of the innermost axis, must be a multiple of 16 bytes: an H200 ends the kernel
//! with an illegal instruction otherwise, in loads and in stores. Stores are clipped at the tensor's end in units of 16 bytes: make
//! the innermost extent a multiple of them, or what lies behind it is overwritten. (Both were measured.)
//!
//! The `_hinted` forms say how the second-level cache treats what is copied, by a [`Policy`] of [`cache`](crate::cache).
//!
//! In the simulator copies are made at once, but readers are held to the rules: what is read without waiting for the
//! mbarrier is reported as a race, and so is a load that overwrites what another thread may still read.
//! It doesn't see a missing `fence_async`.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

use crate::cache::Policy;
use crate::mbarrier::Barrier;
use crate::shared::Address;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;
use crate::tensor_map::{Map, TensorAdd, TensorElement, TensorMap, TensorMapMut};

/// An instruction with as many coordinates as the tensor has axes.
#[cfg(target_os = "cuda")]
macro_rules! tensor_instruction {
    ($at:ident, [$before:literal, $middle:literal, $after:literal], $($operands:tt)*) => {{
        // Coordinates beyond the rank are never used.
        let x = |axis: usize| if axis < RANK { $at[axis] } else { 0 };
        match RANK {
            1 => tensor_instruction!(@ x, [$before, "1d", $middle, "{x0}", $after], [x0 0], $($operands)*),
            2 => tensor_instruction!(@ x, [$before, "2d", $middle, "{x0}, {x1}", $after], [x0 0, x1 1], $($operands)*),
            3 => tensor_instruction!(
                @ x, [$before, "3d", $middle, "{x0}, {x1}, {x2}", $after], [x0 0, x1 1, x2 2], $($operands)*
            ),
            4 => tensor_instruction!(
                @ x, [$before, "4d", $middle, "{x0}, {x1}, {x2}, {x3}", $after], [x0 0, x1 1, x2 2, x3 3], $($operands)*
            ),
            _ => tensor_instruction!(
                @ x, [$before, "5d", $middle, "{x0}, {x1}, {x2}, {x3}, {x4}", $after], [x0 0, x1 1, x2 2, x3 3, x4 4],
                $($operands)*
            ),
        }
    }};
    (@ $x:ident, [$($text:literal),*], [$($name:ident $axis:literal),*], $($operands:tt)*) => {
        asm!(concat!($($text),*), $($name = in(reg32) $x($axis),)* $($operands)*, options(nostack))
    };
}

impl Map {
    /// # Safety
    /// As `TensorMap::load`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    unsafe fn load<const RANK: usize>(&self, to: Address, at: [i32; RANK], barrier: Barrier, policy: Option<Policy>) {
        #[cfg(target_os = "cuda")]
        // SAFETY: by the caller.
        unsafe {
            match policy {
                None => tensor_instruction!(
                    at,
                    [
                        "cp.async.bulk.tensor.",
                        ".shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{map}, {{",
                        "}}], [{barrier}];"
                    ],
                    to = in(reg32) to.get(), map = in(reg64) self.address, barrier = in(reg32) barrier.address().get()
                ),
                Some(policy) => tensor_instruction!(
                    at,
                    [
                        "cp.async.bulk.tensor.",
                        ".shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [{to}], [{map}, {{",
                        "}}], [{barrier}], {policy};"
                    ],
                    to = in(reg32) to.get(), map = in(reg64) self.address, barrier = in(reg32) barrier.address().get(),
                    policy = in(reg64) policy.get()
                ),
            }
        }
        #[cfg(not(target_os = "cuda"))]
        let _ = policy;
        #[cfg(not(target_os = "cuda"))]
        context().tensor_load(&self.tensor, to.get(), &at, barrier.address().get(), Location::caller());
    }

    /// # Safety
    /// As `TensorMap::load_multicast`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    unsafe fn load_multicast<const RANK: usize>(
        &self,
        to: Address,
        at: [i32; RANK],
        barrier: Barrier,
        blocks: u16,
        policy: Option<Policy>,
    ) {
        #[cfg(target_os = "cuda")]
        // SAFETY: by the caller.
        unsafe {
            match policy {
                None => tensor_instruction!(
                    at,
                    [
                        "cp.async.bulk.tensor.",
                        ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{to}], [{map}, {{",
                        "}}], [{barrier}], {blocks};"
                    ],
                    to = in(reg32) to.get(), map = in(reg64) self.address, barrier = in(reg32) barrier.address().get(),
                    blocks = in(reg16) blocks
                ),
                Some(policy) => tensor_instruction!(
                    at,
                    [
                        "cp.async.bulk.tensor.",
                        ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [{to}], [{map}, {{",
                        "}}], [{barrier}], {blocks}, {policy};"
                    ],
                    to = in(reg32) to.get(), map = in(reg64) self.address, barrier = in(reg32) barrier.address().get(),
                    blocks = in(reg16) blocks, policy = in(reg64) policy.get()
                ),
            }
        }
        #[cfg(not(target_os = "cuda"))]
        let _ = policy;
        #[cfg(not(target_os = "cuda"))]
        for rank in (0..16).filter(|rank| blocks >> rank & 1 == 1) {
            let place = Location::caller();
            let mapped = |address: Address| context().map_to(address.get(), rank, place);
            context().tensor_load(&self.tensor, mapped(to), &at, mapped(barrier.address()), place);
        }
    }

    #[inline(always)]
    fn prefetch(&self) {
        #[cfg(target_os = "cuda")]
        // SAFETY: a hint; the address is a tensor map's.
        unsafe {
            asm!("prefetch.tensormap [{}];", in(reg64) self.address, options(nostack))
        }
    }
}

macro_rules! loads {
    ($($map:ident, $also:literal;)*) => {$(
        impl<T: TensorElement, const RANK: usize> $map<'_, T, RANK> {
            /// Begins to copy the box at these coordinates (elements, the innermost axis first; also outside of the tensor) to
            /// shared memory. `barrier` gets the bytes of the whole box, which someone must have told it to expect in this phase.
            ///
            /// # Safety
            /// The first coordinate must be a multiple of 16 bytes, and
            /// `to` a multiple of 128 with room for the box; its bytes must not be used by anybody until the
            /// barrier's phase is complete.
            #[doc = $also]
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub unsafe fn load(&self, to: Address, at: [i32; RANK], barrier: Barrier) {
                // SAFETY: by the caller.
                unsafe { self.map.load(to, at, barrier, None) }
            }

            /// As [`load`](Self::load), with a hint for the second-level cache.
            ///
            /// # Safety
            /// As [`load`](Self::load).
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub unsafe fn load_hinted(&self, to: Address, at: [i32; RANK], barrier: Barrier, policy: Policy) {
                // SAFETY: by the caller.
                unsafe { self.map.load(to, at, barrier, Some(policy)) }
            }

            /// As [`load`](Self::load), to the same place in all blocks of the cluster whose bit in `blocks` is set, each of
            /// which gets the bytes at the barrier in the same place as `barrier`.
            ///
            /// # Safety
            /// As [`load`](Self::load), in each of these blocks.
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub unsafe fn load_multicast(&self, to: Address, at: [i32; RANK], barrier: Barrier, blocks: u16) {
                // SAFETY: by the caller.
                unsafe { self.map.load_multicast(to, at, barrier, blocks, None) }
            }

            /// As [`load_multicast`](Self::load_multicast), with a hint for the second-level cache.
            ///
            /// # Safety
            /// As [`load_multicast`](Self::load_multicast).
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub unsafe fn load_multicast_hinted(
                &self,
                to: Address,
                at: [i32; RANK],
                barrier: Barrier,
                blocks: u16,
                policy: Policy,
            ) {
                // SAFETY: by the caller.
                unsafe { self.map.load_multicast(to, at, barrier, blocks, Some(policy)) }
            }

            /// Hints that the map itself will be needed soon.
            #[inline(always)]
            pub fn prefetch(&self) {
                self.map.prefetch();
            }
        }
    )*};
}

loads! {
    TensorMap, "";
    TensorMapMut, "Nobody may write the box's elements in the meantime.";
}

impl<T: TensorElement, const RANK: usize> TensorMapMut<'_, T, RANK> {
    /// Begins to copy a box from shared memory to these coordinates. What lies outside of the tensor is not written, but for up to
    /// 16 bytes behind an innermost extent that isn't a multiple of them.
    ///
    /// # Safety
    /// The first coordinate must be a multiple of 16 bytes, and
    /// `from` a multiple of 128 with an initialised box behind it, which nobody writes until the copy's group was
    /// waited for. No other thread may use the elements until the copy's group is finished.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn store(&mut self, at: [i32; RANK], from: Address) {
        #[cfg(target_os = "cuda")]
        // SAFETY: by the caller.
        unsafe {
            tensor_instruction!(
                at,
                ["cp.async.bulk.tensor.", ".global.shared::cta.bulk_group [{map}, {{", "}}], [{from}];"],
                map = in(reg64) self.map.address, from = in(reg32) from.get()
            );
        }
        #[cfg(not(target_os = "cuda"))]
        context().tensor_store(&self.map.tensor, &at, from.get(), None, Location::caller());
    }

    /// As [`store`](Self::store), with a hint for the second-level cache.
    ///
    /// # Safety
    /// As [`store`](Self::store).
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn store_hinted(&mut self, at: [i32; RANK], from: Address, policy: Policy) {
        #[cfg(target_os = "cuda")]
        // SAFETY: by the caller.
        unsafe {
            tensor_instruction!(
                at,
                [
                    "cp.async.bulk.tensor.",
                    ".global.shared::cta.bulk_group.L2::cache_hint [{map}, {{",
                    "}}], [{from}], {policy};"
                ],
                map = in(reg64) self.map.address, from = in(reg32) from.get(), policy = in(reg64) policy.get()
            );
        }
        #[cfg(not(target_os = "cuda"))]
        {
            let _ = policy;
            context().tensor_store(&self.map.tensor, &at, from.get(), None, Location::caller());
        }
    }

    /// Begins to add a box from shared memory, element by element and each addition indivisible, to what is at these coordinates.
    /// The order of several additions to one element is not fixed.
    ///
    /// # Safety
    /// As [`store`](Self::store), except that other additions may touch the same elements.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn reduce_add(&mut self, at: [i32; RANK], from: Address)
    where
        T: TensorAdd,
    {
        #[cfg(target_os = "cuda")]
        // SAFETY: by the caller.
        unsafe {
            tensor_instruction!(
                at,
                ["cp.reduce.async.bulk.tensor.", ".global.shared::cta.add.bulk_group [{map}, {{", "}}], [{from}];"],
                map = in(reg64) self.map.address, from = in(reg32) from.get()
            );
        }
        #[cfg(not(target_os = "cuda"))]
        context().tensor_store(&self.map.tensor, &at, from.get(), Some(crate::simulator::add::<T>), Location::caller());
    }
}

/// Begins to copy `bytes` bytes from global to shared memory; `barrier` gets them.
///
/// # Safety
/// Both places must be multiples of 16 with `bytes` bytes, a multiple of 16, that are initialised in global memory. The bytes in
/// shared memory must not be used by anybody until the barrier's phase is complete.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn load_bytes(to: Address, from: *const u8, bytes: u32, barrier: Barrier) {
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        asm!(
            "{{", ".reg .b64 from;", "cvta.to.global.u64 from, {from};",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [from], {bytes}, [{barrier}];", "}}",
            to = in(reg32) to.get(), from = in(reg64) from, bytes = in(reg32) bytes,
            barrier = in(reg32) barrier.address().get(), options(nostack)
        );
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: by the caller.
    unsafe {
        context().bulk_load(to.get(), from, bytes, barrier.address().get(), Location::caller());
    }
}

/// Begins to copy `bytes` bytes from shared to global memory, as a part of the thread's current group.
///
/// # Safety
/// Both places must be multiples of 16 with `bytes` bytes, a multiple of 16, that are initialised in shared memory. Nobody may write
/// those until the copy's group was waited for, nor use the bytes in global memory until it is finished.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn store_bytes(to: *mut u8, from: Address, bytes: u32) {
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        asm!(
            "{{", ".reg .b64 to;", "cvta.to.global.u64 to, {to};",
            "cp.async.bulk.global.shared::cta.bulk_group [to], [{from}], {bytes};", "}}",
            to = in(reg64) to, from = in(reg32) from.get(), bytes = in(reg32) bytes, options(nostack)
        );
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: by the caller.
    unsafe {
        context().bulk_store(to, from.get(), bytes, Location::caller());
    }
}

/// Makes a group of the stores that this thread began since the last one.
#[inline(always)]
pub fn commit_group() {
    #[cfg(target_os = "cuda")]
    // SAFETY: has no preconditions.
    unsafe {
        asm!("cp.async.bulk.commit_group;", options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().bulk_commit();
}

/// Waits until at most `N` of this thread's groups are unfinished: all but the last `N` have been written to global memory.
#[inline(always)]
pub fn wait_group<const N: u32>() {
    #[cfg(target_os = "cuda")]
    // SAFETY: has no preconditions.
    unsafe {
        asm!("cp.async.bulk.wait_group {};", const N, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().bulk_wait(N);
}

/// Waits until at most `N` of this thread's groups are still read from shared memory, which may then be written again.
#[inline(always)]
pub fn wait_group_read<const N: u32>() {
    #[cfg(target_os = "cuda")]
    // SAFETY: has no preconditions.
    unsafe {
        asm!("cp.async.bulk.wait_group.read {};", const N, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().bulk_wait(N);
}

/// Makes this thread's earlier reads and writes of shared memory come before later asynchronous copies of the block (a barrier
/// between the two threads is needed as well). The simulator doesn't see where it is missing.
#[inline(always)]
pub fn fence_async() {
    #[cfg(target_os = "cuda")]
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!("fence.proxy.async.shared::cta;", options(nostack))
    }
}
