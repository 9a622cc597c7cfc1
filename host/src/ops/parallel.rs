//! Work shared with the threads of rayon's pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// About how long the pool's threads take to wake up and to report back: below, one thread is faster.
const WAKING: Duration = Duration::from_micros(20);

/// Calls `task` with each of `0..units` once, in any order, on this thread and on those of rayon's pool.
///
/// This thread begins at once, and asks for help if the first unit tells that the others would take long. Rayon's own loops hand
/// everything to the pool and sleep meanwhile, which costs more than an element-wise operation on 2^16 numbers.
pub(super) fn for_each(units: usize, task: &(dyn Fn(usize) + Sync)) {
    if units == 0 {
        return;
    }
    let begin = Instant::now();
    task(0);
    let expected = begin.elapsed().saturating_mul(u32::try_from(units - 1).unwrap_or(u32::MAX));
    let helpers = units.saturating_sub(2).min(rayon::current_num_threads() - 1);
    if helpers == 0 || expected < WAKING {
        return (1..units).for_each(task);
    }
    let next = AtomicUsize::new(1);
    let work = || {
        let units = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|&unit| unit < units);
        units.for_each(task);
    };
    rayon::in_place_scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| work()));
        work();
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

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
    fn a_panic_arrives_when_the_others_are_done() {
        let caller = thread::current().id();
        for of_the_caller in [true, false] {
            let running = AtomicUsize::new(0);
            let task = |unit: usize| {
                assert!(unit == 0 || (thread::current().id() == caller) != of_the_caller, "here");
                running.fetch_add(1, Ordering::SeqCst);
                thread::sleep(std::time::Duration::from_millis(5));
                running.fetch_sub(1, Ordering::SeqCst);
            };
            let result = catch_unwind(AssertUnwindSafe(|| for_each(64, &task)));
            assert!(result.is_err() || rayon::current_num_threads() == 1);
            assert_eq!(running.load(Ordering::SeqCst), 0);
        }
    }
}
