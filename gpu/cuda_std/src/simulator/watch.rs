//! Who touched which element last: finds races, and reads of memory that nobody wrote.
//!
//! A barrier orders all accesses of its block, `sync_warp` those of its lanes, an mbarrier or a named barrier those of the
//! threads that arrive and wait there. An asynchronous copy comes after what its thread knew, and before whoever has waited at
//! its mbarrier. Two threads of a block are taken as ordered where the first one released, by an atomic access, and the second one
//! acquired later, whichever element that concerned; a fence makes the atomic accesses after it do both. Two blocks are taken as
//! ordered where the first one fenced or released, and the second one made an atomic access later. That errs on the side of
//! silence. Only accesses through `Shared`, `SharedSlice` and `GlobalMut` are seen; raw pointers are not.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::block::Context;
use super::error::{Access, Error, Place};
use super::{context, coordinates, current, uninitialized};

/// What a thread does to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    AtomicRead,
    AtomicStore,
    AtomicUpdate,
    /// An asynchronous copy that reports to an mbarrier.
    Copy,
}

impl Kind {
    fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicStore | Self::AtomicUpdate)
    }

    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicStore | Self::AtomicUpdate | Self::Copy)
    }

    fn text(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::AtomicRead => "reads atomically",
            Self::AtomicStore => "writes atomically",
            Self::AtomicUpdate => "updates atomically",
            Self::Copy => "copies asynchronously to",
        }
    }
}

/// Instead of a column: an access of the thread itself.
const OF_THREAD: u16 = u16::MAX;
/// Instead of a column: everything counts as later.
const ORDERED: u16 = u16::MAX - 1;

/// There may be one for each element of a large buffer: it is kept small.
#[derive(Clone, Copy)]
struct Record {
    block: u32,
    thread: u16,
    kind: Kind,
    /// Barriers that the block had passed.
    epoch: u32,
    /// Of an asynchronous copy: the column of its mbarrier in the clocks. Otherwise one of the two above.
    column: u16,
    /// Releases that the thread, or the column, had made.
    clock: u32,
    /// Ordered atomic accesses that the block had made.
    turn: u32,
    /// Atomic accesses that the launch had made.
    stamp: u32,
    /// Cluster and grid barriers that the block had passed.
    phases: [u16; 2],
    place: Place,
}

impl Record {
    fn new(context: &Context, kind: Kind, place: Place) -> Self {
        let block = context.state();
        Self {
            block: block.number as u32,
            thread: context.number as u16,
            epoch: block.epoch.get(),
            column: OF_THREAD,
            clock: block.clocks.get(context.number, context.number),
            turn: block.orders.turn(),
            stamp: block.global.map_or(0, |global| global.stamp.load(Ordering::Relaxed)),
            phases: block.phases(),
            kind,
            place,
        }
    }

    /// Whether everything that the thread did until then is visible to the running thread.
    fn is_before(&self, context: &Context) -> bool {
        let block = context.state();
        if self.column == ORDERED {
            return true;
        }
        if u64::from(self.block) == block.number {
            let thread = u32::from(self.thread);
            if self.column != OF_THREAD {
                return block.clocks.get(context.number, u32::from(self.column)) > self.clock;
            }
            return thread == context.number
                || self.epoch < block.epoch.get()
                || block.clocks.get(context.number, thread) > self.clock
                || block.orders.passed_on(thread, self.turn, context.number);
        }
        let (then, now) = (self.phases, block.phases());
        let met = then[0] != now[0] && block.is_in_cluster(u64::from(self.block), context.shape.grid);
        met || then[1] != now[1]
            || block.global.is_some_and(|global| {
                global.released[self.block as usize].load(Ordering::Relaxed) > self.stamp
                    && global.acquired[block.number as usize].load(Ordering::Relaxed) > self.stamp
            })
    }

    fn access(&self, context: &Context) -> Box<Access> {
        let block = coordinates(u64::from(self.block), context.shape.grid);
        let thread = coordinates(u64::from(self.thread), context.shape.block);
        Box::new(Access { block, thread, what: self.kind.text(), place: self.place })
    }
}

/// The last accesses to an element.
#[derive(Clone, Default)]
struct Cell {
    write: Option<Record>,
    /// Two threads, where more than one read since the last barrier. Boxed, because most elements are never read.
    reads: Option<Box<[Option<Record>; 2]>>,
}

impl Cell {
    /// Notes an access. `Err` is an earlier access with which it races.
    fn access(&mut self, context: &Context, new: Record) -> Result<(), Record> {
        let race = |old: &Record| !old.is_before(context);
        let atomic = new.kind.is_atomic();
        if let Some(old) = self.write
            && !(atomic && old.kind.is_atomic())
            && race(&old)
        {
            return Err(old);
        }
        if new.kind.writes() {
            let compatible = |old: &Record| atomic && old.kind.is_atomic();
            if let Some(old) =
                self.reads.iter().flat_map(|reads| **reads).flatten().find(|old| !compatible(old) && race(old))
            {
                return Err(old);
            }
            self.write = Some(new);
            if let Some(reads) = &mut self.reads {
                **reads = [None; 2];
            }
        } else {
            let reads = self.reads.get_or_insert_default();
            // A plain read is never forgotten for an atomic one.
            let slot = usize::from(reads[0].is_some_and(|old| race(&old) || (atomic && !old.kind.is_atomic())));
            reads[slot] = Some(new);
        }
        Ok(())
    }
}

/// An asynchronous copy to shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    /// The column of its mbarrier in the clocks, and the count there.
    pub(crate) column: u32,
    pub(crate) clock: u32,
    /// The number of the thread that began it.
    pub(crate) thread: u32,
    /// The block to whose shared memory it goes.
    pub(crate) block: u64,
    /// Whether that is a thread of another block, whose knowledge isn't compared with this block's.
    pub(crate) remote: bool,
    pub(crate) place: Place,
}

/// The watch over one array in shared memory.
pub(crate) struct SharedWatch {
    cells: RefCell<Vec<Cell>>,
    /// The array's address, and the size of an element.
    start: u32,
    size: usize,
}

impl SharedWatch {
    pub(crate) fn new(start: u32, size: usize, len: usize) -> Self {
        Self { cells: RefCell::new(vec![Cell::default(); len]), start, size }
    }

    pub(crate) fn access(&self, index: usize, kind: Kind, place: Place) {
        let context = context();
        let record = Record::new(context, kind, place);
        let mut cells = self.cells.borrow_mut();
        let cell = &mut cells[index];
        let kernel = context.state().kernel;
        if cell.write.is_none() && !matches!(kind, Kind::Write | Kind::AtomicStore) {
            drop(cells);
            context.fail(Error::UnwrittenShared { kernel, access: record.access(context), index });
        }
        if let Err(first) = cell.access(context, record) {
            drop(cells);
            let (first, second) = (first.access(context), record.access(context));
            context.fail(Error::Race { kernel, memory: "shared", index, first, second });
        }
    }

    /// The elements that lie in a range of addresses, wholly or in part.
    fn elements(&self, range: &Range<u32>) -> Range<usize> {
        let offset = |address: u32| address.saturating_sub(self.start) as usize;
        let len = self.cells.borrow().len();
        match self.size {
            0 => 0..0,
            size => (offset(range.start) / size).min(len)..offset(range.end).div_ceil(size).min(len),
        }
    }

    /// Whether all of an element lies in a range. Where only a part does, accesses to other parts are none of its business.
    fn covers(&self, range: &Range<u32>, index: usize) -> bool {
        let start = self.start as usize + index * self.size;
        range.start as usize <= start && start + self.size <= range.end as usize
    }

    fn record(context: &Context, copied: Copied) -> Record {
        let Copied { column, clock, thread, block, place, .. } = copied;
        let record = Record::new(context, Kind::Copy, place);
        Record { block: block as u32, thread: thread as u16, column: column as u16, clock, ..record }
    }

    /// An asynchronous copy writes these addresses.
    pub(crate) fn copied(&self, range: Range<u32>, copied: Copied) {
        if copied.remote {
            return self.replay(range, copied);
        }
        let context = context();
        let record = Self::record(context, copied);
        for index in self.elements(&range) {
            if !self.covers(&range, index) {
                self.cells.borrow_mut()[index] = Cell { write: Some(record), reads: None };
                continue;
            }
            let result = self.cells.borrow_mut()[index].access(context, record);
            if let Err(first) = result {
                let (first, second) = (first.access(context), record.access(context));
                let kernel = context.state().kernel;
                context.fail(Error::Race { kernel, memory: "shared", index, first, second });
            }
        }
    }

    /// Notes a copy without a look at what was there before.
    pub(crate) fn replay(&self, range: Range<u32>, copied: Copied) {
        let record = Self::record(context(), copied);
        for index in self.elements(&range) {
            self.cells.borrow_mut()[index] = Cell { write: Some(record), reads: None };
        }
    }

    /// Notes a write with which later accesses don't race.
    pub(crate) fn written(&self, range: Range<u32>, place: Place) {
        let record = Record { column: ORDERED, ..Record::new(context(), Kind::Write, place) };
        for index in self.elements(&range) {
            self.cells.borrow_mut()[index] = Cell { write: Some(record), reads: None };
        }
    }

    /// The running thread makes an access of this kind to all of these addresses.
    pub(crate) fn access_range(&self, range: Range<u32>, kind: Kind, place: Place) {
        for index in self.elements(&range) {
            let unwritten = self.cells.borrow()[index].write.is_none();
            if self.covers(&range, index) || (unwritten && !kind.writes()) {
                self.access(index, kind, place);
            } else if unwritten {
                let record = Record { column: ORDERED, ..Record::new(context(), kind, place) };
                self.cells.borrow_mut()[index].write = Some(record);
            }
        }
    }
}

const SHARDS: usize = 64;

/// Hashes addresses by a multiplication: the default is many times slower, and nobody attacks these tables.
#[derive(Clone, Copy, Default)]
struct Spread(u64);

impl BuildHasher for Spread {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(usize::from(byte)));
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The watch over global memory during one launch.
pub(crate) struct GlobalWatch {
    shards: Vec<Mutex<HashMap<usize, Cell, Spread>>>,
    stamp: AtomicU32,
    /// For each block, the stamp of its last atomic update after a fence.
    released: Vec<AtomicU32>,
    /// For each block, the stamp of its last atomic access.
    acquired: Vec<AtomicU32>,
}

impl GlobalWatch {
    pub(crate) fn new(blocks: u64) -> Self {
        let stamps = || (0..blocks).map(|_| AtomicU32::new(0)).collect();
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, stamp: AtomicU32::new(0), released: stamps(), acquired: stamps() }
    }

    fn access(&self, context: &Context, address: usize, index: usize, kind: Kind, place: Place) {
        let block = context.state();
        if kind.is_atomic() {
            let stamp = self.stamp.fetch_add(1, Ordering::Relaxed) + 1;
            self.acquired[block.number as usize].store(stamp, Ordering::Relaxed);
            if block.fenced.get() {
                self.released[block.number as usize].store(stamp, Ordering::Relaxed);
            }
        }
        let record = Record::new(context, kind, place);
        let mut cells = self.shards[address / 64 % SHARDS].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let result = cells.entry(address).or_default().access(context, record);
        drop(cells);
        if let Err(first) = result {
            let (first, second) = (first.access(context), record.access(context));
            context.fail(Error::Race { kernel: block.kernel, memory: "global", index, first, second });
        }
    }
}

/// Notes an access to global memory, if the running launch is watched.
#[inline]
pub(crate) fn global<T>(address: *const T, index: usize, kind: Kind, place: Place) {
    if super::is_watched() {
        watched(address as usize, size_of::<T>(), index, kind, place);
    }
}

/// Notes a read of memory that no thread writes.
#[inline]
pub(crate) fn read_only<T>(address: *const T, index: usize, place: Place) {
    if super::is_watched() {
        expect_written(address as usize, size_of::<T>(), index, Kind::Read, place);
    }
}

/// Notes a read of `len` elements through a raw pointer.
#[inline]
pub(crate) fn raw_reads<T>(start: *const T, len: usize, place: Place) {
    if super::is_watched()
        && let Some(byte) = uninitialized::first_unwritten(start as usize, len * size_of::<T>())
    {
        unwritten(byte / size_of::<T>().max(1), Kind::Read, place);
    }
}

/// Notes that a whole view is reached through a raw pointer from here on.
#[inline]
pub(crate) fn escapes<T>(address: *const T, len: usize) {
    uninitialized::wrote(address as usize, len * size_of::<T>());
}

#[cold]
fn watched(address: usize, bytes: usize, index: usize, kind: Kind, place: Place) {
    if matches!(kind, Kind::Write | Kind::AtomicStore) {
        uninitialized::wrote(address, bytes);
    } else {
        expect_written(address, bytes, index, kind, place);
    }
    if let Some(context) = current()
        && let Some(global) = context.state().global
    {
        global.access(context, address, index, kind, place);
    }
}

#[cold]
fn expect_written(address: usize, bytes: usize, index: usize, kind: Kind, place: Place) {
    if !uninitialized::is_written(address, bytes) {
        unwritten(index, kind, place);
    }
}

/// Ends the launch, if it is watched.
fn unwritten(index: usize, kind: Kind, place: Place) {
    if let Some(context) = current()
        && context.state().global.is_some()
    {
        let access = Record::new(context, kind, place).access(context);
        context.fail(Error::UnwrittenGlobal { kernel: context.state().kernel, access, index });
    }
}
