//! Builds the device crate's PTX and embeds it, and gives the linker an empty `libcuda` (the driver is opened at run time).

use std::path::{Path, PathBuf};
use std::{env, fs};

use cuda_builder::{Arch, BuildError, CudaBuilder, variables};

/// What `warpsmith-gpu` is built for: everything from Ampere on, and Hopper's own instructions.
const ARCHS: [Arch; 2] = [Arch::SM_80, Arch::SM_90A];
/// Where the build script of `warpsmith-gpu` says that its sources are.
const DEVICE_CRATE: &str = "DEP_WARPSMITH_GPU_MANIFEST_DIR";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={}", variables::SKIP_DEVICE_BUILD);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if env::var_os("CARGO_FEATURE_CUDA").is_some() {
        empty_libcuda(&out);
    }
    let archive = out.join("device_code.zip");
    if let Err(reason) = device_code(&archive) {
        // In the archive's place; `Library` gives it as the reason.
        fs::write(&archive, &reason).expect("OUT_DIR is writable");
    }
}

/// `cust_raw` asks for `-lcuda`; `src/driver/trampolines.rs` defines what is wanted from it.
fn empty_libcuda(out: &Path) {
    fs::write(out.join("libcuda.a"), "!<arch>\n").expect("OUT_DIR is writable");
    println!("cargo::rustc-link-search=native={}", out.display());
}

/// Builds the archive, or says why it is not built. A device crate that does not compile ends the build.
fn device_code(archive: &Path) -> Result<(), String> {
    let device_crate = PathBuf::from(env::var_os(DEVICE_CRATE).expect("warpsmith-gpu has a build script with `links`"));
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return Err("the crate `warpsmith` was built without its feature `cuda`; enable it".into());
    }
    if env::var_os("CARGO_FEATURE_BUILT_IN_KERNELS").is_none() {
        let reason = "the crate `warpsmith` was built without its feature `built-in-kernels`; enable it, or call \
                      Ops::<Kernels>::on(stream) with a library of your own that has the instance";
        return Err(reason.into());
    }
    if variables::skip_device_build() {
        return Err(format!("{} was set when they were built; unset it and build again", variables::SKIP_DEVICE_BUILD));
    }
    match CudaBuilder::new(&device_crate).archs(&ARCHS).each_module_once().copy_to(archive).build() {
        Ok(_) => Ok(()),
        Err(error @ (BuildError::Toolchain(_) | BuildError::NoCrate { .. })) => {
            let reason = error.to_string();
            println!(
                "cargo::warning=no GPU kernels in this build, only the CPU runtime works: {}",
                reason.lines().next().unwrap_or_default()
            );
            Err(format!("{reason}; then build again"))
        }
        Err(error) => {
            let text = error.to_string();
            text.lines().for_each(|line| println!("cargo::warning={line}"));
            panic!("the device crate {} was not built: {text}", device_crate.display());
        }
    }
}
