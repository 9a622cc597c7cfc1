//! A buffer of another element type.

use cuda_std::prelude::*;
use warpsmith::{Runtime, Shape};

#[kernel]
pub fn scale(factor: f32, x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        let value = factor * x[i];
        y.set(i, value);
    }
}

kernels! { scale; }

fn main() {}

fn launch() -> warpsmith::Result<()> {
    let runtime = Runtime::cuda(0)?;
    let (x, mut y) = (runtime.zeros::<f64>(8)?, runtime.zeros::<f32>(8)?);
    let (kernel, stream, shape) = (runtime.kernel::<Kernels, scale>()?, runtime.default_stream(), Shape::for_elements(8, 32)?);
    kernel.launch(&stream, shape, (2.0, &x, &mut y))?;
    Ok(())
}
