//! `new`: a stand-alone project. It is written beside its place and then renamed, so that a failure leaves nothing.

mod name;
mod template;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;
use template::{Kind, Source};

/// Writes a stand-alone project: its own kernels, a program, a test against the CPU, a benchmark and a README.
///
/// It builds, tests and runs at once, on a GPU if there is one. It depends on this copy of Warpsmith by its path, or on a
/// repository by --git.
#[derive(clap::Args)]
pub struct New {
    /// The project's name, and the new folder's: lower-case letters, digits, `-` and `_`, a letter first
    name: String,
    /// An activation function of your own, forward and backward: the default
    #[arg(long, group = "kind")]
    activation: bool,
    /// A kernel of your own, launched with checked arguments
    #[arg(long, group = "kind")]
    kernel: bool,
    /// A matrix product that ends in an operation of your own
    #[arg(long, group = "kind")]
    epilogue: bool,
    /// Folder in which NAME is created; it is created too [default: the current one]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Depend on Warpsmith in this git repository instead of this folder
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

impl New {
    pub fn run(&self) -> Result<()> {
        name::check(&self.name)?;
        let kind = match (self.kernel, self.epilogue) {
            (true, _) => Kind::Kernel,
            (_, true) => Kind::Epilogue,
            _ => Kind::Activation,
        };
        let source = match &self.git {
            Some(url) => Source::Git(url.clone()),
            None => Source::Folder(workspace::root()),
        };
        let files = template::files(kind, &self.name, &source)?;
        let parent = self.path.clone().unwrap_or_else(|| ".".into());
        let project = write(&parent, &self.name, &files)?;
        let shown = workspace::shown(&project);
        println!("{shown}: a project with {}. Next:", kind.what());
        println!("    cd {shown} && cargo run     # the first build takes a few minutes");
        println!("    edit kernels/src/lib.rs, then cargo test, cargo bench");
        Ok(())
    }
}

/// Writes all files into `parent`/`name`, or nothing.
fn write(parent: &Path, name: &str, files: &[(&str, String)]) -> Result<PathBuf> {
    let project = parent.join(name);
    if project.symlink_metadata().is_ok() {
        bail!("{} exists: choose another name, or another folder with --path; nothing was written", project.display());
    }
    fs::create_dir_all(parent).with_context(|| format!("can't create the folder {}", parent.display()))?;
    let beside = tempfile::Builder::new().prefix(".new-").tempdir_in(parent);
    let beside = beside.with_context(|| format!("can't write into the folder {}", parent.display()))?;
    let written = beside.path().join(name);
    for (file, text) in files {
        let path = written.join(file);
        let folder = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("can't create the folder {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    fs::rename(&written, &project).with_context(|| format!("can't create {}", project.display()))?;
    Ok(project)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let parent = folder.path().join("parent");
        // A file can't be a folder as well: the second file fails after the first was written.
        let files = [("a", String::new()), ("a/b", String::new())];
        assert!(write(&parent, "project", &files).is_err());
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        write(&parent, "project", &files[..1]).unwrap();
        let error = write(&parent, "project", &files[..1]).unwrap_err().to_string();
        assert!(error.contains("exists") && error.contains("--path"), "{error}");
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 1);
    }
}
