//! Atomic updates of single elements: `y.atomic(i).fetch_add(value, Scope::Device)`.
//!
//! Each is indivisible for all threads in its [`Scope`]. Alone it orders nothing else; [`Atomic::ordered`] makes it acquire or
//! release, with the meaning that [`core::sync::atomic::Ordering`] gives these words, among the threads in the scope. A kernel
//! that takes a [`GlobalAtomic`] needs no `unsafe`: nothing but atomic accesses reaches its elements. Additions of floats happen
//! in any order, so their sums don't repeat bit for bit. In the simulator they are the host's own atomics.
//!
//! One instruction each, except for these, which are loops around a compare-exchange: minimum and maximum of floats, all that
//! changes 16 bits but for the sum of [`f16`](crate::f16) and, from sm_90 on, of [`bf16`](crate::bf16).

#[cfg(target_os = "cuda")]
#[path = "atomic/device.rs"]
mod machine;
#[cfg(not(target_os = "cuda"))]
#[path = "atomic/simulated.rs"]
mod machine;
mod value;
mod view;

use core::marker::PhantomData;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;
pub use core::sync::atomic::Ordering;

#[cfg(not(target_os = "cuda"))]
use crate::simulator::watch::Kind;
#[cfg(not(target_os = "cuda"))]
pub(crate) use machine::Watch;
pub use value::{AtomicInteger, AtomicValue};
pub use view::GlobalAtomic;

/// For which threads an update is indivisible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of the block.
    Block,
    /// The threads of the cluster. From sm_90 on.
    Cluster,
    /// The threads of the device.
    Device,
    /// All devices and the host.
    System,
}

/// The element is in global memory.
#[derive(Clone, Copy, Debug)]
pub struct InGlobal;

/// The element is in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct InShared;

/// The element is in the shared memory of a block of the cluster: see [`cluster::atomic`](crate::cluster::atomic).
#[derive(Clone, Copy, Debug)]
pub struct InCluster;

/// A state space of PTX.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Memory {
    Global,
    Shared,
    Cluster,
}

/// Where an element is.
pub trait Space: sealed::Sealed {
    #[doc(hidden)]
    const MEMORY: Memory;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! spaces {
    ($($space:ident = $memory:ident;)*) => {$(
        impl sealed::Sealed for $space {}
        impl Space for $space {
            const MEMORY: Memory = Memory::$memory;
        }
    )*};
}

spaces! {
    InGlobal = Global;
    InShared = Shared;
    InCluster = Cluster;
}

/// How an element is accessed; all of it is known when a kernel is compiled.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub scope: Scope,
    pub ordering: Ordering,
    pub memory: Memory,
}

/// An element that many threads may update at once; from [`GlobalAtomic::atomic`], `GlobalMut::atomic`, `Shared::atomic`,
/// `SharedSlice::atomic` or [`cluster::atomic`](crate::cluster::atomic).
///
/// ```
/// use cuda_std::atomic::Scope;
/// use cuda_std::prelude::*;
/// use cuda_std::simulator::{self, Shape};
///
/// /// How often each number below `counts.len()` occurs.
/// #[kernel]
/// fn histogram(values: Global<u32>, counts: GlobalAtomic<u32>) {
///     for i in thread::elements(values.len()) {
///         counts.atomic(values[i.get()] as usize).fetch_add(1, Scope::Device);
///     }
/// }
///
/// let (values, mut counts) = ([0, 2, 2, 1, 2], [0; 3]);
/// simulator::launch::<histogram>(Shape::new(2, 32), (Global::from_slice(&values), GlobalAtomic::from_slice(&mut counts))).unwrap();
/// assert_eq!(counts, [1, 1, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Atomic<'a, T, S> {
    element: *mut T,
    ordering: Ordering,
    #[cfg(not(target_os = "cuda"))]
    index: usize,
    #[cfg(not(target_os = "cuda"))]
    watch: Watch,
    lifetime: PhantomData<(&'a T, S)>,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $function:path;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub fn $name(self, value: T, scope: Scope) -> T {
            let access = self.access(scope);
            #[cfg(not(target_os = "cuda"))]
            self.note(access, Kind::AtomicUpdate, Location::caller());
            // SAFETY: valid by `new`.
            unsafe { $function(self.element, value, access) }
        }
    )*};
}

impl<T: AtomicValue, S: Space> Atomic<'_, T, S> {
    /// # Safety
    /// `element` must be aligned, valid during the lifetime, and in the space `S`.
    #[inline(always)]
    pub(crate) unsafe fn new(
        element: *mut T,
        #[cfg(not(target_os = "cuda"))] index: usize,
        #[cfg(not(target_os = "cuda"))] watch: Watch,
    ) -> Self {
        Self {
            element,
            ordering: Ordering::Relaxed,
            #[cfg(not(target_os = "cuda"))]
            index,
            #[cfg(not(target_os = "cuda"))]
            watch,
            lifetime: PhantomData,
        }
    }

    /// The same element with accesses that order other memory: `flag.ordered(Ordering::Release).store(1, Scope::Device)`.
    ///
    /// A load can't release and a store can't acquire: as in `core`, asking for it is an error (a trap).
    #[inline(always)]
    pub fn ordered(self, ordering: Ordering) -> Self {
        Self { ordering, ..self }
    }

    #[inline(always)]
    fn access(&self, scope: Scope) -> Access {
        Access { scope, ordering: self.ordering, memory: S::MEMORY }
    }

    /// Traps where an access can't have the element's ordering.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn expect_not(&self, wrong: [Ordering; 2]) {
        if wrong.contains(&self.ordering) {
            #[cfg(target_os = "cuda")]
            crate::trap();
            #[cfg(not(target_os = "cuda"))]
            crate::simulator::refuse(
                format!("a load can't release and a store can't acquire: there is no ordering {:?}", self.ordering),
                Location::caller(),
            );
        }
    }

    /// The value.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn load(self, scope: Scope) -> T {
        self.expect_not([Ordering::Release, Ordering::AcqRel]);
        let access = self.access(scope);
        #[cfg(not(target_os = "cuda"))]
        self.note(access, Kind::AtomicRead, Location::caller());
        // SAFETY: valid by `new`.
        unsafe { machine::load(self.element, access) }
    }

    /// Replaces the value.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn store(self, value: T, scope: Scope) {
        self.expect_not([Ordering::Acquire, Ordering::AcqRel]);
        let access = self.access(scope);
        #[cfg(not(target_os = "cuda"))]
        self.note(access, Kind::AtomicStore, Location::caller());
        // SAFETY: valid by `new`.
        unsafe { machine::store(self.element, value, access) }
    }

    operations! {
        /// Adds, and gives what was there before. Integers wrap.
        fetch_add = T::add;
        /// Subtracts, and gives what was there before. Integers wrap.
        fetch_sub = value::subtract;
        /// Keeps the smaller, and gives what was there before. A NaN on either side stays (floats).
        fetch_min = T::min;
        /// Keeps the larger, and gives what was there before. A NaN on either side stays (floats).
        fetch_max = T::max;
        /// Replaces the value, and gives what was there before.
        exchange = machine::exchange;
    }

    /// Replaces the value if its bits are those of `current`.
    ///
    /// # Errors
    /// What is there instead.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn compare_exchange(self, current: T, new: T, scope: Scope) -> Result<T, T> {
        let access = self.access(scope);
        #[cfg(not(target_os = "cuda"))]
        self.note(access, Kind::AtomicUpdate, Location::caller());
        // SAFETY: valid by `new`.
        let old = unsafe { machine::compare_exchange(self.element, current, new, access) };
        if old.to_raw_bits() == current.to_raw_bits() { Ok(old) } else { Err(old) }
    }
}

impl<T: AtomicValue> Atomic<'_, T, InGlobal> {
    /// Element `index` of the view that begins at `start`.
    ///
    /// # Safety
    /// The element must be aligned and valid during the lifetime, in global memory.
    #[inline(always)]
    pub(crate) unsafe fn in_global(start: *mut T, index: usize) -> Self {
        // SAFETY: by the caller.
        unsafe {
            Self::new(
                start.add(index),
                #[cfg(not(target_os = "cuda"))]
                index,
                #[cfg(not(target_os = "cuda"))]
                Watch::Global,
            )
        }
    }
}

impl<T: AtomicInteger, S: Space> Atomic<'_, T, S> {
    operations! {
        /// Keeps the bits that are in both, and gives what was there before.
        fetch_and = machine::and;
        /// Keeps the bits that are in either, and gives what was there before.
        fetch_or = machine::or;
        /// Keeps the bits that are in one of them, and gives what was there before.
        fetch_xor = machine::xor;
    }
}
