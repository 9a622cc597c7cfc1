//! Discovery on faked systems: shell scripts that answer as rustc and LLVM's tools do.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::variables;

/// A system in a temporary folder.
struct Fake {
    folder: tempfile::TempDir,
    environment: Environment,
}

impl Fake {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut environment = Environment::current();
        environment.variables.clear();
        environment.root = folder.path().to_owned();
        let mut fake = Fake { folder, environment };
        fake.set("PATH", &fake.path("usr/bin"));
        fake.set("RUSTUP_AUTO_INSTALL", "0");
        fake
    }

    /// Debian's complete set.
    fn debian() -> Self {
        let fake = Fake::new();
        fake.rustc("usr", "1.96.0", "22.1.8");
        fake.file("usr/lib/rustlib/src/rust/library/core/src/lib.rs");
        fake.llvm("usr/lib/llvm-22/bin", "22.1.8");
        fake
    }

    fn path(&self, path: &str) -> String {
        self.folder.path().join(path).to_str().unwrap().to_owned()
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.variables.insert(name.into(), value.into());
    }

    fn file(&self, path: &str) {
        self.script(path, "");
    }

    fn script(&self, path: &str, output: &str) {
        self.program(path, &format!("echo '{output}'"));
    }

    fn program(&self, path: &str, body: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Not by this process: what other tests start meanwhile would inherit the open file, and a program can't be run while anybody
        // has it open for writing (ETXTBSY).
        let mut write = Command::new("/bin/sh");
        write
            .args(["-c", r#"printf '%s' "$1" > "$0" && chmod 755 "$0""#])
            .arg(&path)
            .arg(format!("#!/bin/sh\n{body}\n"));
        assert!(write.status().unwrap().success());
    }

    fn rustc(&self, sysroot: &str, version: &str, llvm: &str) {
        let root = self.path(sysroot);
        self.program(
            &format!("{sysroot}/bin/rustc"),
            &format!(
                "if [ \"$1\" = --print ]; then echo {root}; else \
                 printf 'rustc {version} (x)\\nhost: x86_64-unknown-linux-gnu\\nrelease: {version}\\nLLVM version: {llvm}\\n'; fi"
            ),
        );
        self.script(&format!("{sysroot}/bin/cargo"), "cargo");
    }

    fn llvm(&self, folder: &str, version: &str) {
        for tool in ["llvm-link", "opt", "llc"] {
            self.script(&format!("{folder}/{tool}"), &format!("Debian LLVM version {version}\n  nvptx64 - NVIDIA PTX"));
        }
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).unwrap();
    }

    fn discover(&self) -> Result<Toolchain, DiscoverError> {
        Toolchain::discover_in(&self.environment)
    }

    /// The first line of the error.
    fn error(&self) -> String {
        self.discover().unwrap_err().to_string().lines().next().unwrap().to_owned()
    }
}

#[test]
fn debian_is_found() {
    let fake = Fake::debian();
    let toolchain = fake.discover().unwrap();
    assert_eq!(toolchain.rustc, Path::new(&fake.path("usr/bin/rustc")));
    assert_eq!(toolchain.llc, Path::new(&fake.path("usr/lib/llvm-22/bin/llc")));
    assert_eq!((toolchain.rustc_version.as_str(), toolchain.llvm_version.as_str()), ("rustc 1.96.0 (x)", "22.1.8"));
    let report = Report::new_in(&fake.environment, &[]);
    assert!(report.can_build);
    let missing: Vec<_> = report.missing().map(|part| (part.part, part.remedy.as_deref().unwrap())).collect();
    assert_eq!(missing, [(Part::Ptxas, "python3 -m pip install nvidia-cuda-nvcc")]);
}

#[test]
fn each_missing_part_is_named_with_its_command() {
    for (path, line) in [
        (
            "usr/bin/rustc",
            "no device rustc for device code (not found); install it with: apt-get install rustc-web cargo-web rust-web-src llvm-22",
        ),
        ("usr/bin/cargo", "no device cargo for device code (not found); install it with: apt-get install cargo-web"),
        (
            "usr/lib/rustlib/src/rust/library/core/src/lib.rs",
            "no source of core (rust-src) for device code (not found); install it with: apt-get install rust-web-src",
        ),
        (
            "usr/lib/llvm-22/bin/llvm-link",
            "no llvm-link for device code (not found in version 22, that of rustc's LLVM); install it with: apt-get install llvm-22",
        ),
        (
            "usr/lib/llvm-22/bin/opt",
            "no opt for device code (not found in version 22, that of rustc's LLVM); install it with: apt-get install llvm-22",
        ),
        (
            "usr/lib/llvm-22/bin/llc",
            "no llc for device code (not found in version 22, that of rustc's LLVM); install it with: apt-get install llvm-22",
        ),
    ] {
        let fake = Fake::debian();
        fake.remove(path);
        assert_eq!(fake.error(), line);
        assert!(fake.discover().unwrap_err().looked.iter().any(|place| place.starts_with(fake.folder.path())));
    }
}

#[test]
fn an_old_compiler_is_not_used() {
    let fake = Fake::debian();
    fake.rustc("usr", "1.63.0", "14.0.6");
    assert!(fake.error().contains("rustc 1.63.0 (x) is too old, 1.95 is needed"), "{}", fake.error());
}

#[test]
fn llvm_of_another_version_is_not_used() {
    let fake = Fake::debian();
    fake.remove("usr/lib/llvm-22/bin/llc");
    fake.script("usr/bin/llc", "LLVM version 14.0.6\n nvptx64");
    assert!(fake.error().contains("llc is of LLVM 14.0.6, rustc's is 22"), "{}", fake.error());
    fake.script("usr/bin/llc-22", "LLVM version 22.1.0\n x86");
    fake.remove("usr/bin/llc");
    assert!(fake.error().contains("llc-22 has no NVPTX target"), "{}", fake.error());
}

#[test]
fn the_running_toolchain_comes_first_and_may_use_debians_llvm() {
    let mut fake = Fake::debian();
    fake.rustc("rustup/1.95.0", "1.95.0", "22.1.2");
    fake.set("PATH", &fake.path("rustup/1.95.0/bin"));
    assert_eq!(fake.discover().unwrap().origin, Origin::Debian, "without rust-src it can't serve");
    fake.file("rustup/1.95.0/lib/rustlib/src/rust/library/core/src/lib.rs");
    let mixed = fake.discover().unwrap();
    assert_eq!(mixed.origin, Origin::Running);
    assert_eq!(mixed.llc, Path::new(&fake.path("usr/lib/llvm-22/bin/llc")));
    fake.llvm("rustup/1.95.0/lib/rustlib/x86_64-unknown-linux-gnu/bin", "22.1.2-rust-1.95.0-stable");
    let own = fake.discover().unwrap();
    assert!(own.llc.starts_with(fake.path("rustup")));
    assert_eq!(own.llvm_version, "22.1.2");
}

#[test]
fn rustup_is_the_remedy_where_it_may_download() {
    let mut fake = Fake::new();
    fake.rustc("rustup/1.95.0", "1.95.0", "22.1.2");
    fake.file("rustup/1.95.0/bin/rustup");
    fake.set("PATH", &fake.path("rustup/1.95.0/bin"));
    assert!(fake.error().ends_with("apt-get install rustc-web cargo-web rust-web-src llvm-22"), "{}", fake.error());
    fake.environment.variables.remove(std::ffi::OsStr::new("RUSTUP_AUTO_INSTALL"));
    assert!(fake.error().ends_with("rustup component add rust-src"), "{}", fake.error());
    fake.file("rustup/1.95.0/lib/rustlib/src/rust/library/core/src/lib.rs");
    assert!(fake.error().ends_with("rustup component add llvm-tools"), "{}", fake.error());
}

#[test]
fn variables_are_followed_and_blamed() {
    let mut fake = Fake::debian();
    fake.set(variables::DEVICE_RUSTC, "/nowhere/rustc");
    assert!(fake.error().ends_with("a correct path in WARPSMITH_DEVICE_RUSTC"), "{}", fake.error());
    fake.set(variables::DEVICE_RUSTC, &fake.path("usr/bin/rustc"));
    assert_eq!(fake.discover().unwrap().origin, Origin::Variables);
    fake.set(variables::LLVM_BIN, "/nowhere");
    assert!(fake.error().ends_with("a correct path in WARPSMITH_LLVM_BIN"), "{}", fake.error());
}

#[test]
fn ptxas_is_found_in_each_place() {
    let answer = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V13.0.88";
    let packages = |fake: &Fake| [PathBuf::from(fake.path("tools/python"))];
    for place in [
        "tools/python/nvidia/cu13/bin/ptxas",
        "usr/bin/ptxas",
        "cuda/bin/ptxas",
        "usr/local/cuda-13.0/bin/ptxas",
        "venv/lib/python3.13/site-packages/nvidia/cu13/bin/ptxas",
    ] {
        let mut fake = Fake::new();
        fake.set("CUDA_HOME", &fake.path("cuda"));
        fake.set("VIRTUAL_ENV", &fake.path("venv"));
        let error = ptxas_in(&fake.environment, &packages(&fake)).unwrap_err().to_string();
        assert!(error.contains("install it with: python3 -m pip install --target "), "{error}");
        fake.script(place, answer);
        let found = ptxas_in(&fake.environment, &packages(&fake)).unwrap();
        assert_eq!(found, Ptxas { path: fake.path(place).into(), version: "13.0".into() });
        fake.set(variables::PTXAS, "/nowhere/ptxas");
        assert!(ptxas_in(&fake.environment, &[]).unwrap_err().to_string().contains(variables::PTXAS));
    }
}
