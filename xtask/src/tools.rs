//! NVIDIA's tools that single commands need: where each is looked for, and what installs it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::discover;

use crate::workspace;

/// A tool that only some commands need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The disassembler.
    Nvdisasm,
    /// Checks a program's memory accesses, races and barriers while it runs.
    ComputeSanitizer,
    /// Nsight Compute's command line.
    Ncu,
}

/// A tool that is nowhere, with what installs it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no {tool} here; {}; or name one in {}{}", tool.remedy(), tool.variable(), looked_list(looked))]
pub struct MissingTool {
    tool: Tool,
    looked: Vec<PathBuf>,
}

fn looked_list(looked: &[PathBuf]) -> String {
    looked.iter().map(|path| format!("\n  looked at {}", path.display())).collect()
}

impl Tool {
    /// All, in the order in which `doctor` shows them.
    pub const ALL: [Tool; 3] = [Tool::Nvdisasm, Tool::ComputeSanitizer, Tool::Ncu];

    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Nvdisasm => "nvdisasm",
            Tool::ComputeSanitizer => "compute-sanitizer",
            Tool::Ncu => "ncu",
        }
    }

    /// The environment variable that names the program's file; nothing else is searched where it is set.
    pub fn variable(self) -> &'static str {
        match self {
            Tool::Nvdisasm => "WARPSMITH_NVDISASM",
            Tool::ComputeSanitizer => "WARPSMITH_COMPUTE_SANITIZER",
            Tool::Ncu => "WARPSMITH_NCU",
        }
    }

    /// The command that needs it.
    pub fn needed_by(self) -> &'static str {
        match self {
            Tool::Nvdisasm => "inspect",
            Tool::ComputeSanitizer => "sanitize",
            Tool::Ncu => "profile",
        }
    }

    /// What `pip` installs it from, where PyPI has it.
    pub fn wheel(self) -> Option<&'static str> {
        match self {
            Tool::Nvdisasm => Some("nvidia-cuda-nvdisasm==13.*"),
            Tool::ComputeSanitizer => Some("nvidia-cuda-sanitizer-api==13.*"),
            Tool::Ncu => None,
        }
    }

    /// How to get it, as half a sentence.
    pub fn remedy(self) -> &'static str {
        match self {
            Tool::Nvdisasm => "`cargo xtask setup --inspect` installs it",
            Tool::ComputeSanitizer => {
                "`cargo xtask setup --sanitize` or `pip install nvidia-cuda-sanitizer-api` installs it"
            }
            Tool::Ncu => "Nsight Compute has it (developer.nvidia.com/nsight-compute)",
        }
    }

    /// The folder into which `setup` puts its wheel.
    pub fn folder(self) -> PathBuf {
        workspace::target().join("tools").join(self.name())
    }

    /// What the program says of itself.
    pub fn version(self, program: &Path) -> Option<String> {
        let output = Command::new(program).arg("--version").output().ok()?;
        version_in(&String::from_utf8_lossy(&output.stdout))
    }

    /// Finds it: [`Tool::variable`] alone if set; else where `setup` puts it, on `PATH`, in a CUDA toolkit, among Python's packages,
    /// and in `/opt/nvidia`.
    pub fn find(self) -> Result<PathBuf, MissingTool> {
        let missing = |looked| MissingTool { tool: self, looked };
        if let Some(path) = std::env::var_os(self.variable()).filter(|value| !value.is_empty()).map(PathBuf::from) {
            return if path.is_file() { Ok(path) } else { Err(missing(vec![path])) };
        }
        discover::nvidia_program(self.name(), &[self.folder()]).or_else(|mut looked| {
            // Nsight Compute's own installer: /opt/nvidia/nsight-compute/2025.3.0/ncu.
            let own = versions(Path::new("/opt/nvidia/nsight-compute"), self.name());
            own.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
                looked.extend(own);
                missing(looked)
            })
        })
    }
}

/// The number in `release 13.5, V13.5.37` (nvdisasm) or `Version 2026.4.0.0 (build ...)` (the others).
fn version_in(text: &str) -> Option<String> {
    let rest = text.split_once("release ").or_else(|| text.split_once("Version "))?.1;
    rest.split([',', ' ', '\n']).next().map(str::to_owned)
}

/// The program in each folder of `parent`, the highest version first.
fn versions(parent: &Path, name: &str) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut programs: Vec<PathBuf> = folders.map(|folder| folder.path().join(name)).collect();
    programs.sort_by(|a, b| b.cmp(a));
    programs
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_says_what_installs_it_and_where_it_was_looked_for() {
        for tool in Tool::ALL {
            let error = MissingTool { tool, looked: vec!["/usr/bin/x".into()] }.to_string();
            let first = error.lines().next().unwrap_or_default();
            assert!(first.contains(tool.name()) && first.contains(tool.variable()), "{error}");
            assert!(error.ends_with("looked at /usr/bin/x"), "{error}");
        }
    }

    #[test]
    fn versions_are_read() {
        // As the programs of CUDA 13.5 print them.
        let nvdisasm = "nvdisasm: NVIDIA (R) CUDA disassembler\nCuda compilation tools, release 13.5, V13.5.37\n";
        assert_eq!(version_in(nvdisasm).as_deref(), Some("13.5"));
        let sanitizer = "NVIDIA (R) Compute Sanitizer\nVersion 2026.4.0.0 (build 39022338) (public-release)\n";
        assert_eq!(version_in(sanitizer).as_deref(), Some("2026.4.0.0"));
        assert_eq!(version_in("hello"), None);
    }

    #[test]
    fn the_newest_version_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["2024.1.0", "2025.3.0"] {
            std::fs::create_dir(folder.path().join(version)).unwrap();
        }
        assert_eq!(versions(folder.path(), "ncu")[0], folder.path().join("2025.3.0/ncu"));
        assert!(versions(Path::new("/nowhere"), "ncu").is_empty());
    }
}
