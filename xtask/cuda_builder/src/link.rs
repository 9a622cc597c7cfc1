//! From rlibs to one module of LLVM IR as text.
//!
//! The crate itself is taken whole, of its dependencies and core only what it needs. `llvm-link --only-needed` looks at
//! each input once, in order, while dependencies and core need each other (core calls the panic handler of cuda_std): all
//! of them are first combined into one file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::read::archive::ArchiveFile;

use crate::artifacts::Artifacts;
use crate::cache::{Cache, Key};
use crate::discover::Toolchain;
use crate::error::{BuildError, IoContext};

/// Links everything; the result is LLVM IR in text form.
pub fn link(toolchain: &Toolchain, artifacts: &Artifacts, cache: &Cache) -> Result<String, BuildError> {
    let root = combine(toolchain, std::slice::from_ref(&artifacts.root), None, cache)?;
    // Core in a step of its own: it is large and never changes.
    let core = combine(toolchain, &artifacts.core, None, cache)?;
    let library = match artifacts.dependencies.as_slice() {
        [] => core,
        dependencies => combine(toolchain, dependencies, Some(&core), cache)?,
    };
    let mut command = Command::new(&toolchain.llvm_link);
    command.args(["--only-needed", "--internalize", "-S", "-o", "-"]).args([root, library]);
    run(command, String::new(), None).map(|out| String::from_utf8_lossy(&out).into_owned())
}

/// One bitcode file of all that some rlibs hold and `more`, kept for as long as they don't change.
fn combine(
    toolchain: &Toolchain,
    rlibs: &[PathBuf],
    more: Option<&Path>,
    cache: &Cache,
) -> Result<PathBuf, BuildError> {
    let mut key = Key::new("bitcode").with(&toolchain.llvm_version);
    if let Some(more) = more {
        key = key.with_file(more)?;
    }
    for rlib in rlibs {
        key = key.with_file(rlib)?;
    }
    let combined = cache.path(&key, "bc");
    if combined.is_file() {
        return Ok(combined);
    }
    let folder = tempfile::tempdir_in(cache.folder()).context("write in", cache.folder())?;
    let mut objects = Vec::new();
    for rlib in rlibs {
        extract(rlib, folder.path(), &mut objects)?;
    }
    objects.extend(more.map(Path::to_owned));
    let part = folder.path().join("combined.bc");
    let mut command = Command::new(&toolchain.llvm_link);
    command.arg("-o").arg(&part).args(&objects);
    run(command, String::new(), None)?;
    fs::rename(&part, &combined).context("write", &combined)?;
    Ok(combined)
}

/// Writes the bitcode members of an rlib, which is an archive, to files.
fn extract(rlib: &Path, folder: &Path, objects: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let data = fs::read(rlib).context("read", rlib)?;
    let error = |error: object::Error| BuildError::Archive { path: rlib.to_owned(), message: error.to_string() };
    let archive = ArchiveFile::parse(data.as_slice()).map_err(error)?;
    for member in archive.members() {
        let member = member.map_err(error)?;
        if !member.name().ends_with(b".o") {
            continue;
        }
        let content = member.data(data.as_slice()).map_err(error)?;
        let path = folder.join(format!("{}.bc", objects.len()));
        fs::write(&path, content).context("write", &path)?;
        objects.push(path);
    }
    Ok(())
}

/// Runs one of LLVM's tools, with `input` on its standard input, and returns its standard output.
pub fn run(mut command: Command, context: String, input: Option<&[u8]>) -> Result<Vec<u8>, BuildError> {
    let tool = PathBuf::from(command.get_program());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("start", &tool)?;
    let output = std::thread::scope(|scope| {
        if let Some(input) = input {
            let mut pipe = child.stdin.take().expect("standard input is piped");
            // A tool that fails early closes the pipe; its own message matters more.
            scope.spawn(move || drop(std::io::Write::write_all(&mut pipe, input)));
        }
        child.wait_with_output()
    });
    let output = output.context("run", &tool)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    Err(BuildError::Llvm { tool, context, status: output.status, message })
}
