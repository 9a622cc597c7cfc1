//! A tiny crate through the whole build: manifest, archive, no-op, one changed kernel, copies, errors.

use std::fs;
use std::path::Path;
use std::time::Instant;

use cuda_builder::discover::Toolchain;
use cuda_builder::manifest::{Entry, Parameter};
use cuda_builder::{Arch, BuildError, CudaBuilder, DeviceCode};

const MANIFEST: &str =
    "[package]\nname = \"tiny-kernels\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\n[workspace]\n";

const HEAD: &str = r#"
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
use core::mem::MaybeUninit;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { unsafe { core::arch::nvptx::trap() } }
#[repr(C, align(16))] #[derive(Clone, Copy)] pub struct Wide([f32; 5]);
#[unsafe(link_section = ".shared")] static mut TILE: [MaybeUninit<f32>; 96] = [MaybeUninit::uninit(); 96];
"#;

const ABI: &str = r#"
#[unsafe(no_mangle)] #[unsafe(link_section = ".nv:module=abi,reqntid=64x2,minctasm=1")]
pub unsafe extern "ptx-kernel" fn abi(a: u8, b: u64, c: f32, d: u8, e: Wide, x: *mut f32, n: usize) { unsafe {
    if n > 3 { *x.add(2) = a as f32 + b as f32 + c + d as f32 + e.0[4]; }
} }
"#;

const SHARED: &str = r#"
#[unsafe(no_mangle)] #[unsafe(link_section = ".nv:module=tile")]
pub unsafe extern "ptx-kernel" fn tile(x: *mut f32) { unsafe {
    let t = core::arch::nvptx::_thread_idx_x() as usize;
    let tile = &raw mut TILE as *mut f32;
    *tile.add(t) = *x.add(t);
    core::arch::nvptx::_syncthreads();
    *x.add(t) = *tile.add(95 - t);
} }
"#;

const HOPPER: &str = r#"
#[unsafe(no_mangle)] #[unsafe(link_section = ".nv:module=hopper,arch=sm_90a,cluster=2x1x1")]
pub unsafe extern "ptx-kernel" fn hopper(x: *mut f32) { unsafe { *x = 1.0; } }
"#;

fn write_crate(folder: &Path, pieces: &[&str]) {
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), MANIFEST).unwrap();
    fs::write(folder.join("src/lib.rs"), format!("{HEAD}{}", pieces.concat())).unwrap();
}

fn builder(folder: &Path) -> CudaBuilder {
    // Beside the test's own output, so that core is compiled once for all runs and tests.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device");
    CudaBuilder::new(folder).target_dir(target)
}

fn timed(label: &str, builder: CudaBuilder) -> DeviceCode {
    let start = Instant::now();
    let code = builder.build().unwrap_or_else(|error| panic!("{error}"));
    println!("{label}: {:?}", start.elapsed());
    code
}

fn entry<'c>(code: &'c DeviceCode, name: &str, arch: Arch) -> &'c Entry {
    let modules = code.manifest().modules.iter().filter(|module| module.arch == arch);
    modules.flat_map(|module| &module.entries).find(|entry| entry.name == name).expect("the entry was built")
}

#[test]
fn tiny_crate() {
    let folder = tempfile::tempdir().unwrap();
    write_crate(folder.path(), &[ABI, SHARED, HOPPER]);
    let archs = [Arch::SM_80, Arch::SM_90A];
    let code = timed("first build", builder(folder.path()).archs(&archs));

    let names: Vec<_> = code.manifest().modules.iter().map(|module| module.file.as_str()).collect();
    assert_eq!(names, ["sm_80/abi.ptx", "sm_90a/abi.ptx", "sm_90a/hopper.ptx", "sm_80/tile.ptx", "sm_90a/tile.ptx"]);
    assert_eq!(code.manifest().crate_name, "tiny_kernels");
    assert!(code.manifest().compiler.starts_with("rustc 1."), "{}", code.manifest().compiler);
    assert_eq!(code.manifest().modules[0].ptx_isa.to_string(), "7.0");
    assert_eq!(code.manifest().modules[1].ptx_isa.to_string(), "8.0");
    assert_eq!(code.manifest().best_module("abi", 9, 0).unwrap().arch, Arch::SM_90A);
    assert_eq!(code.manifest().best_module("abi", 10, 0).unwrap().arch, Arch::SM_80);

    let parameter = |size, align, offset| Parameter { size, align, offset };
    for arch in archs {
        let abi = entry(&code, "abi", arch);
        let expected = [
            parameter(1, 1, 0),
            parameter(8, 8, 8),
            parameter(4, 4, 16),
            parameter(1, 1, 20),
            parameter(32, 16, 32),
            parameter(8, 8, 64),
            parameter(8, 8, 72),
        ];
        assert_eq!(abi.parameters, expected);
        assert_eq!((abi.reqntid, abi.minctasm, abi.maxnreg), (Some([64, 2, 1]), Some(1), None));
        assert_eq!(entry(&code, "tile", arch).static_shared_bytes, 96 * 4);
        assert_eq!(abi.static_shared_bytes, 0);
    }
    assert_eq!(entry(&code, "hopper", Arch::SM_90A).cluster, Some([2, 1, 1]));

    let mut archive = zip::ZipArchive::new(fs::File::open(code.archive()).unwrap()).unwrap();
    let mut packed: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    packed.sort();
    assert_eq!(packed.first().map(String::as_str), Some("manifest.json"));
    assert_eq!(packed.len(), 6);
    let read =
        serde_json::from_reader::<_, cuda_builder::manifest::Manifest>(archive.by_name("manifest.json").unwrap());
    assert_eq!(&read.unwrap(), code.manifest());

    let start = Instant::now();
    let again = timed("nothing changed", builder(folder.path()).archs(&archs));
    assert!(again.is_fresh() && start.elapsed().as_secs_f32() < 5.0);
    assert_eq!(again.manifest(), code.manifest());

    // Only the changed kernel's module may differ, although everything behind it moves.
    let before = fs::read(code.directory().join("sm_80/tile.ptx")).unwrap();
    write_crate(folder.path(), &[&ABI.replace("*x.add(2) =", "\n\n*x.add(3) ="), SHARED]);
    let changed = timed("one kernel changed", builder(folder.path()).archs(&archs));
    assert!(!changed.is_fresh());
    assert_eq!(before, fs::read(changed.directory().join("sm_80/tile.ptx")).unwrap());
    assert!(!changed.directory().join("sm_90a/hopper.ptx").exists(), "modules that are gone leave no file");
}

#[test]
fn copies_and_llvm_ir() {
    let folder = tempfile::tempdir().unwrap();
    write_crate(folder.path(), &[ABI, SHARED]);
    let (ptx, zip) = (folder.path().join("all.ptx"), folder.path().join("all.zip"));
    let code = timed("copies", builder(folder.path()).copy_to(&ptx).copy_to(&zip).emit_llvm_ir(true).ftz(true));
    let text = fs::read_to_string(&ptx).unwrap();
    assert!(text.contains(".entry abi(") && text.contains(".entry tile(") && text.contains(".target sm_75"), "{text}");
    assert!(text.contains("add.rn.ftz.f32"), "{text}");
    assert!(zip.is_file());
    assert!(code.directory().join("sm_75/abi.ll").is_file());
    let error = builder(folder.path()).copy_to("x.cubin").build().unwrap_err();
    assert!(matches!(error, BuildError::CopyTo { .. }), "{error}");
}

#[test]
fn mistakes_in_kernels_are_reported() {
    let message = |kernel: &str| {
        let folder = tempfile::tempdir().unwrap();
        write_crate(folder.path(), &[kernel]);
        builder(folder.path()).build().unwrap_err().to_string()
    };
    let undefined = message(
        r#"unsafe extern "C" { fn nowhere(x: *mut f32); }
        #[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn k(x: *mut f32) { unsafe { nowhere(x) } }"#,
    );
    assert!(undefined.starts_with("module tiny_kernels for sm_75: undefined symbol: nowhere"), "{undefined}");
    let marker = message(
        r#"#[unsafe(no_mangle)] #[unsafe(link_section = ".nv:maxreg=3")]
        pub unsafe extern "ptx-kernel" fn k(x: *mut f32) { unsafe { *x = 1.0 } }"#,
    );
    assert!(marker.contains("kernel `k`") && marker.contains("unknown key \"maxreg\""), "{marker}");
    assert!(message("").starts_with("tiny_kernels has no kernel"));
    let syntax = message("fn syntax(");
    assert!(syntax.contains("does not compile") && syntax.ends_with("messages are above"), "{syntax}");
    let std = message("pub fn list() -> std::vec::Vec<f32> { std::vec::Vec::new() }");
    assert!(std.contains("does not compile") && std.contains("kernels have core and not std"), "{std}");
    let function = message("pub fn grow(x: f32) -> f32 { x.exp() }");
    assert!(function.ends_with("with the same bits on both machines"), "{function}");
}

/// A dependency's panic handler is needed by core alone; its functions and statics are linked once.
#[test]
fn dependencies_are_linked() {
    let folder = tempfile::tempdir().unwrap();
    let helper = folder.path().join("helper");
    fs::create_dir_all(helper.join("src")).unwrap();
    fs::write(helper.join("Cargo.toml"), MANIFEST.replace("tiny-kernels", "helper")).unwrap();
    let handler = format!("{HEAD}#[inline(never)]\npub fn twice(x: f32) -> f32 {{ x + x }}\n");
    fs::write(helper.join("src/lib.rs"), handler).unwrap();
    let kernels = folder.path().join("kernels");
    fs::create_dir_all(kernels.join("src")).unwrap();
    let manifest =
        MANIFEST.replace("tiny-kernels", "dependent") + "[dependencies]\nhelper = { path = \"../helper\" }\n";
    fs::write(kernels.join("Cargo.toml"), manifest).unwrap();
    let lib = |helper: &str| {
        format!(
            r#"#![no_std]
            #![feature(abi_ptx)]
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn k(x: *mut f32, n: usize, i: usize) {{
                let x = unsafe {{ core::slice::from_raw_parts_mut(x, n) }};
                x[i] = {helper};
            }}"#
        )
    };
    fs::write(kernels.join("src/lib.rs"), lib("helper::twice(x[0])")).unwrap();
    let code = builder(&kernels).build().unwrap_or_else(|error| panic!("{error}"));
    assert!(code.sources().iter().any(|file| file.ends_with("helper/src/lib.rs")), "{:?}", code.sources());

    fs::write(kernels.join("src/lib.rs"), lib("1.0")).unwrap();
    fs::write(helper.join("src/lib.rs"), "#![no_std]\n").unwrap();
    let error = builder(&kernels).build().unwrap_err();
    assert!(matches!(error, BuildError::NoPanicHandler { .. }), "{error}");
}

/// Two crates of the same name that share the target folder, the second one older than the first one's output.
#[test]
fn crates_of_the_same_name_are_told_apart() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_crate(second.path(), &[SHARED]);
    write_crate(first.path(), &[ABI]);
    builder(first.path()).build().unwrap();
    let code = builder(second.path()).build().unwrap();
    let names: Vec<_> = code.manifest().modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["tile"]);
}

#[test]
fn the_toolchain_is_complete() {
    let toolchain = Toolchain::discover().unwrap_or_else(|error| panic!("{error}"));
    println!("{toolchain:#?}");
}

/// Machine code beside the PTX, and only the modules that are asked for.
#[test]
fn cubins_and_families() {
    let folder = tempfile::tempdir().unwrap();
    write_crate(folder.path(), &[ABI, SHARED, HOPPER]);
    let some = || builder(folder.path()).archs(&[Arch::SM_80, Arch::SM_90A]).families(&["tile", "hopper"]);
    let code = match some().cubins(true).build() {
        Err(BuildError::Toolchain(error)) => return eprintln!("SKIPPED: {error}"),
        result => result.unwrap_or_else(|error| panic!("{error}")),
    };
    let cubins: Vec<_> = code.manifest().modules.iter().map(|module| module.cubin.clone().unwrap()).collect();
    assert_eq!(cubins, ["sm_90a/hopper.cubin", "sm_80/tile.cubin", "sm_90a/tile.cubin"]);
    for cubin in &cubins {
        assert!(fs::read(code.directory().join(cubin)).unwrap().starts_with(b"\x7fELF"), "{cubin}");
    }
    let archive = zip::ZipArchive::new(fs::File::open(code.archive()).unwrap()).unwrap();
    assert_eq!(archive.len(), 7);
    assert!(some().cubins(true).build().unwrap().is_fresh());
    let error = builder(folder.path()).families(&["nothing"]).build().unwrap_err();
    assert!(matches!(error, BuildError::NoModules { .. }), "{error}");
}

/// Only the modules that have a kernel of that name; a name that is none is answered by those that are.
#[test]
fn modules_by_kernel_with_lines() {
    let folder = tempfile::tempdir().unwrap();
    write_crate(folder.path(), &[ABI, SHARED, HOPPER]);
    let archs = [Arch::SM_80, Arch::SM_90A];
    let code = builder(folder.path()).archs(&archs).kernels(&["til"]).build().unwrap();
    let names: Vec<_> = code.manifest().modules.iter().map(|module| module.file.as_str()).collect();
    assert_eq!(names, ["sm_80/tile.ptx", "sm_90a/tile.ptx"]);
    let error = |wanted: &str| match builder(folder.path()).arch(Arch::SM_80).kernels(&[wanted]).build() {
        Err(BuildError::NoKernels { mut entries, .. }) => {
            entries.sort();
            entries
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(error("tiled"), ["abi", "hopper", "tile"]);
    assert_eq!(error("hopper").len(), 3, "it has none for this architecture");

    // Positions change no instruction.
    let instructions = |code: &DeviceCode| {
        let text = fs::read_to_string(code.directory().join("sm_80/tile.ptx")).unwrap();
        let positions = [".loc", ".file", "$L__tmp", "$L__func", ".section", "//", "{", "}"];
        let body = text.lines().map(|line| line.split("//").next().unwrap().trim().to_owned());
        let body = body.filter(|line| !line.is_empty() && !positions.iter().any(|start| line.starts_with(start)));
        body.take_while(|line| !line.starts_with(".b8")).collect::<Vec<_>>()
    };
    let plain = instructions(&code);
    let lines = builder(folder.path()).archs(&archs).kernels(&["tile"]).generate_line_info(true).build().unwrap();
    let text = fs::read_to_string(lines.directory().join("sm_80/tile.ptx")).unwrap();
    assert!(text.contains(".loc") && text.contains("src/lib.rs"), "{text}");
    assert_eq!(instructions(&lines), plain);
}
