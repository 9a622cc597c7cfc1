//! Neural-network GPU kernels written in Rust: the runtime, typed launches, operations and networks.
//!
//! A [`Runtime`] is a GPU or the CPU. [`Buffer`]s and [`Matrix`] live on it, [`Stream`]s carry its work, a [`Library`] gives
//! [`TypedKernel`]s. The driver is opened at run time: one binary runs with and without a GPU.

mod block;
mod buffer;
mod copy;
mod device;
mod driver;
mod env;
mod error;
mod event;
mod fault;
mod foreign;
mod graph;
mod kernel;
mod launch;
mod library;
mod loaded;
mod matrix;
mod matrix_view;
mod module;
mod order;
mod pinned;
mod pool;
mod registry;
mod runtime;
mod shape;
mod stream;
mod tensor_map;
mod view;

pub mod data;
pub mod nn;
pub mod ops;

#[cfg(any(test, feature = "checks"))]
#[doc(hidden)]
pub mod checks;

pub use buffer::Buffer;
pub use device::{CudaProperties, Device};
pub use error::{Error, Result};
pub use event::Event;
pub use graph::Graph;
pub use kernel::TypedKernel;
pub use launch::{Argument, Arguments};
pub use library::Library;
pub use matrix::Matrix;
pub use matrix_view::{MatrixView, MatrixViewMut};
pub use pinned::{PinnedBuffer, Transfer};
pub use pool::MemoryStatistics;
pub use runtime::Runtime;
pub use shape::{BLOCK_LIMIT, GRID_LIMIT, Shape};
pub use stream::Stream;
pub use tensor_map::{TensorMap, TensorMapMut};
pub use view::{View, ViewMut};

pub use cuda_std::tensor_map::{L2Promotion, Swizzle, Tiling};
pub use cuda_std::{Has, Kernel, kernels};
pub use warpsmith_gpu::{
    Activation, ClampedSwiglu, Dual, Element, Epilogue, Fast, FromOutput, Gated, GatedUnit, GegluErf, GegluTanh, Glu,
    Kernels, Real, Reglu, Scalar, Swiglu, Trainable, activation, activations, bf16, epilogue, f16, kernels, random,
};

/// What most programs need: `use warpsmith::prelude::*;`.
pub mod prelude {
    pub use crate::activations::*;
    pub use crate::kernels::{map_backward, map_forward, map_in_place};
    pub use crate::ops::Ops;
    pub use crate::{Activation, Buffer, Error, Has, Matrix, Real, Runtime, Shape, activation, kernels};
}

/// What `Buffer` elements must be: plain data without padding surprises, the same on host and device.
pub use cust_core::DeviceCopy;

/// The compiled kernels of `warpsmith-gpu`, as an archive; or a text that says why they were not built.
pub static DEVICE_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device_code.zip"));

#[cfg(test)]
mod tests;
