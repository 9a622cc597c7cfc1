//! Planted bugs, each beside a right twin: what the simulator, and a sanitizer on a GPU, should find and should say nothing about.
//!
//! A constant parameter chooses; what is wrong with which is said where the kernel is. None of them may be launched but to be found
//! out. On a GPU some never end.

pub mod asynchronous;
pub mod barriers;
pub mod clusters;
pub mod memory;
pub mod races;

use cuda_std::kernels;

use crate::planted::asynchronous::{boxes, copies, handed_over, short_copies, stores};
use crate::planted::barriers::{most_threads, two_barriers, votes};
use crate::planted::clusters::{grid_neighbours, neighbours};
use crate::planted::memory::{global_bounds, global_reads, shared_bounds, shared_reads};
use crate::planted::races::{global_sum, passed_on, shared_neighbours, shared_rounds};

kernels! {
    /// The planted bugs and their twins.
    pub struct Planted;
    global_bounds<{0, 1, 2, 3}>;
    shared_bounds<{0, 1, 2}>;
    global_reads<{true, false}>;
    shared_reads<{true, false}>;
    shared_neighbours<{0, 1, 2}>;
    shared_rounds<{true, false}>;
    passed_on<{true, false}>;
    global_sum<{0, 1, 2, 3}>;
    most_threads<{true, false}>;
    two_barriers;
    votes<{0, 1, 2, 3, 4}>;
    copies<{0, 1, 2}>;
    short_copies;
    boxes<{0, 1, 2, 3, 4, 5, 6, 7}>;
    stores<{0, 1, 2, 3}>;
    handed_over<{0, 1, 2, 3, 4}>;
    neighbours<{0, 1, 2, 3, 4}>;
    grid_neighbours<{0, 1}>;
}
