//! [`CudaBuilder::embed`]: the whole of a build script whose program also runs where no device code can be built.

use std::path::PathBuf;
use std::{env, fs};

use crate::{BuildError, CudaBuilder, variables};

impl CudaBuilder {
    /// In a build script: builds the archive `file` into `OUT_DIR`, for
    /// `include_bytes!(concat!(env!("OUT_DIR"), "/kernels.zip"))`.
    ///
    /// Where there is no device toolchain, or [`variables::SKIP_DEVICE_BUILD`] is set, the file holds the reason instead. The
    /// program is built all the same and runs on the CPU and in the simulator; on a GPU it gives that reason when it asks for a
    /// kernel. A device crate that does not compile ends the build.
    ///
    /// # Panics
    /// Outside a build script, and if `OUT_DIR` can't be written.
    pub fn embed(self, file: &str) {
        println!("cargo::rerun-if-changed=build.rs");
        let archive = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts")).join(file);
        if let Some(reason) = self.build_unless_impossible(&archive) {
            println!("cargo::warning=no GPU kernels in this build: {}", reason.lines().next().unwrap_or_default());
            fs::write(&archive, reason).expect("OUT_DIR is writable");
        }
    }

    fn build_unless_impossible(self, archive: &std::path::Path) -> Option<String> {
        if variables::skip_device_build() {
            return Some(format!("{} was set when they were to be built", variables::SKIP_DEVICE_BUILD));
        }
        match self.copy_to(archive).build() {
            Ok(_) => None,
            Err(error @ BuildError::Toolchain(_)) => Some(format!("{error}; then build again")),
            Err(error) => {
                error.to_string().lines().for_each(|line| println!("cargo::error={line}"));
                std::process::exit(1);
            }
        }
    }
}
