//! Owned one-dimensional memory on a runtime's device.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use cust_core::DeviceCopy;

use crate::block::{Block, byte_length};
use crate::error::Result;
use crate::runtime::Runtime;
use crate::view::{View, ViewMut};

/// `len` elements of `T` on the device of a runtime; on the CPU runtime, host memory.
///
/// Dropping a buffer while a kernel still uses it is safe: its memory is reused only by work that comes after.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = warpsmith::Runtime::new();
/// let mut x = runtime.buffer_from(&[1.0f32, 2.0, 3.0, 4.0])?;
/// x.slice_mut(..2)?.fill(0.0)?;
/// let mut y = runtime.zeros(2)?;
/// y.copy_from(x.slice(1..3)?)?;
/// assert_eq!(y.to_vec()?, [0.0, 3.0]);
/// # Ok(())
/// # }
/// ```
pub struct Buffer<T> {
    block: Block,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: a buffer owns its elements, which are plain data; the block's record of pending work is atomic.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above; through `&Buffer` elements are only read.
unsafe impl<T: Sync> Sync for Buffer<T> {}

impl<T: DeviceCopy> Buffer<T> {
    /// # Safety
    /// The elements must be written before they are read.
    pub(crate) unsafe fn uninitialized(runtime: &Runtime, len: usize, home: u8) -> Result<Self> {
        const { assert!(align_of::<T>() <= 64, "buffers are aligned to 64 bytes") };
        let block = Block::new(runtime, byte_length::<T>("allocate", len)?, home)?;
        block.expect_writes();
        Ok(Self { block, len, elements: PhantomData })
    }

    /// # Safety
    /// The block must hold `len` initialised elements, aligned to `T`.
    pub(crate) unsafe fn from_block(block: Block, len: usize) -> Self {
        Self { block, len, elements: PhantomData }
    }

    /// Elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the elements.
    pub fn byte_len(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The runtime on whose device it lies.
    pub fn runtime(&self) -> &Runtime {
        self.block.runtime()
    }

    /// The device address of the first element (on the CPU: the host address).
    pub fn device_address(&self) -> u64 {
        self.block.address()
    }

    /// All of it, shared.
    #[inline]
    pub fn as_view(&self) -> View<'_, T> {
        // SAFETY: the whole buffer, borrowed.
        unsafe { View::from_block(&self.block, 0, self.len) }
    }

    /// All of it, exclusive.
    #[inline]
    pub fn as_view_mut(&mut self) -> ViewMut<'_, T> {
        // SAFETY: the whole buffer, borrowed exclusively.
        unsafe { ViewMut::from_block(&self.block, 0, self.len) }
    }

    /// The piece `range`, shared.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds)
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>> {
        self.as_view().slice(range)
    }

    /// The piece `range`, exclusive.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds)
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>> {
        self.as_view_mut().into_slice(range)
    }

    /// The elements on the host, after waiting for the work that writes them.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also for errors of earlier kernels.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_view().to_vec()
    }

    /// The elements, on the CPU runtime.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) on a GPU.
    pub fn as_slice(&self) -> Result<&[T]> {
        self.as_view().as_slice()
    }

    /// The elements, on the CPU runtime.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) on a GPU.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.as_view_mut().into_mut_slice()
    }

    /// Overwrites the elements with those of a host slice of the same length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), [`Error::Driver`](crate::Error::Driver)
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        self.as_view_mut().copy_from_slice(source)
    }

    /// Overwrites the elements with those of another piece of the same length on the same runtime.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch), [`Error::WrongRuntime`](crate::Error::WrongRuntime),
    /// [`Error::Driver`](crate::Error::Driver)
    pub fn copy_from<'s>(&mut self, source: impl Into<View<'s, T>>) -> Result<()>
    where
        T: 's,
    {
        self.as_view_mut().copy_from(source)
    }

    /// Sets every element to `value`.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver)
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.as_view_mut().fill(value)
    }

    /// A copy of the elements in a new buffer.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver)
    pub fn try_clone(&self) -> Result<Self> {
        self.runtime().default_stream().duplicate(self)
    }
}

impl<T: DeviceCopy> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer<{}>({} elements on {})", std::any::type_name::<T>(), self.len, self.runtime())
    }
}

/// # Memory
impl Runtime {
    /// A buffer with the elements of a host slice.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver)
    pub fn buffer_from<T: DeviceCopy>(&self, source: &[T]) -> Result<Buffer<T>> {
        self.default_stream().buffer_from(source)
    }

    /// A buffer of `len` elements `T::default()`, which for numbers is zero.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`](crate::Error::SizeOverflow), [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::Driver`](crate::Error::Driver)
    pub fn zeros<T: DeviceCopy + Default>(&self, len: usize) -> Result<Buffer<T>> {
        self.default_stream().zeros(len)
    }

    /// A buffer of `len` elements `value`.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn filled<T: DeviceCopy>(&self, len: usize, value: T) -> Result<Buffer<T>> {
        self.default_stream().filled(len, value)
    }

    /// A buffer of `len` elements with any contents.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    ///
    /// # Safety
    /// Every element must be written before it is read, on the device or on the host.
    pub unsafe fn uninitialized<T: DeviceCopy>(&self, len: usize) -> Result<Buffer<T>> {
        // SAFETY: by the caller.
        unsafe { self.default_stream().uninitialized(len) }
    }
}
