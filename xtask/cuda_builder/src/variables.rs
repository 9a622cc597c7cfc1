//! Every environment variable that this crate reads, in one place.

/// The device compiler: a `rustc` with core's source below its sysroot. Nothing else is searched when it is set.
pub const DEVICE_RUSTC: &str = "WARPSMITH_DEVICE_RUSTC";
/// The device cargo. Without it: the `cargo` beside the device `rustc`.
pub const DEVICE_CARGO: &str = "WARPSMITH_DEVICE_CARGO";
/// The folder of `llvm-link`, `opt` and `llc`, of the same major version as the device compiler's LLVM.
pub const LLVM_BIN: &str = "WARPSMITH_LLVM_BIN";
/// The assembler `ptxas`, if it is not where [`crate::discover::ptxas`] looks.
pub const PTXAS: &str = "WARPSMITH_PTXAS";
/// The nested cargo's target folder. Without it: `device` below the outer target folder.
pub const DEVICE_TARGET_DIR: &str = "WARPSMITH_DEVICE_TARGET_DIR";
/// Set to anything but `0` or nothing: build scripts leave the device code out (checking host code needs no toolchain).
pub const SKIP_DEVICE_BUILD: &str = "WARPSMITH_SKIP_DEVICE_BUILD";

/// All of the above, for `cargo::rerun-if-env-changed` and for documentation.
pub const ALL: [&str; 6] = [DEVICE_RUSTC, DEVICE_CARGO, LLVM_BIN, PTXAS, DEVICE_TARGET_DIR, SKIP_DEVICE_BUILD];

/// Whether [`SKIP_DEVICE_BUILD`] asks build scripts to leave the device code out.
///
/// [`crate::CudaBuilder::build`] does not look at it: what to embed instead is the build script's decision. In a build
/// script this also tells cargo to run the script again when the variable changes.
pub fn skip_device_build() -> bool {
    if crate::nested_cargo::build_script_out_dir().is_some() {
        println!("cargo::rerun-if-env-changed={SKIP_DEVICE_BUILD}");
    }
    std::env::var_os(SKIP_DEVICE_BUILD).is_some_and(|value| !value.is_empty() && value != "0")
}
