//! State of a kernel that is no plain data: `DeviceCopy` forgotten, `Copy` forgotten, memory of the host in it.

use cuda_std::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Forgotten {
    a: f32,
}

#[kernel]
pub fn takes_forgotten(state: Forgotten) {}

#[derive(DeviceCopy)]
#[repr(C)]
pub struct NotCopy {
    a: f32,
}

#[derive(Clone, DeviceCopy)]
#[repr(C)]
pub struct OwnsMemory {
    weights: Vec<f32>,
}

fn main() {}
