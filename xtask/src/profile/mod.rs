//! `profile`: what bounds a kernel, measured by NVIDIA's Nsight Compute and told in words.

mod raw;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::doctor::gpu;
use crate::tools::Tool;
use crate::{setup, table, workspace};
use raw::Launch;
use words::Figures;

/// Measures launches of a kernel with Nsight Compute (ncu) and says what bounds it: memory, the tensor pipe, issue slots, latency.
///
/// The launches are those of the GPU tests, which are small; name a program of your own behind `--` for real sizes, for instance
/// `-- target/release/examples/mine --size 8192`.
#[derive(clap::Args)]
pub struct Profile {
    /// A kernel's name, or a regular expression that its name matches
    #[arg(required_unless_present = "csv")]
    kernel: Option<String>,
    /// How many launches to measure
    #[arg(long, value_name = "N", default_value_t = 3)]
    launches: u32,
    /// How many launches of the kernel to pass over first
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u32,
    /// Only tests whose names contain this, instead of all GPU tests
    #[arg(long, value_name = "FILTER", default_value = "::cuda")]
    test: String,
    /// A test binary that is built already, instead of building the tests
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    binary: Option<PathBuf>,
    /// Measure nothing; read what `ncu --csv --page raw` printed before
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernel", "program"])]
    csv: Option<PathBuf>,
    /// A program that launches the kernel, with its arguments
    #[arg(last = true)]
    program: Vec<String>,
}

/// ncu's sections whose metrics the words are made of.
const SECTIONS: [&str; 7] = [
    "SpeedOfLight",
    "MemoryWorkloadAnalysis",
    "ComputeWorkloadAnalysis",
    "SchedulerStats",
    "WarpStateStats",
    "Occupancy",
    "LaunchStats",
];
/// Metrics besides, so that the bandwidth is that of this very launch.
const METRICS: &str = "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum";

impl Profile {
    pub fn run(&self) -> Result<()> {
        let text = match &self.csv {
            Some(path) => fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?,
            None => self.measure()?,
        };
        let launches = raw::parse(&text)?;
        if launches.is_empty() {
            bail!("nothing was measured: no kernel of that name was launched");
        }
        print!("{}", report(&launches));
        Ok(())
    }

    /// Runs ncu and gives what it wrote.
    fn measure(&self) -> Result<String> {
        let ncu = Tool::Ncu.find()?;
        gpu::require("profile")?;
        let program = match self.program.as_slice() {
            [] => self.tests()?,
            program => program.to_vec(),
        };
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("ncu.csv");
        let mut command = self.ncu(&ncu, &log);
        let status = command.args(&program).status().with_context(|| format!("can't start {}", ncu.display()))?;
        let text = fs::read_to_string(&log).unwrap_or_default();
        if text.contains("ERR_NVGPUCTRPERM") {
            bail!(
                "the driver lets only administrators read the GPU's counters: run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
            );
        }
        if !text.lines().any(|line| line.starts_with("\"ID\",")) {
            bail!(
                "ncu measured nothing ({status}): `{}` launched no kernel that matches {:?}; ncu wrote:\n{}",
                program.join(" "),
                self.kernel.as_deref().unwrap_or_default(),
                text.trim()
            );
        }
        Ok(text)
    }

    fn ncu(&self, ncu: &Path, log: &Path) -> Command {
        let mut command = Command::new(ncu);
        let kernel = format!("regex:{}", self.kernel.as_deref().unwrap_or_default());
        command.args(["--csv", "--page", "raw", "--print-units", "base", "--kernel-name", &kernel]);
        command.args(["--launch-skip", &self.skip.to_string(), "--launch-count", &self.launches.to_string()]);
        // What follows the last measured launch is of no interest.
        command.args(["--kill", "yes", "--target-processes", "all", "--metrics", METRICS]);
        command.args(SECTIONS.iter().flat_map(|section| ["--section", section]));
        command.arg("--log-file").arg(log);
        command
    }

    /// The GPU tests as a program.
    fn tests(&self) -> Result<Vec<String>> {
        let binary = match &self.binary {
            Some(binary) => std::path::absolute(binary)?,
            None => {
                setup::ensure()?;
                workspace::test_binary("warpsmith-tests", "devices")?
            }
        };
        Ok(vec![binary.display().to_string(), "--test-threads=1".into(), self.test.clone()])
    }
}

/// A table of all launches, and what bounds each.
fn report(launches: &[Launch]) -> String {
    let header =
        ["kernel", "blocks", "threads", "time", "DRAM", "L2", "L1", "tensor", "issue", "occupancy", "bound by"];
    let mut table = table::table(&header, 1);
    let percent = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.0} %"));
    let figures: Vec<Figures> = launches.iter().map(Figures::of).collect();
    for (launch, figures) in launches.iter().zip(&figures) {
        table.add_row([
            launch.kernel.clone(),
            launch.grid.clone(),
            launch.block.clone(),
            figures.time.map_or(String::new(), time),
            percent(figures.dram),
            percent(figures.l2),
            percent(figures.l1),
            percent(figures.tensor),
            percent(figures.issue),
            percent(figures.occupancy),
            figures.bound().0.to_string(),
        ]);
    }
    let words =
        launches.iter().zip(&figures).map(|(launch, figures)| format!("{}: {}\n", launch.kernel, figures.words()));
    format!("{table}\n{}", words.collect::<String>())
}

fn time(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.1} µs", seconds * 1e6),
        ..1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => table::time(Duration::from_secs_f64(seconds)),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_report_has_a_row_and_a_sentence_for_each_launch() {
        let launches = raw::parse(
            "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpu__time_duration.sum\",\"dram__throughput.avg.pct_of_peak_sustained_elapsed\"\n\
             \"\",\"\",\"\",\"\",\"ns\",\"%\"\n\"0\",\"k\",\"(256, 1, 1)\",\"(2, 1, 1)\",\"1,500\",\"75.4\"\n",
        );
        let report = report(&launches.unwrap());
        assert!(report.contains("1.5 µs") && report.contains("memory (DRAM)"), "{report}");
        assert!(report.ends_with("k: memory bounds it: DRAM is at 75 % of its peak\n"), "{report}");
    }

    /// A shell script stands in for ncu: it writes its arguments where the table is to go.
    #[test]
    fn a_run_without_launches_says_what_was_run() {
        let folder = tempfile::tempdir().unwrap();
        let ncu = folder.path().join("ncu");
        workspace::write_script(&ncu, "#!/bin/sh\nexit 0\n");
        let profile = Profile {
            kernel: Some("gemm_.*relu".into()),
            launches: 3,
            skip: 1,
            test: "::cuda".into(),
            binary: Some("tests/devices".into()),
            csv: None,
            program: Vec::new(),
        };
        let line = workspace::line(profile.ncu(&ncu, Path::new("log")).args(profile.tests().unwrap()));
        assert!(line.contains("--kernel-name regex:gemm_.*relu --launch-skip 1 --launch-count 3"), "{line}");
        assert!(line.ends_with("tests/devices --test-threads=1 ::cuda"), "{line}");
    }
}
