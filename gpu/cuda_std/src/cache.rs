//! Accesses to global memory that say how to cache, and that move up to 16 bytes at once.
//!
//! `x.load(i, Load::ReadOnly)`, `x.load_vector::<4>(i, Load::Streaming)`, `y.store(i, value, Store::Streaming)`. The hints change
//! speed alone, never a value; in the simulator they are plain accesses. A vector is one instruction: `N` elements together are 2,
//! 4, 8 or 16 bytes, and begin at a multiple of that.

#[cfg(target_os = "cuda")]
mod device;

#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::watch::{self, Kind};
use crate::thread::ElementIndex;
use crate::warp::Word;
use crate::{Global, GlobalMut};

/// How a load uses the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// L1 and L2, as an index does (`ld.global`).
    #[default]
    Default,
    /// Through the read-only path of L1 (`.nc`).
    ReadOnly,
    /// L2 only (`.cg`): for what other threads of this block won't read again.
    L2,
    /// Used once: the first to be evicted (`.cs`).
    Streaming,
    /// Used again and again: the last to be evicted from L1 (`.L1::evict_last`, from sm_89 on; as `Default` before).
    Keep,
}

/// How a store uses the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// Written back when it is evicted, as `set` does (`st.global`).
    #[default]
    Default,
    /// L2 only (`.cg`).
    L2,
    /// Not read again soon: the first to be evicted (`.cs`).
    Streaming,
    /// Through L2 to memory (`.wt`).
    WriteThrough,
}

/// How the second-level cache treats all of what an asynchronous copy moves: for the `_hinted` copies of [`tma`](crate::tma). From sm_80
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy(u64);

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident = $priority:literal;)*) => {
        impl Policy {$(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name() -> Self {
                #[cfg(target_os = "cuda")]
                {
                    let policy: u64;
                    // SAFETY: computes a value.
                    unsafe {
                        core::arch::asm!(
                            concat!("createpolicy.fractional.L2::", $priority, ".b64 {}, 1.0;"), out(reg64) policy,
                            options(pure, nomem, nostack, preserves_flags)
                        );
                    }
                    Self(policy)
                }
                #[cfg(not(target_os = "cuda"))]
                Self(0)
            }
        )*}
    };
}

policies! {
    /// Used once: the first to be evicted.
    evict_first = "evict_first";
    /// Used again by other blocks: the last to be evicted.
    evict_last = "evict_last";
    /// As it was before.
    evict_unchanged = "evict_unchanged";
}

impl Policy {
    /// The instruction's operand.
    #[cfg(target_os = "cuda")]
    #[inline(always)]
    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

/// Traps unless `N` elements at `index` are in bounds and begin at a multiple of their size.
#[inline(always)]
#[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
fn expect_vector<T: Word, const N: usize>(start: *const T, index: usize, len: usize) {
    const {
        assert!(T::BITS as usize == 8 * size_of::<T>(), "the element's bits must be its memory");
        assert!(matches!(N * size_of::<T>(), 1 | 2 | 4 | 8 | 16), "a vector has 1, 2, 4, 8 or 16 bytes");
    }
    // Subtracted instead of added: the sum may overflow.
    if len < N || index > len - N {
        crate::fault::out_of_bounds(index.saturating_add(N - 1), len);
    }
    let bytes = N * size_of::<T>();
    let address = start as usize + index * size_of::<T>();
    if N > 1 && !address.is_multiple_of(bytes) {
        crate::fault::misaligned(index, bytes);
    }
}

impl<T: Word> Global<'_, T> {
    /// The element, loaded as the hint says. Traps out of bounds.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub fn load(&self, index: usize, how: Load) -> T {
        let [value] = self.load_vector::<1>(index, how);
        value
    }

    /// The elements `index .. index + N`, loaded at once. Traps out of bounds, and unless they begin at a multiple of their size
    /// in bytes.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub fn load_vector<const N: usize>(&self, index: usize, how: Load) -> [T; N] {
        expect_vector::<T, N>(self.as_ptr(), index, self.len());
        // SAFETY: in bounds and aligned by the check.
        unsafe { self.load_vector_unchecked(index, how) }
    }

    /// [`load_vector`](Self::load_vector) without the checks.
    ///
    /// # Safety
    /// `index + N <= self.len()`, and the address of the element is a multiple of `N` elements' bytes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn load_vector_unchecked<const N: usize>(&self, index: usize, how: Load) -> [T; N] {
        // SAFETY: in bounds by the caller.
        let start = unsafe { self.as_ptr().add(index) };
        #[cfg(target_os = "cuda")]
        // SAFETY: in bounds and aligned by the caller; not written during the launch, by the view.
        unsafe {
            device::load(start, how)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            let _ = how;
            self.expect_promised(index.saturating_add(N - 1));
            (0..N).for_each(|i| watch::read_only(start.wrapping_add(i), index + i, Location::caller()));
            // SAFETY: as above.
            unsafe { start.cast::<[T; N]>().read() }
        }
    }
}

impl<T: Word> GlobalMut<'_, T> {
    /// Writes the calling thread's own element as the hint says. Traps out of bounds.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub fn store(&mut self, index: ElementIndex, value: T, how: Store) {
        // SAFETY: no other thread holds this index.
        unsafe { self.store_vector(index.get(), [value], how) }
    }

    /// Writes the elements `index .. index + N` at once. Traps out of bounds, and unless they begin at a multiple of their size
    /// in bytes.
    ///
    /// # Safety
    /// No other thread may read or write these elements, unless a barrier that both pass lies between.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub unsafe fn store_vector<const N: usize>(&mut self, index: usize, values: [T; N], how: Store) {
        expect_vector::<T, N>(self.as_noted_mut_ptr(), index, self.len());
        // SAFETY: in bounds and aligned by the check; not raced by the caller.
        unsafe { self.store_vector_unchecked(index, values, how) }
    }

    /// [`store_vector`](Self::store_vector) without the checks.
    ///
    /// # Safety
    /// As [`store_vector`](Self::store_vector); `index + N <= self.len()`, and the address of the element is a multiple of `N`
    /// elements' bytes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn store_vector_unchecked<const N: usize>(&mut self, index: usize, values: [T; N], how: Store) {
        // SAFETY: in bounds by the caller.
        let start = unsafe { self.as_noted_mut_ptr().add(index) };
        #[cfg(target_os = "cuda")]
        // SAFETY: in bounds, aligned and not raced by the caller.
        unsafe {
            device::store(start, values, how)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            let _ = how;
            self.expect_promised(index.saturating_add(N - 1));
            (0..N).for_each(|i| watch::global(start.wrapping_add(i), index + i, Kind::Write, Location::caller()));
            // SAFETY: as above.
            unsafe { start.cast::<[T; N]>().write(values) }
        }
    }
}
