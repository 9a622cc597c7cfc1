//! `cargo xtask inspect` on a small crate: a line of Rust appears above the instruction that it became.
//!
//! Needs the device toolchain, ptxas and nvdisasm, which `cargo xtask test` installs; says SKIPPED without them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MANIFEST: &str = "[package]\nname = \"small\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\n[workspace]\n";

const LIB: &str = r#"
#![no_std]
#![feature(abi_ptx, stdarch_nvptx, core_float_math)]
use core::arch::nvptx::{_block_dim_x, _block_idx_x, _thread_idx_x, trap};
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { unsafe { trap() } }

fn fused(a: f32, x: f32, y: f32) -> f32 {
    core::f32::math::mul_add(a, x, y) // the fused one
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=arithmetic,reqntid=128x1x1")]
pub unsafe extern "ptx-kernel" fn multiply_and_add(a: f32, x: *const f32, y: *mut f32) { unsafe {
    let i = (_block_idx_x() * _block_dim_x() + _thread_idx_x()) as usize;
    let sum = fused(a, *x.add(i), *y.add(i));
    *y.add(i) = sum;
} }

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=other,arch=sm_90a")]
pub unsafe extern "ptx-kernel" fn only_hopper(x: *mut f32) { unsafe { *x = 1.0; } }
"#;

fn small_crate() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), MANIFEST).unwrap();
    fs::write(folder.path().join("src/lib.rs"), LIB).unwrap();
    folder
}

fn inspect(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("inspect").args(arguments).arg("--path").arg(folder);
    // Where other tests have compiled core already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device");
    command.env("WARPSMITH_DEVICE_TARGET_DIR", target).output().unwrap()
}

/// Standard output of a run that must succeed; nothing where a tool can't be had.
fn text(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = inspect(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && ["no nvdisasm", "no ptxas", "pip"].iter().any(|missing| errors.contains(missing)) {
        skip(&errors);
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The source row that is above the first line with `code`.
fn source_above<'t>(text: &'t str, code: &str) -> &'t str {
    let at = text.find(code).unwrap_or_else(|| panic!("no {code} in:\n{text}"));
    text[..at].lines().rev().find(|line| line.starts_with("src/lib.rs:")).expect("a source row is above it")
}

#[test]
fn the_line_of_rust_is_above_its_instruction() {
    let folder = small_crate();
    let Some(code) = text(folder.path(), &["multiply_and_add"]) else { return };
    let line = LIB.lines().position(|line| line.contains("the fused one")).unwrap() + 1;
    let expected = format!("src/lib.rs:{line}  core::f32::math::mul_add(a, x, y) // the fused one");
    assert_eq!(source_above(&code, " FFMA "), expected);
    assert!(source_above(&code, " STG.E ").ends_with("*y.add(i) = sum;"), "{code}");
    let row = |arch: &str| code.lines().find(|line| line.contains("multiply_and_add") && line.contains(arch)).unwrap();
    assert!(row("sm_80").contains(" 128 ") && row("sm_90a").contains("100 %"), "{code}");

    let ptx = text(folder.path(), &["multiply_and_add", "--ptx"]).unwrap();
    assert_eq!(source_above(&ptx, "fma.rn.f32"), expected);
    assert!(!ptx.contains(".loc"), "{ptx}");
    let llvm = text(folder.path(), &["multiply_and_add", "--llvm"]).unwrap();
    assert!(llvm.contains("define") && llvm.contains("fma") && !llvm.contains("!dbg"), "{llvm}");

    let measured = ["multiply", "--resources", "--time-us", "100", "--bytes", "240e6", "--flops", "40e6"];
    let measured = text(folder.path(), &measured).unwrap();
    assert!(measured.contains("2.400 TB/s") && measured.contains("memory bounds it; 50.0 % of the roof"), "{measured}");
}

#[test]
fn names_that_are_none_get_near_ones() {
    let folder = small_crate();
    let error = |arguments: &[&str]| {
        let output = inspect(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let misspelt = error(&["multiply_add", "--resources"]);
    assert!(misspelt.contains("near it are: multiply_and_add"), "{misspelt}");
    let several = error(&["--resources", "l", "--time-us", "100", "--bytes", "1"]);
    assert!(several.contains("the time of one kernel, and 2 kernels are meant"), "{several}");
    let elsewhere = error(&["only_hopper", "--resources", "--arch", "sm_80"]);
    assert!(elsewhere.contains("try --arch sm_90a"), "{elsewhere}");
}

#[test]
fn the_page_is_searched_in_a_browser() {
    let folder = small_crate();
    let page = folder.path().join("page.html");
    let Some(_) = text(folder.path(), &["--html", "--ptx", "--out", page.to_str().unwrap()]) else { return };
    let Some(browser) = browser() else { return skip("no chromium on PATH (apt-get install chromium)") };
    let profile = folder.path().join("profile");
    let mut command = Command::new(browser);
    // The time is virtual: enough for the listing to be unpacked.
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=5000"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    let output =
        command.arg(format!("file://{}?search=Multiply%20sm_90a#multiply_and_add", page.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let section = |name: &str| {
        dom.split("<section ").find(|it| it.contains(&format!("id=\"{name}\""))).unwrap().split('>').next().unwrap()
    };
    assert!(!section("multiply_and_add").contains("hidden"), "{dom}");
    assert!(section("only_hopper").contains("hidden"), "{dom}");
    // The one that the address names is open, the others are still packed.
    assert_eq!(dom.matches("FFMA R").count(), 1, "{dom}");
    assert_eq!(dom.matches("data-deflated").count(), 2 * 2 - 1, "machine code and PTX of two kernels: {dom}");
    assert!(dom.contains("<output id=\"found\">1 of 2</output>"), "{dom}");
}

/// `cargo xtask test` sets the variable where it has installed everything.
fn skip(reason: &str) {
    assert!(std::env::var_os("WARPSMITH_REQUIRE_TOOLS").is_none(), "nothing may be skipped: {reason}");
    eprintln!("SKIPPED: {reason}");
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "google-chrome"];
    std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file())
}
