//! Device memory, cached: a block that is dropped goes to the next request of its size on its stream, without the driver.
//!
//! Sizes are rounded up to an eighth of a power of two (at most 12.5 % more than asked for). A cached block belongs to one
//! stream: whatever else used it, that stream has been made to wait for, so the host never waits.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::driver::{DeviceAddress, Driver};
use crate::error::{Error, Result};
use crate::order::Marks;
use crate::runtime::{Backend, Cuda, Runtime};

/// What a runtime's memory holds at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStatistics {
    /// Bytes that live buffers hold, rounded up as they are allocated.
    pub bytes_in_use: usize,
    /// Bytes that are kept for later requests; [`Runtime::trim`] gives them back.
    pub bytes_cached: usize,
    /// Allocations made by the driver (on the CPU: by the allocator) so far. Constant in a steady state.
    pub driver_allocations: u64,
}

/// The cache of one device.
#[derive(Default)]
pub(crate) struct Pool {
    free: Mutex<Free>,
    bytes_in_use: AtomicUsize,
    bytes_cached: AtomicUsize,
    driver_allocations: AtomicU64,
}

#[derive(Default)]
struct Free {
    /// Blocks by stream and size.
    blocks: HashMap<(u8, usize), Vec<DeviceAddress>>,
    /// Blocks dropped while their stream was captured, which can't be made to wait then.
    deferred: Vec<(DeviceAddress, usize, u8, Marks)>,
}

pub(crate) fn statistics(runtime: &Runtime) -> MemoryStatistics {
    match &runtime.0.backend {
        Backend::Host(counters) => MemoryStatistics {
            bytes_in_use: counters.bytes_in_use.load(Relaxed),
            bytes_cached: 0,
            driver_allocations: counters.allocations.load(Relaxed),
        },
        Backend::Cuda(cuda) => MemoryStatistics {
            bytes_in_use: cuda.pool.bytes_in_use.load(Relaxed),
            bytes_cached: cuda.pool.bytes_cached.load(Relaxed),
            driver_allocations: cuda.pool.driver_allocations.load(Relaxed),
        },
    }
}

/// The size that a request for `bytes` gets: a multiple of an eighth of the next lower power of two, at least 512.
fn size_class(bytes: usize) -> Option<usize> {
    let step = (bytes.max(1).ilog2()).saturating_sub(3);
    bytes.max(1).checked_next_multiple_of(1 << step).map(|size| size.max(512))
}

impl Pool {
    /// Memory for `bytes > 0`, ordered after earlier work on stream `home`; with the size it was rounded up to.
    pub(crate) fn allocate(&self, cuda: &Cuda, bytes: usize, home: u8) -> Result<(DeviceAddress, usize)> {
        let overflow = Error::SizeOverflow { operation: "allocate", count: bytes, element_bytes: 1 };
        let size = size_class(bytes).filter(|&size| size <= isize::MAX as usize).ok_or(overflow)?;
        let cached = self.free().blocks.get_mut(&(home, size)).and_then(Vec::pop);
        let address = match cached {
            Some(address) => {
                self.bytes_cached.fetch_sub(size, Relaxed);
                address
            }
            None => {
                cuda.make_current()?;
                let address = self.ask_driver(cuda, bytes, size)?;
                self.driver_allocations.fetch_add(1, Relaxed);
                address
            }
        };
        self.bytes_in_use.fetch_add(size, Relaxed);
        Ok((address, size))
    }

    fn ask_driver(&self, cuda: &Cuda, requested: usize, size: usize) -> Result<DeviceAddress> {
        let request = || {
            let mut address = 0;
            // SAFETY: writes one address; the context is current.
            unsafe { cuda.driver.cuMemAlloc_v2(&mut address, size) }.map(|()| address)
        };
        match request() {
            // CUDA_ERROR_OUT_OF_MEMORY
            Err(Error::Driver { code: 2, .. }) => {}
            other => return other,
        }
        let cached = self.bytes_cached.load(Relaxed);
        // SAFETY: the context is current.
        unsafe { cuda.driver.cuCtxSynchronize() }?;
        self.release(cuda.driver);
        request().map_err(|error| match error {
            Error::Driver { code: 2, .. } => {
                let (mut free, mut total) = (0, 0);
                // SAFETY: writes two integers.
                let _ = unsafe { cuda.driver.cuMemGetInfo_v2(&mut free, &mut total) };
                let device = cuda.device.properties.name.clone();
                Error::OutOfMemory { device, requested, free, total, cached }
            }
            other => other,
        })
    }

    /// Takes a block back. Its stream is made to wait for the others that used it; where that fails, the context is lost
    /// and the block with it.
    pub(crate) fn free_block(&self, cuda: &Cuda, address: DeviceAddress, size: usize, home: u8, marks: Marks) {
        self.bytes_in_use.fetch_sub(size, Relaxed);
        if cuda.streams.is_capturing(home) {
            self.free().deferred.push((address, size, home, marks));
        } else if cuda.make_current().and_then(|()| marks.settle_on(cuda, home)).is_ok() {
            self.bytes_cached.fetch_add(size, Relaxed);
            self.free().blocks.entry((home, size)).or_default().push(address);
        }
    }

    /// Takes in the blocks that were dropped during a capture.
    pub(crate) fn free_deferred(&self, cuda: &Cuda) {
        let deferred = std::mem::take(&mut self.free().deferred);
        for (address, size, home, marks) in deferred {
            self.bytes_in_use.fetch_add(size, Relaxed);
            self.free_block(cuda, address, size, home, marks);
        }
    }

    /// Gives all cached memory back to the driver. The context must be current, and no work on that memory pending.
    pub(crate) fn release(&self, driver: &Driver) {
        let blocks = std::mem::take(&mut self.free().blocks);
        for ((_, size), addresses) in blocks {
            for address in addresses {
                self.bytes_cached.fetch_sub(size, Relaxed);
                // SAFETY: the address came from cuMemAlloc, and nothing uses it any more.
                let _ = unsafe { driver.cuMemFree_v2(address) };
            }
        }
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_waste_at_most_an_eighth() {
        for bytes in [1usize, 511, 512, 513, 1000, 4096, 4097, 1 << 20, (1 << 20) + 1, (1 << 33) + 7] {
            let size = size_class(bytes).unwrap();
            assert!(size >= bytes && size.is_multiple_of(64), "{bytes} -> {size}");
            assert!(size == 512 || (size - bytes) as f64 <= bytes as f64 / 8.0, "{bytes} -> {size}");
            assert_eq!(size_class(size), Some(size));
        }
        assert_eq!(size_class(usize::MAX), None);
    }
}
