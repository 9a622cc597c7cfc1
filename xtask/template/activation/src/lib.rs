//! The activation of `kernels/` on a device of your choice.

pub use kernels::{Kernels, Snake};
use warpsmith::Runtime;
use warpsmith::ops::Ops;

/// What `build.rs` made of `kernels/`.
static DEVICE_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.zip"));

/// Operations with this project's kernels: as kernels on a GPU and in the simulator, as native loops on the CPU.
pub fn operations(runtime: &Runtime) -> warpsmith::Result<Ops<Kernels>> {
    runtime.register::<Kernels>(DEVICE_CODE)?;
    Ok(Ops::on(runtime.default_stream()))
}
