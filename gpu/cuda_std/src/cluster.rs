//! Clusters: blocks that run at the same time, see each other's shared memory and meet at a barrier of their own. From sm_90 on.
//!
//! `#[kernel(cluster = 2)]` or `cluster = (2, 1, 1)` says how many blocks a cluster has; the grid must be a multiple of it. A
//! block's shared memory is there until all of its threads have ended: before that, [`sync`] with those that use it.
//! In the simulator accesses to another block's shared memory are not watched for races.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::atomic::Watch;
use crate::atomic::{Atomic, AtomicValue, InCluster};
use crate::shared::Address;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;
use crate::warp::Word;

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident = $register:literal, |$context:ident| $simulated:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            #[cfg(target_os = "cuda")]
            {
                let value: u32;
                // SAFETY: reads a special register.
                unsafe {
                    asm!(
                        concat!("mov.u32 {}, %", $register, ";"), out(reg32) value,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                value
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let $context = context();
                $simulated
            }
        }
    )*};
}

registers! {
    /// This cluster's x coordinate in the grid of clusters.
    cluster_idx_x = "clusterid.x", |c| c.block[0] / c.cluster()[0];
    /// This cluster's y coordinate in the grid of clusters.
    cluster_idx_y = "clusterid.y", |c| c.block[1] / c.cluster()[1];
    /// This cluster's z coordinate in the grid of clusters.
    cluster_idx_z = "clusterid.z", |c| c.block[2] / c.cluster()[2];
    /// Clusters of the grid along x.
    cluster_grid_dim_x = "nclusterid.x", |c| c.shape.grid[0] / c.cluster()[0];
    /// Clusters of the grid along y.
    cluster_grid_dim_y = "nclusterid.y", |c| c.shape.grid[1] / c.cluster()[1];
    /// Clusters of the grid along z.
    cluster_grid_dim_z = "nclusterid.z", |c| c.shape.grid[2] / c.cluster()[2];
    /// This block's x coordinate in its cluster.
    block_idx_x = "cluster_ctaid.x", |c| c.block[0] % c.cluster()[0];
    /// This block's y coordinate in its cluster.
    block_idx_y = "cluster_ctaid.y", |c| c.block[1] % c.cluster()[1];
    /// This block's z coordinate in its cluster.
    block_idx_z = "cluster_ctaid.z", |c| c.block[2] % c.cluster()[2];
    /// Blocks of a cluster along x.
    cluster_dim_x = "cluster_nctaid.x", |c| c.cluster()[0];
    /// Blocks of a cluster along y.
    cluster_dim_y = "cluster_nctaid.y", |c| c.cluster()[1];
    /// Blocks of a cluster along z.
    cluster_dim_z = "cluster_nctaid.z", |c| c.cluster()[2];
    /// This block's number in its cluster, x fastest.
    block_rank = "cluster_ctarank", |c| c.block_rank();
    /// Blocks of a cluster.
    block_count = "cluster_nctarank", |c| c.cluster().iter().product();
}

/// Arrives at the cluster's barrier and goes on; what this thread wrote before is visible to those who [`wait`]. Each thread
/// must wait before it arrives again.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn arrive() {
    #[cfg(target_os = "cuda")]
    // SAFETY: concerns control flow only.
    unsafe {
        asm!("barrier.cluster.arrive.release;", options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().cluster_arrive(Location::caller());
}

/// Waits until all threads of the cluster that have not ended have arrived.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn wait() {
    #[cfg(target_os = "cuda")]
    // SAFETY: concerns control flow only.
    unsafe {
        asm!("barrier.cluster.wait.acquire;", options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    context().cluster_wait(Location::caller());
}

/// [`arrive`] and [`wait`].
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn sync() {
    arrive();
    wait();
}

/// The place in the shared memory of block `rank` that corresponds to `address`, of this block. It can be used with [`read`],
/// [`write()`], [`atomic`] and asynchronous copies, not as a pointer.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn map(address: Address, rank: u32) -> Address {
    #[cfg(target_os = "cuda")]
    {
        let mapped: u32;
        // SAFETY: computes an address.
        unsafe {
            asm!(
                "mapa.shared::cluster.u32 {}, {}, {};", out(reg32) mapped, in(reg32) address.get(), in(reg32) rank,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        Address::from_raw(mapped)
    }
    #[cfg(not(target_os = "cuda"))]
    Address::from_raw(context().map_to(address.get(), rank, Location::caller()))
}

/// Reads a 32- or 64-bit value from the shared memory of a block of the cluster.
///
/// # Safety
/// An aligned, initialised `T` must lie there, which no thread writes at the same time, and the block must not have ended.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn read<T: Word>(address: Address) -> T {
    const { assert!(T::BITS == 32 || T::BITS == 64, "a value of 32 or 64 bits") };
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        if T::BITS == 32 {
            let bits: u32;
            asm!("ld.shared::cluster.b32 {}, [{}];", out(reg32) bits, in(reg32) address.get(), options(nostack));
            T::from_raw_bits(bits.into())
        } else {
            let bits: u64;
            asm!("ld.shared::cluster.b64 {}, [{}];", out(reg64) bits, in(reg32) address.get(), options(nostack));
            T::from_raw_bits(bits.into())
        }
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: resolved; initialised by the caller.
    unsafe {
        context().resolve(address.get(), size_of::<T>(), align_of::<T>(), Location::caller()).cast::<T>().read()
    }
}

/// Writes a 32- or 64-bit value to the shared memory of a block of the cluster.
///
/// # Safety
/// The place must be aligned and have room for a `T` that no other thread uses at the same time, and the block must not have
/// ended.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn write<T: Word>(address: Address, value: T) {
    const { assert!(T::BITS == 32 || T::BITS == 64, "a value of 32 or 64 bits") };
    #[cfg(target_os = "cuda")]
    // SAFETY: by the caller.
    unsafe {
        let bits = value.to_raw_bits();
        if T::BITS == 32 {
            asm!("st.shared::cluster.b32 [{}], {};", in(reg32) address.get(), in(reg32) bits as u32, options(nostack));
        } else {
            asm!("st.shared::cluster.b64 [{}], {};", in(reg32) address.get(), in(reg64) bits as u64, options(nostack));
        }
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: resolved.
    unsafe {
        let place = Location::caller();
        context().resolve(address.get(), size_of::<T>(), align_of::<T>(), place).cast::<T>().write(value);
        context().written_remotely(address.get(), size_of::<T>(), place);
    }
}

/// A number in the shared memory of a block of the cluster, at an address that [`map`] gave, to be updated by many threads at once:
/// `cluster::atomic(place).fetch_add(1.0, Scope::Cluster)`.
///
/// # Safety
/// An aligned, initialised `T` must lie there, used by nothing but atomic operations at the same time, and the block must not have
/// ended before the operation is done.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn atomic<'a, T: AtomicValue>(address: Address) -> Atomic<'a, T, InCluster> {
    #[cfg(target_os = "cuda")]
    let element = core::ptr::without_provenance_mut::<T>(address.get() as usize);
    #[cfg(not(target_os = "cuda"))]
    let element = context().resolve(address.get(), size_of::<T>(), align_of::<T>(), Location::caller()).cast::<T>();
    // SAFETY: valid by the caller; on the device the address is one of this space.
    unsafe {
        Atomic::new(
            element,
            #[cfg(not(target_os = "cuda"))]
            0,
            #[cfg(not(target_os = "cuda"))]
            Watch::Cluster,
        )
    }
}
