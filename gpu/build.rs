//! Tells the build script of `warpsmith`, which compiles this crate for the GPU, where the sources are: beside it in the
//! repository, anywhere when both come from a registry.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    // A direct dependent gets it as DEP_WARPSMITH_GPU_MANIFEST_DIR, because of `links` in Cargo.toml.
    println!("cargo::metadata=manifest_dir={folder}");
}
