//! Matrix products of a warpgroup (`wgmma`, sm_90a): 64 x N tiles, both factors in shared memory, sums in registers.
//!
//! A warpgroup is four consecutive warps, the first of which has a number divisible by four. All of its threads call the same
//! operations in the same order. A product is asynchronous: [`fence`], then products, then [`commit_group`], and before the sums
//! are read [`Accumulator::wait`]. The factors must be visible to the asynchronous proxy: written by TMA, or by ordinary stores
//! followed by a proxy fence and a barrier.
//!
//! Three habits keep ptxas from serialising the products (its warnings C7510 to C7517): the first product of a sum is
//! [`Accumulator::multiply`], which takes no zeros; sums are read only after a `wait` that names them; and
//! [`Accumulator::for_each_group`] reads them, because an index known only at run time sends them to local memory.
//!
//! In the simulator a product is done at once, each thread computing its own sums in order of k; the hardware's order within one
//! instruction is its own.

mod fragment;
#[cfg(not(target_os = "cuda"))]
mod simulated;

#[cfg(target_os = "cuda")]
use core::arch::asm;
use core::marker::PhantomData;

pub use fragment::{Accumulator, Fragment, Groups};

use crate::shared::Address;

/// The number format of the factors. Every instruction takes 32 bytes along k: 16 numbers of 16 bits, 8 of tf32, 32 of fp8.
pub trait Format: Copy + 'static {
    /// Which it is.
    const KIND: Kind;
}

/// The formats by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IEEE half precision.
    F16,
    /// Brain floating point.
    Bf16,
    /// f32, of which the upper 19 bits are used.
    Tf32,
    /// 8 bits, 4 of them the exponent.
    E4m3,
    /// 8 bits, 5 of them the exponent.
    E5m2,
}

impl Kind {
    /// Bytes of one number.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
            Self::E4m3 | Self::E5m2 => 1,
        }
    }

    /// Whether factors may also lie in shared memory with the rows (of A) or columns (of B) contiguous instead of k.
    pub const fn transposable(self) -> bool {
        self.bytes() == 2
    }
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Format for $name {
            const KIND: Kind = Kind::$name;
        }
    )*};
}

formats! {
    /// IEEE half precision.
    F16;
    /// Brain floating point.
    Bf16;
    /// f32, of which the upper 19 bits are used.
    Tf32;
    /// 8 bits, 4 of them the exponent.
    E4m3;
    /// 8 bits, 5 of them the exponent.
    E5m2;
}

/// Bytes of one row of a swizzled tile.
pub const ROW_BYTES: u32 = 128;
/// Bytes between groups of eight rows.
const GROUP_BYTES: u32 = 8 * ROW_BYTES;

/// How a factor lies in shared memory.
pub trait Orientation: Copy + 'static {
    /// Whether it is [`AcrossK`].
    const ACROSS_K: bool;
    /// Bytes from one product's part of the factor to the next one's along k.
    const STEP: u32;
}

/// Rows of 128 bytes run along k. Row `i` of the tile is row `i` of A, or column `i` of B.
#[derive(Clone, Copy, Debug)]
pub struct AlongK;

/// Rows of 128 bytes run along the rows of A or the columns of B, 64 numbers of 16 bits each; row `i` of the tile is element `i` along
/// k. For 16-bit formats only.
#[derive(Clone, Copy, Debug)]
pub struct AcrossK;

impl Orientation for AlongK {
    const ACROSS_K: bool = false;
    const STEP: u32 = 32;
}

impl Orientation for AcrossK {
    const ACROSS_K: bool = true;
    const STEP: u32 = 16 * ROW_BYTES;
}

/// Where a factor lies in shared memory: a tile in 128-byte rows with 128-byte swizzle, aligned to 1024 bytes, as TMA writes it.
///
/// Only the low half of the hardware's descriptor varies, so only that is kept; the high half is a constant of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<O> {
    #[cfg(target_os = "cuda")]
    low: u32,
    #[cfg(not(target_os = "cuda"))]
    start: Address,
    #[cfg(not(target_os = "cuda"))]
    next_tile: u32,
    orientation: PhantomData<O>,
}

impl Descriptor<AlongK> {
    /// The factor whose tile begins at this address.
    #[inline(always)]
    pub fn along_k(tile: Address) -> Self {
        // The hardware doesn't use the distance here, and wants a 1.
        Self::new(tile, 16)
    }
}

impl Descriptor<AcrossK> {
    /// The factor whose first tile begins at this address. If it has more than 64 rows or columns it goes on in the next tile,
    /// `next_tile` bytes further.
    #[inline(always)]
    pub fn across_k(tile: Address, next_tile: u32) -> Self {
        Self::new(tile, next_tile)
    }
}

impl<O: Orientation> Descriptor<O> {
    /// The high half: 1024 bytes between groups of eight rows, 128-byte swizzle.
    #[cfg(target_os = "cuda")]
    const HIGH: u32 = GROUP_BYTES / 16 | 1 << 30;

    #[inline(always)]
    fn new(start: Address, next_tile: u32) -> Self {
        Self {
            #[cfg(target_os = "cuda")]
            low: (start.get() & 0x3_ffff) / 16 | (next_tile / 16) << 16,
            #[cfg(not(target_os = "cuda"))]
            start,
            #[cfg(not(target_os = "cuda"))]
            next_tile,
            orientation: PhantomData,
        }
    }

    /// The same factor `bytes` further on in shared memory, a multiple of 16.
    #[inline(always)]
    pub fn offset(self, bytes: u32) -> Self {
        Self {
            #[cfg(target_os = "cuda")]
            low: self.low + bytes / 16,
            #[cfg(not(target_os = "cuda"))]
            start: self.start.offset(bytes),
            ..self
        }
    }

    /// The same, known to be equal in all lanes of the warp, which spares vector registers. Lane 0's value.
    #[inline(always)]
    pub fn uniform(self) -> Self {
        Self {
            #[cfg(target_os = "cuda")]
            low: crate::warp::uniform(self.low),
            ..self
        }
    }
}

/// Orders the warpgroup's earlier register and shared-memory accesses before the products that follow. Needed before the first
/// product, and whenever sums were touched otherwise.
///
/// # Safety
/// All threads of the warpgroup must call it together, on sm_90a.
#[inline(always)]
pub unsafe fn fence() {
    #[cfg(target_os = "cuda")]
    // SAFETY: the caller's promise.
    unsafe {
        asm!("wgmma.fence.sync.aligned;", options(nostack))
    }
}

/// Makes the products since the last call a group, to be waited for.
///
/// # Safety
/// As [`fence`].
#[inline(always)]
pub unsafe fn commit_group() {
    #[cfg(target_os = "cuda")]
    // SAFETY: the caller's promise.
    unsafe {
        asm!("wgmma.commit_group.sync.aligned;", options(nostack))
    }
}

/// Waits until at most `PENDING` of the warpgroup's groups are unfinished: their factors may then be overwritten. To read sums, use
/// [`Accumulator::wait`].
///
/// # Safety
/// As [`fence`].
#[inline(always)]
pub unsafe fn wait_group<const PENDING: u32>() {
    #[cfg(target_os = "cuda")]
    // SAFETY: the caller's promise.
    unsafe {
        asm!("wgmma.wait_group.sync.aligned {};", const PENDING, options(nostack))
    }
}

/// Raises the number of registers of each thread of the warpgroup to `COUNT`, a multiple of 8 from 24 to 256. The kernel must state
/// its block size and at least one block per multiprocessor, or ptxas ignores it.
///
/// # Safety
/// As [`fence`]; the registers must have been given up by other warpgroups, or this waits for ever.
#[inline(always)]
pub unsafe fn increase_registers<const COUNT: u32>() {
    #[cfg(target_os = "cuda")]
    // SAFETY: the caller's promise.
    unsafe {
        asm!("setmaxnreg.inc.sync.aligned.u32 {};", const COUNT, options(nostack))
    }
}

/// Lowers the number of registers of each thread of the warpgroup to `COUNT`, a multiple of 8 from 24 to 256.
///
/// # Safety
/// As [`fence`].
#[inline(always)]
pub unsafe fn decrease_registers<const COUNT: u32>() {
    #[cfg(target_os = "cuda")]
    // SAFETY: the caller's promise.
    unsafe {
        asm!("setmaxnreg.dec.sync.aligned.u32 {};", const COUNT, options(nostack))
    }
}
