//! Keeps work on one buffer in order across streams, and costs a few atomic operations while only one stream is in use.
//!
//! Each block of memory remembers which streams used it since its last write, and which stream wrote it last ([`Marks`]).
//! A submission that would race makes its stream wait for an event on the other (never the host). Submissions to a stream
//! are numbered, so that a wait that an earlier one already implies is left out.
//!
//! Why this suffices: a write needs `&mut` on the host, so no other submission of that block is under way, and views, which
//! can be split, stay on the thread that made them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use crate::block::Block;
use crate::driver::{Driver, Handle};
use crate::error::{Error, Result};
use crate::runtime::Cuda;

/// Live streams of one runtime: one bit each in a mask.
pub(crate) const STREAM_LIMIT: usize = 64;
const SEQUENCE_BITS: u32 = 58;
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;

/// Which streams a block's pending work is on.
pub(crate) struct Marks {
    /// The streams that used the block since its last write, the writer's among them.
    users: AtomicU64,
    /// The last writer: its stream in the upper 6 bits, the number of its submission below.
    writer: AtomicU64,
}

impl Marks {
    /// A block that comes from, and goes back to, `home`'s cache.
    pub(crate) fn new(cuda: &Cuda, home: u8) -> Self {
        let sequence = cuda.streams.entries[usize::from(home)].started.load(Ordering::Acquire);
        Self {
            users: AtomicU64::new(1 << home),
            writer: AtomicU64::new((u64::from(home) << SEQUENCE_BITS) | (sequence & SEQUENCE_MASK)),
        }
    }

    /// For memory that no stream uses.
    pub(crate) fn unused() -> Self {
        Self { users: AtomicU64::new(0), writer: AtomicU64::new(0) }
    }

    /// Makes stream `slot` wait for whatever else still uses the block.
    pub(crate) fn settle_on(&self, cuda: &Cuda, slot: u8) -> Result<()> {
        for other in bits(self.users.load(Ordering::Acquire) & !(1 << slot)) {
            cuda.streams.wait(cuda.driver, slot, other)?;
        }
        Ok(())
    }
}

fn bits(mut mask: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as u8;
            mask &= mask - 1;
            bit
        })
    })
}

/// One stream of the driver. It is made once and reused, never destroyed before the runtime: marks may still name it.
struct Entry {
    handle: AtomicPtr<std::ffi::c_void>,
    /// Recorded whenever another stream must wait for this one.
    event: AtomicPtr<std::ffi::c_void>,
    /// Submissions begun and finished; they differ while one is under way on some thread.
    started: AtomicU64,
    finished: AtomicU64,
    /// For each other stream, up to which of its submissions this one has waited.
    waited: [AtomicU64; STREAM_LIMIT],
    /// Between the beginning and the end of a graph's capture.
    capturing: AtomicBool,
    captured: Mutex<Vec<(Block, Access)>>,
}

/// The streams of a runtime.
pub(crate) struct Streams {
    entries: Box<[Entry]>,
    taken: AtomicU64,
}

/// What a submission does with a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Streams {
    /// The table with the default stream, slot 0. The context must be current.
    pub(crate) fn new(driver: &Driver) -> Result<Self> {
        let entries = (0..STREAM_LIMIT)
            .map(|_| Entry {
                handle: AtomicPtr::default(),
                event: AtomicPtr::default(),
                started: AtomicU64::new(0),
                finished: AtomicU64::new(0),
                waited: std::array::from_fn(|_| AtomicU64::new(0)),
                capturing: AtomicBool::new(false),
                captured: Mutex::default(),
            })
            .collect();
        let streams = Self { entries, taken: AtomicU64::new(0) };
        streams.take(driver)?;
        Ok(streams)
    }

    /// A slot with a stream in it. The context must be current.
    pub(crate) fn take(&self, driver: &Driver) -> Result<u8> {
        let slot = loop {
            let taken = self.taken.load(Ordering::Acquire);
            let slot = (!taken).trailing_zeros();
            if slot as usize >= STREAM_LIMIT {
                return Err(Error::TooManyStreams { limit: STREAM_LIMIT });
            }
            let after = taken | 1 << slot;
            if self.taken.compare_exchange(taken, after, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                break slot as u8;
            }
        };
        self.fill(driver, slot).inspect_err(|_| self.give_back(slot))?;
        Ok(slot)
    }

    fn fill(&self, driver: &Driver, slot: u8) -> Result<()> {
        let entry = &self.entries[usize::from(slot)];
        let (mut stream, mut event): (Handle, Handle) = (std::ptr::null_mut(), std::ptr::null_mut());
        if entry.event.load(Ordering::Acquire).is_null() {
            // SAFETY: writes one handle. CU_EVENT_DISABLE_TIMING.
            unsafe { driver.cuEventCreate(&mut event, 2) }?;
            entry.event.store(event, Ordering::Release);
        }
        if entry.handle.load(Ordering::Acquire).is_null() {
            // SAFETY: writes one handle. CU_STREAM_NON_BLOCKING.
            unsafe { driver.cuStreamCreate(&mut stream, 1) }?;
            entry.handle.store(stream, Ordering::Release);
        }
        Ok(())
    }

    /// Leaves the slot to the next [`take`](Self::take).
    pub(crate) fn give_back(&self, slot: u8) {
        self.taken.fetch_and(!(1 << slot), Ordering::AcqRel);
    }

    #[inline]
    pub(crate) fn handle(&self, slot: u8) -> Handle {
        self.entries[usize::from(slot)].handle.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_capturing(&self, slot: u8) -> bool {
        self.entries[usize::from(slot)].capturing.load(Ordering::Acquire)
    }

    /// From now on submissions to the slot are recorded, not marked. All earlier work on it must be done.
    pub(crate) fn begin_capture(&self, slot: u8) {
        self.entries[usize::from(slot)].capturing.store(true, Ordering::Release);
    }

    /// Ends [`begin_capture`](Self::begin_capture), and gives the blocks that the captured work uses.
    pub(crate) fn end_capture(&self, slot: u8) -> Vec<(Block, Access)> {
        let entry = &self.entries[usize::from(slot)];
        entry.capturing.store(false, Ordering::Release);
        std::mem::take(&mut *entry.captured.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Makes `slot` wait for all work submitted to `other` so far. The context must be current.
    #[cold]
    fn wait(&self, driver: &Driver, slot: u8, other: u8) -> Result<()> {
        let (this, that) = (&self.entries[usize::from(slot)], &self.entries[usize::from(other)]);
        if that.capturing.load(Ordering::Acquire) {
            // The capture began when all work on that stream was done, and what it records does not run.
            return Ok(());
        }
        // `finished` first: if it equals `started`, every submission up to there has reached the driver.
        let finished = that.finished.load(Ordering::Acquire);
        let started = that.started.load(Ordering::Acquire);
        let event = that.event.load(Ordering::Acquire);
        // SAFETY: both streams and the event live as long as the runtime. Another thread may record the event again in
        // between; then the wait is for a later point, which is right too.
        unsafe {
            driver.cuEventRecord(event, that.handle.load(Ordering::Acquire))?;
            driver.cuStreamWaitEvent(this.handle.load(Ordering::Acquire), event, 0)?;
        }
        if finished == started {
            this.waited[usize::from(other)].fetch_max(started, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Destroys all streams. The context must be current, and no work pending.
    pub(crate) fn release(&self, driver: &Driver) {
        for entry in &self.entries {
            let (handle, event) = (entry.handle.load(Ordering::Acquire), entry.event.load(Ordering::Acquire));
            // SAFETY: the handles were made by `fill` and are used no more.
            unsafe {
                if !handle.is_null() {
                    let _ = driver.cuStreamDestroy_v2(handle);
                }
                if !event.is_null() {
                    let _ = driver.cuEventDestroy_v2(event);
                }
            }
        }
    }
}

/// One piece of work on its way to a stream: it is begun, its blocks are put in order, the driver is called, it ends.
pub(crate) struct Submission<'a> {
    cuda: &'a Cuda,
    slot: u8,
    sequence: u64,
}

impl<'a> Submission<'a> {
    /// Begins, with the context current.
    #[inline]
    pub(crate) fn begin(cuda: &'a Cuda, slot: u8) -> Result<Self> {
        cuda.make_current()?;
        let sequence = cuda.streams.entries[usize::from(slot)].started.fetch_add(1, Ordering::AcqRel) + 1;
        Ok(Self { cuda, slot, sequence })
    }

    #[inline]
    pub(crate) fn cuda(&self) -> &'a Cuda {
        self.cuda
    }

    #[inline]
    pub(crate) fn stream(&self) -> Handle {
        self.cuda.streams.handle(self.slot)
    }

    /// Makes the stream wait for what `access` must come after, and marks the block.
    #[inline]
    pub(crate) fn order(&self, block: &Block, access: Access) -> Result<()> {
        if self.cuda.streams.is_capturing(self.slot) {
            return self.capture(block, access);
        }
        let (marks, mine) = (block.marks(), 1u64 << self.slot);
        let users = marks.users.load(Ordering::Acquire);
        match access {
            Access::Read => {
                let writer = marks.writer.load(Ordering::Acquire);
                let other = (writer >> SEQUENCE_BITS) as u8;
                if other != self.slot && users != 0 {
                    self.wait_for_write(other, writer & SEQUENCE_MASK)?;
                }
                if users & mine == 0 {
                    marks.users.fetch_or(mine, Ordering::AcqRel);
                }
            }
            Access::Write => {
                if users & !mine != 0 {
                    marks.settle_on(self.cuda, self.slot)?;
                }
                let writer = (u64::from(self.slot) << SEQUENCE_BITS) | (self.sequence & SEQUENCE_MASK);
                marks.users.store(mine, Ordering::Release);
                marks.writer.store(writer, Ordering::Release);
            }
        }
        Ok(())
    }

    #[cold]
    fn wait_for_write(&self, other: u8, sequence: u64) -> Result<()> {
        let streams = &self.cuda.streams;
        let waited = &streams.entries[usize::from(self.slot)].waited[usize::from(other)];
        if waited.load(Ordering::Acquire) < sequence {
            streams.wait(self.cuda.driver, self.slot, other)?;
        }
        Ok(())
    }

    #[cold]
    fn capture(&self, block: &Block, access: Access) -> Result<()> {
        let entry = &self.cuda.streams.entries[usize::from(self.slot)];
        let mut captured = entry.captured.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match captured.iter_mut().find(|(known, _)| known.is_same(block)) {
            Some((_, Access::Write)) => {}
            Some((_, known)) => *known = access,
            None => captured.push((block.clone(), access)),
        }
        Ok(())
    }
}

impl Drop for Submission<'_> {
    #[inline]
    fn drop(&mut self) {
        self.cuda.streams.entries[usize::from(self.slot)].finished.fetch_add(1, Ordering::AcqRel);
    }
}
