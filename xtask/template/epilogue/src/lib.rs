//! The matrix product with the epilogue of `kernels/`.

pub use kernels::{Kernels, SoftCap};
use warpsmith::ops::Ops;
use warpsmith::{Buffer, Matrix, Result, Runtime};

/// What `build.rs` made of `kernels/`.
static DEVICE_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.zip"));

/// Operations with this project's kernels: as kernels on a GPU and in the simulator, as native loops on the CPU.
pub fn operations(runtime: &Runtime) -> Result<Ops<Kernels>> {
    runtime.register::<Kernels>(DEVICE_CODE)?;
    Ok(Ops::on(runtime.default_stream()))
}

/// y = cap(w · x + bias), in one kernel: w is features x inputs, x inputs x samples, y features x samples.
///
/// # Errors
/// Those of shapes that don't fit, and of a launch.
pub fn capped(
    ops: &Ops<Kernels>,
    cap: SoftCap,
    w: &Matrix<f32>,
    x: &Matrix<f32>,
    bias: &Buffer<f32>,
    y: &mut Matrix<f32>,
) -> Result<()> {
    ops.linear(w, x).bias(bias).epilogue(cap).into(y)
}
