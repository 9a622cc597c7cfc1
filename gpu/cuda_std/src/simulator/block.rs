//! One block: its threads as coroutines, and what they wait for.

mod stuck;
mod warp;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::clocks::Clocks;
use super::copies::{Copies, Groups};
use super::error::{Error, Place};
use super::group::Group;
use super::mbarrier::Mbarrier;
use super::named::Named;
use super::orders::Orders;
use super::watch::GlobalWatch;
use super::window::Window;
use super::{CURRENT, Random, Shape, coordinates};
pub(super) use warp::converge;
pub(crate) use warp::lanes;
use warp::{Gathered, Meeting};

/// Lanes of a warp.
pub(crate) const LANES: u32 = 32;

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

    /// Ends the launch with a message.
    pub(crate) fn refuse(&self, message: String, place: Place) -> ! {
        let (kernel, block, thread) = (self.state().kernel, self.block, self.thread);
        self.fail(Error::Panicked { kernel, block, thread, message, place: Some(place) })
    }
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
}
