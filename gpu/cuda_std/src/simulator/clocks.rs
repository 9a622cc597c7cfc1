//! What each thread of a block knows of the others: how many synchronisations of each of them it has seen.
//!
//! A thread counts its own releases (`sync_warp`, arrivals at an mbarrier or a named barrier). Whoever waits for it takes over
//! what it knew then. An access is therefore before the running thread if that thread has seen a later release of the one
//! that made it. The copies that report to one mbarrier have a column of their own behind the threads'. Barriers of the whole
//! block are not counted here: the block's epoch stands for them.

use std::cell::RefCell;

/// One thread's, or one barrier's, knowledge. Columns that are missing are 0.
pub(crate) type Row = Vec<u32>;

/// Takes over what `other` knows.
pub(crate) fn join(row: &mut Row, other: &[u32]) {
    if row.len() < other.len() {
        row.resize(other.len(), 0);
    }
    row.iter_mut().zip(other).for_each(|(own, &other)| *own = (*own).max(other));
}

/// The threads' knowledge; nothing at all where nothing is watched.
pub(crate) struct Clocks(Option<RefCell<Vec<Row>>>);

impl Clocks {
    pub(crate) fn new(watch: bool, threads: usize) -> Self {
        Self(watch.then(|| RefCell::new(vec![Row::new(); threads])))
    }

    /// How much thread `seen_by` knows of column `of`.
    pub(crate) fn get(&self, seen_by: u32, of: u32) -> u32 {
        let Some(rows) = &self.0 else { return 0 };
        rows.borrow()[seen_by as usize].get(of as usize).copied().unwrap_or(0)
    }

    /// Counts a release of this thread.
    pub(crate) fn tick(&self, thread: u32) {
        let Some(rows) = &self.0 else { return };
        let row = &mut rows.borrow_mut()[thread as usize];
        let column = thread as usize;
        if row.len() <= column {
            row.resize(column + 1, 0);
        }
        row[column] += 1;
    }

    /// Counts a release of this thread, and hands what it knows to a barrier.
    pub(crate) fn release(&self, thread: u32, barrier: &mut Row) {
        self.tick(thread);
        if let Some(rows) = &self.0 {
            join(barrier, &rows.borrow()[thread as usize]);
        }
    }

    /// Hands what a barrier knows to this thread.
    pub(crate) fn acquire(&self, thread: u32, barrier: &[u32]) {
        if let Some(rows) = &self.0 {
            join(&mut rows.borrow_mut()[thread as usize], barrier);
        }
    }

    /// All of these threads know what any of them does.
    pub(crate) fn share(&self, threads: impl Iterator<Item = u32> + Clone) {
        let Some(rows) = &self.0 else { return };
        let mut rows = rows.borrow_mut();
        let mut joined = Row::new();
        threads.clone().for_each(|thread| join(&mut joined, &rows[thread as usize]));
        threads.for_each(|thread| rows[thread as usize].clone_from(&joined));
    }

    /// At a barrier of the block: what any thread knows of the columns behind the threads' all of them do.
    pub(crate) fn share_copies(&self) {
        let Some(rows) = &self.0 else { return };
        let mut rows = rows.borrow_mut();
        let threads = rows.len();
        let mut joined = Row::new();
        for row in rows.iter().filter(|row| row.len() > threads) {
            join(&mut joined, &row[threads..]);
        }
        if !joined.is_empty() {
            for row in rows.iter_mut() {
                row.resize(threads + joined.len(), 0);
                row[threads..].copy_from_slice(&joined);
            }
        }
    }
}
