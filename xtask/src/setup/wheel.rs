//! NVIDIA's programs from PyPI's wheels, each into a folder of its own below the target folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::apt;
use crate::workspace;

/// The wheel of ptxas. Discovery knows the layout of CUDA 13's wheels.
pub const PTXAS: &str = "nvidia-cuda-nvcc==13.*";

/// Debian's interpreter comes second: another one on `PATH` may be set up for the user's network.
const INTERPRETERS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// Installs a wheel into `folder`, which is replaced as a whole or not at all.
pub fn install(requirement: &str, folder: &Path) -> Result<()> {
    let python = python_with_pip()?;
    let parent = folder.parent().context("the folder for Python packages has no parent")?;
    fs::create_dir_all(parent).with_context(|| format!("can't create {}", parent.display()))?;
    let fresh = tempfile::Builder::new().prefix(".python-").tempdir_in(parent)?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    // The dependencies are for compiling C++; these programs need none of them.
    pip.args(["--no-deps", "--only-binary", ":all:", "--target"]).arg(fresh.path()).arg(requirement);
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
    apt::install(&["python3-pip".to_owned()]).context("NVIDIA's programs come by pip")?;
    match find() {
        Some(python) => Ok(python),
        None => bail!("python3-pip was installed, yet `python3 -m pip` does not run"),
    }
}

fn find() -> Option<&'static str> {
    INTERPRETERS.into_iter().find(|python| workspace::version(python, &["-m", "pip", "--version"]).is_some())
}
