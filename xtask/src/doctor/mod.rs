//! `doctor`: what is on this machine, by the same discovery as `setup` and the builds.

pub mod gpu;

use anyhow::{Result, bail};
use cuda_builder::discover::Report;
use serde::Serialize;

use crate::book::mdbook;
use crate::setup::programs::{self, Program};
use crate::tools::Tool;
use crate::{table, workspace};

/// Shows every part that building, testing and running need, with its path, its version and the remedy if it is missing.
///
/// Exits with 1 if a required part is missing. The CUDA driver and a GPU are not required.
#[derive(clap::Args)]
pub struct Doctor {
    /// Print one JSON object: {"ok": .., "parts": [{"name", "state", "path", "version", "remedy"}, ..]}
    #[arg(long)]
    json: bool,
}

/// How a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// Missing, and something needs it.
    Missing,
    /// Missing, and everything works without it.
    Absent,
}

/// One line of the table.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    state: State,
    path: Option<String>,
    version: Option<String>,
    remedy: Option<String>,
}

/// Cold, everything that `cargo xtask test` builds takes about this much.
const DISK_NEEDED: u64 = 6_000_000_000;

impl Doctor {
    pub fn run(&self) -> Result<()> {
        let rows = rows();
        let missing: Vec<&str> =
            rows.iter().filter(|row| row.state == State::Missing).map(|row| row.name.as_str()).collect();
        if self.json {
            let report = serde_json::json!({ "ok": missing.is_empty(), "parts": rows });
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            println!("{}", text(&rows));
        }
        if !missing.is_empty() {
            bail!("missing: {}", missing.join(", "));
        }
        Ok(())
    }
}

fn rows() -> Vec<Row> {
    let report = Report::new(&[workspace::python_packages()]);
    let ptxas_by_pip = report.parts.iter().any(|part| part.name == "ptxas" && part.path.is_none());
    let mut rows = vec![
        program("rustc", "rustc", &["-V"], State::Missing, "https://rustup.rs"),
        program("cargo", "cargo", &["-V"], State::Missing, "https://rustup.rs"),
        program("rustfmt", "rustfmt", &["--version"], State::Missing, "rustup component add rustfmt"),
        program("clippy", "cargo-clippy", &["--version"], State::Missing, "rustup component add clippy"),
    ];
    rows.extend(report.parts.into_iter().map(|part| {
        let state = if part.path.is_some() { State::Ok } else { State::Missing };
        let reason = part.reason.map(|reason| format!("{reason}: ")).unwrap_or_default();
        let remedy = part.remedy.map(|remedy| format!("{reason}{remedy}"));
        let path = part.path.as_deref().map(workspace::shown);
        Row { name: part.name, state, path, version: part.version, remedy }
    }));
    // Only ptxas comes by pip.
    let without_python = if ptxas_by_pip { State::Missing } else { State::Absent };
    rows.push(program("python3", "python3", &["--version"], without_python, "apt-get install python3"));
    let pip = workspace::version("python3", &["-m", "pip", "--version"]);
    rows.push(match pip {
        Some(version) => {
            let version = version.split(" from ").next().unwrap_or_default().to_owned();
            Row { name: "pip".into(), state: State::Ok, path: None, version: Some(version), remedy: None }
        }
        None => row_without("pip", without_python, "apt-get install python3-pip"),
    });
    rows.extend(gpu::rows());
    rows.extend(Tool::ALL.map(tool));
    rows.push(mdbook_row());
    rows.extend(programs::ALL.map(test_program));
    rows.push(disk());
    rows
}

fn row_without(name: &str, state: State, remedy: &str) -> Row {
    Row { name: name.into(), state, path: None, version: None, remedy: Some(remedy.into()) }
}

fn program(name: &str, file: &str, arguments: &[&str], otherwise: State, remedy: &str) -> Row {
    match workspace::version(file, arguments) {
        Some(version) => {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            let path = std::env::split_paths(&folders).map(|folder| folder.join(file)).find(|path| path.is_file());
            let path = path.map(|path| workspace::shown(&path));
            Row { name: name.into(), state: State::Ok, path, version: Some(version), remedy: None }
        }
        None => row_without(name, otherwise, remedy),
    }
}

/// A tool that only one command needs.
fn tool(tool: Tool) -> Row {
    match tool.find() {
        Ok(path) => {
            let (version, path) = (tool.version(&path), Some(workspace::shown(&path)));
            Row { name: tool.to_string(), state: State::Ok, path, version, remedy: None }
        }
        Err(_) => {
            let remedy = format!("only `cargo xtask {}` needs it; {}", tool.needed_by(), tool.remedy());
            row_without(tool.name(), State::Absent, &remedy)
        }
    }
}

fn mdbook_row() -> Row {
    match mdbook::find() {
        Some(path) => {
            let version = workspace::version(&path, &["--version"]);
            Row { name: "mdBook".into(), state: State::Ok, path: Some(workspace::shown(&path)), version, remedy: None }
        }
        None => row_without("mdBook", State::Absent, &format!("only `cargo xtask book` needs it; {}", mdbook::REMEDY)),
    }
}

/// A program that only single tests run.
fn test_program(program: Program) -> Row {
    let name = program.names[0];
    match program.find() {
        Some(path) => {
            let version = workspace::version(&path, &["--version"]);
            Row { name: name.into(), state: State::Ok, path: Some(workspace::shown(&path)), version, remedy: None }
        }
        None => {
            let Program { tests, package, .. } = program;
            let remedy =
                format!("only `cargo xtask test` needs it, for {tests}, and installs it; or apt-get install {package}");
            row_without(name, State::Absent, &remedy)
        }
    }
}

fn disk() -> Row {
    let folder = workspace::target();
    let free = rustix::fs::statvfs(&folder).map(|volume| volume.f_bavail * volume.f_frsize).unwrap_or(0);
    let enough = free >= DISK_NEEDED;
    Row {
        name: "disk space".into(),
        state: if enough { State::Ok } else { State::Missing },
        path: Some(workspace::shown(&folder)),
        version: Some(format!("{} free", table::bytes(free))),
        remedy: (!enough).then(|| format!("free some: a cold build takes {}", table::bytes(DISK_NEEDED))),
    }
}

fn text(rows: &[Row]) -> String {
    let mut table = table::table(&["part", "", "version", "path, or remedy"], 4);
    for row in rows {
        let state = match row.state {
            State::Ok => "ok",
            State::Missing => "MISSING",
            State::Absent => "not here",
        };
        let last = row.remedy.as_ref().or(row.path.as_ref());
        table.add_row([
            row.name.as_str(),
            state,
            // `rustc 1.95.0`, without commit and date.
            row.version.as_deref().and_then(|version| version.split(" (").next()).unwrap_or_default(),
            last.map_or("", String::as_str),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_the_remedy_of_what_is_missing() {
        let text = text(&[row_without("llc", State::Missing, "apt-get install llvm-22"), disk()]);
        assert!(text.contains("MISSING") && text.contains("apt-get install llvm-22"), "{text}");
        assert!(text.contains("free"), "{text}");
    }

    #[test]
    fn optional_tools_are_never_missing_and_name_the_command_that_needs_them() {
        let others = programs::ALL.into_iter().map(test_program).chain([mdbook_row()]);
        for row in Tool::ALL.into_iter().map(tool).chain(others) {
            assert_ne!(row.state, State::Missing, "{row:?}");
            assert!(row.path.is_some() || row.remedy.is_some_and(|remedy| remedy.contains("cargo xtask")));
        }
    }

    #[test]
    fn json_uses_lower_case_states() {
        let json = serde_json::to_string(&row_without("x", State::Absent, "y")).unwrap();
        assert_eq!(json, r#"{"name":"x","state":"absent","path":null,"version":null,"remedy":"y"}"#);
    }
}
