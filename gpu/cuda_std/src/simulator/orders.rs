//! What the atomic accesses of a block's threads order: a release of one thread, followed by an acquire of another one.
//!
//! Which element the two concern is not asked: that errs on the side of silence.

use std::cell::{Cell, RefCell};

/// The block's ordered accesses are numbered; for each thread the last of each kind is kept.
#[derive(Clone, Copy, Default)]
struct Order {
    fenced: bool,
    released: u32,
    acquired: u32,
}

/// The threads' orders; nothing at all where nothing is watched.
pub(crate) struct Orders {
    threads: RefCell<Vec<Order>>,
    turn: Cell<u32>,
}

impl Orders {
    pub(crate) fn new(watch: bool, threads: usize) -> Self {
        let threads = RefCell::new(if watch { vec![Order::default(); threads] } else { Vec::new() });
        Self { threads, turn: Cell::new(0) }
    }

    /// Ordered accesses so far.
    pub(crate) fn turn(&self) -> u32 {
        self.turn.get()
    }

    /// Notes a fence: the thread's atomic accesses from now on acquire and release.
    pub(crate) fn fence(&self, thread: u32) {
        if let Some(order) = self.threads.borrow_mut().get_mut(thread as usize) {
            order.fenced = true;
        }
    }

    /// Notes an atomic access of a thread.
    pub(crate) fn access(&self, thread: u32, acquires: bool, releases: bool) {
        if let Some(order) = self.threads.borrow_mut().get_mut(thread as usize) {
            let turn = self.turn.get() + 1;
            self.turn.set(turn);
            if acquires || order.fenced {
                order.acquired = turn;
            }
            if releases || order.fenced {
                order.released = turn;
            }
        }
    }

    /// Whether what thread `of` did at `turn` was released by it, and then acquired by thread `by`.
    pub(crate) fn passed_on(&self, of: u32, turn: u32, by: u32) -> bool {
        let threads = self.threads.borrow();
        let at = |thread: u32| threads.get(thread as usize).copied().unwrap_or_default();
        at(of).released > turn && at(by).acquired > turn
    }
}
