//! One block: its threads as coroutines, and what they wait for.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::clocks::Clocks;
use super::copies::{Copies, Groups};
use super::error::{Error, Place, Whereabouts};
use super::group::Group;
use super::mbarrier::Mbarrier;
use super::named::Named;
use super::orders::Orders;
use super::watch::GlobalWatch;
use super::window::Window;
use super::{CURRENT, Random, Shape, coordinates};

/// Lanes of a warp.
pub(crate) const LANES: u32 = 32;

/// What each lane brought to a warp operation, for all who took part.
pub(crate) type Gathered = Rc<[u128; LANES as usize]>;

/// What a simulated thread knows of itself.
pub(crate) struct Context {
    pub(crate) thread: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shape: Shape,
    /// Its number in the block.
    pub(crate) number: u32,
    state: *const State,
    yielder: *const Yielder<(), ()>,
    /// What a warp operation gave it, and gave back from each lane.
    deposit: Cell<u128>,
    gathered: Cell<Option<Gathered>>,
    /// What a barrier or `activemask` gave back.
    answer: Cell<u32>,
    /// Stores of the copy engine that it began.
    pub(super) stores: Cell<Groups>,
    /// Its own copies.
    pub(super) copies: Copies,
    /// The phase of the cluster's barrier at which it has arrived.
    pub(super) cluster_phase: Cell<Option<u32>>,
}

impl Context {
    pub(crate) fn state(&self) -> &State {
        // SAFETY: the block outlives its threads.
        unsafe { &*self.state }
    }

    fn suspend(&self) {
        // SAFETY: the yielder lives as long as the coroutine, which runs now.
        unsafe { &*self.yielder }.suspend(());
    }

    /// Is suspended until it is released.
    pub(super) fn wait(&self, wait: Wait) {
        self.state().waits.borrow_mut()[self.number as usize] = wait;
        self.suspend();
    }

    /// Ends the launch with an error.
    pub(crate) fn fail(&self, error: Error) -> ! {
        resume_unwind(Box::new(Failure(error)))
    }

    /// Lets other threads run.
    pub(crate) fn pause(&self) {
        self.state().released.borrow_mut().push(self.number);
        self.suspend();
    }

    /// Waits at a barrier of the block. Gives the number of threads that gave `true`.
    pub(crate) fn barrier(&self, kind: &'static str, vote: bool, place: Place) -> u32 {
        let state = self.state();
        if let Some((number, first_kind, first_place)) = state.first_at_barrier.get() {
            if first_kind != kind {
                let first = (coordinates(u64::from(number), self.shape.block), first_kind, first_place);
                let second = (self.thread, kind, place);
                self.fail(Error::BarriersDiffer { kernel: state.kernel, block: self.block, first, second });
            }
        } else {
            state.first_at_barrier.set(Some((self.number, kind, place)));
        }
        state.arrived.set(state.arrived.get() + 1);
        state.votes.set(state.votes.get() + u32::from(vote));
        if state.arrived.get() < state.threads {
            state.waits.borrow_mut()[self.number as usize] = Wait::Barrier { place };
            self.suspend();
            return self.answer.get();
        }
        let votes = state.votes.replace(0);
        state.arrived.set(0);
        state.first_at_barrier.set(None);
        state.epoch.set(state.epoch.get() + 1);
        state.clocks.share_copies();
        state.release((0..state.threads).filter(|&number| number != self.number), |other| other.answer.set(votes));
        votes
    }

    /// Waits for the lanes of `mask`. Gives the value that each of them brought.
    pub(crate) fn exchange(&self, operation: &'static str, mask: u32, value: u128, place: Place) -> Gathered {
        let state = self.state();
        let lane = self.number % LANES;
        if mask >> lane & 1 == 0 {
            let message = format!("{operation} with mask {mask:#010x} is called by lane {lane}, which it doesn't name");
            self.refuse(message, place);
        }
        self.deposit.set(value);
        let warp = self.number / LANES;
        let complete = {
            let mut meetings = state.meetings.borrow_mut();
            let same = |m: &Meeting| m.warp == warp && m.mask == mask && m.operation == operation;
            let at = meetings.iter().position(same).unwrap_or_else(|| {
                meetings.push(Meeting { warp, mask, operation, arrived: 0 });
                meetings.len() - 1
            });
            meetings[at].arrived |= 1 << lane;
            let complete = meetings[at].arrived == mask;
            if complete {
                meetings.swap_remove(at);
            }
            complete
        };
        if !complete {
            state.waits.borrow_mut()[self.number as usize] = Wait::Lanes { operation, mask, place };
            self.suspend();
            return self.gathered.take().expect("the last lane gave it");
        }
        let mut gathered = [0; LANES as usize];
        gathered[lane as usize] = value;
        let others = || lanes(mask & !(1 << lane));
        for other in others() {
            gathered[other as usize] = state.context(warp * LANES + other).deposit.get();
        }
        let gathered = Gathered::new(gathered);
        let give = |context: &Context| context.gathered.set(Some(Gathered::clone(&gathered)));
        state.release(others().map(|other| warp * LANES + other), give);
        gathered
    }

    /// `sync_warp`: an exchange that also orders memory.
    pub(crate) fn sync_warp(&self, mask: u32, place: Place) {
        let state = self.state();
        let (lane, first) = (self.number % LANES, self.number / LANES * LANES);
        state.clocks.tick(self.number);
        // Once all lanes of the mask are here, none has moved on yet: the last one joins their clocks for all of them.
        let waiting = state.meetings.borrow().iter().find_map(|m| {
            let same = m.warp * LANES == first && m.mask == mask && m.operation == "sync_warp";
            same.then_some(m.arrived)
        });
        if waiting.unwrap_or(0) | 1 << lane == mask {
            state.clocks.share(lanes(mask).map(|other| first + other));
        }
        self.exchange("sync_warp", mask, 0, place);
    }

    /// The lanes that are here together: those that come to the same line before anything else can go on.
    pub(crate) fn converged(&self, place: Place) -> u32 {
        self.state().waits.borrow_mut()[self.number as usize] = Wait::Converge { place };
        self.suspend();
        self.answer.get()
    }

    /// Ends the launch with a message.
    pub(crate) fn refuse(&self, message: String, place: Place) -> ! {
        let (kernel, block, thread) = (self.state().kernel, self.block, self.thread);
        self.fail(Error::Panicked { kernel, block, thread, message, place: Some(place) })
    }
}

/// The lanes of a mask, in order.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// Unwinds a thread.
struct Failure(Error);

/// What a thread waits for.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    Nothing,
    Barrier { place: Place },
    Lanes { operation: &'static str, mask: u32, place: Place },
    Converge { place: Place },
    Mbarrier { address: u32, place: Place },
    Named { id: u32, place: Place },
    Cluster { place: Place },
    Grid { place: Place },
    Ended,
}

/// Lanes that came to a warp operation.
struct Meeting {
    warp: u32,
    mask: u32,
    operation: &'static str,
    arrived: u32,
}

/// What the threads of a block share.
pub(crate) struct State {
    pub(crate) kernel: &'static str,
    /// The block's number in the grid.
    pub(crate) number: u64,
    /// The blocks that run together with this one, and its position among them.
    pub(super) group: *const Group,
    pub(super) position: usize,
    pub(crate) global: Option<&'static GlobalWatch>,
    /// Whether a thread has fenced.
    pub(crate) fenced: Cell<bool>,
    /// Barriers that the block has passed.
    pub(crate) epoch: Cell<u32>,
    threads: u32,
    pub(crate) window: Window,
    pub(super) mbarriers: RefCell<Vec<Mbarrier>>,
    pub(super) named: RefCell<[Named; 16]>,
    pub(crate) clocks: Clocks,
    /// Threads that have not begun, the next one last.
    fresh: RefCell<Vec<u32>>,
    running: Cell<u32>,
    ended: Cell<u32>,
    contexts: RefCell<Vec<*const Context>>,
    waits: RefCell<Vec<Wait>>,
    released: RefCell<Vec<u32>>,
    meetings: RefCell<Vec<Meeting>>,
    arrived: Cell<u32>,
    votes: Cell<u32>,
    first_at_barrier: Cell<Option<(u32, &'static str, Place)>>,
    pub(crate) orders: Orders,
}

impl State {
    fn context(&self, number: u32) -> &Context {
        // SAFETY: threads that have come to a warp operation or a barrier are suspended, and their contexts are kept.
        unsafe { &*self.contexts.borrow()[number as usize] }
    }

    pub(crate) fn threads(&self) -> u32 {
        self.threads
    }

    /// Threads that have not ended.
    pub(super) fn alive(&self) -> u32 {
        self.threads - self.ended.get()
    }

    /// Whether all threads have ended.
    pub(super) fn has_ended(&self) -> bool {
        self.alive() == 0
    }

    /// Cluster and grid barriers passed.
    pub(super) fn phases(&self) -> [u16; 2] {
        // SAFETY: the group outlives its blocks.
        unsafe { &*self.group }.phases(self.position).map(|phase| phase as u16)
    }

    /// Whether another block of the grid belongs to this one's cluster.
    pub(super) fn is_in_cluster(&self, other: u64, grid: [u32; 3]) -> bool {
        // SAFETY: as above.
        let group = unsafe { &*self.group };
        group.cluster_of(other, grid) == group.cluster_of(self.number, grid)
    }

    /// Lets threads go on that wait.
    pub(super) fn release(&self, numbers: impl Iterator<Item = u32>, prepare: impl Fn(&Context)) {
        let (contexts, mut waits) = (self.contexts.borrow(), self.waits.borrow_mut());
        let mut released = self.released.borrow_mut();
        for number in numbers {
            // SAFETY: as in `context`.
            prepare(unsafe { &*contexts[number as usize] });
            waits[number as usize] = Wait::Nothing;
            released.push(number);
        }
    }
}

/// A block to be run.
pub(crate) struct Block<'a> {
    pub(crate) kernel: &'static str,
    pub(crate) shape: Shape,
    pub(crate) number: u64,
    pub(crate) thread: &'a (dyn Fn() + Sync),
    pub(crate) watch_shared: bool,
    pub(crate) global: Option<&'a GlobalWatch>,
    pub(crate) seed: Option<u64>,
}

type Thread = Coroutine<(), (), (), DefaultStack>;

thread_local! {
    // Stacks cost a system call each: they are kept from block to block.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// What drives a block while it runs.
pub(super) struct Running {
    random: Option<Random>,
    suspended: Vec<Option<Thread>>,
    ready: Vec<u32>,
}

impl Block<'_> {
    /// The block's state before any thread has begun. It is the `position`th of its group.
    pub(super) fn state(&self, group: *const Group, position: usize) -> State {
        let threads = self.shape.block.iter().product::<u32>();
        let count = threads as usize;
        let watch = self.watch_shared || self.global.is_some();
        State {
            kernel: self.kernel,
            number: self.number,
            group,
            position,
            // SAFETY: only the lifetime changes. The state is reached only while this block runs.
            global: self
                .global
                .map(|global| unsafe { std::mem::transmute::<&GlobalWatch, &'static GlobalWatch>(global) }),
            fenced: Cell::new(false),
            epoch: Cell::new(0),
            threads,
            window: Window::new(self.shape.dynamic_shared_bytes, self.watch_shared),
            mbarriers: RefCell::default(),
            named: RefCell::default(),
            clocks: Clocks::new(watch, count),
            fresh: RefCell::new((0..threads).collect()),
            running: Cell::new(0),
            ended: Cell::new(0),
            contexts: RefCell::new(vec![std::ptr::null(); count]),
            waits: RefCell::new(vec![Wait::Nothing; count]),
            released: RefCell::default(),
            meetings: RefCell::default(),
            arrived: Cell::new(0),
            votes: Cell::new(0),
            first_at_barrier: Cell::new(None),
            orders: Orders::new(watch, count),
        }
    }

    pub(super) fn running(&self) -> Running {
        let threads = self.shape.block.iter().product::<u32>();
        Running {
            random: self.seed.map(|seed| Random::new(seed ^ self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
            suspended: (0..threads).map(|_| None).collect(),
            ready: Vec::new(),
        }
    }

    /// Runs every thread until it waits or ends.
    pub(super) fn start(&self, state: &State, running: &mut Running) -> Result<(), Error> {
        if let Some(random) = &mut running.random {
            random.shuffle(&mut state.fresh.borrow_mut());
        } else {
            state.fresh.borrow_mut().reverse();
        }
        while !state.fresh.borrow().is_empty() {
            self.resume(state, self.coroutine(state), &mut running.suspended)?;
        }
        Ok(())
    }

    /// Lets all threads go on that need not wait any more. False if there are none.
    pub(super) fn resume_released(&self, state: &State, running: &mut Running) -> Result<bool, Error> {
        let Running { random, suspended, ready } = running;
        std::mem::swap(ready, &mut state.released.borrow_mut());
        let any = !ready.is_empty();
        ready.sort_unstable();
        if let Some(random) = random {
            random.shuffle(ready);
        }
        for number in ready.drain(..) {
            let coroutine = suspended[number as usize].take().expect("a thread that is released was suspended");
            state.running.set(number);
            self.resume(state, coroutine, suspended)?;
        }
        Ok(any)
    }

    /// A coroutine that runs the kernel for one fresh thread after the other, until one is suspended: that one then has it for
    /// itself. It borrows from the block, which outlives it.
    fn coroutine(&self, state: *const State) -> Thread {
        let stack = STACKS.with_borrow_mut(Vec::pop).unwrap_or_default();
        // SAFETY: only the lifetime changes. `group::run` ends or drops every coroutine before it returns.
        let thread: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(self.thread) };
        let (shape, block) = (self.shape, coordinates(self.number, self.shape.grid));
        Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the block outlives its coroutines.
            let state: &State = unsafe { &*state };
            let mut context = Context {
                thread: [0; 3],
                block,
                shape,
                number: 0,
                state,
                yielder,
                deposit: Cell::new(0),
                gathered: Cell::new(None),
                answer: Cell::new(0),
                stores: Cell::default(),
                copies: Copies::default(),
                cluster_phase: Cell::new(None),
            };
            loop {
                let Some(number) = state.fresh.borrow_mut().pop() else { break };
                context.number = number;
                context.thread = coordinates(u64::from(number), shape.block);
                state.running.set(number);
                state.contexts.borrow_mut()[number as usize] = &raw const context;
                CURRENT.set(&raw const context);
                thread();
                context.expect_copies_done();
                state.waits.borrow_mut()[number as usize] = Wait::Ended;
                state.ended.set(state.ended.get() + 1);
                context.leave_cluster();
            }
        })
    }

    /// Lets a coroutine run until its thread is suspended, or all of its threads have ended.
    fn resume(&self, state: &State, mut coroutine: Thread, suspended: &mut [Option<Thread>]) -> Result<(), Error> {
        let outer = CURRENT.replace(state.contexts.borrow()[state.running.get() as usize]);
        let result = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        CURRENT.set(outer);
        let number = state.running.get();
        match result {
            Ok(CoroutineResult::Yield(())) => suspended[number as usize] = Some(coroutine),
            Ok(CoroutineResult::Return(())) => STACKS.with_borrow_mut(|stacks| stacks.push(coroutine.into_stack())),
            Err(panic) => return Err(self.failure(panic, number)),
        }
        Ok(())
    }

    fn failure(&self, panic: Box<dyn Any + Send>, thread: u32) -> Error {
        match panic.downcast::<Failure>() {
            Ok(failure) => failure.0,
            Err(panic) => Error::Panicked {
                kernel: self.kernel,
                block: coordinates(self.number, self.shape.grid),
                thread: coordinates(u64::from(thread), self.shape.block),
                message: message(&*panic),
                place: None,
            },
        }
    }

    /// A copy that reported to an mbarrier at which nobody waited for it.
    pub(super) fn unseen_copy(&self, state: &State) -> Option<Error> {
        let (number, place) = state.unseen_copy()?;
        let block = coordinates(self.number, self.shape.grid);
        let thread = coordinates(u64::from(number), self.shape.block);
        let what = "a load of the copy engine";
        Some(Error::LeftoverCopy { kernel: self.kernel, block, thread, what, place })
    }

    /// Why no thread can go on.
    #[cold]
    pub(super) fn stuck(&self, state: &State) -> Error {
        let (waits, kernel) = (state.waits.borrow(), self.kernel);
        let block = coordinates(self.number, self.shape.grid);
        let thread = |number: usize| coordinates(number as u64, self.shape.block);
        let lanes_wait = |(number, wait): (usize, &Wait)| match *wait {
            Wait::Lanes { operation, mask, place } => Some((number, operation, mask, place)),
            _ => None,
        };
        if let Some((number, operation, mask, place)) = waits.iter().enumerate().find_map(lanes_wait) {
            let lane = |lane: u32| match waits.get(number / 32 * 32 + lane as usize) {
                None => Some(Whereabouts::NotInBlock),
                Some(Wait::Ended) => Some(Whereabouts::Ended),
                Some(&Wait::Lanes { operation: o, mask: m, .. }) if o == operation && m == mask => None,
                Some(&Wait::Lanes { operation, place, .. }) => Some(Whereabouts::Waits { operation, place }),
                Some(&Wait::Barrier { place }) => {
                    Some(Whereabouts::Waits { operation: "a barrier of the block", place })
                }
                Some(&Wait::Mbarrier { place, .. }) => {
                    Some(Whereabouts::Waits { operation: "an mbarrier's wait", place })
                }
                Some(&Wait::Named { place, .. }) => Some(Whereabouts::Waits { operation: "a named barrier", place }),
                Some(&Wait::Cluster { place }) => {
                    Some(Whereabouts::Waits { operation: "the cluster's barrier", place })
                }
                Some(&Wait::Grid { place }) => Some(Whereabouts::Waits { operation: "the grid's barrier", place }),
                Some(Wait::Converge { .. } | Wait::Nothing) => unreachable!("such threads can go on"),
            };
            let missing = lanes(mask).filter_map(|l| lane(l).map(|whereabouts| (l, whereabouts))).collect();
            return Error::LanesMissing { kernel, block, waiting: thread(number), operation, mask, missing, place };
        }
        let incomplete = |(number, wait): (usize, &Wait)| match *wait {
            Wait::Mbarrier { address, place } => Some((number, state.lacking(address), place)),
            Wait::Named { id, place } => Some((number, state.named.borrow()[id as usize].lacking(id), place)),
            _ => None,
        };
        // SAFETY: the group outlives its blocks.
        let group = unsafe { &*state.group };
        let between_blocks = |(number, wait): (usize, &Wait)| match *wait {
            Wait::Cluster { place } => Some((number, group.lacking_cluster(state.position), place)),
            Wait::Grid { place } => Some((number, group.lacking_grid(), place)),
            _ => None,
        };
        let barriers = waits.iter().enumerate().filter_map(between_blocks);
        let barriers = barriers.filter(|_| !waits.iter().any(|wait| matches!(wait, Wait::Barrier { .. })));
        let mut incomplete = waits.iter().enumerate().filter_map(incomplete).chain(barriers);
        if let Some((number, what, place)) = incomplete.next() {
            let waiting_count = 1 + incomplete.filter(|(_, other, _)| *other == what).count();
            return Error::WaitsForever { kernel, block, waiting: thread(number), waiting_count, what, place };
        }
        let first = |wanted: fn(&Wait) -> bool| waits.iter().position(wanted).unwrap_or(0);
        let (waiting, ended) = (first(|w| matches!(w, Wait::Barrier { .. })), first(|w| matches!(w, Wait::Ended)));
        let waiting_count = waits.iter().filter(|wait| matches!(wait, Wait::Barrier { .. })).count();
        let Wait::Barrier { place } = waits[waiting] else { unreachable!("some thread waits") };
        let ended_count = waits.len() - waiting_count;
        let (waiting, ended) = (thread(waiting), thread(ended));
        Error::BarrierNotReached { kernel, block, waiting, place, ended, waiting_count, ended_count }
    }
}

/// Answers threads in `activemask`: those of a warp that wait at one line are together. False if there are none.
pub(super) fn converge(state: &State) -> bool {
    let waits = state.waits.borrow().clone();
    let place = |number: usize| match waits[number] {
        Wait::Converge { place } => Some(place),
        _ => None,
    };
    for number in 0..waits.len() {
        let Some(here) = place(number) else { continue };
        let warp = number / 32 * 32..(number / 32 * 32 + 32).min(waits.len());
        let mask = warp.filter(|&other| place(other) == Some(here)).fold(0, |mask, other| mask | 1 << (other % 32));
        state.release(std::iter::once(number as u32), |context| context.answer.set(mask));
    }
    !state.released.borrow().is_empty()
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_string())
}
