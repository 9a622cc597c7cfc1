//! Device code: twice, as PTX alone and with cubins, for the benchmark of loading; and the kernels of `benches/exhaustive.rs`.

use std::path::PathBuf;

use cuda_builder::{Arch, BuildError, CudaBuilder, variables};

/// What `benches/load.rs` loads.
const MODULES: [&str; 5] = ["map.relu", "map.gelu_tanh", "map.silu", "map.tanh", "reduce"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Nobody measures a debug build.
    let release = std::env::var_os("PROFILE").is_some_and(|profile| profile == "release");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let gpu = || CudaBuilder::new("../gpu").archs(&[Arch::SM_80, Arch::SM_90A]).families(&MODULES);
    for (name, builder) in [
        ("ptx.zip", gpu()),
        ("cubins.zip", gpu().cubins(true)),
        ("scans.zip", CudaBuilder::new("kernels").archs(&[Arch::SM_80]).each_module_once()),
    ] {
        let archive = out.join(name);
        let built = if !release {
            std::fs::write(&archive, "it is built with the benchmarks in release builds only")
                .expect("OUT_DIR is writable");
            continue;
        } else if variables::skip_device_build() {
            Err(format!("{} was set when the benchmarks were built", variables::SKIP_DEVICE_BUILD))
        } else {
            builder.copy_to(&archive).build().map(drop).map_err(|error: BuildError| error.to_string())
        };
        if let Err(reason) = built {
            println!("cargo::warning=no {name} for the benchmarks: {}", reason.lines().next().unwrap_or_default());
            std::fs::write(&archive, reason).expect("OUT_DIR is writable");
        }
    }
}
