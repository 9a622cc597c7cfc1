//! A kernel that is an `unsafe fn` needs an unsafe launch.

use cuda_std::prelude::*;
use warpsmith::{Runtime, Shape};

/// # Safety
/// `y` must have room for 32 elements.
#[kernel]
pub unsafe fn fill(y: *mut f32) {
    unsafe { *y.add(thread::index()) = 1.0 }
}

kernels! { fill; }

fn main() {}

fn launch() -> warpsmith::Result<()> {
    let runtime = Runtime::cuda(0)?;
    let mut y = runtime.zeros::<f32>(32)?;
    runtime.kernel::<Kernels, fill>()?.launch(&runtime.default_stream(), Shape::new([1; 3], [32, 1, 1]), (&mut y,))?;
    Ok(())
}
