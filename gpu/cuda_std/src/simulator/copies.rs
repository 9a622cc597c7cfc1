//! Asynchronous copies: those of the copy engine are made at once, those of single threads when they are waited for; and what
//! nobody waits for is reported.

use std::cell::{Cell, RefCell};

use super::block::Context;
use super::error::{Error, Place};
use super::mbarrier::Change;
use super::watch::{self, Copied, Kind};
use crate::tensor_map::{Tensor, TensorAdd};

/// The groups of stores of one thread.
#[derive(Clone, Copy, Default)]
pub(crate) struct Groups {
    /// Stores that belong to no group yet.
    open: u32,
    /// Groups that nobody has waited for.
    pending: u32,
    /// The last store.
    place: Option<Place>,
}

impl Groups {
    /// Something was begun.
    fn begin(groups: &Cell<Self>, place: Place) {
        let Groups { open, pending, .. } = groups.get();
        groups.set(Groups { open: open + 1, pending, place: Some(place) });
    }

    fn commit(groups: &Cell<Self>) {
        let Groups { pending, place, .. } = groups.get();
        groups.set(Groups { open: 0, pending: pending + 1, place });
    }

    fn wait(groups: &Cell<Self>, left: u32) {
        let Groups { open, pending, place } = groups.get();
        groups.set(Groups { open, pending: pending.min(left), place });
    }
}

/// A copy of `cp_async` that nobody has waited for.
#[derive(Clone, Copy)]
struct Later {
    to: u32,
    from: *const u8,
    /// Bytes, and how many of them are read; the others become 0.
    bytes: [u32; 2],
    place: Place,
    /// The number of its group.
    group: u32,
}

/// The `cp_async` copies of one thread.
#[derive(Default)]
pub(crate) struct Copies {
    later: RefCell<Vec<Later>>,
    /// Groups committed.
    groups: Cell<u32>,
}

/// Adds the element at the first address to the one at the second.
pub(crate) type Add = unsafe fn(*const u8, *mut u8);

/// # Safety
/// Both must point to a `T`.
pub(crate) unsafe fn add<T: TensorAdd>(from: *const u8, to: *mut u8) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    // SAFETY: by the caller.
    unsafe { to.write(to.read().sum(from.read())) }
}

/// What a row of a box is made of.
struct Row {
    /// Where it begins in the box, in bytes.
    in_box: u32,
    /// The element in the tensor at which it would begin along axis 0.
    first: i64,
    /// The bytes of the tensor before axis 0, if the row is inside along the other axes.
    offset: Option<u64>,
}

impl Tensor {
    /// Bytes of a box.
    fn box_bytes(&self) -> usize {
        self.tile.iter().map(|&extent| extent as usize).product::<usize>() * self.element
    }

    /// The rows of the box at these coordinates.
    fn rows(&self, at: &[i32]) -> impl Iterator<Item = Row> {
        let coordinate = |axis: usize| i64::from(at.get(axis).copied().unwrap_or(0));
        let start: [i64; 5] = std::array::from_fn(coordinate);
        let tensor = *self;
        let row_bytes = tensor.tile[0] * tensor.element as u32;
        (0..tensor.tile[1..].iter().product::<u32>()).map(move |number| {
            let (mut rest, mut offset) = (number, Some(0));
            for (axis, start) in start.iter().enumerate().skip(1) {
                let position = start + i64::from(rest % tensor.tile[axis]);
                rest /= tensor.tile[axis];
                let inside = position >= 0 && (position as u64) < tensor.extents[axis];
                offset = offset.filter(|_| inside).map(|offset| offset + position as u64 * tensor.strides[axis]);
            }
            Row { in_box: number * row_bytes, first: start[0], offset }
        })
    }

    /// For each 16 bytes of the box at a shared address: where they lie from there on, and which bytes of them (a range) lie in
    /// the tensor at which host address.
    fn pieces(&self, at: &[i32], shared: u32) -> impl Iterator<Item = (u32, std::ops::Range<usize>, *mut u8)> {
        let tensor = *self;
        let element = tensor.element as i64;
        let row_bytes = tensor.tile[0] * tensor.element as u32;
        self.rows(at).flat_map(move |row| {
            (0..row_bytes).step_by(16).map(move |byte| {
                let plain = shared + row.in_box + byte;
                // The row's bytes that lie in the tensor, counted from the start of this piece.
                let piece = row.first * element + i64::from(byte);
                let end = (tensor.extents[0] as i64 * element - piece).clamp(0, 16) as usize;
                let begin = (-piece).clamp(0, end as i64) as usize;
                let inside = if row.offset.is_some() { begin..end } else { 0..0 };
                let address = tensor.address as i64 + row.offset.unwrap_or(0) as i64 + piece + inside.start as i64;
                let host = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
                (tensor.swizzle.apply(plain) - (shared & !1023), inside, host)
            })
        })
    }
}

impl Context {
    /// The host's address of the 1024-byte line in which a box begins, if the whole box lies in shared memory.
    fn box_at(&self, tensor: &Tensor, shared: u32, place: Place) -> *mut u8 {
        let bytes = tensor.box_bytes();
        let bytes = if tensor.swizzle.span().is_some() { bytes.next_multiple_of(128) } else { bytes };
        self.resolve(shared, bytes, 128, place).wrapping_sub((shared & 1023) as usize)
    }

    pub(crate) fn tensor_load(&self, tensor: &Tensor, to: u32, at: &[i32], barrier: u32, place: Place) {
        let copied = self.mbarrier_copy(barrier, "load", place);
        self.load_box(tensor, to, at, copied, place);
        let completed_bytes = tensor.box_bytes() as u32;
        self.mbarrier_change(barrier, Change { completed_bytes, ..Change::NONE }, "load", place);
    }

    /// Refuses coordinates that the copy engine answers with an illegal instruction.
    fn expect_aligned(&self, tensor: &Tensor, at: &[i32], place: Place) {
        let bytes = i64::from(at[0]) * tensor.element as i64;
        if bytes % 16 != 0 {
            let (first, element) = (at[0], tensor.element);
            self.refuse(
                format!(
                    "a box can't begin at coordinate {first} of the innermost axis: that is at byte {bytes} (elements of \
                     {element} bytes), which isn't a multiple of 16"
                ),
                place,
            );
        }
    }

    fn load_box(&self, tensor: &Tensor, to: u32, at: &[i32], copied: Copied, place: Place) {
        self.expect_aligned(tensor, at, place);
        let line = self.box_at(tensor, to, place);
        let (state, local) = self.owner(to, place);
        state.window.copied(local..local + tensor.box_bytes() as u32, copied);
        for (offset, inside, host) in tensor.pieces(at, to) {
            watch::raw_reads(host, inside.len(), place);
            // SAFETY: the whole box lies in shared memory, a swizzle stays within 128 bytes of it; the part inside lies in the
            // tensor, which is valid by `from_tensor`.
            unsafe {
                let piece = line.add(offset as usize);
                piece.write_bytes(0, 16);
                piece.add(inside.start).copy_from_nonoverlapping(host, inside.len());
            }
        }
    }

    pub(crate) fn tensor_store(&self, tensor: &Tensor, at: &[i32], from: u32, add: Option<Add>, place: Place) {
        self.expect_aligned(tensor, at, place);
        let line = self.box_at(tensor, from, place);
        self.shared_access(from, tensor.box_bytes(), Kind::Read, place);
        let kind = if add.is_some() { Kind::AtomicUpdate } else { Kind::Write };
        for (offset, inside, host) in tensor.pieces(at, from) {
            // SAFETY: as in `load_box`; the box is initialised by the caller's promise.
            let piece = unsafe { line.add(offset as usize + inside.start) };
            for byte in (0..inside.len()).step_by(tensor.element) {
                let to = host.wrapping_add(byte);
                watch::global(to, (to as u64 - tensor.address) as usize / tensor.element, kind, place);
                // SAFETY: as above; elements begin at multiples of their size from the tensor's start.
                unsafe {
                    let from = piece.add(byte);
                    match add {
                        Some(add) => self.one_at_a_time(|| add(from, to)),
                        None => to.copy_from_nonoverlapping(from, tensor.element),
                    }
                }
            }
        }
        Groups::begin(&self.stores, place);
    }

    /// Blocks run in parallel, additions of any type must not.
    fn one_at_a_time(&self, add: impl FnOnce()) {
        static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _held = LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        add();
    }

    /// # Safety
    /// `from` must point to that many initialised bytes.
    pub(crate) unsafe fn bulk_load(&self, to: u32, from: *const u8, bytes: u32, barrier: u32, place: Place) {
        self.expect_sixteen(from, bytes, place);
        let target = self.resolve(to, bytes as usize, 16, place);
        let copied = self.mbarrier_copy(barrier, "load_bytes", place);
        let (state, local) = self.owner(to, place);
        state.window.copied(local..local + bytes, copied);
        watch::raw_reads(from, bytes as usize, place);
        // SAFETY: resolved; by the caller.
        unsafe { target.copy_from_nonoverlapping(from, bytes as usize) };
        self.mbarrier_change(barrier, Change { completed_bytes: bytes, ..Change::NONE }, "load_bytes", place);
    }

    /// # Safety
    /// `to` must point to that many bytes.
    pub(crate) unsafe fn bulk_store(&self, to: *mut u8, from: u32, bytes: u32, place: Place) {
        self.expect_sixteen(to, bytes, place);
        let source = self.resolve(from, bytes as usize, 16, place);
        self.shared_access(from, bytes as usize, Kind::Read, place);
        // SAFETY: resolved; by the caller.
        unsafe { to.copy_from_nonoverlapping(source, bytes as usize) };
        Groups::begin(&self.stores, place);
    }

    fn expect_sixteen(&self, global: *const u8, bytes: u32, place: Place) {
        if !(global as usize).is_multiple_of(16) || !bytes.is_multiple_of(16) {
            let message = format!("a bulk copy of {bytes} bytes at {global:p}: both must be multiples of 16");
            self.refuse(message, place);
        }
    }

    pub(crate) fn bulk_commit(&self) {
        Groups::commit(&self.stores);
    }

    pub(crate) fn bulk_wait(&self, left: u32) {
        Groups::wait(&self.stores, left);
    }

    pub(crate) fn copy_later(&self, to: u32, from: *const u8, bytes: [u32; 2], place: Place) {
        self.resolve(to, bytes[0] as usize, bytes[0] as usize, place);
        if bytes[1] > bytes[0] || (bytes[1] > 0 && !(from as usize).is_multiple_of(bytes[0] as usize)) {
            let message = format!("a copy of {} bytes, of which {} are read at {from:p}", bytes[0], bytes[1]);
            self.refuse(format!("{message}: no more can be read, from a multiple of the size"), place);
        }
        let group = self.copies.groups.get();
        self.copies.later.borrow_mut().push(Later { to, from, bytes, place, group });
    }

    pub(crate) fn commit_copies(&self) {
        self.copies.groups.set(self.copies.groups.get() + 1);
    }

    /// Makes the copies of all groups but the last `left`; with `None` of those in no group as well.
    pub(crate) fn finish_copies(&self, left: Option<u32>) {
        let end = left.map_or(u32::MAX, |left| self.copies.groups.get().saturating_sub(left));
        let (done, later): (Vec<_>, Vec<_>) = self.copies.later.take().into_iter().partition(|copy| copy.group < end);
        *self.copies.later.borrow_mut() = later;
        for Later { to, from, bytes: [bytes, read], place, .. } in done {
            self.shared_access(to, bytes as usize, Kind::Write, place);
            let target = self.resolve(to, bytes as usize, bytes as usize, place);
            watch::raw_reads(from, read as usize, place);
            // SAFETY: resolved; what is read is initialised, by the promise of `cp_async::copy`.
            unsafe {
                target.copy_from_nonoverlapping(from, read as usize);
                target.add(read as usize).write_bytes(0, (bytes - read) as usize);
            }
        }
    }

    /// At the end of a thread: an error if it didn't wait for something.
    pub(super) fn expect_copies_done(&self) {
        let Groups { open, pending, place: stored } = self.stores.take();
        self.copies.groups.set(0);
        let later = self.copies.later.take().first().map(|copy| copy.place);
        if !self.state().window.is_watched() {
            return;
        }
        let (what, place) = match (later, stored) {
            (Some(place), _) => ("a cp_async copy", place),
            (None, Some(place)) if open > 0 => ("a store of the copy engine, in no group", place),
            (None, Some(place)) if pending > 0 => ("a group of stores of the copy engine", place),
            _ => return,
        };
        let (kernel, block, thread) = (self.state().kernel, self.block, self.thread);
        self.fail(Error::LeftoverCopy { kernel, block, thread, what, place });
    }
}
