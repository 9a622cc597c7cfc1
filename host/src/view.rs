//! Borrowed pieces of a buffer, at any offset: [`View`] to read, [`ViewMut`] to write.
//!
//! Views stay on the thread that made them: pieces of one buffer share its record of pending work, and two threads that
//! submit to different pieces at once would overwrite each other's entry. Share the `&Buffer` instead.

use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};

use cust_core::DeviceCopy;

use crate::block::Block;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// A piece of a buffer, shared.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = warpsmith::Runtime::new();
/// let x = runtime.buffer_from(&[1.0f32, 2.0, 3.0])?;
/// let tail = x.slice(1..)?;
/// assert_eq!((tail.len(), tail.slice(1..)?.to_vec()?), (2, vec![3.0]));
/// # Ok(())
/// # }
/// ```
pub struct View<'a, T> {
    pub(crate) block: &'a Block,
    pub(crate) offset: usize,
    len: usize,
    here: PhantomData<(&'a [T], *const ())>,
}

/// A piece of a buffer, exclusive.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = warpsmith::Runtime::new();
/// let mut x = runtime.zeros::<f32>(4)?;
/// let (mut left, mut right) = x.as_view_mut().split_at_mut(1)?;
/// left.fill(1.0)?;
/// right.copy_from_slice(&[2.0, 3.0, 4.0])?;
/// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok(())
/// # }
/// ```
pub struct ViewMut<'a, T> {
    pub(crate) block: &'a Block,
    pub(crate) offset: usize,
    len: usize,
    here: PhantomData<(&'a mut [T], *const ())>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for View<'_, T> {}

/// The range in numbers, if it lies inside `0..len`.
pub(crate) fn resolve(operation: &'static str, range: impl RangeBounds<usize>, len: usize) -> Result<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    if start <= end && end <= len {
        Ok(start..end)
    } else {
        Err(Error::OutOfBounds { operation, range: start..end, len })
    }
}

macro_rules! common {
    ($view:ident) => {
        impl<'a, T: DeviceCopy> $view<'a, T> {
            /// # Safety
            /// The elements must lie inside the block and be initialised, and the borrow `'a` must be of the kind that the
            /// view stands for.
            #[inline]
            pub(crate) unsafe fn from_block(block: &'a Block, offset: usize, len: usize) -> Self {
                Self { block, offset, len, here: PhantomData }
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

            /// Bytes.
            pub fn byte_len(&self) -> usize {
                self.len * size_of::<T>()
            }

            /// The runtime on whose device it lies.
            pub fn runtime(&self) -> &'a Runtime {
                self.block.runtime()
            }

            /// The device address of the first element (on the CPU: the host address). Aligned to `T`, and not more.
            #[inline]
            pub fn device_address(&self) -> u64 {
                self.block.address() + (self.offset * size_of::<T>()) as u64
            }

            /// The elements on the host, after waiting for the work that writes them.
            ///
            /// # Errors
            /// [`Error::Driver`], also for errors of earlier kernels.
            pub fn to_vec(&self) -> Result<Vec<T>> {
                self.runtime().default_stream().read(self.as_view())
            }

            fn host(&self, operation: &'static str) -> Result<*mut T> {
                let pointer = self.block.host_pointer().ok_or_else(|| {
                    self.runtime().unsupported(operation, "copy the data with to_vec, or use a kernel")
                })?;
                Ok(pointer.wrapping_add(self.offset * size_of::<T>()).cast())
            }
        }

        impl<T: DeviceCopy> std::fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let element = std::any::type_name::<T>();
                write!(f, "{}<{element}>({} elements on {})", stringify!($view), self.len, self.runtime())
            }
        }
    };
}
common!(View);
common!(ViewMut);

impl<'a, T: DeviceCopy> View<'a, T> {
    /// The piece `range` of this piece.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<View<'a, T>> {
        let range = resolve("slice", range, self.len)?;
        // SAFETY: inside this view, with its lifetime.
        Ok(unsafe { Self::from_block(self.block, self.offset + range.start, range.len()) })
    }

    /// Itself; for code that is written for all three kinds.
    #[inline]
    pub fn as_view(&self) -> View<'a, T> {
        *self
    }

    /// The elements, on the CPU runtime.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a GPU.
    pub fn as_slice(&self) -> Result<&'a [T]> {
        let start = self.host("as_slice")?;
        // SAFETY: inside the block, initialised, borrowed for 'a; the block's address is not null and is aligned.
        Ok(unsafe { std::slice::from_raw_parts(start, self.len) })
    }
}

impl<'a, T: DeviceCopy> ViewMut<'a, T> {
    /// The same piece, shared.
    #[inline]
    pub fn as_view(&self) -> View<'_, T> {
        // SAFETY: this view, borrowed.
        unsafe { View::from_block(self.block, self.offset, self.len) }
    }

    /// The same piece for a shorter time, to hand over more than once.
    #[inline]
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        // SAFETY: this view, borrowed exclusively.
        unsafe { ViewMut::from_block(self.block, self.offset, self.len) }
    }

    /// The piece `range` of this piece, shared.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>> {
        self.as_view().slice(range)
    }

    /// The piece `range` of this piece, exclusive.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>> {
        self.reborrow().into_slice(range)
    }

    /// Narrows to the piece `range`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn into_slice(self, range: impl RangeBounds<usize>) -> Result<ViewMut<'a, T>> {
        let range = resolve("slice_mut", range, self.len)?;
        // SAFETY: inside this view, which is given up.
        Ok(unsafe { ViewMut::from_block(self.block, self.offset + range.start, range.len()) })
    }

    /// Two pieces: `..middle` and `middle..`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]
    pub fn split_at_mut(self, middle: usize) -> Result<(ViewMut<'a, T>, ViewMut<'a, T>)> {
        let range = resolve("split_at_mut", middle.., self.len)?;
        // SAFETY: two disjoint pieces of this view, which is given up.
        Ok(unsafe {
            (
                ViewMut::from_block(self.block, self.offset, middle),
                ViewMut::from_block(self.block, self.offset + middle, range.len()),
            )
        })
    }

    /// The elements, on the CPU runtime.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a GPU.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.reborrow().into_mut_slice()
    }

    /// As [`as_mut_slice`](Self::as_mut_slice), for as long as the view itself may live.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a GPU.
    pub fn into_mut_slice(self) -> Result<&'a mut [T]> {
        let start = self.host("as_mut_slice")?;
        self.block.wrote(self.offset * size_of::<T>(), self.byte_len());
        // SAFETY: inside the block, initialised, borrowed exclusively for 'a.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, self.len) })
    }

    /// Overwrites the elements with those of a host slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::Driver`]
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        self.runtime().default_stream().write(source, self.reborrow())
    }

    /// Overwrites the elements with those of another piece on the same runtime.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongRuntime`], [`Error::Driver`]
    pub fn copy_from<'s>(&mut self, source: impl Into<View<'s, T>>) -> Result<()>
    where
        T: 's,
    {
        self.runtime().default_stream().copy(source, self.reborrow())
    }

    /// Sets every element to `value`.
    ///
    /// # Errors
    /// [`Error::Driver`]
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.runtime().default_stream().fill(self.reborrow(), value)
    }
}

impl<'a, T: DeviceCopy> From<&'a Buffer<T>> for View<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.as_view()
    }
}

impl<'a, T: DeviceCopy> From<&'a ViewMut<'_, T>> for View<'a, T> {
    fn from(view: &'a ViewMut<'_, T>) -> Self {
        view.as_view()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut Buffer<T>> for ViewMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.as_view_mut()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut ViewMut<'_, T>> for ViewMut<'a, T> {
    fn from(view: &'a mut ViewMut<'_, T>) -> Self {
        view.reborrow()
    }
}

impl<'a, T: DeviceCopy> From<&'a View<'_, T>> for View<'a, T> {
    fn from(view: &'a View<'_, T>) -> Self {
        *view
    }
}
