//! Builds the tests' device code, as any crate with kernels of its own does.

use cuda_builder::{Arch, CudaBuilder, variables};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let builder = || CudaBuilder::new("kernels").archs(&[Arch::SM_80, Arch::SM_90A]).each_module_once();
    // The second one is for the test of what an index out of bounds says, when it is asked to say it.
    for (name, builder) in [
        ("test_kernels.zip", builder()),
        ("fault_messages.zip", builder().fault_messages(true).families(&["out_of_bounds"])),
    ] {
        let archive = out.join(name);
        if variables::skip_device_build() {
            let reason = format!("{} was set", variables::SKIP_DEVICE_BUILD);
            std::fs::write(&archive, reason).expect("OUT_DIR is writable");
            continue;
        }
        if let Err(error) = builder.copy_to(&archive).build() {
            println!("cargo::warning={name} was not built, GPU tests will fail: {error}");
            std::fs::write(&archive, error.to_string()).expect("OUT_DIR is writable");
        }
    }
}
