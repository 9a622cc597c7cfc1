//! Memory operations of a stream: allocate, copy, fill. All lengths are checked, all orders kept.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use cust_core::DeviceCopy;

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::order::{Access, Submission};
use crate::stream::Stream;
use crate::view::{View, ViewMut};

fn expect_equal(operation: &'static str, source: usize, target: usize) -> Result<()> {
    let (left_name, right_name) = ("the source", "the target");
    if source == target {
        Ok(())
    } else {
        Err(Error::LengthMismatch { operation, left_name, left: source, right_name, right: target })
    }
}

/// # Memory
///
/// Buffers made by a stream come from its own cache of memory; [`Runtime`](crate::Runtime) has the same functions for the
/// default stream.
impl Stream {
    /// A buffer of `len` elements with any contents.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`], [`Error::Driver`]; [`Error::Capture`] during a capture.
    ///
    /// # Safety
    /// Every element must be written before it is read, on the device or on the host.
    pub unsafe fn uninitialized<T: DeviceCopy>(&self, len: usize) -> Result<Buffer<T>> {
        // SAFETY: by the caller.
        unsafe { Buffer::uninitialized(self.runtime(), len, self.slot()) }
    }

    /// A buffer with the elements of a host slice.
    ///
    /// # Errors
    /// As [`uninitialized`](Self::uninitialized).
    pub fn buffer_from<T: DeviceCopy>(&self, source: &[T]) -> Result<Buffer<T>> {
        // SAFETY: written by the copy.
        let mut buffer = unsafe { self.uninitialized(source.len()) }?;
        self.write(source, &mut buffer)?;
        Ok(buffer)
    }

    /// A buffer of `len` elements `T::default()`, which for numbers is zero.
    ///
    /// # Errors
    /// As [`uninitialized`](Self::uninitialized).
    pub fn zeros<T: DeviceCopy + Default>(&self, len: usize) -> Result<Buffer<T>> {
        self.filled(len, T::default())
    }

    /// A buffer of `len` elements `value`.
    ///
    /// # Errors
    /// As [`uninitialized`](Self::uninitialized).
    pub fn filled<T: DeviceCopy>(&self, len: usize, value: T) -> Result<Buffer<T>> {
        // SAFETY: written by the fill.
        let mut buffer = unsafe { self.uninitialized(len) }?;
        self.fill(&mut buffer, value)?;
        Ok(buffer)
    }

    /// A copy of some elements in a new buffer.
    ///
    /// # Errors
    /// As [`uninitialized`](Self::uninitialized), and [`Error::WrongRuntime`].
    pub fn duplicate<'s, T: DeviceCopy + 's>(&self, source: impl Into<View<'s, T>>) -> Result<Buffer<T>> {
        let source = source.into();
        // SAFETY: written by the copy.
        let mut buffer = unsafe { self.uninitialized(source.len()) }?;
        self.copy(source, &mut buffer)?;
        Ok(buffer)
    }

    /// Copies host elements to the device. `source` may be changed as soon as this returns; the device's earlier work is
    /// not waited for, unless `source` is pinned.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongRuntime`], [`Error::Driver`]; [`Error::Capture`] during a capture.
    pub fn write<'t, T: DeviceCopy + 't>(&self, source: &[T], target: impl Into<ViewMut<'t, T>>) -> Result<()> {
        let mut target = target.into();
        expect_equal("copy from the host", source.len(), target.len())?;
        self.runtime().expect_same(target.runtime(), "copy from the host", "the target")?;
        let Some(submission) = self.submission()? else {
            target.as_mut_slice()?.copy_from_slice(source);
            return Ok(());
        };
        self.forbid_in_capture("copy from the host", "copy before the graph's launch")?;
        if target.byte_len() == 0 {
            return Ok(());
        }
        let cuda = submission.cuda();
        submission.order(target.block, Access::Write)?;
        // SAFETY: both sides have this many bytes. The driver has taken pageable memory in when it returns; for other
        // memory the stream is waited for below.
        let copied = unsafe {
            let bytes = target.byte_len();
            cuda.driver.cuMemcpyHtoDAsync_v2(
                target.device_address(),
                source.as_ptr().cast(),
                bytes,
                submission.stream(),
            )
        };
        drop(submission);
        copied?;
        let mut kind = 0u32;
        // SAFETY: writes one 32-bit value; the address is only looked up. CU_POINTER_ATTRIBUTE_MEMORY_TYPE.
        let known = unsafe {
            cuda.driver.cuPointerGetAttribute((&raw mut kind).cast(), 2, source.as_ptr().expose_provenance() as u64)
        };
        if known.is_ok() || cuda.device.properties.reads_pageable_memory {
            self.synchronize()?;
        }
        Ok(())
    }

    /// Copies device elements to the host, after waiting for the work that writes them.
    ///
    /// # Errors
    /// [`Error::WrongRuntime`]; [`Error::Driver`], also for errors of earlier kernels; [`Error::Capture`] during a capture.
    pub fn read<'s, T: DeviceCopy + 's>(&self, source: impl Into<View<'s, T>>) -> Result<Vec<T>> {
        let source = source.into();
        let mut target = Vec::with_capacity(source.len());
        self.read_raw(source, target.spare_capacity_mut())?;
        // SAFETY: `read_raw` has written them all.
        unsafe { target.set_len(source.len()) };
        Ok(target)
    }

    /// Copies device elements to a host slice of the same length, after waiting for the work that writes them.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Error::LengthMismatch`].
    pub fn read_into<'s, T: DeviceCopy + 's>(&self, source: impl Into<View<'s, T>>, target: &mut [T]) -> Result<()> {
        let source = source.into();
        expect_equal("copy to the host", source.len(), target.len())?;
        // SAFETY: the same elements, and only whole ones are written.
        let target = unsafe { std::slice::from_raw_parts_mut(target.as_mut_ptr().cast(), target.len()) };
        self.read_raw(source, target)
    }

    /// `target` has at least the source's length.
    fn read_raw<T: DeviceCopy>(&self, source: View<'_, T>, target: &mut [MaybeUninit<T>]) -> Result<()> {
        self.runtime().expect_same(source.runtime(), "copy to the host", "the source")?;
        let Some(submission) = self.submission()? else {
            target[..source.len()].write_copy_of_slice(source.as_slice()?);
            return Ok(());
        };
        self.forbid_in_capture("copy to the host", "copy after the graph's launch")?;
        if source.byte_len() == 0 {
            return Ok(());
        }
        submission.order(source.block, Access::Read)?;
        let pointer: *mut c_void = target[..source.len()].as_mut_ptr().cast();
        // SAFETY: both sides have this many bytes; the stream is waited for before `target` is used.
        let copied = unsafe {
            let bytes = source.byte_len();
            submission.cuda().driver.cuMemcpyDtoHAsync_v2(pointer, source.device_address(), bytes, submission.stream())
        };
        drop(submission);
        copied.and(self.synchronize())
    }

    /// Copies elements on the device.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongRuntime`], [`Error::Driver`]
    pub fn copy<'s, 't, T: DeviceCopy + 's + 't>(
        &self,
        source: impl Into<View<'s, T>>,
        target: impl Into<ViewMut<'t, T>>,
    ) -> Result<()> {
        let (source, mut target) = (source.into(), target.into());
        expect_equal("copy", source.len(), target.len())?;
        self.runtime().expect_same(source.runtime(), "copy", "the source")?;
        self.runtime().expect_same(target.runtime(), "copy", "the target")?;
        let Some(submission) = self.submission()? else {
            target.as_mut_slice()?.copy_from_slice(source.as_slice()?);
            return Ok(());
        };
        if source.byte_len() == 0 {
            return Ok(());
        }
        submission.order(source.block, Access::Read)?;
        submission.order(target.block, Access::Write)?;
        // SAFETY: both sides have this many bytes, and don't overlap: one is exclusively borrowed.
        unsafe {
            let (from, to) = (source.device_address(), target.device_address());
            submission.cuda().driver.cuMemcpyDtoDAsync_v2(to, from, source.byte_len(), submission.stream())
        }
    }

    /// Sets every element to `value`.
    ///
    /// # Errors
    /// [`Error::WrongRuntime`], [`Error::Driver`]
    pub fn fill<'t, T: DeviceCopy + 't>(&self, target: impl Into<ViewMut<'t, T>>, value: T) -> Result<()> {
        let mut target = target.into();
        self.runtime().expect_same(target.runtime(), "fill", "the target")?;
        let Some(submission) = self.submission()? else {
            target.as_mut_slice()?.fill(value);
            return Ok(());
        };
        if target.byte_len() == 0 {
            return Ok(());
        }
        submission.order(target.block, Access::Write)?;
        // SAFETY: the target has `len` elements of this type, and is exclusively borrowed.
        unsafe { fill_device(&submission, target.device_address(), target.len(), value) }
    }
}

/// Fills with the driver's 8, 16 or 32-bit patterns where one fits, else by copies that double what is there.
///
/// # Safety
/// `address` must have room for `len` elements, and nothing else may use them meanwhile.
unsafe fn fill_device<T: DeviceCopy>(submission: &Submission<'_>, address: u64, len: usize, value: T) -> Result<()> {
    let (driver, stream) = (submission.cuda().driver, submission.stream());
    let mut element = MaybeUninit::new(value);
    let size = size_of::<T>();
    // Padding inside `T` has no value that Rust lets one read. An assembler block that may have written it gives it one.
    // SAFETY: the block does nothing.
    unsafe { std::arch::asm!("/* {0} */", in(reg) element.as_mut_ptr(), options(nostack, preserves_flags)) };
    // SAFETY: `size` bytes, all with a value now.
    let bytes = unsafe { std::slice::from_raw_parts(element.as_ptr().cast::<u8>(), size) };
    // SAFETY: each call writes inside the target: `len * size` bytes from `address`.
    unsafe {
        match *bytes {
            [first, ..] if bytes.iter().all(|&byte| byte == first) => {
                driver.cuMemsetD8Async(address, first, len * size, stream)
            }
            [a, b] => driver.cuMemsetD16Async(address, u16::from_ne_bytes([a, b]), len, stream),
            [a, b, c, d] => driver.cuMemsetD32Async(address, u32::from_ne_bytes([a, b, c, d]), len, stream),
            _ if size.is_multiple_of(4) => {
                for (index, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
                    driver.cuMemsetD32Async(address + 4 * index as u64, u32::from_ne_bytes(*word), 1, stream)?;
                }
                double(submission, address, size, len * size)
            }
            _ => {
                for (index, byte) in bytes.iter().enumerate() {
                    driver.cuMemsetD8Async(address + index as u64, *byte, 1, stream)?;
                }
                double(submission, address, size, len * size)
            }
        }
    }
}

/// Repeats the first `done` bytes until `total` bytes are written.
///
/// # Safety
/// As [`fill_device`]; the first `done` bytes are written.
unsafe fn double(submission: &Submission<'_>, address: u64, mut done: usize, total: usize) -> Result<()> {
    while done < total {
        let bytes = done.min(total - done);
        // SAFETY: source and target lie side by side inside the memory that the caller vouches for.
        unsafe {
            submission.cuda().driver.cuMemcpyDtoDAsync_v2(address + done as u64, address, bytes, submission.stream())
        }?;
        done += bytes;
    }
    Ok(())
}
