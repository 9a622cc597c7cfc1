//! Mbarriers: how many arrivals and bytes the current phase still lacks, who waits for it, and what the last one ordered.

use super::block::{Context, State, Wait};
use super::clocks::{Row, join};
use super::error::Place;
use super::watch::{Copied, Kind};

/// The most arrivals and bytes that one phase can count.
const LIMIT: i64 = (1 << 20) - 1;

/// One mbarrier in the shared memory of a block.
pub(crate) struct Mbarrier {
    address: u32,
    /// Between `init` and `invalidate`.
    valid: bool,
    /// Arrivals that complete a phase.
    expected: i64,
    /// Arrivals and bytes that the phase lacks.
    pending: i64,
    bytes: i64,
    /// Phases completed.
    phase: u32,
    waiting: Vec<u32>,
    /// Asynchronous copies that reported here, and the last of them.
    copies: u32,
    last_copy: Option<(u32, Place)>,
    /// What those who arrived know, and what they knew when the last phase was completed.
    known: Row,
    released: Row,
}

impl Mbarrier {
    fn is_complete(&self, parity: u32) -> bool {
        self.phase & 1 != parity & 1
    }
}

/// What an operation does to the phase's counts.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub(crate) arrivals: u32,
    pub(crate) expected_bytes: u32,
    pub(crate) completed_bytes: u32,
}

impl Change {
    pub(crate) const NONE: Self = Self { arrivals: 0, expected_bytes: 0, completed_bytes: 0 };
}

impl State {
    fn find(&self, address: u32) -> Option<usize> {
        self.mbarriers.borrow().iter().position(|barrier| barrier.address == address)
    }

    /// The barrier's position in the list.
    fn mbarrier(&self, context: &Context, address: u32, what: &str, place: Place) -> usize {
        match self.find(address).filter(|&at| self.mbarriers.borrow()[at].valid) {
            Some(at) => at,
            None => context.refuse(
                format!(
                    "{what}: the mbarrier at shared address {address:#x} is not initialised; one thread must call `init`, \
                     and a barrier must lie between that and its use"
                ),
                place,
            ),
        }
    }

    /// The thread and the place of a copy that no thread knows to be done, where that is watched.
    pub(super) fn unseen_copy(&self) -> Option<(u32, Place)> {
        if !self.window.is_watched() {
            return None;
        }
        self.mbarriers.borrow().iter().enumerate().find_map(|(at, barrier)| {
            let column = self.threads() + at as u32;
            let seen = (0..self.threads()).any(|thread| self.clocks.get(thread, column) >= barrier.copies);
            barrier.last_copy.filter(|_| !seen)
        })
    }

    /// What the phase lacks, for messages.
    pub(super) fn lacking(&self, address: u32) -> String {
        let barriers = self.mbarriers.borrow();
        let Some(barrier) = barriers.iter().find(|barrier| barrier.address == address) else { return String::new() };
        let Mbarrier { pending, bytes, expected, phase, .. } = barrier;
        format!(
            "the mbarrier at shared address {address:#x} (phase {phase}, {expected} arrivals expected) still lacks {pending} \
             arrivals and {bytes} bytes"
        )
    }
}

impl Context {
    /// The block whose shared memory an address lies in, and the address there.
    pub(crate) fn owner(&self, address: u32, place: Place) -> (&State, u32) {
        let rank = address >> super::window::BITS;
        let local = address & ((1 << super::window::BITS) - 1);
        match rank {
            0 => (self.state(), local),
            _ => (self.peer(rank - 1, place), local),
        }
    }

    /// The host's address of `bytes` bytes of shared memory. Refuses what lies outside, and what isn't aligned.
    pub(crate) fn resolve(&self, address: u32, bytes: usize, align: usize, place: Place) -> *mut u8 {
        let (state, local) = self.owner(address, place);
        if !(local as usize).is_multiple_of(align) {
            self.refuse(format!("shared address {local:#x} is not a multiple of {align}"), place);
        }
        state.window.resolve(local, bytes).unwrap_or_else(|message| self.refuse(message, place))
    }

    /// The address in block `rank` of the cluster that corresponds to one of this block.
    pub(crate) fn map_to(&self, address: u32, rank: u32, place: Place) -> u32 {
        self.peer(rank, place);
        let local = address & ((1 << super::window::BITS) - 1);
        (rank + 1) << super::window::BITS | local
    }

    /// Tells the watch that a thread, perhaps of another block, has written there, which is not compared with other accesses.
    pub(crate) fn written_remotely(&self, address: u32, bytes: usize, place: Place) {
        let (state, local) = self.owner(address, place);
        state.window.written(local..local + bytes as u32, place);
    }

    /// Tells the watch of an access to shared memory by its address.
    pub(crate) fn shared_access(&self, address: u32, bytes: usize, kind: Kind, place: Place) {
        let (state, local) = self.owner(address, place);
        if std::ptr::eq(state, self.state()) {
            state.window.access(local..local + bytes as u32, kind, place);
        }
    }

    pub(crate) fn mbarrier_init(&self, address: u32, count: u32, place: Place) {
        self.resolve(address, 8, 8, place);
        let state = self.state();
        if count == 0 || i64::from(count) > LIMIT {
            self.refuse(format!("an mbarrier expects 1 to {LIMIT} arrivals, not {count}"), place);
        }
        let mut barriers = state.mbarriers.borrow_mut();
        let at = barriers.iter().position(|barrier| barrier.address == address).unwrap_or_else(|| {
            barriers.push(Mbarrier {
                address,
                valid: false,
                expected: 0,
                pending: 0,
                bytes: 0,
                phase: 0,
                waiting: Vec::new(),
                copies: 0,
                last_copy: None,
                known: Row::new(),
                released: Row::new(),
            });
            barriers.len() - 1
        });
        let barrier = &mut barriers[at];
        if barrier.valid {
            let message =
                format!("the mbarrier at shared address {address:#x} is initialised again: invalidate it first");
            drop(barriers);
            self.refuse(message, place);
        }
        (barrier.valid, barrier.phase, barrier.bytes) = (true, 0, 0);
        (barrier.expected, barrier.pending) = (i64::from(count), i64::from(count));
    }

    pub(crate) fn mbarrier_invalidate(&self, address: u32, place: Place) {
        let state = self.state();
        let at = state.mbarrier(self, address, "invalidate", place);
        let mut barriers = state.mbarriers.borrow_mut();
        barriers[at].valid = false;
        if !barriers[at].waiting.is_empty() {
            drop(barriers);
            self.refuse(format!("the mbarrier at {address:#x} is invalidated while threads wait at it"), place);
        }
    }

    /// Counts arrivals and bytes. Completes the phase where nothing is lacking any more.
    pub(crate) fn mbarrier_change(&self, address: u32, change: Change, what: &'static str, place: Place) {
        let (state, local) = self.owner(address, place);
        let at = state.mbarrier(self, local, what, place);
        let mut barriers = state.mbarriers.borrow_mut();
        let barrier = &mut barriers[at];
        if change.arrivals > 0 && std::ptr::eq(state, self.state()) {
            state.clocks.release(self.number, &mut barrier.known);
        }
        barrier.bytes += i64::from(change.expected_bytes) - i64::from(change.completed_bytes);
        barrier.pending -= i64::from(change.arrivals);
        if barrier.pending < 0 || barrier.bytes.abs() > LIMIT {
            let message = format!(
                "{what}: the mbarrier at shared address {local:#x} expects {} arrivals and at most {LIMIT} bytes in a phase, \
                 and has got {} arrivals with {} bytes pending",
                barrier.expected,
                barrier.expected - barrier.pending,
                barrier.bytes
            );
            drop(barriers);
            self.refuse(message, place);
        }
        if barrier.pending == 0 && barrier.bytes == 0 {
            barrier.phase = barrier.phase.wrapping_add(1);
            barrier.pending = barrier.expected;
            barrier.released = barrier.known.clone();
            let waiting = std::mem::take(&mut barrier.waiting);
            drop(barriers);
            state.release(waiting.into_iter(), |_| {});
        }
    }

    /// Counts a copy that reports to this mbarrier, before its bytes are completed.
    pub(crate) fn mbarrier_copy(&self, address: u32, what: &'static str, place: Place) -> Copied {
        let (state, local) = self.owner(address, place);
        let at = state.mbarrier(self, local, what, place);
        let mut barriers = state.mbarriers.borrow_mut();
        let column = state.threads() + at as u32;
        let barrier = &mut barriers[at];
        let clock = barrier.copies;
        barrier.copies += 1;
        barrier.last_copy = Some((self.number, place));
        let mut row = vec![0; column as usize + 1];
        row[column as usize] = barrier.copies;
        join(&mut barrier.known, &row);
        let (thread, block) = (self.number, state.number);
        Copied { column, clock, thread, block, remote: !std::ptr::eq(state, self.state()), place }
    }

    /// Whether the phase of this parity is complete; if so, what was done before it is visible here.
    pub(crate) fn mbarrier_test(&self, address: u32, parity: u32, what: &'static str, place: Place) -> bool {
        let state = self.state();
        let at = state.mbarrier(self, address, what, place);
        let barrier = &state.mbarriers.borrow()[at];
        let complete = barrier.is_complete(parity);
        if complete {
            state.clocks.acquire(self.number, &barrier.released);
        }
        complete
    }

    /// Waits until the phase of this parity is complete.
    pub(crate) fn mbarrier_wait(&self, address: u32, parity: u32, place: Place) {
        while !self.mbarrier_test(address, parity, "wait", place) {
            let state = self.state();
            let at = state.mbarrier(self, address, "wait", place);
            state.mbarriers.borrow_mut()[at].waiting.push(self.number);
            self.wait(Wait::Mbarrier { address, place });
        }
    }
}
