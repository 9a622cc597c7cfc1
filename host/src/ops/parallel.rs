//! Work shared with the threads of rayon's pool, for calls that take microseconds.
//!
//! The calling thread begins at once and takes one unit after another; the pool's threads take units too as soon as they are awake. One
//! that wakes when all units are taken is not waited for. Rayon's own loops hand everything to the pool and sleep meanwhile, which costs
//! more than an element-wise operation on 2^16 numbers.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// In [`Job::helpers`]: nobody may begin any more.
const CLOSED: usize = 1 << (usize::BITS - 1);

struct Job {
    next: AtomicUsize,
    units: usize,
    /// How many of the pool's threads use `task` now.
    helpers: AtomicUsize,
    task: *const (dyn Fn(usize) + Sync),
}

// SAFETY: the task is `Sync`, and used only while the call of `for_each` that it was borrowed for waits.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Runs units until none is left.
    ///
    /// # Safety
    /// The task must be alive.
    unsafe fn work(&self) {
        // SAFETY: the caller's promise.
        let task = unsafe { &*self.task };
        loop {
            let unit = self.next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.units {
                return;
            }
            task(unit);
        }
    }

    fn help(&self) {
        let open = |helpers: usize| (helpers & CLOSED == 0).then_some(helpers + 1);
        if self.helpers.fetch_update(Ordering::Acquire, Ordering::Relaxed, open).is_ok() {
            let _leave = Leave(self);
            // SAFETY: the job was open, so `for_each` waits until this thread has left.
            unsafe { self.work() };
        }
    }
}

/// Leaves the job, also when the task panics.
struct Leave<'a>(&'a Job);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.helpers.fetch_sub(1, Ordering::Release);
    }
}

/// Closes the job and waits for those in it, also when the task panics.
struct Close<'a>(&'a Job);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        // What is left after a panic is not begun.
        self.0.next.store(self.0.units, Ordering::Relaxed);
        self.0.helpers.fetch_or(CLOSED, Ordering::Relaxed);
        let mut spins = 0_u32;
        while self.0.helpers.load(Ordering::Acquire) != CLOSED {
            spins += 1;
            if spins < 1 << 10 { hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

/// Calls `task` with each of `0..units` once, in any order, on this thread and on those of rayon's pool.
pub(super) fn for_each(units: usize, task: &(dyn Fn(usize) + Sync)) {
    let helpers = units.saturating_sub(1).min(rayon::current_num_threads() - 1);
    if helpers == 0 {
        return (0..units).for_each(task);
    }
    let task: *const (dyn Fn(usize) + Sync + '_) = task;
    // SAFETY: only the lifetime changes; `Close` ends every use of the task before it is over.
    let task: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(task) };
    let job = Arc::new(Job { next: AtomicUsize::new(0), units, helpers: AtomicUsize::new(0), task });
    for _ in 0..helpers {
        let job = Arc::clone(&job);
        rayon::spawn(move || job.help());
    }
    let _close = Close(&job);
    // SAFETY: the task is borrowed for the whole call.
    unsafe { job.work() };
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn each_unit_once() {
        for units in [0, 1, 2, 3, 1000] {
            for _ in 0..100 {
                let counts: Vec<AtomicUsize> = (0..units).map(|_| AtomicUsize::new(0)).collect();
                for_each(units, &|unit| {
                    counts[unit].fetch_add(1, Ordering::Relaxed);
                });
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{units} units");
            }
        }
    }

    #[test]
    fn results_are_visible_afterwards() {
        for round in 0..200_usize {
            let cells: Vec<AtomicUsize> = (0..64).map(|_| AtomicUsize::new(0)).collect();
            for_each(64, &|unit| cells[unit].store(round + unit, Ordering::Relaxed));
            assert!(cells.iter().enumerate().all(|(unit, cell)| cell.load(Ordering::Relaxed) == round + unit));
        }
    }

    #[test]
    fn a_panic_of_the_caller_waits_for_the_others() {
        let caller = thread::current().id();
        let running = AtomicUsize::new(0);
        let task = |_: usize| {
            assert!(thread::current().id() != caller, "the caller's unit");
            running.fetch_add(1, Ordering::SeqCst);
            thread::sleep(std::time::Duration::from_millis(5));
            running.fetch_sub(1, Ordering::SeqCst);
        };
        assert!(catch_unwind(AssertUnwindSafe(|| for_each(8, &task))).is_err());
        assert_eq!(running.load(Ordering::SeqCst), 0);
    }
}
