//! A block of memory on a runtime's device, shared by the buffer that owns it and the graphs that use it.

use std::alloc::Layout;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuda_std::simulator;

use crate::error::{Error, Result};
use crate::order::Marks;
use crate::runtime::{Backend, Runtime};

/// Host blocks are aligned to a cache line.
const HOST_ALIGNMENT: usize = 64;
/// The address of blocks without bytes: aligned for every type, not null, never read.
const EMPTY_ADDRESS: u64 = 256;

/// A shared handle to a block; the memory is freed with the last one.
#[derive(Clone)]
pub(crate) struct Block(Arc<Inner>);

struct Inner {
    runtime: Runtime,
    /// On the CPU the host address.
    address: u64,
    /// Bytes allocated; 0 for an empty block, which has no memory.
    size: usize,
    /// The stream whose cache it goes back to.
    home: u8,
    marks: Marks,
    /// What another library's memory is kept alive by; none for memory of ours.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

/// The bytes of `count` elements of `T`, if they fit the address space.
pub(crate) fn byte_length<T>(operation: &'static str, count: usize) -> Result<usize> {
    let element_bytes = size_of::<T>();
    count.checked_mul(element_bytes).filter(|&bytes| bytes <= isize::MAX as usize).ok_or(Error::SizeOverflow {
        operation,
        count,
        element_bytes,
    })
}

impl Block {
    /// A block of `bytes`, with any contents; zeros on the CPU, where Rust forbids to read anything else.
    pub(crate) fn new(runtime: &Runtime, bytes: usize, home: u8) -> Result<Self> {
        let inner = |address, size, marks| {
            Self(Arc::new(Inner { runtime: runtime.clone(), address, size, home, marks, owner: None }))
        };
        match &runtime.0.backend {
            _ if bytes == 0 => Ok(inner(EMPTY_ADDRESS, 0, Marks::unused())),
            Backend::Host(counters) => {
                let address = allocate_host(runtime, bytes)?;
                counters.bytes_in_use.fetch_add(bytes, Relaxed);
                counters.allocations.fetch_add(1, Relaxed);
                Ok(inner(address, bytes, Marks::unused()))
            }
            Backend::Cuda(cuda) => {
                crate::graph::forbid("allocate", "allocate the buffers before the capture and reuse them in it")?;
                let (address, size) = cuda.pool.allocate(cuda, bytes, home)?;
                Ok(inner(address, size, Marks::new(cuda, home)))
            }
        }
    }

    /// Memory of another library, to which nothing has been submitted here. It is given up by dropping the owner.
    pub(crate) fn foreign(runtime: &Runtime, address: u64, size: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        let (runtime, marks) = (runtime.clone(), Marks::unused());
        Self(Arc::new(Inner { runtime, address, size, home: 0, marks, owner: Some(owner) }))
    }

    #[inline]
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    #[inline]
    pub(crate) fn address(&self) -> u64 {
        self.0.address
    }

    #[inline]
    pub(crate) fn marks(&self) -> &Marks {
        &self.0.marks
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Lets the simulator report kernels that read this block before anyone has written it.
    pub(crate) fn expect_writes(&self) {
        if self.0.size > 0 && self.runtime().is_simulator() && simulator::Options::default().check_global {
            simulator::uninitialized::register(self.0.address as usize, self.0.size);
        }
    }

    /// Tells the simulator that the host may have written these bytes.
    pub(crate) fn wrote(&self, offset: usize, bytes: usize) {
        if self.runtime().is_simulator() {
            simulator::uninitialized::wrote(self.0.address as usize + offset, bytes);
        }
    }

    /// The memory, if it is the host's.
    #[inline]
    pub(crate) fn host_pointer(&self) -> Option<*mut u8> {
        match &self.0.runtime.0.backend {
            Backend::Host(_) => Some(std::ptr::with_exposed_provenance_mut(self.0.address as usize)),
            Backend::Cuda(_) => None,
        }
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, HOST_ALIGNMENT).ok()
}

fn allocate_host(runtime: &Runtime, bytes: usize) -> Result<u64> {
    let overflow = Error::SizeOverflow { operation: "allocate", count: bytes, element_bytes: 1 };
    let layout = layout(bytes).ok_or(overflow)?;
    // SAFETY: the layout is not empty.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    if pointer.is_null() {
        let device = runtime.to_string();
        return Err(Error::OutOfMemory { device, requested: bytes, free: 0, total: 0, cached: 0 });
    }
    Ok(pointer.expose_provenance() as u64)
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            return crate::foreign::give_up(&self.runtime, owner);
        }
        if self.size == 0 {
            return;
        }
        match &self.runtime.0.backend {
            Backend::Host(counters) => {
                counters.bytes_in_use.fetch_sub(self.size, Relaxed);
                simulator::uninitialized::forget(self.address as usize);
                if let Some(layout) = layout(self.size) {
                    let pointer = std::ptr::with_exposed_provenance_mut(self.address as usize);
                    // SAFETY: allocated with this layout, and this was the last handle.
                    unsafe { std::alloc::dealloc(pointer, layout) };
                }
            }
            Backend::Cuda(cuda) => {
                let marks = std::mem::replace(&mut self.marks, Marks::unused());
                cuda.pool.free_block(cuda, self.address, self.size, self.home, marks);
            }
        }
    }
}
