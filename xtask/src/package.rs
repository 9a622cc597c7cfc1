//! `package`: the crates as a registry would get them.

use std::path::Path;

use anyhow::{Result, bail};

use crate::workspace::{self, Package};

/// Packages every crate that is to be published, and checks what a registry wants to know of it. Uploads nothing.
///
/// It is `cargo publish --dry-run --workspace`. With --verify each package is unpacked and compiled too, without device code:
/// its siblings are on no registry yet, and the nested cargo would look for them there.
#[derive(clap::Args)]
pub struct PackageCommand {
    /// Compile what was packaged: several minutes
    #[arg(long)]
    verify: bool,
}

impl PackageCommand {
    /// What `test` runs.
    pub fn metadata() -> Self {
        Self { verify: false }
    }

    pub fn run(&self) -> Result<()> {
        let missing: Vec<String> = workspace::packages()?.iter().flat_map(missing).collect();
        if !missing.is_empty() {
            bail!("{}", missing.join("; "));
        }
        let mut command = workspace::cargo();
        command.args(["publish", "--dry-run", "--workspace", "--allow-dirty"]);
        if !self.verify {
            command.arg("--no-verify");
        }
        workspace::run(command.env(cuda_builder::variables::SKIP_DEVICE_BUILD, "1"))
    }
}

/// What a package to be published lacks.
fn missing(package: &Package) -> Vec<String> {
    if package.publish.as_ref().is_some_and(Vec::is_empty) {
        return Vec::new();
    }
    let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
    let file = |name: &str| folder.join(name).is_file();
    let fields = [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("readme", package.readme.as_ref().is_some_and(|name| folder.join(name).is_file())),
        ("rust-version", package.rust_version.is_some()),
        ("keywords, one to five", (1..=5).contains(&package.keywords.len())),
        ("categories, one to five", (1..=5).contains(&package.categories.len())),
        ("file LICENSE-MIT", file("LICENSE-MIT")),
        ("file LICENSE-APACHE", file("LICENSE-APACHE")),
    ];
    let absent = fields.into_iter().filter(|(_, there)| !there);
    absent.map(|(what, _)| format!("{} has no {what}", package.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_crate_says_what_it_is() {
        let packages = workspace::packages().unwrap();
        assert_eq!(packages.iter().flat_map(missing).collect::<Vec<_>>(), [] as [String; 0]);
        assert!(packages.iter().filter(|package| package.publish.is_none()).count() >= 5);
    }

    /// What everything is built and tested with is the least version that the packages ask for.
    #[test]
    fn the_least_rust_is_the_tested_one() {
        let toolchain: toml::Table =
            std::fs::read_to_string(workspace::root().join("rust-toolchain.toml")).unwrap().parse().unwrap();
        let channel = toolchain["toolchain"]["channel"].as_str().unwrap();
        for package in workspace::packages().unwrap() {
            let least = package.rust_version.unwrap_or_else(|| panic!("{} has no rust-version", package.name));
            assert!(
                channel == least || channel.starts_with(&format!("{least}.")),
                "{}: {least}, {channel}",
                package.name
            );
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let json = r#"{"name": "x", "manifest_path": "/nowhere/Cargo.toml", "description": "y", "license": null, "keywords": [], "categories": ["a"]}"#;
        let missing = missing(&serde_json::from_str(json).unwrap());
        assert!(
            missing.contains(&"x has no license".to_owned()) && !missing.contains(&"x has no description".to_owned())
        );
        assert!(missing.contains(&"x has no keywords, one to five".to_owned()), "{missing:?}");
    }
}
