//! The device's standard library: threads, barriers, shared memory, views of global memory, and typed kernels.
//!
//! The same code has two sides. Compiled for `nvptx64-nvidia-cuda` it becomes PTX; compiled for the host it runs in
//! the [`simulator`], one coroutine for each CUDA thread. [`thread`] has indices, barriers and fences, [`warp`] shuffles, votes
//! and matches, [`reduce`] reductions and scans, [`shared`] arrays of a block, [`atomic`] updates of single elements, [`fault`]
//! assertions whose message reaches the host, [`print`](mod@print) text from inside a kernel, [`clock`](mod@clock) clocks, [`cache`]
//! loads and stores of vectors and with hints; [`cp_async`], [`tma`] and [`mbarrier`] are copies that threads don't wait for, [`barrier`]
//! and [`cluster`] barriers of fewer and of more threads than a block's, [`matrix`] and [`wgmma`] products by tensor cores. Names follow
//! Rust-CUDA's `cuda_std` wherever both have a thing.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// y[i] = a * x[i] + y[i]
//! #[kernel]
//! pub fn axpy(a: f32, x: Global<f32>, mut y: GlobalMut<f32>) {
//!     for i in thread::elements(y.len()) {
//!         let sum = a * x[i] + y[i];
//!         y.set(i, sum);
//!     }
//! }
//!
//! // No GPU needed: every thread of the grid runs here.
//! let (x, mut y) = (vec![1.0; 100], vec![2.0; 100]);
//! let shape = simulator::Shape::new(2, 32);
//! simulator::launch::<axpy>(shape, (3.0, Global::from_slice(&x), GlobalMut::from_slice(&mut y)))?;
//! assert_eq!(y, vec![5.0; 100]);
//! # Ok::<(), simulator::Error>(())
//! ```
#![cfg_attr(target_os = "cuda", no_std)]
#![cfg_attr(target_os = "cuda", feature(stdarch_nvptx, asm_experimental_arch))]

pub mod atomic;
pub mod barrier;
pub mod cache;
pub mod clock;
pub mod cluster;
pub mod cp_async;
pub mod fault;
mod float16;
pub mod global;
pub mod grid;
pub mod kernel;
pub mod matrix;
pub mod mbarrier;
pub mod print;
pub mod reduce;
pub mod shared;
#[cfg(not(target_os = "cuda"))]
pub mod simulator;
pub mod tensor_map;
pub mod thread;
pub mod tma;
pub mod warp;
pub mod wgmma;

pub use atomic::{GlobalAtomic, Scope};
pub use cuda_std_macros::{DeviceCopy, kernel};
// The trait alone: `cust_core::DeviceCopy` also names a derive macro, which lets any layout pass.
pub use cust_core::_hidden::DeviceCopy;
pub use fault::trap;
pub use float16::{bf16, f16};
pub use global::{Global, GlobalMut};
pub use kernel::{Has, Kernel, Library, RawParameter, SafeKernel};
pub use shared::{Shared, SharedSlice};
pub use tensor_map::{TensorMap, TensorMapMut};

/// What a kernel crate usually needs: `use cuda_std::prelude::*;`.
pub mod prelude {
    #[cfg(not(target_os = "cuda"))]
    pub use crate::simulator;
    pub use crate::{
        DeviceCopy, Global, GlobalAtomic, GlobalMut, Has, Kernel, Scope, Shared, SharedSlice, TensorMap, TensorMapMut,
        gpu_assert, gpu_panic, gpu_println, kernel, kernels, reduce, shared, shared_array, thread, warp,
    };
}

/// What the macros expand to; not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use core::marker::PhantomData;
    pub use cuda_std_macros::{__entry, __kernels};
    #[cfg(not(target_os = "cuda"))]
    pub use std::{format, println};
}

/// Instantiates generic kernels for concrete types and gives each instance a stable name.
///
/// `kernels! { map_forward<{Relu, Tanh}, {f32, bf16}>; sgd<f32>; }` declares `pub struct Kernels;` and makes the product of
/// each list of types an instance: on the device an entry point `map_forward__relu__f32`, on the host an implementation of
/// [`Has`]`<map_forward<Relu, f32>>` for `Kernels`. Begin with `pub struct Name;` to choose another name. Because the marker
/// is the calling crate's own, a crate may instantiate another crate's kernels for its own and for composed types.
#[macro_export]
macro_rules! kernels {
    ($($tokens:tt)*) => { $crate::__private::__kernels! { [$crate] $($tokens)* } };
}

/// The architecture that this copy of the code is compiled for, as `__CUDA_ARCH__` writes it (900 for sm_90), or 0 in the
/// simulator. A constant after the linker step, so a branch on it costs nothing.
#[inline(always)]
pub fn arch() -> u32 {
    #[cfg(target_os = "cuda")]
    {
        unsafe extern "C" {
            fn __nvvm_reflect(name: *const u8) -> i32;
        }
        // SAFETY: the linker step replaces the call by a constant; the name is a NUL-terminated string.
        unsafe { __nvvm_reflect(c"__CUDA_ARCH".as_ptr().cast()) as u32 }
    }
    #[cfg(not(target_os = "cuda"))]
    0
}
