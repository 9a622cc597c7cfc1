//! Where the repository and its target folder are, what cargo knows of its packages, and how to start programs.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The repository's root: the folder above this package.
pub fn root() -> PathBuf {
    // At run time cargo names the package's folder; the compiled-in one would be wrong after the repository moved.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.filter(|folder| folder.ends_with("xtask"));
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| package.clone(), Path::to_owned)
}

/// The target folder, wherever the configuration put it: cargo marks it, and this program lies in it.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let marked = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| root().join("target"), Path::to_owned)
}

/// Where `setup` puts Python packages, to be passed to `cuda_builder::discover`.
pub fn python_packages() -> PathBuf {
    target().join("tools/python")
}

/// `path` as a person in the current folder would write it.
pub fn shown(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(current).unwrap_or(path).display().to_string()
}

/// Cargo in the repository's root, without the variables that `cargo run` sets for this program.
pub fn cargo() -> Command {
    const OURS: [&str; 5] =
        ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if OURS.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command.current_dir(root());
    command
}

/// A package of the workspace, as far as the commands need it.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its Cargo.toml.
    pub manifest_path: PathBuf,
    /// The registries it may be published to; none if the list is empty, any if there is no list.
    pub publish: Option<Vec<String>>,
    /// What a registry shows of it.
    pub description: Option<String>,
    /// Its license, as SPDX writes it.
    pub license: Option<String>,
    /// Its README, relative to the package.
    pub readme: Option<PathBuf>,
    /// The least Rust.
    pub rust_version: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// The registry's categories.
    #[serde(default)]
    pub categories: Vec<String>,
    /// The table `[package.metadata]`.
    #[serde(default)]
    pub metadata: serde_json::Value,
}

/// The packages of the workspace.
pub fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let text = output(&mut command)?;
    let metadata: Metadata = serde_json::from_str(&text).context("can't read cargo's metadata")?;
    Ok(metadata.packages)
}

/// Builds an integration test in the dev profile, without running it, and gives its file.
pub fn test_binary(package: &str, test: &str) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    #[derive(Deserialize)]
    struct Message {
        target: Target,
        executable: PathBuf,
    }
    let mut command = cargo();
    command.args(["test", "--no-run", "-p", package, "--test", test, "--message-format=json-render-diagnostics"]);
    let messages = output(&mut command)?;
    let mut messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let built = messages.find(|message| message.target.name == test);
    Ok(built.with_context(|| format!("`{}` built no such test", line(&command)))?.executable)
}

/// Prints a long text. A reader that has seen enough, such as `head`, is no error.
pub fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("can't print"),
    }
}

/// Runs a program whose output a person reads; fails unless it succeeds.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("can't start {}", line(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a program and gives its standard output; its messages reach the terminal. Fails unless it succeeds.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("can't start {}", line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", line(command), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first line that a program prints about itself, if it starts and succeeds.
pub fn version(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).env("RUSTUP_AUTO_INSTALL", "0").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().filter(|_| output.status.success()).map(|line| line.trim().to_owned())
}

/// Writes a script that tests run. Not by this process: what other tests start meanwhile would inherit the open file, and a program can't
/// be run while anybody has it open for writing (ETXTBSY).
#[cfg(test)]
pub fn write_script(path: &Path, text: &str) {
    let mut write = Command::new("/bin/sh");
    write.args(["-c", r#"printf '%s' "$1" > "$0" && chmod 755 "$0""#]).arg(path).arg(text);
    assert!(write.status().unwrap().success());
}

/// A command as one would type it: the program's name without its folder.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
