//! Named barriers of a block.

use super::block::{Context, Wait};
use super::clocks::Row;
use super::error::Place;

/// One of a block's barriers 1 to 15.
#[derive(Default)]
pub(crate) struct Named {
    /// Threads that complete it; 0 while nobody has arrived.
    threads: u32,
    arrived: u32,
    waiting: Vec<u32>,
    known: Row,
}

impl Named {
    /// What it lacks, for messages.
    pub(super) fn lacking(&self, id: u32) -> String {
        let Self { threads, arrived, .. } = self;
        format!("barrier {id} has got {arrived} of the {threads} threads that complete it")
    }
}

impl Context {
    pub(crate) fn named_barrier(&self, id: u32, threads: u32, wait: bool, place: Place) {
        let state = self.state();
        if !(1..16).contains(&id) || threads == 0 || !threads.is_multiple_of(32) {
            self.refuse(
                format!("barrier {id} of {threads} threads: barriers are 1 to 15, threads a multiple of 32"),
                place,
            );
        }
        let mut barriers = state.named.borrow_mut();
        let barrier = &mut barriers[id as usize];
        if barrier.arrived == 0 {
            barrier.threads = threads;
        } else if barrier.threads != threads {
            let expected = barrier.threads;
            drop(barriers);
            self.refuse(
                format!("barrier {id} is used with {threads} threads while others use it with {expected}"),
                place,
            );
        }
        barrier.arrived += 1;
        state.clocks.release(self.number, &mut barrier.known);
        if barrier.arrived < threads {
            if wait {
                barrier.waiting.push(self.number);
                drop(barriers);
                self.wait(Wait::Named { id, place });
            }
            return;
        }
        barrier.arrived = 0;
        if wait {
            state.clocks.acquire(self.number, &barrier.known);
        }
        let waiting = std::mem::take(&mut barrier.waiting);
        waiting.iter().for_each(|&other| state.clocks.acquire(other, &barrier.known));
        drop(barriers);
        state.release(waiting.into_iter(), |_| {});
    }
}
