//! `sanitize`: the GPU tests under NVIDIA's compute-sanitizer, the tests of each file in a process of their own.

mod output;
mod plan;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::doctor::gpu;
use crate::tools::Tool;
use crate::{setup, table, workspace};
use output::Output;
use plan::Plan;

/// Runs the GPU tests under compute-sanitizer: bad memory accesses, races in shared memory, barriers, unwritten memory.
///
/// The tests of each file run in a process of their own, since what a kernel does wrong can end the process's context. Exits with 1
/// if anything is found. Tests whose kernels fail on purpose are left out and named.
#[derive(clap::Args)]
pub struct Sanitize {
    /// Only tests whose names contain this
    filter: Option<String>,
    /// What to look for
    #[arg(long, value_enum, default_value = "memcheck")]
    tool: Check,
    /// A test binary that is built already, instead of building the tests
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// One of compute-sanitizer's tools, or all of them one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Check {
    /// Accesses out of bounds and misaligned
    Memcheck,
    /// Races in shared memory
    Racecheck,
    /// Barriers that not all threads reach
    Synccheck,
    /// Reads of global memory that nobody wrote
    Initcheck,
    All,
}

impl Check {
    fn tools(self) -> &'static [&'static str] {
        match self {
            Check::Memcheck => &["memcheck"],
            Check::Racecheck => &["racecheck"],
            Check::Synccheck => &["synccheck"],
            Check::Initcheck => &["initcheck"],
            Check::All => &["memcheck", "racecheck", "synccheck", "initcheck"],
        }
    }
}

/// What compute-sanitizer returns if it found something: none of the tests' own codes.
const FOUND: &str = "86";

/// One tool on the tests of one file.
struct Run<'p> {
    tool: &'static str,
    group: &'p str,
    tests: &'p [String],
    output: Output,
    /// How the process ended, if not well and for no error that the output has.
    ended: Option<String>,
    time: Duration,
    log: PathBuf,
}

impl Run<'_> {
    fn failed(&self) -> impl Iterator<Item = &str> {
        self.output.failed(self.tests)
    }

    fn is_bad(&self) -> bool {
        self.ended.is_some() || self.output.errors() > 0 || self.failed().next().is_some()
    }
}

impl Sanitize {
    pub fn run(&self) -> Result<()> {
        let sanitizer = Tool::ComputeSanitizer.find()?;
        gpu::require("sanitize")?;
        let binary = match &self.binary {
            Some(binary) => std::path::absolute(binary)?,
            None => {
                setup::ensure()?;
                workspace::test_binary("warpsmith-tests", "devices")?
            }
        };
        let plan = Plan::of(&binary, self.filter.as_deref())?;
        if plan.groups.is_empty() {
            bail!(
                "no GPU test of {} has a name that contains {:?}",
                binary.display(),
                self.filter.as_deref().unwrap_or("")
            );
        }
        plan.left_out.iter().for_each(|(name, reason)| println!("left out: {name}: {reason}"));
        let logs = tempfile::Builder::new().prefix("sanitize-").tempdir()?.keep();
        let mut runs = Vec::new();
        for tool in self.tool.tools() {
            for (group, tests) in &plan.groups {
                println!("==> {tool}: {group}, {}", table::count(tests.len(), "test"));
                runs.push(one(&sanitizer, tool, &binary, &plan, group, &logs)?);
            }
        }
        println!("{}", summary(&runs));
        verdict(&runs)
    }
}

/// Runs the tests of one file.
fn one<'p>(
    sanitizer: &Path,
    tool: &'static str,
    binary: &Path,
    plan: &'p Plan,
    group: &'p str,
    logs: &Path,
) -> Result<Run<'p>> {
    let start = Instant::now();
    let tests = plan.groups[group].as_slice();
    let mut command = Command::new(sanitizer);
    // Errors of the driver's functions are provoked by tests on purpose; a test without a kernel starts no CUDA.
    command.args(["--tool", tool, "--error-exitcode", FOUND, "--report-api-errors", "no", "--require-cuda-init", "no"]);
    command.arg(binary).args(plan.arguments(tests)).env("WARPSMITH_REQUIRE_GPU", "1");
    let result = command.stderr(Stdio::inherit()).output();
    let result = result.with_context(|| format!("can't start {}", sanitizer.display()))?;
    let text = String::from_utf8_lossy(&result.stdout).into_owned();
    let log = logs.join(format!("{tool}-{group}.log"));
    fs::write(&log, &text).with_context(|| format!("can't write {}", log.display()))?;
    let output = Output::parse(&text);
    let explained = output.errors() > 0 || output.failed(tests).next().is_some();
    let ended = (!result.status.success() && !explained).then(|| result.status.to_string());
    Ok(Run { tool, group, tests, output, ended, time: start.elapsed(), log })
}

/// One row for each process, and the reports by test.
fn summary(runs: &[Run<'_>]) -> String {
    let mut table = table::table(&["tool", "tests of", "tests", "failed", "errors", "time"], 2);
    for run in runs {
        table.add_row([
            run.tool,
            run.group,
            &run.tests.len().to_string(),
            &run.failed().count().to_string(),
            &run.output.errors().to_string(),
            &table::time(run.time),
        ]);
    }
    let mut text = table.to_string();
    for run in runs {
        let mut line = |name: &str, what: &str| text += &format!("\n{}: {name}: {what}", run.tool);
        for (name, test) in run.output.tests.iter().filter(|(_, test)| !test.reports.is_empty()) {
            line(name, &format!("{}, first: {}", table::count(test.reports.len(), "error"), test.reports[0]));
        }
        if let Some(first) = run.output.outside.first() {
            line(
                run.group,
                &format!("{} outside a test, first: {first}", table::count(run.output.outside.len(), "error")),
            );
        }
        run.failed().for_each(|name| line(name, "the test itself failed, or did not run"));
        run.ended.iter().for_each(|ended| line(run.group, &format!("the process ended with {ended}")));
        if run.is_bad() {
            line(run.group, &format!("the whole output is in {}", run.log.display()));
        }
    }
    text
}

/// One line for all, and an error if anything was found.
fn verdict(runs: &[Run<'_>]) -> Result<()> {
    let tests: usize = runs.iter().map(|run| run.tests.len()).sum();
    let errors: u64 = runs.iter().map(|run| run.output.errors()).sum();
    let failed: usize = runs.iter().map(|run| run.failed().count() + usize::from(run.ended.is_some())).sum();
    let text = format!(
        "sanitize: {}, {}, {}",
        table::count(tests, "test"),
        table::count(errors as usize, "error"),
        table::count(failed, "other failure")
    );
    if runs.iter().any(Run::is_bad) {
        bail!("{text}");
    }
    println!("{text}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(path: &Path, text: &str) {
        workspace::write_script(path, &format!("#!/bin/sh\n{text}\n"));
    }

    /// Shell scripts stand in for the tool and for the tests.
    #[test]
    fn each_file_has_its_process_and_what_is_found_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (tool, binary) = (folder.path().join("compute-sanitizer"), folder.path().join("devices"));
        script(&binary, "printf 'map::a::cuda: test\\nmap::b::cpu: test\\nfused::c::cuda: test\\n'");
        script(
            &tool,
            r#"case "$*" in
                *"--skip map::a::cuda"*) echo "test fused::c::cuda ... ok"; echo "========= ERROR SUMMARY: 0 errors" ;;
                *) echo "test map::a::cuda ... ========= Invalid __global__ read of size 4 bytes"; echo ok
                   echo "========= ERROR SUMMARY: 1 error"; exit 86 ;;
            esac"#,
        );
        let plan = Plan::of(&binary, None).unwrap();
        let run = |group| one(&tool, "memcheck", &binary, &plan, group, folder.path()).unwrap();
        let runs = [run("fused"), run("map")];
        assert_eq!(runs.each_ref().map(Run::is_bad), [false, true]);
        let text = summary(&runs);
        assert!(text.contains("map::a::cuda: 1 error, first: Invalid __global__ read"), "{text}");
        assert_eq!(verdict(&runs).unwrap_err().to_string(), "sanitize: 2 tests, 1 error, 0 other failures");
        assert!(verdict(&runs[..1]).is_ok());
        // It does so where the process can't start: exit code 0, and none of the tests.
        script(&tool, "echo \"========= Error: process didn't terminate successfully\"");
        assert!(run("map").is_bad());
        script(&tool, "echo 'test map::a::cuda ... ok'; exit 3");
        assert!(run("map").ended.is_some_and(|ended| ended.contains('3')));
    }
}
