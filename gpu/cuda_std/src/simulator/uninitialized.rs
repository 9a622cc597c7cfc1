//! Global memory that nobody has written yet: which of its bytes were, so that a kernel's read of another one is an error.
//!
//! The host registers the buffers that it makes without contents, and says when it writes them itself. Whatever escapes as a
//! raw pointer is taken as written: this errs on the side of silence.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{RwLock, RwLockReadGuard};

use super::Watched;

struct Region {
    bytes: usize,
    /// A bit for each byte.
    written: Box<[AtomicU64]>,
    /// Nothing is left to look for.
    all: AtomicBool,
    /// While there are regions, accesses are watched.
    _watched: Watched,
}

/// By address.
static REGIONS: RwLock<BTreeMap<usize, Region>> = RwLock::new(BTreeMap::new());

fn regions() -> RwLockReadGuard<'static, BTreeMap<usize, Region>> {
    REGIONS.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Memory at this address has no contents yet. It must be forgotten before it is freed.
pub fn register(address: usize, bytes: usize) {
    let written = (0..bytes.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    let region = Region { bytes, written, all: AtomicBool::new(bytes == 0), _watched: Watched::new() };
    REGIONS.write().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(address, region);
}

/// The memory that was registered at this address, if it was, is freed.
pub fn forget(address: usize) {
    if super::is_watched() {
        REGIONS.write().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&address);
    }
}

/// These bytes have contents now.
pub fn wrote(address: usize, bytes: usize) {
    if super::is_watched() {
        with(address, |region, offset| region.write(offset, bytes));
    }
}

/// Whether all of these bytes have contents.
pub(crate) fn is_written(address: usize, bytes: usize) -> bool {
    with(address, |region, offset| region.is_written(offset, bytes)).unwrap_or(true)
}

/// Where the first of these bytes without contents lies, counted from the start of its memory.
pub(crate) fn first_unwritten(address: usize, bytes: usize) -> Option<usize> {
    with(address, |region, offset| (offset..offset + bytes).find(|&byte| !region.is_written(byte, 1))).flatten()
}

/// Calls f with the region that holds the address, unless all of it is written, and the address's place in it.
fn with<R>(address: usize, f: impl FnOnce(&Region, usize) -> R) -> Option<R> {
    let regions = regions();
    let (start, region) = regions.range(..=address).next_back()?;
    let offset = address - start;
    (offset < region.bytes && !region.all.load(Relaxed)).then(|| f(region, offset))
}

impl Region {
    /// The words that hold these bytes, each with the bytes' bits.
    fn words(&self, offset: usize, bytes: usize) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let end = (offset + bytes).min(self.bytes);
        (offset / 64..end.div_ceil(64)).map(move |word| {
            let (first, last) = (offset.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
            (&self.written[word], (u64::MAX >> (64 - (last - first))) << first)
        })
    }

    fn write(&self, offset: usize, bytes: usize) {
        if offset == 0 && bytes >= self.bytes {
            self.all.store(true, Relaxed);
        } else if bytes > 0 {
            for (word, bits) in self.words(offset, bytes) {
                word.fetch_or(bits, Relaxed);
            }
        }
    }

    fn is_written(&self, offset: usize, bytes: usize) -> bool {
        bytes == 0 || self.words(offset, bytes).all(|(word, bits)| word.load(Relaxed) & bits == bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_counts() {
        // Addresses that no test's memory has.
        let address = 1 << 60;
        register(address, 200);
        assert!(!is_written(address, 1) && is_written(address + 200, 8) && is_written(address - 8, 8));
        wrote(address + 60, 8);
        assert!(is_written(address + 60, 8) && !is_written(address + 59, 8) && !is_written(address + 61, 8));
        wrote(address + 199, 1);
        assert!(is_written(address + 199, 1) && !is_written(address + 198, 2));
        assert_eq!((first_unwritten(address + 60, 8), first_unwritten(address + 60, 9)), (None, Some(68)));
        wrote(address, 200);
        assert!(is_written(address, 200));
        forget(address);
        assert!(is_written(address, 1));
    }
}
