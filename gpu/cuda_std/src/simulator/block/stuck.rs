//! Why a block can't go on: what its threads wait for, or what one of them said.

use std::any::Any;

use super::super::coordinates;
use super::super::error::{Error, Whereabouts};
use super::warp::lanes;
use super::{Block, Failure, State, Wait};

impl Block<'_> {
    pub(super) fn failure(&self, panic: Box<dyn Any + Send>, thread: u32) -> Error {
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
    pub(in super::super) fn unseen_copy(&self, state: &State) -> Option<Error> {
        let (number, place) = state.unseen_copy()?;
        let block = coordinates(self.number, self.shape.grid);
        let thread = coordinates(u64::from(number), self.shape.block);
        let what = "a load of the copy engine";
        Some(Error::LeftoverCopy { kernel: self.kernel, block, thread, what, place })
    }

    /// Why no thread can go on.
    #[cold]
    pub(in super::super) fn stuck(&self, state: &State) -> Error {
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

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_string())
}
