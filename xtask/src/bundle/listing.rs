//! The bundle's MANIFEST: what it was made from, and its files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use cuda_builder::manifest::Manifest;

use crate::workspace;

/// Every file below `folder` with its size, by name, relative to it.
pub fn files(folder: &Path) -> Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    collect(folder, folder, &mut files).with_context(|| format!("can't list {}", folder.display()))?;
    files.sort();
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, u64)>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.push((path.strip_prefix(root)?.display().to_string(), entry.metadata()?.len()));
        }
    }
    Ok(())
}

/// The text.
pub fn text(manifest: &Manifest, files: &[(String, u64)]) -> Result<String> {
    let mut archs: Vec<&str> = manifest.modules.iter().map(|module| module.arch.name()).collect();
    archs.sort_unstable();
    archs.dedup();
    let mut text = String::new();
    writeln!(text, "warpsmith {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(text, "commit {}", commit())?;
    writeln!(text, "host compiler {}", workspace::version("rustc", &["-V"]).unwrap_or_default())?;
    writeln!(text, "device compiler {}, LLVM {}", manifest.compiler, manifest.llvm)?;
    writeln!(text, "PTX {} files for {}", manifest.modules.len(), archs.join(" "))?;
    writeln!(text, "built for {} {}", std::env::consts::ARCH, std::env::consts::OS)?;
    writeln!(text, "\n     bytes  file")?;
    for (name, bytes) in files {
        writeln!(text, "{bytes:>10}  {name}")?;
    }
    Ok(text)
}

/// The commit, and whether files differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(workspace::root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "HEAD"]), git(&["status", "--porcelain"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit}, with changes"),
        (None, _) => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_with_sizes_relative_to_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tests")).unwrap();
        fs::write(folder.path().join("tests/map"), "12345").unwrap();
        fs::write(folder.path().join("run"), "1").unwrap();
        assert_eq!(files(folder.path()).unwrap(), [("run".to_owned(), 1), ("tests/map".to_owned(), 5)]);
    }
}
