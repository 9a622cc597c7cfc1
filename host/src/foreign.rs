//! Memory that another library owns, as a [`Buffer`]: nothing is copied, and nothing of it is freed here.

use std::any::Any;

use cust_core::DeviceCopy;

use crate::block::{Block, byte_length};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::runtime::Runtime;

const OPERATION: &str = "use foreign memory";

impl<T: DeviceCopy> Buffer<T> {
    /// Memory of another library as a buffer: `len` elements from `start`, an address on the runtime's device (on the CPU and in
    /// the simulator of the host). `owner` is what keeps it alive, such as an `Arc` of the other library's array: it is dropped
    /// with the buffer, after waiting for all work of the runtime.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use warpsmith::{Buffer, Runtime};
    /// # fn main() -> warpsmith::Result<()> {
    /// let runtime = Runtime::cpu();
    /// let theirs: Arc<[f32]> = Arc::new([1.0, 2.0, 3.0]);
    /// // SAFETY: the array is kept alive, and nobody writes it: the buffer is never borrowed mutably.
    /// let ours = unsafe { Buffer::from_raw_parts(&runtime, theirs.as_ptr().cast_mut(), theirs.len(), theirs.clone()) }?;
    /// assert_eq!(ours.slice(1..)?.to_vec()?, [2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Work of this crate on the buffer is ordered as on any other. Work that the other library submits is not known here: let it finish
    /// first, and before it touches the memory again, wait for what was submitted here ([`Runtime::synchronize`]). Or submit both to
    /// one stream: [`Stream::as_raw`](crate::Stream::as_raw) is one that other libraries can use.
    ///
    /// # Errors
    /// [`Error::ForeignMemory`] for an address that is null or not aligned to `T`, [`Error::SizeOverflow`].
    ///
    /// # Safety
    /// * The `len` elements are initialised, lie on this device in the primary context, and are valid until `owner` is dropped.
    /// * While the buffer exists nobody else writes them, and nobody else reads them while a `&mut` of the buffer exists or work that
    ///   writes it is pending.
    pub unsafe fn from_raw_parts<O>(runtime: &Runtime, start: *mut T, len: usize, owner: O) -> Result<Self>
    where
        O: Send + Sync + 'static,
    {
        let size = byte_length::<T>(OPERATION, len)?;
        let address = start.expose_provenance() as u64;
        if size > 0 && start.is_null() {
            let (what, remedy) = ("is null", "pass the address of the first element");
            return Err(Error::ForeignMemory { operation: OPERATION, address, what, remedy });
        }
        if !start.is_aligned() {
            let (what, remedy) = ("is not a multiple of the element's alignment", "copy the elements to a new buffer");
            return Err(Error::ForeignMemory { operation: OPERATION, address, what, remedy });
        }
        let block = match size {
            0 => Block::new(runtime, 0, 0)?,
            _ => Block::foreign(runtime, address, size, Box::new(owner)),
        };
        // SAFETY: by the caller.
        Ok(unsafe { Self::from_block(block, len) })
    }
}

/// Drops what keeps foreign memory alive, when no work of the runtime uses it any more.
pub(crate) fn give_up(runtime: &Runtime, owner: Box<dyn Any + Send + Sync>) {
    if runtime.synchronize().is_ok() || !crate::graph::is_capturing() {
        // After an error the context is lost, and no work can run in it.
        drop(owner);
    } else {
        // A wait would end the capture; without one the memory might be freed too early.
        std::mem::forget(owner);
    }
}
