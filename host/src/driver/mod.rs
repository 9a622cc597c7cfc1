//! The CUDA driver, opened at run time: one binary starts without it, with an old one, and with a new one.
//!
//! Nothing is opened before the first request for a device. `functions` holds the calls that this crate makes,
//! `trampolines` gives the crate `cust` the functions that it expects to be linked with, `device` finds devices with it.

#[cfg(feature = "cuda")]
mod device;
mod functions;
#[cfg(feature = "cuda")]
mod open;
#[cfg(feature = "cuda")]
mod trampolines;

#[cfg(feature = "cuda")]
pub(crate) use device::OpenDevice;
pub(crate) use functions::{DeviceAddress, Driver, Handle, LaunchAttribute, LaunchConfig};
#[cfg(feature = "cuda")]
use open::library;

/// `13.0` for 13000.
pub(crate) fn version_text(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// What stands for an opened device where the crate is built without CUDA: there is none.
#[cfg(not(feature = "cuda"))]
pub(crate) struct OpenDevice {
    pub(crate) driver: &'static Driver,
    pub(crate) context: Handle,
    pub(crate) properties: crate::device::CudaProperties,
}

#[cfg(not(feature = "cuda"))]
impl OpenDevice {
    pub(crate) fn open(_index: u32) -> crate::Result<Self> {
        Err(crate::Error::BuiltWithoutCuda)
    }
}
