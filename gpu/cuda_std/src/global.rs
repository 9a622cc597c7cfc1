//! Views of global memory as kernels receive them: [`Global`] to read, [`GlobalMut`] to write.
//!
//! A `&mut [T]` can't be a kernel's parameter: all threads would hold it at once. A `GlobalMut` is held by all threads too,
//! but lets each write only at its own [`ElementIndex`]; any other write is `unsafe` and says why it doesn't race.
//! Reads and writes check bounds and trap; the `_unchecked` forms don't, except in the simulator.

use core::marker::PhantomData;
use core::ops::Index;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

use crate::atomic::{Atomic, AtomicValue, InGlobal};
use crate::fault::out_of_bounds;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::watch::{self, Kind};
use crate::thread::ElementIndex;

/// What all views of global memory have.
macro_rules! lengths {
    ($($view:ident),*) => {$(
        impl<T> $view<'_, T> {
            /// Elements.
            #[inline(always)]
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            #[inline(always)]
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The simulator checks the bounds that an unchecked access promises.
            #[cfg(not(target_os = "cuda"))]
            #[inline(always)]
            #[track_caller]
            pub(crate) fn expect_promised(&self, index: usize) {
                if index >= self.len {
                    $crate::fault::out_of_bounds(index, self.len);
                }
            }
        }
    )*};
}

pub(crate) use lengths;

lengths!(Global, GlobalMut);

/// Memory that no thread writes during the launch.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn reversed(x: Global<u32>, mut y: GlobalMut<u32>) {
///     for i in thread::elements(y.len()) {
///         y.set(i, x[x.len() - 1 - i.get()]); // any element may be read
///     }
/// }
///
/// let (x, mut y) = ([1, 2, 3], [0; 3]);
/// let parameters = (Global::from_slice(&x), GlobalMut::from_slice(&mut y));
/// simulator::launch::<reversed>(simulator::Shape::new(1, 32), parameters)?;
/// assert_eq!(y, [3, 2, 1]);
/// # Ok::<(), simulator::Error>(())
/// ```
pub struct Global<'a, T> {
    start: *const T,
    len: usize,
    lifetime: PhantomData<&'a [T]>,
}

impl<T> Clone for Global<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Global<'_, T> {}

impl<'a, T: Copy> Global<'a, T> {
    /// # Safety
    /// `start` must point to `len` initialised elements that are valid, and not written, for `'a`.
    #[inline(always)]
    pub unsafe fn from_raw_parts(start: *const T, len: usize) -> Self {
        Self { start, len, lifetime: PhantomData }
    }

    /// A view of host memory, for the simulator.
    pub fn from_slice(slice: &'a [T]) -> Self {
        // SAFETY: the slice is valid and shared for 'a.
        unsafe { Self::from_raw_parts(slice.as_ptr(), slice.len()) }
    }

    /// The address of the first element.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const T {
        self.start
    }

    /// The element, or `None` out of bounds.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(&self, index: usize) -> Option<T> {
        if index >= self.len {
            return None;
        }
        // SAFETY: in bounds by the comparison.
        Some(unsafe { self.get_unchecked(index) })
    }

    /// # Safety
    /// `index < self.len()`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn get_unchecked(&self, index: usize) -> T {
        #[cfg(not(target_os = "cuda"))]
        {
            self.expect_promised(index);
            watch::read_only(self.start.wrapping_add(index), index, Location::caller());
        }
        // SAFETY: in bounds by the caller, valid by `from_raw_parts`.
        unsafe { *self.start.add(index) }
    }
}

impl<T: Copy> Index<usize> for Global<'_, T> {
    type Output = T;

    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    fn index(&self, index: usize) -> &T {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        #[cfg(not(target_os = "cuda"))]
        watch::read_only(self.start.wrapping_add(index), index, Location::caller());
        // SAFETY: in bounds by the comparison, valid and not written by `from_raw_parts`.
        unsafe { &*self.start.add(index) }
    }
}

impl<T: Copy> Index<ElementIndex> for Global<'_, T> {
    type Output = T;

    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    fn index(&self, index: ElementIndex) -> &T {
        &self[index.get()]
    }
}

/// Tells the simulator that the running thread reads `len` elements through a raw pointer: an error if nobody wrote one of them. On a
/// GPU it is nothing. Races through raw pointers are not looked for.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn note_reads<T>(start: *const T, len: usize) {
    #[cfg(target_os = "cuda")]
    let _ = (start, len);
    #[cfg(not(target_os = "cuda"))]
    watch::raw_reads(start, len, Location::caller());
}

/// Tells the simulator that the running thread writes `len` elements through a raw pointer. On a GPU it is nothing.
#[inline(always)]
pub fn note_writes<T>(start: *mut T, len: usize) {
    #[cfg(target_os = "cuda")]
    let _ = (start, len);
    #[cfg(not(target_os = "cuda"))]
    watch::escapes(start, len);
}

/// Memory that the launch may write, each element by the thread that owns it.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// y becomes its running sum in blocks of 32.
/// #[kernel(block = 32)]
/// pub fn running_sum(mut y: GlobalMut<u32>) {
///     let i = thread::index();
///     // SAFETY: each thread reads and writes its own element.
///     unsafe { y.write(i, reduce::warp_scan_inclusive(y.read(i))) };
/// }
///
/// let mut y = [1; 32];
/// simulator::launch::<running_sum>(simulator::Shape::new(1, 32), (GlobalMut::from_slice(&mut y),))?;
/// assert_eq!((y[0], y[31]), (1, 32));
/// # Ok::<(), simulator::Error>(())
/// ```
pub struct GlobalMut<'a, T> {
    start: *mut T,
    len: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

impl<'a, T: Copy> GlobalMut<'a, T> {
    /// # Safety
    /// `start` must point to `len` elements that are valid during the view's lifetime and reached only through views made
    /// for the threads of one launch.
    #[inline(always)]
    pub unsafe fn from_raw_parts(start: *mut T, len: usize) -> Self {
        Self { start, len, lifetime: PhantomData }
    }

    /// A view of host memory, for the simulator.
    pub fn from_slice(slice: &'a mut [T]) -> Self {
        // SAFETY: the slice is valid and exclusively borrowed for 'a.
        unsafe { Self::from_raw_parts(slice.as_mut_ptr(), slice.len()) }
    }

    /// The address of the first element. The simulator doesn't see what is done with it.
    #[inline(always)]
    pub fn as_mut_ptr(&self) -> *mut T {
        #[cfg(not(target_os = "cuda"))]
        watch::escapes(self.start, self.len);
        self.start
    }

    /// The address of the first element, for a kernel that tells the simulator what it does with it: see [`note_reads`] and
    /// [`note_writes`].
    #[inline(always)]
    pub fn as_noted_mut_ptr(&self) -> *mut T {
        self.start
    }

    /// Writes the calling thread's own element. Traps out of bounds.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub fn set(&mut self, index: ElementIndex, value: T) {
        // SAFETY: no other thread holds this index.
        unsafe { self.write(index.get(), value) }
    }

    /// Writes any element. Traps out of bounds.
    ///
    /// # Safety
    /// No other thread may read or write this element, unless a barrier that both pass lies between.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub unsafe fn write(&mut self, index: usize, value: T) {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        // SAFETY: in bounds by the comparison; not raced by the caller.
        unsafe { self.write_unchecked(index, value) }
    }

    /// # Safety
    /// As [`write`](Self::write), and `index < self.len()`.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub unsafe fn write_unchecked(&mut self, index: usize, value: T) {
        #[cfg(not(target_os = "cuda"))]
        {
            self.expect_promised(index);
            watch::global(self.start.wrapping_add(index), index, Kind::Write, Location::caller());
        }
        // SAFETY: in bounds and not raced by the caller, valid by `from_raw_parts`.
        unsafe { *self.start.add(index) = value }
    }

    /// Reads any element. Traps out of bounds.
    ///
    /// # Safety
    /// No other thread may write this element, unless a barrier that both pass lies between.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub unsafe fn read(&self, index: usize) -> T {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        // SAFETY: in bounds by the comparison; not raced by the caller.
        unsafe { self.read_unchecked(index) }
    }

    /// # Safety
    /// As [`read`](Self::read), and `index < self.len()`.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub unsafe fn read_unchecked(&self, index: usize) -> T {
        #[cfg(not(target_os = "cuda"))]
        {
            self.expect_promised(index);
            watch::global(self.start.wrapping_add(index), index, Kind::Read, Location::caller());
        }
        // SAFETY: in bounds and not raced by the caller, valid by `from_raw_parts`.
        unsafe { *self.start.add(index) }
    }

    /// An element to be updated by many threads at once. Traps out of bounds.
    ///
    /// # Safety
    /// Atomic accesses don't race with one another. They do race with [`set`](Self::set) and the other plain accesses to the
    /// same element: a kernel uses one or the other for an element, or a barrier lies between. The simulator reports it.
    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    pub unsafe fn atomic(&self, index: usize) -> Atomic<'_, T, InGlobal>
    where
        T: AtomicValue,
    {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        // SAFETY: in bounds by the comparison, valid by `from_raw_parts`.
        unsafe { Atomic::in_global(self.start, index) }
    }
}

/// The calling thread's own element.
impl<T: Copy> Index<ElementIndex> for GlobalMut<'_, T> {
    type Output = T;

    #[inline(always)]
    #[cfg_attr(any(not(target_os = "cuda"), warpsmith_debug), track_caller)]
    fn index(&self, index: ElementIndex) -> &T {
        if index.get() >= self.len {
            out_of_bounds(index.get(), self.len);
        }
        #[cfg(not(target_os = "cuda"))]
        watch::global(self.start.wrapping_add(index.get()), index.get(), Kind::Read, Location::caller());
        // SAFETY: in bounds by the comparison; no other thread can write it while this thread holds the index, and this
        // thread writes only through `&mut self`.
        unsafe { &*self.start.add(index.get()) }
    }
}
