//! `test`: everything that must hold before a change is done, cheapest first, stopped at the first failure.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::api::Api;
use crate::book::{self, Book};
use crate::device_crate::{CHEAP, PRODUCTS};
use crate::package::PackageCommand;
use crate::tools::Tool;
use crate::verify::Verify;
use crate::{setup, table, workspace};

/// Formatting, lints, all tests, the documentation, and ptxas on the cheap kernels for every architecture and on the matrix products for
/// sm_90a.
///
/// Installs what is missing first (see `setup`). Stops at the first failure; the last line says which and how to run it
/// alone. GPU tests are skipped, and say so, where there is no GPU. RUSTFLAGS and RUSTDOCFLAGS are passed on.
#[derive(clap::Args)]
pub struct Test {
    /// Leave out `verify`
    #[arg(long)]
    fast: bool,
    /// Run simulated threads and blocks in an order drawn from this seed (WARPSMITH_SHUFFLE); the same seed gives the same order
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
}

/// Set when all that tests use was found: a test that misses a tool then fails instead of being skipped.
const REQUIRE_TOOLS: &str = "WARPSMITH_REQUIRE_TOOLS";

/// A step: its name, and cargo's arguments.
type Step = (&'static str, &'static [&'static str]);

const STEPS: [Step; 5] = [
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    (
        "lints without the GPU",
        &["clippy", "-p", "warpsmith", "--no-default-features", "--all-targets", "--", "-D", "warnings"],
    ),
    ("tests", &["test", "--workspace"]),
    ("documentation", &["doc", "--workspace", "--no-deps"]),
];

impl Test {
    pub fn run(&self) -> Result<()> {
        let mut timings = Timings::default();
        let mut complete = false;
        timings.step("setup", "cargo xtask setup --inspect", || {
            setup::ensure()?;
            complete = setup::programs::ensure();
            setup::ensure_tool(Tool::Nvdisasm).map(drop)
        })?;
        for (name, arguments) in STEPS {
            let mut command = cargo(arguments);
            if let Some(seed) = self.shuffle {
                command.env("WARPSMITH_SHUFFLE", seed.to_string());
            }
            if complete {
                command.env(REQUIRE_TOOLS, "1");
            }
            let line = workspace::line(&command);
            timings.step(name, &line, || workspace::run(&mut command))?;
        }
        timings.step("api", "cargo xtask api", || Api { renew: false }.run())?;
        timings.step("book", "cargo xtask book", || {
            book::ensure();
            Book::all().run()
        })?;
        timings.step("package", "cargo xtask package", || PackageCommand::metadata().run())?;
        if !self.fast {
            // All kernels take ptxas many minutes: `cargo xtask verify` alone does that.
            let line = format!("cargo xtask verify --arch all --family {}", CHEAP.join(" "));
            timings.step("verify", &line, || Verify::cheap().run())?;
            let line = format!("cargo xtask verify --arch sm_90a --family {}", PRODUCTS.join(" "));
            timings.step("verify products", &line, || Verify::products().run())?;
        }
        timings.print();
        println!(
            "test: ok, {}{}",
            table::count(timings.steps.len(), "step"),
            if self.fast { ", without verify" } else { "" }
        );
        Ok(())
    }
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = workspace::cargo();
    command.args(arguments);
    if arguments.first() == Some(&"doc") {
        let flags = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
        command.env("RUSTDOCFLAGS", format!("{flags} -D warnings").trim());
    }
    command
}

/// What has been done, and how long it took.
#[derive(Default)]
struct Timings {
    steps: Vec<(&'static str, Duration)>,
}

impl Timings {
    fn step(&mut self, name: &'static str, line: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("==> {name}: {line}");
        let start = Instant::now();
        let result = work();
        let time = start.elapsed();
        match result {
            Ok(()) => {
                println!("==> {name}: ok, {}", table::time(time));
                self.steps.push((name, time));
                Ok(())
            }
            Err(error) => {
                self.print();
                bail!("test: step `{name}` FAILED after {}: {error:#}; alone: {line}", table::time(time))
            }
        }
    }

    fn print(&self) {
        let mut table = table::table(&["step", "time"], 1);
        for (name, time) in &self.steps {
            table.add_row([*name, &table::time(*time)]);
        }
        table.add_row(["all", &table::time(self.steps.iter().map(|(_, time)| *time).sum())]);
        println!("{table}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_step_and_its_command() {
        let mut timings = Timings::default();
        timings.step("first", "cargo first", || Ok(())).unwrap();
        let error = timings.step("second", "cargo second", || bail!("exit status: 101")).unwrap_err().to_string();
        assert!(error.contains("`second` FAILED") && error.ends_with("alone: cargo second"), "{error}");
        assert_eq!(timings.steps.len(), 1);
    }

    #[test]
    fn warnings_fail_the_documentation() {
        let command = cargo(&["doc"]);
        let flags = command.get_envs().find(|(name, _)| *name == "RUSTDOCFLAGS").and_then(|(_, value)| value);
        assert!(flags.is_some_and(|flags| flags.to_string_lossy().ends_with("-D warnings")));
    }
}
