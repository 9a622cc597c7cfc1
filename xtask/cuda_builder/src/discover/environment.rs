//! What discovery may look at: environment variables and the file system below a root, so that tests can fake both.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variables and the file system that discovery sees.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Environment variables.
    pub variables: BTreeMap<OsString, OsString>,
    /// What stands for `/` when system folders are looked at.
    pub root: PathBuf,
}

impl Environment {
    /// This process's.
    pub fn current() -> Self {
        Environment { variables: std::env::vars_os().collect(), root: PathBuf::from("/") }
    }

    /// A variable's value, unless empty.
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(&OsString::from(name)).filter(|value| !value.is_empty())
    }

    /// The folder or file `path` (absolute, without the leading `/`) of the system.
    pub fn system(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The first file of this name on `PATH`.
    pub fn on_path(&self, name: &str) -> Option<PathBuf> {
        let path = self.variable("PATH")?;
        std::env::split_paths(path).map(|folder| executable(&folder, name)).find(|file| file.is_file())
    }

    /// Whether rustup is here and allowed to download what a user asks it for.
    pub fn rustup_may_download(&self) -> bool {
        let forbidden = self.variable("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0");
        !forbidden && self.on_path("rustup").is_some()
    }

    /// A program's standard output, if it starts and succeeds. Variables are this environment's, and rustup stays quiet.
    pub(super) fn output(&self, program: &Path, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&self.variables).env("RUSTUP_AUTO_INSTALL", "0");
        let output = command.output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// `folder/name`, with the system's suffix for programs.
pub(super) fn executable(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
