//! Blocks that run together: one, those of a cluster, or all of a cooperative launch; and the barriers at which they meet.

use std::cell::{Cell, RefCell};

use super::block::{Block, Context, State, Wait};
use super::coordinates;
use super::error::{Error, Place};

/// How a launch puts blocks together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouping {
    /// Blocks of a cluster along x, y, z.
    pub(crate) cluster: [u32; 3],
    /// Whether all blocks run at once.
    pub(crate) cooperative: bool,
}

impl Grouping {
    fn cluster_size(self) -> u32 {
        self.cluster.iter().product()
    }

    /// The numbers of the blocks of cluster `number`, by rank.
    pub(crate) fn blocks(self, number: u64, grid: [u32; 3]) -> impl Iterator<Item = u64> {
        let clusters: [u32; 3] = std::array::from_fn(|axis| grid[axis] / self.cluster[axis]);
        let first = coordinates(number, clusters);
        (0..self.cluster_size()).map(move |rank| {
            let within = coordinates(u64::from(rank), self.cluster);
            let at: [u64; 3] =
                std::array::from_fn(|axis| u64::from(first[axis] * self.cluster[axis]) + u64::from(within[axis]));
            at[0] + u64::from(grid[0]) * (at[1] + u64::from(grid[1]) * at[2])
        })
    }
}

/// A barrier of several blocks.
#[derive(Default)]
struct Meeting {
    arrived: Cell<u32>,
    /// How often it was complete.
    phase: Cell<u32>,
    /// Who waits: the block's position in the group, and the thread.
    waiting: RefCell<Vec<(usize, u32)>>,
}

impl Meeting {
    /// Lets everybody go on.
    fn complete<'s>(&self, states: impl Iterator<Item = &'s State>, all: &[State]) {
        self.arrived.set(0);
        self.phase.set(self.phase.get() + 1);
        for state in states {
            state.epoch.set(state.epoch.get() + 1);
            state.clocks.share_copies();
        }
        for (at, number) in self.waiting.take() {
            all[at].release(std::iter::once(number), |_| {});
        }
    }
}

/// What the blocks of a group share. Clusters lie one behind the other, each by rank.
pub(crate) struct Group {
    grouping: Grouping,
    states: Cell<*const [State]>,
    clusters: Vec<Meeting>,
    grid: Meeting,
}

impl Group {
    fn states(&self) -> &[State] {
        // SAFETY: set before any thread runs; the states outlive the threads.
        unsafe { &*self.states.get() }
    }

    /// How many cluster barriers and grid barriers a block, by its position in the group, has passed.
    pub(super) fn phases(&self, position: usize) -> [u32; 2] {
        let cluster = position / self.grouping.cluster_size() as usize;
        [self.clusters[cluster].phase.get(), self.grid.phase.get()]
    }

    /// The cluster of a block, by its number in the grid.
    pub(super) fn cluster_of(&self, number: u64, grid: [u32; 3]) -> [u32; 3] {
        let block = coordinates(number, grid);
        std::array::from_fn(|axis| block[axis] / self.grouping.cluster[axis])
    }

    pub(super) fn lacking_cluster(&self, position: usize) -> String {
        let size = self.grouping.cluster_size();
        let arrived = self.clusters[position / size as usize].arrived.get();
        format!(
            "the barrier of a cluster of {size} blocks has got {arrived} threads; all that have not ended must come"
        )
    }

    pub(super) fn lacking_grid(&self) -> String {
        let (arrived, blocks) = (self.grid.arrived.get(), self.states().len());
        format!("the barrier of the grid has got {arrived} threads; all threads of the {blocks} blocks must come")
    }
}

/// Runs blocks together to their end.
pub(crate) fn run(blocks: &[Block<'_>], grouping: Grouping) -> Result<(), Error> {
    let clusters = blocks.len() / grouping.cluster_size() as usize;
    let group = Group {
        grouping,
        states: Cell::new(&[]),
        clusters: (0..clusters).map(|_| Meeting::default()).collect(),
        grid: Meeting::default(),
    };
    let states: Vec<State> =
        blocks.iter().enumerate().map(|(position, block)| block.state(&raw const group, position)).collect();
    group.states.set(&raw const states[..]);
    // Declared after what the coroutines use: dropped first.
    let mut running: Vec<_> = blocks.iter().map(Block::running).collect();
    for ((block, state), running) in blocks.iter().zip(&states).zip(&mut running) {
        block.start(state, running)?;
    }
    loop {
        let mut moved = false;
        for ((block, state), running) in blocks.iter().zip(&states).zip(&mut running) {
            moved |= block.resume_released(state, running)?;
        }
        if moved {
            continue;
        }
        let Some(unfinished) = states.iter().position(|state| !state.has_ended()) else {
            let unseen = blocks.iter().zip(&states).find_map(|(block, state)| block.unseen_copy(state));
            return unseen.map_or(Ok(()), Err);
        };
        // Every block is asked: `any` would stop at the first.
        if states.iter().filter(|state| super::block::converge(state)).count() == 0 {
            return Err(blocks[unfinished].stuck(&states[unfinished]));
        }
    }
}

impl Context {
    fn group(&self) -> &Group {
        // SAFETY: the group outlives its threads.
        unsafe { &*self.state().group }
    }

    /// Blocks of a cluster along each axis.
    pub(crate) fn cluster(&self) -> [u32; 3] {
        self.group().grouping.cluster
    }

    /// This block's rank in its cluster.
    pub(crate) fn block_rank(&self) -> u32 {
        self.state().position as u32 % self.group().grouping.cluster_size()
    }

    /// The states of this block's cluster, by rank.
    fn cluster_states(&self) -> &[State] {
        let size = self.group().grouping.cluster_size() as usize;
        let first = self.state().position / size * size;
        &self.group().states()[first..first + size]
    }

    /// The block of this rank in the cluster. Refuses one that doesn't exist or has ended.
    pub(crate) fn peer(&self, rank: u32, place: Place) -> &State {
        let states = self.cluster_states();
        match states.get(rank as usize) {
            None => self.refuse(format!("block {rank} of a cluster of {} blocks", states.len()), place),
            Some(state) if state.has_ended() => self.refuse(
                format!(
                    "the shared memory of block {rank} of the cluster is gone, because all threads of that block have ended: \
                     let them meet at `cluster::sync` before"
                ),
                place,
            ),
            Some(state) => state,
        }
    }

    fn cluster_meeting(&self) -> &Meeting {
        &self.group().clusters[self.state().position / self.group().grouping.cluster_size() as usize]
    }

    fn complete_cluster(&self) {
        let states = self.cluster_states();
        let alive: u32 = states.iter().map(State::alive).sum();
        let meeting = self.cluster_meeting();
        if alive > 0 && meeting.arrived.get() == alive {
            meeting.complete(states.iter(), self.group().states());
        }
    }

    pub(crate) fn cluster_arrive(&self, place: Place) {
        if self.cluster_phase.get().is_some() {
            self.refuse("cluster::arrive again without cluster::wait".into(), place);
        }
        let meeting = self.cluster_meeting();
        self.cluster_phase.set(Some(meeting.phase.get()));
        meeting.arrived.set(meeting.arrived.get() + 1);
        self.complete_cluster();
    }

    pub(crate) fn cluster_wait(&self, place: Place) {
        let Some(phase) = self.cluster_phase.take() else {
            self.refuse("cluster::wait without cluster::arrive".into(), place)
        };
        let meeting = self.cluster_meeting();
        if meeting.phase.get() == phase {
            meeting.waiting.borrow_mut().push((self.state().position, self.number));
            self.wait(Wait::Cluster { place });
        }
    }

    /// A thread that ends is not waited for at the cluster's barrier.
    pub(super) fn leave_cluster(&self) {
        let arrived = self.cluster_phase.take();
        if self.cluster_states().len() > 1 {
            let meeting = self.cluster_meeting();
            if arrived == Some(meeting.phase.get()) {
                // It isn't among those that are waited for, so its arrival must not stand for another thread's.
                meeting.arrived.set(meeting.arrived.get() - 1);
            }
            self.complete_cluster();
        }
    }

    pub(crate) fn grid_barrier(&self, place: Place) {
        let group = self.group();
        if !group.grouping.cooperative {
            self.refuse("a barrier of the grid needs a cooperative launch".into(), place);
        }
        let (meeting, states) = (&group.grid, group.states());
        meeting.arrived.set(meeting.arrived.get() + 1);
        if meeting.arrived.get() < states.iter().map(State::threads).sum() {
            meeting.waiting.borrow_mut().push((self.state().position, self.number));
            self.wait(Wait::Grid { place });
        } else {
            meeting.complete(states.iter(), states);
        }
    }
}
