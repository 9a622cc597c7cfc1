//! [`Address`]: a place in shared memory as 32 bits, which is how asynchronous copies, mbarriers and matrix loads name it.

#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::{context, refuse, watch::Kind};

/// A byte in shared memory: of the block, or, made by
/// [`cluster::map`](crate::cluster::map), of another block of the cluster.
///
/// An address says nothing of what lies there: every operation that uses one is `unsafe`, or a handle whose making was. The
/// simulator refuses addresses that are outside the block's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Address(u32);

#[cfg(target_os = "cuda")]
unsafe extern "C" {
    // The linker step gives both their bodies, an address-space cast.
    fn __warpsmith_shared_address(pointer: *const u8) -> u32;
    fn __warpsmith_shared_pointer(address: u32) -> *mut u8;
}

impl Address {
    /// The address of a pointer into the block's shared memory.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub(crate) fn of(pointer: *const u8) -> Self {
        #[cfg(target_os = "cuda")]
        // SAFETY: a cast; any pointer is allowed.
        unsafe {
            Self(__warpsmith_shared_address(pointer))
        }
        #[cfg(not(target_os = "cuda"))]
        match context().state().window.address(pointer) {
            Some(address) => Self(address),
            None => refuse("the pointer is not into the block's shared memory".into(), Location::caller()),
        }
    }

    #[inline(always)]
    pub(crate) const fn from_raw(address: u32) -> Self {
        Self(address)
    }

    /// The number, as an instruction takes it.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// So many bytes further.
    #[inline(always)]
    pub const fn offset(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// A pointer to what lies there. In the simulator one that nothing watches; it is refused unless a whole `T` lies there,
    /// aligned.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn as_mut_ptr<T>(self) -> *mut T {
        #[cfg(target_os = "cuda")]
        // SAFETY: a cast; any address is allowed.
        unsafe {
            __warpsmith_shared_pointer(self.0).cast()
        }
        #[cfg(not(target_os = "cuda"))]
        context().resolve(self.0, size_of::<T>(), align_of::<T>(), Location::caller()).cast()
    }

    /// Reads what lies there.
    ///
    /// # Safety
    /// An aligned `T` must lie there, in this block's shared memory, that was written and that no other thread writes at the same
    /// time.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn read<T: Copy>(self) -> T {
        #[cfg(not(target_os = "cuda"))]
        self.note(size_of::<T>(), Kind::Read);
        // SAFETY: by the caller.
        unsafe { self.as_mut_ptr::<T>().read() }
    }

    /// Writes a value there.
    ///
    /// # Safety
    /// The place must be aligned, have room for a `T` in this block's shared memory, and not be used by another thread at the
    /// same time.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn write<T: Copy>(self, value: T) {
        #[cfg(not(target_os = "cuda"))]
        self.note(size_of::<T>(), Kind::Write);
        // SAFETY: by the caller.
        unsafe { self.as_mut_ptr::<T>().write(value) }
    }

    /// Tells the simulator's watch of an access.
    #[cfg(not(target_os = "cuda"))]
    #[track_caller]
    pub(crate) fn note(self, bytes: usize, kind: Kind) {
        context().shared_access(self.0, bytes, kind, Location::caller());
    }
}
