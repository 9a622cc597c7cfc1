//! `api`: the public interface of the crates as golden files, which change only on purpose.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{table, workspace};

/// Packages, and the names of their libraries.
const CRATES: [(&str, &str); 4] = [
    ("warpsmith", "warpsmith"),
    ("warpsmith-gpu", "warpsmith_gpu"),
    ("warpsmith-cuda-std", "cuda_std"),
    ("warpsmith-cuda-builder", "cuda_builder"),
];

/// Compares the public items of the published crates with the lists in xtask/api.
///
/// An item that came, went or has another signature is a failure until the lists are renewed. They are made from rustdoc's
/// JSON, whose format goes with the compiler: a new Rust needs another version of the crate `public-api`.
#[derive(clap::Args)]
pub struct Api {
    /// Write the lists anew
    #[arg(long)]
    pub renew: bool,
}

impl Api {
    pub fn run(&self) -> Result<()> {
        let rustdoc = rustdoc()?;
        let mut changed = 0;
        for (package, library) in CRATES {
            let list = list(&rustdoc, package, library)?;
            let file = workspace::root().join("xtask/api").join(format!("{package}.txt"));
            if self.renew {
                fs::write(&file, list).with_context(|| format!("can't write {}", file.display()))?;
                continue;
            }
            let golden = fs::read_to_string(&file).with_context(|| format!("can't read {}", file.display()))?;
            let difference = difference(&golden, &list);
            if !difference.is_empty() {
                println!("{package}:\n  {}", difference.join("\n  "));
                changed += difference.len();
            }
        }
        match changed {
            0 => {
                let how = if self.renew { "listed anew" } else { "as listed" };
                println!("api: {} {how}", table::count(CRATES.len(), "crate"));
                Ok(())
            }
            _ => bail!(
                "{} of the public interface changed; if that is meant: cargo xtask api --renew",
                table::count(changed, "line")
            ),
        }
    }
}

/// The public items of a crate, one a line.
fn list(rustdoc: &Path, package: &str, library: &str) -> Result<String> {
    let mut command = workspace::cargo();
    command.args([
        "rustdoc",
        "--quiet",
        "--package",
        package,
        "--lib",
        "--",
        "-Zunstable-options",
        "--output-format",
        "json",
    ]);
    workspace::run(command.env("RUSTDOC", rustdoc).env_remove("RUSTDOCFLAGS"))?;
    let json = workspace::target().join("doc").join(format!("{library}.json"));
    let api = public_api::Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("can't read {}", json.display()))?;
    // What a trait's implementation has follows from the trait.
    let implementations: HashSet<_> =
        api.items().filter(|item| implements_trait(&item.to_string())).map(|item| item.id()).collect();
    let own = api.items().filter(|item| item.parent_id().is_none_or(|parent| !implementations.contains(&parent)));
    let lines: BTreeSet<_> = own.map(|item| format!("{item}\n")).collect();
    Ok(lines.into_iter().collect())
}

/// Whether a line is `impl<..> Trait for Type`.
fn implements_trait(line: &str) -> bool {
    line.starts_with("impl") && line.contains(" for ")
}

/// rustdoc with its unstable options. Set for cargo as a whole, the variable would make dependencies compile again.
fn rustdoc() -> Result<PathBuf> {
    let script = workspace::target().join("tools/rustdoc-unstable");
    let write = || {
        fs::create_dir_all(script.parent().unwrap_or(Path::new("")))?;
        fs::write(&script, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n")?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("can't write {}", script.display()))?;
    Ok(script)
}

/// Lines that are in one list alone, with `-` those of the first.
fn difference(old: &str, new: &str) -> Vec<String> {
    let (before, after): (BTreeSet<_>, BTreeSet<_>) = (old.lines().collect(), new.lines().collect());
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    gone.chain(after.difference(&before).map(|line| format!("+ {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::{difference, implements_trait};

    #[test]
    fn only_implementations_of_traits_are_left_out() {
        assert!(implements_trait("impl<T> core::clone::Clone for warpsmith::View<'_, T>"));
        assert!(!implements_trait("impl<T> warpsmith::View<'_, T>"));
        assert!(!implements_trait("pub fn warpsmith::f(impl for<'a> Fn(&'a u8))"));
    }

    #[test]
    fn what_came_and_what_went() {
        assert_eq!(difference("a\nb\n", "b\na\n"), [] as [String; 0]);
        assert_eq!(difference("pub fn a()\n", "pub fn a(x: u8)\n"), ["- pub fn a()", "+ pub fn a(x: u8)"]);
    }
}
