//! Shared memory: one array for each block, seen by all of its threads.
//!
//! [`shared_array!`](crate::shared_array) declares an array whose size is known at compile time; [`Dynamic`] carves arrays
//! out of the bytes that the launch asks for. On the device both are lowered to native shared-memory accesses by the
//! linker step; in the simulator they are memory of the block, filled with a pattern that reads as NaN.

mod address;

use core::marker::PhantomData;
use core::mem::MaybeUninit;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::atomic::Watch;
use crate::atomic::{Atomic, AtomicValue, InShared};
use crate::fault::out_of_shared_bounds;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::{SharedWatch, context, refuse, watch::Kind};
pub use address::Address;

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
        let array = $crate::Shared::<$element, LEN>::of_block(&KEY);
        #[cfg(target_os = "cuda")]
        // SAFETY: `start` points to an array of this type and length in the block's shared memory.
        let array = unsafe { $crate::Shared::<$element, LEN>::from_raw(start) };
        array
    }};
}

/// The memory behind [`shared_array!`](crate::shared_array), aligned for vector accesses.
#[doc(hidden)]
#[repr(C, align(16))]
pub struct Storage<T, const N: usize>(MaybeUninit<[T; N]>);

impl<T, const N: usize> Storage<T, N> {
    pub const UNINIT: Self = Self(MaybeUninit::uninit());
}

/// An array of `N` elements in shared memory. Bounds are checked; that threads don't race is the caller's promise, which
/// the simulator checks.
pub struct Shared<T, const N: usize> {
    elements: Elements<T>,
}

/// An array in dynamic shared memory, from [`Dynamic::take`]. As [`Shared`], with a length known at run time.
pub struct SharedSlice<T> {
    elements: Elements<T>,
    len: usize,
}

/// Where an array starts, and who watches it.
struct Elements<T> {
    start: *mut T,
    #[cfg(not(target_os = "cuda"))]
    watch: *const SharedWatch,
    element: PhantomData<T>,
}

impl<T> Clone for Elements<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Elements<T> {}

impl<T> Elements<T> {
    #[inline(always)]
    fn new(start: *mut T) -> Self {
        Self {
            start,
            #[cfg(not(target_os = "cuda"))]
            watch: core::ptr::null(),
            element: PhantomData,
        }
    }

    #[cfg(not(target_os = "cuda"))]
    #[inline(always)]
    fn note(&self, index: usize, kind: Kind, place: &'static Location<'static>) {
        // SAFETY: null or the block's, which outlives its threads.
        if let Some(watch) = unsafe { self.watch.as_ref() } {
            watch.access(index, kind, place);
        }
    }
}

impl<T, const N: usize> Clone for Shared<T, N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const N: usize> Copy for Shared<T, N> {}

impl<T> Clone for SharedSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SharedSlice<T> {}

impl<T: Copy, const N: usize> Shared<T, N> {
    /// The simulator doesn't watch for races through a view made here.
    ///
    /// # Safety
    /// `start` must point to `N` elements of the block's shared memory.
    #[inline(always)]
    pub unsafe fn from_raw(start: *mut T) -> Self {
        Self { elements: Elements::new(start) }
    }

    /// The running block's array of this key.
    #[cfg(not(target_os = "cuda"))]
    #[doc(hidden)]
    pub fn of_block(key: &'static u8) -> Self {
        let (start, watch) = context().state().window.array(core::ptr::from_ref(key) as usize, N, size_of::<[T; N]>());
        Self { elements: Elements { start: start.cast(), watch, element: PhantomData } }
    }

    #[inline(always)]
    const fn length(&self) -> usize {
        N
    }
}

impl<T: Copy> SharedSlice<T> {
    /// Elements.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    const fn length(&self) -> usize {
        self.len
    }
}

macro_rules! accessors {
    ($([$($generics:tt)*] $view:ty;)*) => {$(
        impl<$($generics)*> $view {
            /// The address of the first element.
            #[inline(always)]
            pub fn as_mut_ptr(&self) -> *mut T {
                self.elements.start
            }

            /// Where the first element lies in the block's shared memory.
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub fn address(&self) -> Address {
                Address::of(self.elements.start.cast())
            }

            /// Reads an element. Traps out of bounds.
            ///
            /// # Safety
            /// The element must have been written, and a barrier must lie between this and another thread's write.
            #[inline(always)]
            #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
            pub unsafe fn read(&self, index: usize) -> T {
                self.check(index);
                // SAFETY: in bounds by the check; written and not raced by the caller.
                unsafe { self.read_unchecked(index) }
            }

            /// Reads an element without the comparison.
            ///
            /// # Safety
            /// As [`read`](Self::read), and the index must be below the length.
            #[inline(always)]
            #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
            pub unsafe fn read_unchecked(&self, index: usize) -> T {
                #[cfg(not(target_os = "cuda"))]
                {
                    // The simulator checks what the caller promises.
                    self.check(index);
                    self.elements.note(index, Kind::Read, Location::caller());
                }
                // SAFETY: in bounds, written and not raced by the caller.
                unsafe { *self.elements.start.add(index) }
            }

            /// Writes an element. Traps out of bounds.
            ///
            /// # Safety
            /// A barrier must lie between this and another thread's access to the same element.
            #[inline(always)]
            #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
            pub unsafe fn write(&self, index: usize, value: T) {
                self.check(index);
                // SAFETY: in bounds by the check; not raced by the caller.
                unsafe { self.write_unchecked(index, value) }
            }

            /// Writes an element without the comparison.
            ///
            /// # Safety
            /// As [`write`](Self::write), and the index must be below the length.
            #[inline(always)]
            #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
            pub unsafe fn write_unchecked(&self, index: usize, value: T) {
                #[cfg(not(target_os = "cuda"))]
                {
                    // The simulator checks what the caller promises.
                    self.check(index);
                    self.elements.note(index, Kind::Write, Location::caller());
                }
                // SAFETY: in bounds and not raced by the caller.
                unsafe { *self.elements.start.add(index) = value }
            }

            /// An element to be updated by many threads at once. Traps out of bounds.
            #[inline(always)]
            #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
            pub fn atomic(&self, index: usize) -> Atomic<'_, T, InShared>
            where
                T: AtomicValue,
            {
                self.check(index);
                // SAFETY: in bounds by the check; shared memory lives as long as the block.
                unsafe {
                    Atomic::new(
                        self.elements.start.add(index),
                        #[cfg(not(target_os = "cuda"))]
                        index,
                        #[cfg(not(target_os = "cuda"))]
                        Watch::Shared(self.elements.watch),
                    )
                }
            }

            #[inline(always)]
            #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
            fn check(&self, index: usize) {
                if index >= self.length() {
                    out_of_shared_bounds(index, self.length());
                }
            }
        }
    )*};
}

accessors! {
    [T: Copy, const N: usize] Shared<T, N>;
    [T: Copy] SharedSlice<T>;
}

/// Carves arrays out of the dynamic shared memory of the launch, one behind the other.
///
/// All threads of the block must take the same arrays in the same order: each call only computes where its array lies. The
/// launcher asks for the bytes, which [`Layout`] adds up in the same way.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::shared::{Dynamic, Layout};
/// use cuda_std::simulator::{self, Shape};
///
/// /// Turns each block's numbers around.
/// #[kernel]
/// fn turned(mut x: GlobalMut<u32>) {
///     let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
///     let tile = Dynamic::new().take::<u32>(threads);
///     for i in thread::elements(x.len()) {
///         // SAFETY: each thread writes its own place, and reads another's behind the barrier.
///         unsafe {
///             tile.write(t, x[i]);
///             thread::sync_threads();
///             x.set(i, tile.read(threads - 1 - t));
///         }
///     }
/// }
///
/// let mut x = [1, 2, 3, 4];
/// let mut shape = Shape::new(1, 4);
/// shape.dynamic_shared_bytes = Layout::new().and::<u32>(4).bytes();
/// simulator::launch::<turned>(shape, (GlobalMut::from_slice(&mut x),)).unwrap();
/// assert_eq!(x, [4, 3, 2, 1]);
/// ```
#[derive(Debug)]
pub struct Dynamic {
    layout: Layout,
}

/// How many bytes of dynamic shared memory a list of arrays takes; also usable on the host and in constants.
///
/// ```
/// use cuda_std::shared::Layout;
///
/// // 10 numbers, and behind them 3 bytes from the next multiple of 16 on.
/// assert_eq!(Layout::new().and::<f32>(10).and::<u8>(3).bytes(), 48 + 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    bytes: usize,
}

impl Layout {
    /// Nothing.
    pub const fn new() -> Self {
        Self { bytes: 0 }
    }

    /// And behind it `len` elements, aligned to 16 bytes or to their type's alignment if that is more (at most 1024).
    #[inline(always)]
    pub const fn and<T>(self, len: usize) -> Self {
        Self { bytes: self.start_of::<T>() + len * size_of::<T>() }
    }

    /// And behind it `len` elements at a multiple of `ALIGN` bytes, as [`Dynamic::take_aligned`] takes them.
    #[inline(always)]
    pub const fn and_aligned<T, const ALIGN: usize>(self, len: usize) -> Self {
        Self { bytes: self.start_aligned::<T, ALIGN>() + len * size_of::<T>() }
    }

    /// Bytes so far.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline(always)]
    const fn start_of<T>(self) -> usize {
        self.start_aligned::<T, 16>()
    }

    /// The next multiple of `ALIGN` and of the type's own alignment.
    #[inline(always)]
    const fn start_aligned<T, const ALIGN: usize>(self) -> usize {
        const {
            assert!(ALIGN.is_power_of_two(), "an alignment is a power of two");
            assert!(ALIGN <= 1024 && align_of::<T>() <= 1024, "shared memory is aligned to 1024 bytes");
        }
        let align = if align_of::<T>() > ALIGN { align_of::<T>() } else { ALIGN };
        (self.bytes + align - 1) & !(align - 1)
    }
}

impl Default for Dynamic {
    fn default() -> Self {
        Self::new()
    }
}

impl Dynamic {
    /// Nothing is taken yet.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { layout: Layout::new() }
    }

    /// The next `len` elements. Traps if the launch asked for fewer bytes.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub fn take<T: Copy>(&mut self, len: usize) -> SharedSlice<T> {
        self.take_aligned::<T, 16>(len)
    }

    /// The next `len` elements at a multiple of `ALIGN` bytes, at most 1024: tiles of tensor copies need 128 bytes, with a
    /// swizzle of 32, 64 or 128 bytes 256, 512 or 1024. Traps if the launch asked for fewer bytes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn take_aligned<T: Copy, const ALIGN: usize>(&mut self, len: usize) -> SharedSlice<T> {
        let offset = self.layout.start_aligned::<T, ALIGN>();
        let available = dynamic_smem_size() as usize;
        // Divided instead of multiplied: the product may overflow.
        if offset > available || (size_of::<T>() > 0 && len > (available - offset) / size_of::<T>()) {
            #[cfg(target_os = "cuda")]
            crate::trap();
            #[cfg(not(target_os = "cuda"))]
            refuse(
                format!(
                    "{len} elements of {} bytes at offset {offset} don't fit into the {available} bytes of dynamic shared \
                     memory of this launch: ask for more in its shape",
                    size_of::<T>()
                ),
                Location::caller(),
            );
        }
        self.layout = self.layout.and_aligned::<T, ALIGN>(len);
        // SAFETY: `offset` lies within the dynamic shared memory.
        let start = unsafe { dynamic_shared_mem::<u8>().add(offset) }.cast::<T>();
        SharedSlice {
            elements: Elements {
                start,
                #[cfg(not(target_os = "cuda"))]
                watch: context().state().window.dynamic_watch(offset, size_of::<T>(), len),
                element: PhantomData,
            },
            len,
        }
    }

    /// Bytes taken so far.
    #[inline(always)]
    pub const fn taken(&self) -> usize {
        self.layout.bytes
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
    context().state().window.dynamic().cast()
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
        context().shape.dynamic_shared_bytes as u32
    }
}
