//! Pinned host memory and copies that overlap with other work.
//!
//! A [`Transfer`] holds its buffers until it is done. Should it be forgotten (`std::mem::forget`), the pinned buffer still
//! knows that a copy is under way and waits for it before it is touched or freed.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use cust_core::DeviceCopy;

use crate::block::byte_length;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::order::Access;
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::view::{View, ViewMut};

/// Host memory that the device copies from and to directly. On the CPU runtime ordinary memory.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = warpsmith::Runtime::new();
/// let stream = runtime.stream()?;
/// let mut host = runtime.pinned::<f32>(3)?;
/// host.copy_from_slice(&[1.0, 2.0, 3.0]);
/// let mut x = runtime.zeros::<f32>(3)?;
/// let transfer = stream.upload(&mut host, &mut x)?;
/// // Other work goes here.
/// transfer.wait()?;
/// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
pub struct PinnedBuffer<T> {
    runtime: Runtime,
    storage: Storage<T>,
    len: usize,
    /// A copy that may still be under way.
    pending: AtomicBool,
}

enum Storage<T> {
    Host(Vec<T>),
    Pinned(*mut T),
}

// SAFETY: it owns its elements, as a Vec does; the driver's memory is not bound to a thread.
unsafe impl<T: Send> Send for PinnedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for PinnedBuffer<T> {}

impl Runtime {
    /// Pinned host memory with `len` elements `T::default()`.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::Driver`]; [`Error::Capture`] during a capture.
    pub fn pinned<T: DeviceCopy + Default>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        let bytes = byte_length::<T>("allocate pinned memory", len)?;
        let storage = match self.cuda_state() {
            Some(cuda) if bytes > 0 => {
                crate::graph::forbid("allocate pinned memory", "allocate it before the capture")?;
                cuda.make_current()?;
                let mut memory = std::ptr::null_mut();
                // SAFETY: writes one address. CU_MEMHOSTALLOC_PORTABLE: pinned for every context.
                unsafe { cuda.driver.cuMemHostAlloc(&mut memory, bytes, 1) }?;
                let memory: *mut T = memory.cast();
                for index in 0..len {
                    // SAFETY: inside the allocation, which is aligned to a page.
                    unsafe { memory.add(index).write(T::default()) };
                }
                Storage::Pinned(memory)
            }
            _ => Storage::Host(vec![T::default(); len]),
        };
        Ok(PinnedBuffer { runtime: self.clone(), storage, len, pending: AtomicBool::new(false) })
    }
}

impl<T> PinnedBuffer<T> {
    /// Waits for a copy whose guard was forgotten.
    fn settle(&self) {
        if self.pending.load(Ordering::Acquire) {
            // If this fails the context is lost, and with it the copy.
            let _ = self.runtime.synchronize();
            self.pending.store(false, Ordering::Release);
        }
    }
}

impl<T> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.settle();
        match &self.storage {
            Storage::Host(elements) => elements,
            // SAFETY: `len` initialised elements, owned by `self`; no copy to them is under way.
            Storage::Pinned(start) => unsafe { std::slice::from_raw_parts(*start, self.len) },
        }
    }
}

impl<T> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.settle();
        match &mut self.storage {
            Storage::Host(elements) => elements,
            // SAFETY: `len` initialised elements, owned by `self`; no copy is under way.
            Storage::Pinned(start) => unsafe { std::slice::from_raw_parts_mut(*start, self.len) },
        }
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        self.settle();
        if let (Storage::Pinned(start), Some(cuda)) = (&self.storage, self.runtime.cuda_state())
            && cuda.make_current().is_ok()
        {
            // SAFETY: from cuMemHostAlloc; no copy is under way.
            let _ = unsafe { cuda.driver.cuMemFreeHost(start.cast()) };
        }
    }
}

/// A copy under way. It ends when this is dropped, or by [`wait`](Self::wait).
#[must_use = "dropping a transfer waits for it"]
pub struct Transfer<'a> {
    event: Option<Event>,
    pending: &'a AtomicBool,
    buffers: PhantomData<&'a mut ()>,
}

impl Transfer<'_> {
    /// Waits on the host until the copy is done.
    ///
    /// # Errors
    /// [`Error::Driver`], also for errors of earlier kernels.
    pub fn wait(mut self) -> Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        match self.event.take() {
            // The flag stays up if the wait fails, so that the buffer waits itself.
            Some(event) => event.synchronize().map(|()| self.pending.store(false, Ordering::Release)),
            None => Ok(()),
        }
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// # Copies that overlap with other work
impl Stream {
    /// Starts a copy from pinned memory to the device.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongRuntime`], [`Error::Driver`]; [`Error::Capture`] during a capture.
    pub fn upload<'a, T: DeviceCopy + 'a>(
        &self,
        source: &'a mut PinnedBuffer<T>,
        target: impl Into<ViewMut<'a, T>>,
    ) -> Result<Transfer<'a>> {
        let mut target = target.into();
        self.expect_transfer("upload", source, target.len(), target.runtime())?;
        self.transfer(source, target.byte_len(), |source, submission| {
            let Some((submission, pointer)) = submission else {
                target.as_mut_slice()?.copy_from_slice(source);
                return Ok(());
            };
            submission.order(target.block, Access::Write)?;
            let (bytes, address) = (target.byte_len(), target.device_address());
            // SAFETY: both sides have this many bytes; the pinned side is not touched before the copy is done.
            unsafe { submission.cuda().driver.cuMemcpyHtoDAsync_v2(address, pointer, bytes, submission.stream()) }
        })
    }

    /// Starts a copy from the device to pinned memory.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn download<'a, T: DeviceCopy + 'a>(
        &self,
        source: impl Into<View<'a, T>>,
        target: &'a mut PinnedBuffer<T>,
    ) -> Result<Transfer<'a>> {
        let source = source.into();
        self.expect_transfer("download", target, source.len(), source.runtime())?;
        self.transfer(target, source.byte_len(), |target, submission| {
            let Some((submission, pointer)) = submission else {
                target.copy_from_slice(source.as_slice()?);
                return Ok(());
            };
            submission.order(source.block, Access::Read)?;
            let (bytes, address) = (source.byte_len(), source.device_address());
            // SAFETY: both sides have this many bytes; the pinned side is not touched before the copy is done.
            unsafe { submission.cuda().driver.cuMemcpyDtoHAsync_v2(pointer, address, bytes, submission.stream()) }
        })
    }

    fn expect_transfer<T>(
        &self,
        operation: &'static str,
        pinned: &PinnedBuffer<T>,
        device_len: usize,
        device: &Runtime,
    ) -> Result<()> {
        self.runtime().expect_same(&pinned.runtime, operation, "the pinned buffer")?;
        self.runtime().expect_same(device, operation, "the device buffer")?;
        self.forbid_in_capture(operation, "copy before or after the graph's launch")?;
        if pinned.len != device_len {
            let (left_name, right_name) = ("the pinned buffer", "the device buffer");
            return Err(Error::LengthMismatch {
                operation,
                left_name,
                left: pinned.len,
                right_name,
                right: device_len,
            });
        }
        Ok(())
    }

    /// Submits a copy. `copy` gets the host slice, and on a GPU the submission and the slice's address.
    fn transfer<'a, T>(
        &self,
        pinned: &'a mut PinnedBuffer<T>,
        bytes: usize,
        copy: impl FnOnce(&mut [T], Option<(&crate::order::Submission<'_>, *mut std::ffi::c_void)>) -> Result<()>,
    ) -> Result<Transfer<'a>> {
        let mut event = None;
        match self.submission()? {
            None => copy(pinned, None)?,
            Some(_) if bytes == 0 => {}
            Some(submission) => {
                let pointer = pinned.as_mut_ptr().cast();
                // Raised first: should anything below fail half-way, the buffer waits for what was submitted.
                pinned.pending.store(true, Ordering::Release);
                copy(&mut [], Some((&submission, pointer)))?;
                drop(submission);
                event = Some(self.record()?);
            }
        }
        Ok(Transfer { event, pending: &pinned.pending, buffers: PhantomData })
    }
}
