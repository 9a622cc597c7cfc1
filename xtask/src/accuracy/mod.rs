//! `accuracy`: how exact every activation is, as a table and pictures in the documentation.

mod draw;
mod report;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace;
use report::Report;

/// Measures every activation: forward and derivative, f32 in Precise and Fast mathematics, f16 and bf16, against f64.
///
/// Writes docs/accuracy.md and docs/accuracy/*.svg, or, for one activation, prints its rows.
#[derive(clap::Args)]
pub struct Accuracy {
    /// All 2^32 inputs of f32 and not 2^24 of them: several minutes for each activation here, less than a second on a GPU (--from)
    #[arg(long)]
    exhaustive: bool,
    /// One activation, as a configuration file names it: `softplus(beta=5)`
    name: Option<String>,
    /// Take what the bundle's benchmark `exhaustive` printed on a GPU for all 2^32 inputs of f32, and measure the rest here
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Folder for table and pictures [default: docs]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Accuracy {
    pub fn run(&self) -> Result<()> {
        let mut text = match &self.from {
            Some(file) => fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?,
            None => String::new(),
        };
        text += &measure(if self.exhaustive { 1 << 32 } else { 1 << 24 }, self.name.as_deref())?;
        let report = Report::parse(&text)?;
        if self.name.is_some() {
            println!("{}", report.terminal());
            return Ok(());
        }
        let out = self.out.clone().unwrap_or_else(|| workspace::root().join("docs"));
        let pictures = out.join("accuracy");
        fs::create_dir_all(&pictures).with_context(|| format!("can't create {}", pictures.display()))?;
        for name in report.names() {
            draw::draw(&report, name, &pictures.join(format!("{name}.svg")))?;
        }
        let page = out.join("accuracy.md");
        fs::write(&page, report.page()).with_context(|| format!("can't write {}", page.display()))?;
        println!("{}", report.terminal());
        println!("in {} and {}", workspace::shown(&page), workspace::shown(&pictures));
        Ok(())
    }
}

/// What the measuring program prints. It is a program of its own, in a target folder of its own, because it must be compiled for
/// this processor: without fused multiply-add it would take ten times as long.
fn measure(count: u64, name: Option<&str>) -> Result<String> {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "warpsmith-gpu", "--example", "accuracy"]);
    cargo.arg("--target-dir").arg(workspace::target().join("accuracy"));
    cargo.args(["--", "--count", &count.to_string()]).args(name);
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    cargo.env("RUSTFLAGS", format!("{flags} -Ctarget-cpu=native").trim());
    workspace::output(&mut cargo)
}
