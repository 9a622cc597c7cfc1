//! Signatures that can't be kernels.

use cuda_std::prelude::*;

#[kernel]
pub fn mutable_slice(x: &mut [f32]) {}

#[kernel]
pub fn returns(x: Global<f32>) -> f32 {
    x[0]
}

#[kernel]
pub fn reference(x: &f32) {}

#[kernel(block = 2048)]
pub fn too_many_threads() {}

#[kernel(blocks = 256)]
pub fn unknown_attribute() {}

#[kernel]
pub fn owns_memory(x: Vec<f32>) {}

#[kernel]
pub fn safe_with_pointer(x: *mut f32) {}

#[kernel(overlaps)]
pub fn safe_that_overlaps(y: GlobalMut<f32>) {}

fn main() {}
