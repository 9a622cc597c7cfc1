//! The list of what is allowed in spite of `verify`, each with its reason; what nothing needs any more is told.

use std::path::Path;

use anyhow::{Context, Result};
use cuda_builder::Arch;
use serde::Deserialize;

use super::findings::{Finding, Kind};

/// The file's content.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exceptions {
    #[serde(default)]
    exception: Vec<Exception>,
}

/// One `[[exception]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// The device crate's library name.
    #[serde(rename = "crate", default = "default_crate")]
    crate_name: String,
    /// The kernel's name; `*` stands for any text.
    entry: String,
    /// Only on this architecture. Without it: on all.
    arch: Option<Arch>,
    /// What is allowed.
    allow: Vec<Kind>,
    /// The most bytes of each kind, so that what is let pass does not grow. Without it: any number.
    bytes: Option<u64>,
    /// Why.
    reason: String,
}

fn default_crate() -> String {
    "warpsmith_gpu".into()
}

/// Findings told apart.
pub struct Verdict<'f> {
    /// With the reason of the exception.
    pub allowed: Vec<(&'f Finding, &'f str)>,
    /// Not allowed.
    pub refused: Vec<&'f Finding>,
    /// Exceptions that nothing needed.
    pub stale: Vec<String>,
}

impl Exceptions {
    /// Reads the file; none is an empty list.
    pub fn read(path: &Path) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).with_context(|| format!("{} is wrong", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Exceptions::default()),
            Err(error) => Err(error).with_context(|| format!("can't read {}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let exceptions: Exceptions = toml::from_str(text)?;
        for exception in &exceptions.exception {
            let entry = &exception.entry;
            anyhow::ensure!(!exception.reason.trim().is_empty(), "the exception for `{entry}` has no reason");
            anyhow::ensure!(!exception.allow.is_empty(), "the exception for `{entry}` allows nothing");
        }
        Ok(exceptions)
    }

    /// Judges the findings in one crate. An exception can be called stale only if `all_archs` were looked at.
    pub fn judge<'f>(&'f self, crate_name: &str, all_archs: bool, findings: &'f [Finding]) -> Verdict<'f> {
        let mut verdict = Verdict { allowed: Vec::new(), refused: Vec::new(), stale: Vec::new() };
        let ours: Vec<&Exception> = self.exception.iter().filter(|it| it.crate_name == crate_name).collect();
        for finding in findings {
            let allows = |exception: &&&Exception| {
                exception.allow.contains(&finding.kind) && exception.covers(finding) && exception.bounds(finding)
            };
            match ours.iter().find(allows) {
                Some(exception) => verdict.allowed.push((finding, &exception.reason)),
                None => verdict.refused.push(finding),
            }
        }
        for exception in ours.iter().filter(|_| all_archs) {
            for kind in &exception.allow {
                if !findings.iter().any(|finding| finding.kind == *kind && exception.covers(finding)) {
                    let arch = exception.arch.map(|arch| format!(" on {arch}")).unwrap_or_default();
                    verdict.stale.push(format!("`{}`{arch} no longer needs {kind}", exception.entry));
                }
            }
        }
        verdict
    }
}

impl Exception {
    fn covers(&self, finding: &Finding) -> bool {
        self.arch.is_none_or(|arch| arch == finding.arch) && matches(&self.entry, &finding.entry)
    }

    fn bounds(&self, finding: &Finding) -> bool {
        self.bytes.is_none_or(|most| finding.bytes <= most)
    }
}

/// Whether `name` fits `pattern`, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            // Any number of characters may stand for the star; names are short.
            (0..=name.len()).filter(|&at| name.is_char_boundary(at)).any(|at| matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[exception]]
        entry = "fused_*__f32"
        arch = "sm_80"
        allow = ["spills", "stack"]
        reason = "one spill outside the loop"
    "#;

    fn finding(entry: &str, arch: Arch, kind: Kind) -> Finding {
        Finding { module: "m".into(), arch, entry: entry.into(), kind, bytes: 8, detail: String::new() }
    }

    #[test]
    fn more_bytes_than_an_exception_says_are_refused() {
        let file = "[[exception]]\nentry = \"x\"\nallow = [\"spills\"]\nreason = \"r\"\nbytes = ";
        let findings = [finding("x", Arch::SM_80, Kind::Spills)];
        let refused = |bytes: u64| {
            let exceptions = Exceptions::parse(&format!("{file}{bytes}")).unwrap();
            exceptions.judge("warpsmith_gpu", true, &findings).refused.len()
        };
        assert_eq!([refused(7), refused(8), refused(9)], [1, 0, 0]);
    }

    #[test]
    fn an_exception_covers_its_kernels_kinds_and_architecture_only() {
        let exceptions = Exceptions::parse(FILE).unwrap();
        let findings = [
            finding("fused_relu__f32", Arch::SM_80, Kind::Spills),
            finding("fused_gelu__f32", Arch::SM_80, Kind::Stack),
            finding("fused_relu__f32", Arch::SM_90A, Kind::Spills),
            finding("fused_relu__f16", Arch::SM_80, Kind::Spills),
            finding("fused_relu__f32", Arch::SM_80, Kind::Missing),
        ];
        let verdict = exceptions.judge("warpsmith_gpu", true, &findings);
        assert_eq!(verdict.allowed.len(), 2);
        assert_eq!(verdict.refused, [&findings[2], &findings[3], &findings[4]]);
        assert!(verdict.stale.is_empty());
        assert_eq!(exceptions.judge("other", true, &findings).refused.len(), 5);
    }

    #[test]
    fn what_nothing_needs_is_stale_unless_only_some_architectures_were_seen() {
        let exceptions = Exceptions::parse(FILE).unwrap();
        let findings = [finding("fused_relu__f32", Arch::SM_80, Kind::Spills)];
        assert_eq!(
            exceptions.judge("warpsmith_gpu", true, &findings).stale,
            ["`fused_*__f32` on sm_80 no longer needs stack"]
        );
        assert!(exceptions.judge("warpsmith_gpu", false, &findings).stale.is_empty());
    }

    #[test]
    fn mistakes_in_the_file_are_told() {
        let message = |text: &str| format!("{:#}", Exceptions::parse(text).unwrap_err());
        let exception = |rest: &str| format!("[[exception]]\nentry = \"x\"\n{rest}");
        assert!(message(&exception("allow = [\"speed\"]\nreason = \"r\"")).contains("legal values: spills"));
        assert!(message(&exception("allow = [\"stack\"]\nreason = \" \"")).contains("no reason"));
        assert!(message(&exception("allow = []\nreason = \"r\"")).contains("allows nothing"));
        assert!(message(&exception("allow = [\"stack\"]")).contains("reason"));
    }

    #[test]
    fn stars_stand_for_any_text() {
        assert!(matches("*", "") && matches("a*c*", "abcd") && matches("a*", "a") && matches("x", "x"));
        assert!(!matches("a*c", "abd") && !matches("", "x") && !matches("a", "ab"));
    }
}
