//! A closure as a kernel's argument: one that stands for a function's state, and one that borrows what it captures.

use cuda_std::prelude::*;
use warpsmith::{Runtime, Shape};

pub trait Function: DeviceCopy + 'static {
    fn call(self, x: f32) -> f32;
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Scale {
    factor: f32,
}

impl Function for Scale {
    fn call(self, x: f32) -> f32 {
        x * self.factor
    }
}

#[kernel]
pub fn apply<F: Function>(f: F, x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        y.set(i, f.call(x[i]));
    }
}

kernels! { apply<Scale>; }

fn main() {}

fn launch() -> warpsmith::Result<()> {
    let runtime = Runtime::cuda(0)?;
    let (x, mut y) = (runtime.zeros::<f32>(8)?, runtime.zeros::<f32>(8)?);
    let (stream, shape) = (runtime.default_stream(), Shape::for_elements(8, 32)?);
    let factor = 2.0f32;
    let kernel = runtime.kernel::<Kernels, apply<Scale>>()?;
    kernel.launch(&stream, shape, (move |x: f32| x * factor, &x, &mut y))?;
    kernel.launch(&stream, shape, (|x: f32| x * factor, &x, &mut y))?;
    Ok(())
}
