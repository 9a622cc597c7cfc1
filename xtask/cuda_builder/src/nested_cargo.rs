//! The nested cargo that compiles the device crate to bitcode.

use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::Key;
use crate::discover::Toolchain;
use crate::error::{BuildError, IoContext};
use crate::hints::hint;
use crate::variables;

/// rustc's name of the target.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// Without these, barriers break: LLVM's and MIR's jump threading duplicate them before the linker step can mark them
/// convergent. They go when the oldest device compiler has rust-lang/rust#149637 (1.97) and marks `asm!` as well.
const RUSTFLAGS: &str = "-Cno-prepopulate-passes\u{1f}-Zmir-enable-passes=-JumpThreading";

/// What to compile.
pub struct Request<'a> {
    /// The device crate's folder.
    pub path: &'a Path,
    /// The nested target folder.
    pub target_dir: &'a Path,
    /// Optimised, without debug assertions.
    pub release: bool,
    /// Source lines in the PTX.
    pub line_info: bool,
    /// Messages for bounds checks and panics.
    pub fault_messages: bool,
    /// Further arguments of `cargo rustc`.
    pub arguments: &'a [String],
}

/// Runs cargo and returns its JSON messages, one a line. Diagnostics for people go to standard error.
pub fn run(toolchain: &Toolchain, request: &Request<'_>) -> Result<String, BuildError> {
    let mut command = cargo(toolchain);
    command
        .current_dir(request.path)
        .env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS)
        // -Zbuild-std on a stable compiler, for this build alone.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_INCREMENTAL", "0")
        // Whatever the workspace's profiles say: full debug information switches ptxas's optimisations off, and
        // link-time optimisation is the linker step's.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_DEV_LTO", "off")
        .args(["rustc", "--lib", "--crate-type", "rlib", "-Zbuild-std=core", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .arg("--manifest-path")
        .arg(request.path.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(request.target_dir);
    if request.release {
        command.arg("--release");
    }
    if request.fault_messages {
        // For cuda_std alone, whose accessors then pass the caller's line on: core is not built again.
        let profile = if request.release { "release" } else { "dev" };
        let flags = r#"rustflags=["--cfg","warpsmith_debug"]"#;
        command.arg("-Zprofile-rustflags").arg("--config");
        command.arg(format!("profile.{profile}.package.warpsmith-cuda-std.{flags}"));
    }
    command.args(request.arguments);
    // The rest reaches the root crate only, so that dependencies and core serve every caller of this target folder.
    command.args(["--", "--cfg", "warpsmith_entries", "--check-cfg", "cfg(warpsmith_entries)", "-Ccodegen-units=1"]);
    // Cargo identifies a package by its path within its workspace: without this, a crate of the same name in another
    // workspace that shares the target folder would pass for this one if its files are older.
    let place = Key::new("crate").with(request.path.as_os_str().as_encoded_bytes()).hex();
    command
        .arg(format!("--cfg=warpsmith_crate=\"{}\"", &place[..16]))
        .args(["--check-cfg", "cfg(warpsmith_crate, values(any()))"]);
    // `kernels!` writes entry points of an ABI that is behind a feature. Turned on here, so that a kernel crate is plain stable
    // Rust; enabling it twice would be an error.
    let root = fs::read_to_string(request.path.join("src/lib.rs")).unwrap_or_default();
    if !root.contains("abi_ptx") {
        command.args(["-Zcrate-attr=feature(abi_ptx)", "-Aunused_features"]);
    }
    if request.line_info {
        command.arg("-Cdebuginfo=line-directives-only");
    }
    // Read on the way, for hints: cargo no longer sees the terminal.
    if std::io::stderr().is_terminal() && std::env::var_os("CARGO_TERM_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("start", &toolchain.cargo)?;
    let diagnostics = child.stderr.take().expect("standard error is piped");
    let diagnostics = std::thread::spawn(move || pass_on(diagnostics));
    let mut messages = String::new();
    child
        .stdout
        .take()
        .expect("standard output is piped")
        .read_to_string(&mut messages)
        .context("read the messages of", &toolchain.cargo)?;
    let status = child.wait().context("wait for", &toolchain.cargo)?;
    let diagnostics = diagnostics.join().unwrap_or_default();
    if !status.success() {
        return Err(BuildError::Cargo { path: request.path.to_owned(), status, hint: hint(&diagnostics) });
    }
    Ok(messages)
}

/// Writes everything to standard error as it comes, and returns it.
fn pass_on(source: impl Read) -> String {
    let mut all = String::new();
    for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        eprintln!("{line}");
        all.push_str(&line);
        all.push('\n');
    }
    all
}

/// The nested target folder: the variable's, or `device` in the outer target folder.
///
/// Never the outer one itself: the outer cargo holds its lock while a build script runs.
pub fn target_dir(toolchain: &Toolchain, path: &Path) -> Result<PathBuf, BuildError> {
    if let Some(folder) = std::env::var_os(variables::DEVICE_TARGET_DIR).filter(|value| !value.is_empty()) {
        let folder = PathBuf::from(folder);
        return std::path::absolute(&folder).context("find", folder);
    }
    if let Some(out) = build_script_out_dir() {
        // Cargo marks the target folder; before its first build ends it may lack the mark: <target>/debug/build/x/out.
        let marked = out.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
        return Ok(marked.or_else(|| out.ancestors().nth(4)).unwrap_or(&out).join("device"));
    }
    let mut command = Command::new(&toolchain.cargo);
    command.env("RUSTC", &toolchain.rustc).env_remove("RUSTUP_TOOLCHAIN").current_dir(path);
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.stderr(Stdio::inherit()).output().context("start", &toolchain.cargo)?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match metadata["target_directory"].as_str() {
        Some(folder) => Ok(Path::new(folder).join("device")),
        None => Err(BuildError::Cargo { path: path.to_owned(), status: output.status, hint: None }),
    }
}

/// Where a build script writes, if this process is one. Tests and `cargo run` may have `OUT_DIR` too, but no `TARGET`.
pub fn build_script_out_dir() -> Option<PathBuf> {
    std::env::var_os("CARGO_MANIFEST_DIR")?;
    std::env::var_os("TARGET")?;
    std::env::var_os("OUT_DIR").map(PathBuf::from)
}

/// The device cargo in an environment without the outer cargo's and rustup's settings.
fn cargo(toolchain: &Toolchain) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in std::env::vars_os() {
        if !keep(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command.env("RUSTC", &toolchain.rustc);
    command
}

/// Whether a variable reaches the nested cargo. Its home, network and registries stay as the user set them.
fn keep(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_TERM_"];
    const STRIPPED: [&str; 5] = ["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "DEP_"];
    const STRIPPED_NAMES: [&str; 10] = [
        "RUSTUP_TOOLCHAIN",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
        "OUT_DIR",
        "MAKEFLAGS",
        "MFLAGS",
    ];
    KEPT.iter().any(|start| name.starts_with(start))
        || !(STRIPPED.iter().any(|start| name.starts_with(start)) || STRIPPED_NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::keep;

    #[test]
    fn outer_settings_are_stripped_and_the_network_stays() {
        for name in ["CARGO", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC_WRAPPER", "RUSTFLAGS", "OUT_DIR"] {
            assert!(!keep(name), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_NET_OFFLINE", "HTTPS_PROXY", "PATH", "RUSTUP_AUTO_INSTALL"] {
            assert!(keep(name), "{name}");
        }
    }
}
