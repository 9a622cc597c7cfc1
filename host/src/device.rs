//! What a runtime runs on.

use std::fmt;

/// A CUDA device, as its driver describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CudaProperties {
    /// The driver's index, from 0.
    pub index: u32,
    /// Such as `NVIDIA H200`.
    pub name: String,
    /// Major and minor, such as `(9, 0)`.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of device memory.
    pub memory_bytes: usize,
    /// The most shared memory that one block may have, in bytes, static and dynamic together.
    pub shared_bytes_per_block: usize,
    /// The most threads of a block.
    pub threads_per_block: u32,
    /// The CUDA version that the driver supports, as 1000 * major + 10 * minor.
    pub driver_version: u32,
    /// Whether the device copies straight from pageable host memory, so that a copy is not done when the call returns.
    pub(crate) reads_pageable_memory: bool,
}

impl CudaProperties {
    /// The compute capability as text, such as `9.0`.
    pub fn compute_capability_text(&self) -> String {
        format!("{}.{}", self.compute_capability.0, self.compute_capability.1)
    }

    /// The CUDA version of the driver as text, such as `13.0`.
    pub fn driver_version_text(&self) -> String {
        crate::driver::version_text(self.driver_version)
    }
}

/// What a runtime runs on.
///
/// ```
/// use warpsmith::{Device, Runtime};
///
/// match Runtime::cpu().device() {
///     Device::Cpu { threads } => println!("{threads} threads"),
///     device => panic!("{device:?}"),
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Device {
    /// The host's processor.
    Cpu {
        /// Threads that run at once.
        threads: usize,
    },
    /// The simulator: kernels run on the host's processor, one coroutine for each of their threads.
    Simulator {
        /// Blocks that run at once.
        threads: usize,
    },
    /// A GPU.
    Cuda(CudaProperties),
}

impl Device {
    pub(crate) fn cpu() -> Self {
        Self::Cpu { threads: host_threads() }
    }

    pub(crate) fn simulator() -> Self {
        Self::Simulator { threads: host_threads() }
    }

    /// The GPU's properties.
    pub fn cuda(&self) -> Option<&CudaProperties> {
        match self {
            Self::Cuda(properties) => Some(properties),
            Self::Cpu { .. } | Self::Simulator { .. } => None,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu { threads: 1 } => write!(f, "CPU (1 thread)"),
            Self::Cpu { threads } => write!(f, "CPU ({threads} threads)"),
            Self::Simulator { threads } => write!(f, "simulator (CPU, blocks in {threads} threads)"),
            Self::Cuda(p) => write!(
                f,
                "{} (CUDA device {}, compute capability {}, {} multiprocessors, {:.0} GiB, driver for CUDA {})",
                p.name,
                p.index,
                p.compute_capability_text(),
                p.multiprocessors,
                p.memory_bytes as f64 / (1u64 << 30) as f64,
                p.driver_version_text(),
            ),
        }
    }
}

fn host_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
