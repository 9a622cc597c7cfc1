//! The binaries of a bundle: what cargo's JSON messages say it built.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace;

/// A folder of the bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tests,
    Benches,
    Examples,
}

impl Kind {
    /// All, in the order in which they are built.
    pub const ALL: [Kind; 3] = [Kind::Tests, Kind::Benches, Kind::Examples];

    /// The folder's name.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Tests => "tests",
            Kind::Benches => "benches",
            Kind::Examples => "examples",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Kind::Tests => "warpsmith-tests",
            Kind::Benches => "warpsmith-benches",
            Kind::Examples => "warpsmith-examples",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Kind::Tests => &["test", "--release", "--no-run", "--tests"],
            Kind::Benches => &["bench", "--no-run", "--benches"],
            Kind::Examples => &["build", "--release", "--bins"],
        }
    }

    fn target_kind(self) -> &'static str {
        match self {
            Kind::Tests => "test",
            Kind::Benches => "bench",
            Kind::Examples => "bin",
        }
    }
}

/// One of cargo's messages, as far as it matters here.
#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Builds them and gives names and files. What `[package.metadata.bundle] exclude` names in the package's Cargo.toml is
/// left out: tests that need a compiler.
pub fn build(kind: Kind) -> Result<Vec<(String, PathBuf)>> {
    let mut command = workspace::cargo();
    command.args(kind.arguments()).args(["-p", kind.package(), "--message-format=json-render-diagnostics"]);
    let messages = workspace::output(&mut command)?;
    let packages = workspace::packages()?;
    let package = packages.iter().find(|package| package.name == kind.package());
    let package = package.with_context(|| format!("no package {}", kind.package()))?;
    Ok(binaries(&messages, kind, &excluded(&package.metadata)))
}

fn excluded(metadata: &serde_json::Value) -> Vec<String> {
    let names = metadata["bundle"]["exclude"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn binaries(messages: &str, kind: Kind, excluded: &[String]) -> Vec<(String, PathBuf)> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let mut binaries: Vec<(String, PathBuf)> = messages
        .filter_map(|message| {
            let target = message.target?;
            let wanted = target.kind.iter().any(|name| name == kind.target_kind()) && !excluded.contains(&target.name);
            Some((target.name, message.executable?)).filter(|_| wanted)
        })
        .collect();
    binaries.sort();
    binaries
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"warpsmith_tests"},"executable":"/t/release/deps/lib-1"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"map"},"executable":"/t/release/deps/map-1"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"compile_fail"},"executable":"/t/release/deps/cf-1"}
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"cust"},"executable":null}
{"reason":"build-script-executed","package_id":"x"}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn only_targets_of_the_kind_are_taken() {
        let excluded = excluded(&serde_json::json!({ "bundle": { "exclude": ["compile_fail"] } }));
        let found = binaries(MESSAGES, Kind::Tests, &excluded);
        assert_eq!(found, [("map".to_owned(), PathBuf::from("/t/release/deps/map-1"))]);
        assert!(binaries(MESSAGES, Kind::Examples, &[]).is_empty());
    }
}
