//! The environment variables that this crate reads.

/// Path of the driver library to open instead of the usual names.
#[cfg(feature = "cuda")]
pub(crate) const LIBCUDA: &str = "WARPSMITH_LIBCUDA";
