//! Programs from PyPI wheels, each into a folder of its own below the target folder: ptxas from that of NVIDIA's compiler, mdBook.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::apt;
use crate::workspace;

/// ptxas. Discovery knows the layout of CUDA 13's wheels.
pub const PTXAS: &str = "nvidia-cuda-nvcc==13.*";

/// Debian's interpreter comes second: another one on `PATH` may be set up for the user's network.
const INTERPRETERS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// Installs a requirement, in the words of a requirements file, into `folder`, which is replaced as a whole or not at all.
pub fn install(folder: &Path, requirement: &str) -> Result<()> {
    let python = python_with_pip()?;
    let parent = folder.parent().context("the folder for Python packages has no parent")?;
    fs::create_dir_all(parent).with_context(|| format!("can't create {}", parent.display()))?;
    let fresh = tempfile::Builder::new().prefix(".python-").tempdir_in(parent)?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    // The dependencies are for compiling C++; ptxas needs none of them.
    pip.args(["--no-deps", "--only-binary", ":all:", "--target"]).arg(fresh.path());
    // Only in a file may a requirement have a hash.
    let mut file = tempfile::NamedTempFile::new().context("can't make a temporary file")?;
    writeln!(file, "{requirement}").context("can't write a temporary file")?;
    pip.arg("--requirement").arg(file.path());
    workspace::run(pip.env("PIP_ROOT_USER_ACTION", "ignore"))?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("can't remove {}", folder.display()))?;
    }
    let fresh = fresh.keep();
    fs::rename(&fresh, folder).with_context(|| format!("can't rename {} to {}", fresh.display(), folder.display()))
}

fn python_with_pip() -> Result<&'static str> {
    if let Some(python) = find() {
        return Ok(python);
    }
    println!("setup: no python3 with pip; apt-get install python3-pip");
    apt::install(&["python3-pip".to_owned()]).context("it comes by pip")?;
    match find() {
        Some(python) => Ok(python),
        None => bail!("python3-pip was installed, yet `python3 -m pip` does not run"),
    }
}

fn find() -> Option<&'static str> {
    INTERPRETERS.into_iter().find(|python| workspace::version(python, &["-m", "pip", "--version"]).is_some())
}
