//! State that goes to the device must be plain data with a fixed layout.

use cuda_std::DeviceCopy;

#[derive(Clone, Copy, DeviceCopy)]
struct NoFixedLayout {
    a: f32,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Borrows {
    a: &'static f32,
}

fn main() {}
