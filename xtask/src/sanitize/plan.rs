//! Which tests run under the sanitizer, and in which process.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::workspace;

/// Tests that are left out, by a part of their names, and why.
pub const LEFT_OUT: [(&str, &str); 2] = [
    ("launch::faults", "its kernels do wrong on purpose, in processes of their own"),
    ("launch::messages", "its kernels fail on purpose, in processes of their own"),
];

/// The tests of a binary.
pub struct Plan {
    /// All of them, whether they run or not.
    all: Vec<String>,
    /// Those that run, by their files.
    pub groups: BTreeMap<String, Vec<String>>,
    /// Those that would have run but for [`LEFT_OUT`], each with the reason.
    pub left_out: Vec<(String, &'static str)>,
}

impl Plan {
    /// Asks a test binary for its tests and takes those on a GPU whose names contain `filter`.
    pub fn of(binary: &Path, filter: Option<&str>) -> Result<Self> {
        let listed = workspace::output(Command::new(binary).arg("--list"))?;
        Ok(Self::new(&listed, filter))
    }

    fn new(listed: &str, filter: Option<&str>) -> Self {
        let all: Vec<String> =
            listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect();
        let (mut groups, mut left_out) = (BTreeMap::<String, Vec<String>>::new(), Vec::new());
        let meant = |name: &&String| name.ends_with("::cuda") && filter.is_none_or(|filter| name.contains(filter));
        for name in all.iter().filter(meant) {
            let reason = LEFT_OUT.iter().find(|(part, _)| name.contains(part));
            match reason {
                Some((_, reason)) => left_out.push((name.clone(), *reason)),
                None => {
                    groups.entry(name.split("::").next().unwrap_or_default().to_owned()).or_default().push(name.clone())
                }
            }
        }
        Plan { all, groups, left_out }
    }

    /// The arguments by which the binary runs the tests of a group and no others: all others are skipped by name.
    pub fn arguments(&self, group: &[String]) -> Vec<String> {
        let others = self.all.iter().filter(|name| !group.contains(name));
        let skips = others.flat_map(|name| ["--skip".to_owned(), name.clone()]);
        ["--test-threads=1".to_owned(), "--exact".to_owned()].into_iter().chain(skips).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "map::forward::cpu: test\nmap::forward::cuda: test\nmap::backward::cuda: test\nlaunch::faults::cuda: test\n\
                          launch::clocks::cuda: test\n4 tests, 0 benchmarks\n";

    #[test]
    fn gpu_tests_are_grouped_by_file_and_faults_are_left_out() {
        let plan = Plan::new(LISTED, None);
        let groups: Vec<(&str, usize)> = plan.groups.iter().map(|(name, tests)| (name.as_str(), tests.len())).collect();
        assert_eq!(groups, [("launch", 1), ("map", 2)]);
        assert_eq!(plan.left_out, [("launch::faults::cuda".to_owned(), LEFT_OUT[0].1)]);
        let filtered = Plan::new(LISTED, Some("backward"));
        assert_eq!(filtered.groups.len(), 1);
        let skips = ["map::forward::cpu", "map::forward::cuda", "launch::faults::cuda", "launch::clocks::cuda"];
        let expected: Vec<&str> = ["--test-threads=1", "--exact"]
            .into_iter()
            .chain(skips.into_iter().flat_map(|it| ["--skip", it]))
            .collect();
        assert_eq!(filtered.arguments(&filtered.groups["map"]), expected);
    }
}
