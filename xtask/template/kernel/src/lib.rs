//! The kernel of `kernels/` as a function of buffers.

pub use kernels::Kernels;
use warpsmith::{Buffer, Error, Result, Runtime, Shape, Stream};

/// What `build.rs` made of `kernels/`.
static DEVICE_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.zip"));

/// The first GPU, or else the simulator.
pub fn runtime() -> Runtime {
    Runtime::for_kernels()
}

/// y = a * x + y, one thread for each element.
///
/// # Errors
/// [`Error::LengthMismatch`], and those of a launch.
pub fn axpy(stream: &Stream, a: f32, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    if x.len() != y.len() {
        let (left, right) = (x.len(), y.len());
        return Err(Error::LengthMismatch { operation: "axpy", left_name: "x", left, right_name: "y", right });
    }
    let runtime = stream.runtime();
    runtime.register::<Kernels>(DEVICE_CODE)?;
    // The arguments are compared with the kernel's signature by the compiler: try to leave out the `&mut`.
    runtime.kernel::<Kernels, kernels::axpy>()?.launch(stream, Shape::for_elements(y.len(), 256)?, (a, x, y))
}
