//! Reading what compute-sanitizer and the tests under it print, in one stream: which test each report belongs to.
//!
//! ```text
//! test map::forward::cuda ... ========= Invalid __global__ write of size 4 bytes
//! =========     at map_forward__relu__f32+0x90
//! ok
//! ========= ERROR SUMMARY: 1 error
//! ```
//! A report begins with a line that is not indented behind its `=========`. Tests run one at a time, so that it belongs to the test
//! that was named last.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// What one process printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The tests that began, with their reports' first lines.
    pub tests: BTreeMap<String, Test>,
    /// Reports before the first test or after the last.
    pub outside: Vec<String>,
    /// What the tool's own summary counts, if it got so far.
    pub summary: Option<u64>,
}

/// One test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// The first lines of the reports about it.
    pub reports: Vec<String>,
    /// `ok`, `FAILED`, `ignored`; nothing if it never ended.
    pub outcome: Option<String>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static TEST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^test (\S+)\s+\.\.\. ?(.*)$"));
static REPORT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^========= (\S.*)$"));
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^========= (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warning)",
    )
});

/// How lines begin that report nothing wrong in a kernel.
const NO_REPORT: [&str; 8] = [
    "COMPUTE-SANITIZER",
    "ERROR SUMMARY",
    "RACECHECK SUMMARY",
    "LEAK SUMMARY",
    "INFO",
    "Warning:",
    "Error: process didn't terminate successfully",
    "Target application returned an error",
];

impl Output {
    /// Reads standard output.
    pub fn parse(text: &str) -> Self {
        let mut output = Output::default();
        let mut current: Option<String> = None;
        for line in text.lines() {
            let line = match TEST.captures(line) {
                Some(found) => {
                    output.tests.entry(found[1].to_owned()).or_default();
                    current = Some(found[1].to_owned());
                    found.get(2).map_or("", |rest| rest.as_str())
                }
                None => line,
            };
            if let Some(found) = SUMMARY.captures(line) {
                let number =
                    |at: usize| found.get(at).and_then(|digits| digits.as_str().parse::<u64>().ok()).unwrap_or(0);
                output.summary = Some(output.summary.unwrap_or(0) + number(1) + number(2) + number(3));
            } else if let Some(found) = REPORT.captures(line) {
                let report = &found[1];
                if !NO_REPORT.iter().any(|start| report.starts_with(start)) {
                    let test = current.as_ref().and_then(|name| output.tests.get_mut(name));
                    test.map_or(&mut output.outside, |test| &mut test.reports).push(report.to_owned());
                }
            } else if let Some(name) = &current {
                let outcome = line.split(',').next().unwrap_or_default().trim();
                if ["ok", "FAILED", "ignored"].contains(&outcome) {
                    output.tests.entry(name.clone()).or_default().outcome = Some(outcome.to_owned());
                    current = None;
                }
            }
        }
        output
    }

    /// The number of errors: the reports, or the tool's own count if that is greater (it stops printing at its limit).
    pub fn errors(&self) -> u64 {
        let reports = self.outside.len() + self.tests.values().map(|test| test.reports.len()).sum::<usize>();
        (reports as u64).max(self.summary.unwrap_or(0))
    }

    /// The tests of those that should have run which did not end well by themselves: failed, never ended or never began.
    pub fn failed<'t>(&'t self, planned: &'t [String]) -> impl Iterator<Item = &'t str> {
        let well = |name: &String| self.tests.get(name).and_then(|test| test.outcome.as_deref()) == Some("ok");
        planned.iter().filter(move |name| !well(name)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Not from a run: reports from the examples in NVIDIA's Compute Sanitizer manual of CUDA 13.5, between lines as libtest-mimic
    // prints them.
    const MEMCHECK: &str = "\
========= COMPUTE-SANITIZER

running 3 tests
test map::forward::cuda  ... ok
test map::backward::cuda ... ========= Invalid __global__ write of size 4 bytes
=========     at unaligned_kernel()+0x50
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x710fdca00001 is misaligned
=========     and is inside the nearest allocation at 0x710fdca00000 of size 4 bytes
=========         Host Frame: run_unaligned() [0xacd4] in memcheck_demo
=========
========= Invalid __global__ write of size 4 bytes
=========     at out_of_bounds_kernel()+0x90
=========
FAILED
test map::in_place::cuda ... 
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.51s
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
";
    const RACECHECK: &str = "\
========= COMPUTE-SANITIZER
test reduce::sums::cuda ... ok, 3 blocks
test reduce::tiles::cuda ...
========= WARNING: Race reported between Write access at RAW()+0xf0 in raceGroupBasic.cu:40
=========     and Read access at RAW()+0x280 in raceGroupBasic:46 [4 hazards]
=========
ok
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
";

    #[test]
    fn reports_belong_to_the_test_named_last() {
        let output = Output::parse(MEMCHECK);
        assert_eq!(output.tests["map::forward::cuda"], Test { reports: vec![], outcome: Some("ok".into()) });
        assert_eq!(output.tests["map::backward::cuda"].reports, ["Invalid __global__ write of size 4 bytes"; 2]);
        assert_eq!(output.errors(), 2);
        let planned = ["forward", "backward", "in_place", "other"].map(|name| format!("map::{name}::cuda"));
        assert_eq!(output.failed(&planned).collect::<Vec<_>>(), planned[1..]);
    }

    #[test]
    fn races_count_whatever_their_severity() {
        let output = Output::parse(RACECHECK);
        assert_eq!((output.tests["reduce::tiles::cuda"].reports.len(), output.errors()), (1, 1));
        let planned = ["reduce::sums::cuda".to_owned(), "reduce::tiles::cuda".to_owned()];
        assert!(output.outside.is_empty() && output.failed(&planned).next().is_none(), "{output:?}");
    }

    #[test]
    fn a_clean_run_has_no_errors_and_an_unfinished_one_no_summary() {
        let clean =
            Output::parse("========= COMPUTE-SANITIZER\ntest a::b::cuda ... ok\n========= ERROR SUMMARY: 0 errors\n");
        assert_eq!((clean.errors(), clean.summary), (0, Some(0)));
        assert_eq!(Output::parse("========= COMPUTE-SANITIZER\n").summary, None);
        // More errors than were printed.
        assert_eq!(Output::parse("========= ERROR SUMMARY: 250 errors\n").errors(), 250);
    }
}
