//! Checks on the PTX of the kernels in `tests/ptx`, which are bare Rust, and in `tests/language`, which are written with
//! `cuda_std`. Each file opens with the rule that it guards, then says:
//! - `// ARCH: sm_90a`: look at that architecture's PTX (otherwise sm_80's);
//! - `// CHECK-LABEL: name`: what follows is about that entry or what it calls, up to the next label;
//! - `// CHECK: text`: the text comes next, somewhere behind what the last one found;
//! - `// CHECK-NOT: text`: the text is nowhere in the entry (the file, before any label);
//! - `// CHECK-COUNT-2: text`: it is there exactly twice.
//!
//! All files of a folder are modules of one crate, and each file's kernels name it as their module.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use cuda_builder::{Arch, CudaBuilder, DeviceCode};

const MANIFEST: &str = "[package]\nname = \"ptx_tests\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\n[workspace]\n";

const LIB: &str = r#"
#![no_std]
#![feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, core_float_math)]
#![allow(improper_ctypes_definitions, reason = "kernels take structs by value")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { unsafe { core::arch::nvptx::trap() } }

mod device {
    pub use core::arch::nvptx::{_syncthreads, _thread_idx_x};
    #[inline(always)]
    pub fn barrier() { unsafe { core::arch::asm!("bar.sync 0;", options(nostack)) } }
    #[inline(always)]
    pub fn ballot(vote: u32) -> u32 {
        let votes;
        unsafe { core::arch::asm!(
            "{{ .reg .pred p; setp.ne.u32 p, {1}, 0; vote.sync.ballot.b32 {0}, p, 0xffffffff; }}",
            out(reg32) votes, in(reg32) vote, options(nomem, nostack)) }
        votes
    }
}
"#;

/// The text of one entry, from its head to its end.
fn entry<'p>(ptx: &'p str, name: &str) -> Option<&'p str> {
    let start = ptx.find(&format!(".entry {name}("))?;
    let length = ptx[start..].find("// -- End function")?;
    Some(&ptx[start..start + length])
}

/// The first rule that the PTX breaks.
fn check(source: &str, ptx: &str) -> Result<(), String> {
    let (mut scope, mut at) = (ptx, 0);
    for line in source.lines() {
        let Some((kind, text)) = line.strip_prefix("// CHECK").and_then(|rule| rule.split_once(": ")) else { continue };
        let count = scope.matches(text).count();
        let kept = match kind {
            "" => match scope[at..].find(text) {
                Some(found) => {
                    at += found + text.len();
                    true
                }
                None => false,
            },
            "-NOT" => count == 0,
            "-LABEL" => {
                scope = entry(ptx, text).ok_or_else(|| format!("no entry {text}"))?;
                at = 0;
                true
            }
            _ => {
                let wanted = kind.strip_prefix("-COUNT-").and_then(|number| number.parse::<usize>().ok());
                wanted.ok_or_else(|| format!("unknown rule: {line}"))? == count
            }
        };
        if !kept {
            return Err(format!("{line}\n(found {count} times)\nin:\n{scope}"));
        }
    }
    Ok(())
}

/// Writes a crate whose modules are the files of `tests/<folder>`; the name and text of each.
fn write_crate(target: &Path, folder: &str, dependencies: &str, head: &str) -> Vec<(String, String)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    fs::create_dir(target.join("src")).unwrap();
    fs::write(target.join("Cargo.toml"), format!("{MANIFEST}{dependencies}")).unwrap();
    let mut lib = head.to_owned();
    let mut files = Vec::new();
    for file in fs::read_dir(tests.join(folder)).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        writeln!(lib, "#[path = {file:?}] pub mod {name};").unwrap();
        files.push((name, fs::read_to_string(&file).unwrap()));
    }
    fs::write(target.join("src/lib.rs"), lib).unwrap();
    files
}

fn builder(folder: &Path) -> CudaBuilder {
    let builder = CudaBuilder::new(folder).archs(&[Arch::SM_80, Arch::SM_90A]);
    builder.target_dir(Path::new(env!("CARGO_TARGET_TMPDIR")).join("device"))
}

/// Holds every file against its rules.
fn expect_rules(files: &[(String, String)], code: &DeviceCode) {
    let mut failures = String::new();
    for (name, source) in files {
        assert!(source.starts_with("// ") && !source.starts_with("// CHECK"), "{name} must open with its rule");
        assert!(source.contains("// CHECK"), "{name} checks nothing");
        let arch = source.lines().find_map(|line| line.strip_prefix("// ARCH: ")).unwrap_or("sm_80");
        let path = code.directory().join(arch).join(name).with_extension("ptx");
        let ptx = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if let Err(failure) = check(source, &ptx) {
            let rule = source.lines().next().unwrap_or_default();
            writeln!(failures, "{name}: {rule}\nbroken: {failure}\n").unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn rules_hold() {
    let folder = tempfile::tempdir().unwrap();
    let files = write_crate(folder.path(), "ptx", "", LIB);
    let code = builder(folder.path()).build().unwrap_or_else(|error| panic!("{error}"));
    expect_rules(&files, &code);
}

#[test]
fn rules_hold_for_cuda_std() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dependencies = format!(
        "[dependencies]\ncuda_std = {{ package = \"warpsmith-cuda-std\", path = {:?} }}\n",
        workspace.join("gpu/cuda_std")
    );
    let files = write_crate(folder.path(), "language", &dependencies, "#![no_std]\n");
    // What this workspace is built with, so that nothing newer is looked for.
    fs::copy(workspace.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let code = builder(folder.path()).build().unwrap_or_else(|error| panic!("{error}"));
    expect_rules(&files, &code);

    // Bounds checks have messages on request only.
    let message = |code: &DeviceCode| {
        let ptx = fs::read_to_string(code.directory().join("sm_80/global_views.ptx")).unwrap();
        let bytes: Vec<String> = b"the view has ".iter().map(u8::to_string).collect();
        ptx.contains("__warpsmith_fault_record") && ptx.contains(&bytes.join(", "))
    };
    assert!(!message(&code));
    assert!(message(&builder(folder.path()).fault_messages(true).build().unwrap_or_else(|error| panic!("{error}"))));
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let ptx = ".entry a(\n)\nld.x\nst.x\n// -- End function\n}\n.entry b(\n)\nst.x\n// -- End function\n}\n";
    assert_eq!(check("// CHECK-LABEL: a\n// CHECK: ld.x\n// CHECK: st.x\n// CHECK-COUNT-1: st.x", ptx), Ok(()));
    for broken in [
        "// CHECK-LABEL: a\n// CHECK: st.x\n// CHECK: ld.x",
        "// CHECK-LABEL: b\n// CHECK: ld.x",
        "// CHECK-NOT: ld.x",
        "// CHECK-COUNT-1: st.x",
        "// CHECK-LABEL: c",
        "// CHECK-SAME: a",
    ] {
        assert!(check(broken, ptx).is_err(), "{broken}");
    }
}
