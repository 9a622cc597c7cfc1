//! Compiles a Rust crate to PTX with rustc's own `nvptx64-nvidia-cuda` target and LLVM: no CUDA toolkit, no nightly.
//!
//! ```no_run
//! // build.rs of a program whose kernels live in ./kernels
//! use cuda_builder::{Arch, CudaBuilder};
//!
//! CudaBuilder::new("kernels").archs(&[Arch::SM_80, Arch::SM_90A]).embed("kernels.zip");
//! ```
//!
//! The crate is compiled once, for no architecture in particular, to LLVM bitcode by a nested cargo. The linker step
//! then runs in this process: link, rewrite what Rust has no words for (address spaces, launch bounds, convergence),
//! split into modules, and per module and architecture optimise and emit PTX. See [`manifest`] for what comes out and
//! [`discover`] for which toolchain is used.

pub mod arch;
pub mod manifest;

#[cfg(feature = "build")]
mod artifacts;
#[cfg(feature = "build")]
mod assemble;
#[cfg(feature = "build")]
mod builder;
#[cfg(feature = "build")]
mod cache;
#[cfg(feature = "build")]
mod compile;
#[cfg(feature = "build")]
pub mod discover;
#[cfg(feature = "build")]
mod embed;
#[cfg(feature = "build")]
mod error;
#[cfg(feature = "build")]
mod hints;
#[cfg(feature = "build")]
mod ir;
#[cfg(feature = "build")]
mod link;
#[cfg(feature = "build")]
mod marker;
#[cfg(feature = "build")]
mod nested_cargo;
#[cfg(feature = "build")]
mod output;
#[cfg(feature = "build")]
mod panics;
#[cfg(feature = "build")]
mod pipeline;
#[cfg(feature = "build")]
pub mod ptx;
#[cfg(feature = "build")]
mod rewrite;
#[cfg(feature = "build")]
mod split;
#[cfg(feature = "build")]
pub mod variables;

pub use arch::{Arch, ArchParseError, PtxIsa};
#[cfg(feature = "build")]
pub use builder::{CudaBuilder, DeviceCode};
#[cfg(feature = "build")]
pub use error::BuildError;
#[cfg(feature = "build")]
pub use marker::MarkerError;
#[cfg(feature = "build")]
pub use rewrite::RewriteError;
