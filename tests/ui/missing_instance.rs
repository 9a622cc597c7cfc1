//! A kernel that was not instantiated for this type.

use cuda_std::prelude::*;
use warpsmith::{DeviceCopy, Runtime};

#[kernel]
pub fn copy<T: DeviceCopy>(x: Global<T>, mut y: GlobalMut<T>) {
    for i in thread::elements(y.len()) {
        y.set(i, x[i]);
    }
}

kernels! { copy<f32>; }

fn main() {}

fn launch() -> warpsmith::Result<()> {
    Runtime::cuda(0)?.kernel::<Kernels, copy<f64>>()?;
    Ok(())
}
