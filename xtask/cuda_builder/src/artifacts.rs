//! What cargo's JSON messages say was built: the rlibs to link, and the files that the build depends on.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::BuildError;
use crate::nested_cargo::TARGET;

/// The rlibs and sources of one device build.
#[derive(Debug, Default)]
pub struct Artifacts {
    /// The device crate's library name.
    pub crate_name: String,
    /// Its rlib.
    pub root: PathBuf,
    /// The rlibs of its dependencies, but for core and compiler_builtins.
    pub dependencies: Vec<PathBuf>,
    /// The rlibs of core and compiler_builtins.
    pub core: Vec<PathBuf>,
    /// Manifests and dep-info files of everything that is not from a registry.
    manifests: Vec<PathBuf>,
    dep_info: Vec<PathBuf>,
}

impl Artifacts {
    /// Reads the messages of the build of the crate in `path`.
    pub fn parse(messages: &str, path: &Path, core_source: &Path) -> Result<Self, BuildError> {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root_manifest = canonical(&path.join("Cargo.toml"));
        let core_source = canonical(core_source);
        let mut artifacts = Artifacts::default();
        let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        for message in messages.filter(|message| message["reason"] == "compiler-artifact") {
            let manifest = canonical(Path::new(message["manifest_path"].as_str().unwrap_or_default()));
            let files: Vec<PathBuf> = message["filenames"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(PathBuf::from)
                .collect();
            let on_device = |file: &&PathBuf| file.components().any(|part| part.as_os_str() == TARGET);
            let rlib = files.iter().filter(on_device).find(|file| file.extension().is_some_and(|it| it == "rlib"));
            let is_core = manifest.starts_with(&core_source);
            if manifest == root_manifest
                && let Some(rlib) = rlib
            {
                artifacts.crate_name = message["target"]["name"].as_str().unwrap_or_default().replace('-', "_");
                artifacts.root = rlib.clone();
            } else if let Some(rlib) = rlib {
                if is_core { &mut artifacts.core } else { &mut artifacts.dependencies }.push(rlib.clone());
            }
            let local = message["package_id"].as_str().is_some_and(|id| id.starts_with("path+"));
            if local && !is_core {
                artifacts.manifests.push(manifest);
                artifacts.dep_info.extend(files.iter().find_map(|file| dep_info_of(file)));
            }
        }
        // Rlibs finish in any order; the link and the cache want a fixed one.
        artifacts.dependencies.sort();
        artifacts.core.sort();
        let missing = |what| BuildError::Artifact { path: path.to_owned(), what };
        if artifacts.root.as_os_str().is_empty() {
            return Err(missing("rlib of the crate"));
        }
        if artifacts.core.is_empty() {
            return Err(missing("rlib of core"));
        }
        Ok(artifacts)
    }

    /// Every file whose change must run the build again: sources of all local crates, manifests, the lock file.
    pub fn sources(&self) -> Vec<PathBuf> {
        let mut files = self.manifests.clone();
        for manifest in &self.manifests {
            files.extend(manifest.ancestors().skip(1).map(|folder| folder.join("Cargo.lock")).find(|it| it.is_file()));
        }
        for file in &self.dep_info {
            files.extend(std::fs::read_to_string(file).iter().flat_map(|text| parse_dep_info(text)));
        }
        files.sort();
        files.dedup();
        files
    }
}

/// The dep-info file beside an artifact: `libx.d` for what cargo copied up, `x-hash.d` in `deps`.
fn dep_info_of(artifact: &Path) -> Option<PathBuf> {
    let stem = artifact.file_stem()?.to_str()?;
    let names = [Some(stem), stem.strip_prefix("lib")];
    names.into_iter().flatten().map(|name| artifact.with_file_name(format!("{name}.d"))).find(|file| file.is_file())
}

/// The prerequisites in a makefile-like dep-info file, in which a space is written `\ `.
fn parse_dep_info(text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, list)) = line.split_once(": ") else { continue };
        let mut name = String::new();
        let mut characters = list.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' if characters.peek() == Some(&' ') => name.extend(characters.next()),
                ' ' if !name.is_empty() => files.push(PathBuf::from(std::mem::take(&mut name))),
                ' ' => {}
                _ => name.push(character),
            }
        }
        if !name.is_empty() {
            files.push(PathBuf::from(name));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dep_info_keeps_spaces_in_names() {
        let text = "/t/libx.rlib: /src/lib.rs /src/a\\ b.rs\n\n/src/lib.rs:\n# env-dep:X=1: y\n";
        assert_eq!(parse_dep_info(text), [PathBuf::from("/src/lib.rs"), PathBuf::from("/src/a b.rs")]);
    }
}
