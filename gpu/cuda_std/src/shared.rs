//! Shared memory: one array for each block, seen by all of its threads.
//!
//! [`shared_array!`](crate::shared_array) declares an array whose size is known at compile time; [`dynamic_shared_mem`]
//! reaches the bytes that the launch asks for. On the device both are lowered to native shared-memory accesses by the
//! linker step; in the simulator they are memory of the block, filled with a pattern that reads as NaN.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// A fixed array in the block's shared memory: `shared_array![f32; 256]`, a [`Shared`]`<f32, 256>`.
///
/// Each place in the source that says so is one array per block, also when it is reached repeatedly. The element type and
/// the length can't depend on a generic parameter.
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $len:expr) => {{
        const LEN: usize = $len;
        #[cfg(target_os = "cuda")]
        #[unsafe(link_section = ".shared")]
        static mut ARRAY: $crate::shared::Storage<$element, LEN> = $crate::shared::Storage::UNINIT;
        #[cfg(target_os = "cuda")]
        let start = (&raw mut ARRAY).cast::<$element>();
        #[cfg(not(target_os = "cuda"))]
        static KEY: u8 = 0;
        #[cfg(not(target_os = "cuda"))]
        let start = $crate::simulator::block_storage(&KEY, size_of::<[$element; LEN]>()).cast::<$element>();
        // SAFETY: `start` points to an array of this type and length in the block's shared memory.
        unsafe { $crate::Shared::<$element, LEN>::from_raw(start) }
    }};
}

/// The memory behind [`shared_array!`](crate::shared_array), aligned for vector accesses.
#[doc(hidden)]
#[repr(C, align(16))]
pub struct Storage<T, const N: usize>(MaybeUninit<[T; N]>);

impl<T, const N: usize> Storage<T, N> {
    pub const UNINIT: Self = Self(MaybeUninit::uninit());
}

/// An array of `N` elements in shared memory. Bounds are checked; that threads don't race is the caller's promise.
pub struct Shared<T, const N: usize> {
    start: *mut T,
    element: PhantomData<T>,
}

impl<T, const N: usize> Clone for Shared<T, N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const N: usize> Copy for Shared<T, N> {}

impl<T: Copy, const N: usize> Shared<T, N> {
    /// # Safety
    /// `start` must point to `N` elements of the block's shared memory.
    #[inline(always)]
    pub unsafe fn from_raw(start: *mut T) -> Self {
        Self { start, element: PhantomData }
    }

    /// Reads an element. Traps out of bounds.
    ///
    /// # Safety
    /// The element must have been written, and a barrier must lie between this and another thread's write.
    #[inline(always)]
    pub unsafe fn read(&self, index: usize) -> T {
        self.check(index);
        // SAFETY: in bounds by the check; written and not raced by the caller.
        unsafe { *self.start.add(index) }
    }

    /// Writes an element. Traps out of bounds.
    ///
    /// # Safety
    /// A barrier must lie between this and another thread's access to the same element.
    #[inline(always)]
    pub unsafe fn write(&self, index: usize, value: T) {
        self.check(index);
        // SAFETY: in bounds by the check; not raced by the caller.
        unsafe { *self.start.add(index) = value }
    }

    #[inline(always)]
    fn check(&self, index: usize) {
        if index >= N {
            #[cfg(target_os = "cuda")]
            crate::trap();
            #[cfg(not(target_os = "cuda"))]
            panic!("index {index} is out of bounds: the shared array has {N} elements");
        }
    }
}

/// The start of the dynamic shared memory that the launch asked for, 16-byte aligned at least; the same address at each
/// call. Its size is [`dynamic_smem_size`].
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    #[cfg(target_os = "cuda")]
    {
        unsafe extern "C" {
            static mut __warpsmith_dynamic_shared: [MaybeUninit<u8>; 0];
        }
        (&raw mut __warpsmith_dynamic_shared).cast()
    }
    #[cfg(not(target_os = "cuda"))]
    crate::simulator::context().dynamic_shared.cast()
}

/// Bytes of dynamic shared memory in this launch.
#[inline(always)]
pub fn dynamic_smem_size() -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let size: u32;
        // SAFETY: reads a special register.
        unsafe {
            core::arch::asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) size, options(pure, nomem, nostack, preserves_flags));
        }
        size
    }
    #[cfg(not(target_os = "cuda"))]
    {
        crate::simulator::context().shape.dynamic_shared_bytes as u32
    }
}
