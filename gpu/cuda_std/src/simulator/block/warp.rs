//! Warp operations: lanes meet, and each gets what the others brought.

use std::rc::Rc;

use super::super::error::Place;
use super::{Context, LANES, State, Wait};

/// What each lane brought to a warp operation, for all who took part.
pub(crate) type Gathered = Rc<[u128; LANES as usize]>;

/// Lanes that came to a warp operation.
pub(super) struct Meeting {
    warp: u32,
    mask: u32,
    operation: &'static str,
    arrived: u32,
}

impl Context {
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
}

/// The lanes of a mask, in order.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// Answers threads in `activemask`: those of a warp that wait at one line are together. False if there are none.
pub(in super::super) fn converge(state: &State) -> bool {
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
