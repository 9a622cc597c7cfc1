//! Which driver there is, is decided once in a process: each case runs in one of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checks::{self, Check};
use crate::{Error, Runtime};

/// Runs the ignored test `name` of this binary with another driver library.
fn run_with(library: &Path, name: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("tests::drivers::{name}"), "--ignored", "--nocapture"])
        .env(crate::env::LIBCUDA, library)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{name} with {}:\n{text}", library.display());
}

/// Compiles `fake_driver.rs`; `None` where there is no compiler.
fn fake(folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    let library = folder.join("libcuda.so.1");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "-O", "-Aunused", "--crate-name", "fake_driver"])
        .args(flags.iter().flat_map(|flag| ["--cfg", flag]))
        .arg("-o")
        .arg(&library)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/fake_driver.rs"))
        .output();
    match compiled {
        Ok(output) if output.status.success() => Some(library),
        Ok(output) => panic!("the pretended driver does not compile:\n{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            eprintln!("SKIPPED: no rustc to compile the pretended driver with ({error})");
            None
        }
    }
}

fn run_with_fake(flags: &[&str], name: &str) {
    let folder = tempfile::tempdir().unwrap();
    if let Some(library) = fake(folder.path(), flags) {
        run_with(&library, name);
    }
}

#[test]
fn no_driver() {
    run_with(Path::new("/nowhere/libcuda.so.1"), "child_without_driver");
}

#[test]
#[ignore = "started by `no_driver`"]
fn child_without_driver() {
    let error = Runtime::cuda(0).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(&error, Error::DriverMissing { searched, .. } if searched == &["/nowhere/libcuda.so.1"]),
        "{text}"
    );
    assert!(text.contains("install the NVIDIA driver"), "{text}");
    let runtime = Runtime::new();
    assert!(!runtime.is_cuda());
    assert_eq!(runtime.reason(), Some(&*text));
    // What a program gets that uses cust itself.
    assert_eq!(cust::init(cust::CudaFlags::empty()), Err(cust::error::CudaError::NoDevice));
    assert_eq!(cust::device::Device::num_devices(), Err(cust::error::CudaError::NotInitialized));
}

#[test]
fn old_driver() {
    run_with_fake(&["old"], "child_with_old_driver");
}

#[test]
#[ignore = "started by `old_driver`"]
fn child_with_old_driver() {
    let error = Runtime::cuda(0).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::DriverTooOld { call: "cuDevicePrimaryCtxRetain", .. }), "{text}");
    assert!(text.contains("supports CUDA 9.2"), "{text}");
    assert!(Runtime::new().reason().is_some());
}

#[test]
fn driver_without_initialisation() {
    run_with_fake(&["old", "without_init"], "child_without_initialisation");
}

#[test]
#[ignore = "started by `driver_without_initialisation`"]
fn child_without_initialisation() {
    assert!(matches!(Runtime::cuda(0), Err(Error::DriverTooOld { call: "cuInit", .. })));
}

#[test]
fn driver_without_device() {
    run_with_fake(&["no_device"], "child_without_device");
}

#[test]
#[ignore = "started by `driver_without_device`"]
fn child_without_device() {
    assert!(matches!(Runtime::cuda(0), Err(Error::NoDevice)));
    assert!(Runtime::new().reason().unwrap().contains("no device"));
    let runtime = Runtime::for_kernels();
    assert!(runtime.is_simulator() && runtime.reason().unwrap().contains("no device"));
}

#[test]
fn pretended_driver() {
    run_with_fake(&[], "child_with_pretended_driver");
}

#[test]
#[ignore = "started by `pretended_driver`"]
fn child_with_pretended_driver() {
    assert!(matches!(Runtime::cuda(1), Err(Error::DeviceIndex { index: 1, count: 1 })));
    let runtime = Runtime::new();
    assert_eq!(runtime.reason(), None);
    assert!(runtime.to_string().contains("Pretended GPU (CUDA device 0, compute capability 9.0"), "{runtime}");
    let run = |(name, check): &Check| check(&runtime).unwrap_or_else(|error| panic!("{name}: {error}"));
    checks::EVERYWHERE
        .iter()
        .chain(checks::GPU)
        .chain(&[("tensor maps", checks::tensor_maps::encoding as _)])
        .for_each(run);
    assert_eq!(runtime.memory().bytes_in_use, 0);
    checks::cost::launch_cost(&runtime).unwrap();
    // The pretended driver panics if anything is left when the context goes.
    drop(runtime);
}

#[test]
fn a_kernel_says_why_it_ended() {
    run_with_fake(&["faults"], "child_with_faults");
}

#[test]
#[ignore = "started by `a_kernel_says_why_it_ended`"]
fn child_with_faults() {
    let runtime = Runtime::cuda(0).unwrap();
    let nothing = checks::kernels::library(&runtime).unwrap().kernel::<checks::kernels::Nothing>().unwrap();
    let (x, mut y) = (runtime.zeros::<f32>(4).unwrap(), runtime.zeros::<f32>(4).unwrap());
    runtime.synchronize().unwrap();
    let shape = crate::Shape::new([1; 3], [32, 1, 1]);
    nothing.launch(&runtime.default_stream(), shape, (1.0, &x, &x, &mut y, 2, 3)).unwrap();
    // Again and again: the context is lost.
    for error in [runtime.synchronize().unwrap_err(), y.to_vec().unwrap_err()] {
        let text = error.to_string();
        let expected =
            "check_axpy or check_nothing: block [5, 0, 0], thread [9, 1, 0]: row 3 is not -4, at src/lib.rs:77";
        assert!(matches!(error, Error::KernelPanicked { .. }) && text == expected, "{text}");
    }
}

#[test]
fn cubins_come_first_and_ptx_is_what_is_left() {
    run_with_fake(&[], "child_with_cubins");
}

#[test]
#[ignore = "started by `cubins_come_first_and_ptx_is_what_is_left`"]
fn child_with_cubins() {
    use checks::kernels::{Axpy, Checks, MANIFEST, PTX};
    let load = |arch: &str, cubin: &str, ptx: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = format!(r#""file":"sm_80/checks.ptx","cubin":"{arch}/checks.cubin""#);
        let manifest = MANIFEST
            .replace(r#""file":"sm_80/checks.ptx""#, &file)
            .replace(r#""arch":"sm_80""#, &format!(r#""arch":"{arch}""#));
        ["sm_80", "sm_90"].iter().for_each(|arch| std::fs::create_dir_all(folder.path().join(arch)).unwrap());
        std::fs::write(folder.path().join("manifest.json"), manifest).unwrap();
        std::fs::write(folder.path().join("sm_80/checks.ptx"), ptx).unwrap();
        std::fs::write(folder.path().join(arch).join("checks.cubin"), cubin).unwrap();
        let library = Runtime::cuda(0).unwrap().library_from_dir::<Checks>(folder.path()).unwrap();
        library.kernel::<Axpy>().map(drop)
    };
    // No driver takes this PTX: what loads without it was the cubin.
    let unreadable = ".version 99.0\n.target sm_80\n";
    load("sm_90", "\x7fELF good\0", unreadable).unwrap();
    load("sm_90", "\x7fELF bad\0", PTX).unwrap();
    assert!(matches!(load("sm_90", "\x7fELF bad\0", unreadable), Err(Error::ModuleLoad { .. })));
    // Machine code of another generation is not tried.
    assert!(matches!(load("sm_80", "\x7fELF good\0", unreadable), Err(Error::ModuleLoad { .. })));
}
