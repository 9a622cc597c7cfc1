//! Builds the tests' device code, as any crate with kernels of its own does.

use cuda_builder::{Arch, CudaBuilder, variables};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let archive = out.join("test_kernels.zip");
    if variables::skip_device_build() {
        let reason = format!("{} was set", variables::SKIP_DEVICE_BUILD);
        return std::fs::write(&archive, reason).expect("OUT_DIR is writable");
    }
    if let Err(error) =
        CudaBuilder::new("kernels").archs(&[Arch::SM_80, Arch::SM_90A]).each_module_once().copy_to(&archive).build()
    {
        println!("cargo::warning=the tests' kernels were not built, GPU tests will fail: {error}");
        std::fs::write(&archive, error.to_string()).expect("OUT_DIR is writable");
    }
}
