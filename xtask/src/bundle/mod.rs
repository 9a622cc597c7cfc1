//! `bundle`: what a machine with a GPU and without Rust needs to run every test and benchmark.

mod artifacts;
mod listing;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::device_crate::DeviceCrate;
use crate::{setup, table, workspace};
use artifacts::Kind;

/// Puts test, benchmark and example binaries, which hold their kernels, and a `run` script into one folder under 40 MB.
///
/// Copy the folder to any Linux machine of the same processor family with an NVIDIA driver, and call ./run there
/// (./run --help tells more).
#[derive(clap::Args)]
pub struct Bundle {
    /// Folder to write, which is replaced [default: bundle in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The script; it is the bundle's `run`.
const RUN: &str = include_str!("run.sh");
/// What `run planted` runs.
const PLANTED: &str = include_str!("planted.sh");
/// The names of scripts and listing in the bundle.
const SCRIPT: &str = "run";
const PLANTED_SCRIPT: &str = "planted";
const LISTING: &str = "MANIFEST";
/// What may be copied by hand to a machine without being a burden.
const LIMIT: u64 = 40_000_000;

impl Bundle {
    pub fn run(&self) -> Result<()> {
        setup::ensure()?;
        let out = self.out.clone().unwrap_or_else(|| workspace::target().join("bundle"));
        clear(&out)?;
        fs::create_dir_all(&out).with_context(|| format!("can't create {}", out.display()))?;
        for (name, text) in [(SCRIPT, RUN), (PLANTED_SCRIPT, PLANTED)] {
            let script = out.join(name);
            fs::write(&script, text).with_context(|| format!("can't write {}", script.display()))?;
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        }
        let built = DeviceCrate::default_one().build(&crate::device_crate::DEFAULT_ARCHS, false, false)?;
        for kind in Kind::ALL {
            let binaries = artifacts::build(kind)?;
            println!("{}: {}", kind.folder(), binaries.len());
            let folder = out.join(kind.folder());
            fs::create_dir_all(&folder).with_context(|| format!("can't create {}", folder.display()))?;
            for (name, file) in binaries {
                pack(&file, &folder.join(name))?;
            }
        }
        // This very program, of which `run sanitize` and `run profile` are commands.
        pack(&std::env::current_exe()?, &out.join("xtask"))?;
        let peers = workspace::root().join("benches/peers");
        if peers.is_dir() {
            copy_folder(&peers, &out.join("benches/peers"))?;
        }
        let files = listing::files(&out)?;
        fs::write(out.join(LISTING), listing::text(built.code.manifest(), &files)?)?;

        let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        println!("{}", size_table(&files, bytes));
        if bytes > LIMIT {
            bail!("the bundle has {}, more than {}", table::bytes(bytes), table::bytes(LIMIT));
        }
        println!("in {}; copy it to a machine with a GPU and call ./{SCRIPT} there", workspace::shown(&out));
        Ok(())
    }
}

/// Removes an earlier bundle, known by how its script begins; refuses a folder that is something else.
fn clear(out: &Path) -> Result<()> {
    let anything = fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    let script = fs::read_to_string(out.join(SCRIPT)).unwrap_or_default();
    if anything && script.lines().take(2).ne(RUN.lines().take(2)) {
        bail!("{} holds something else than a bundle; name another folder", out.display());
    }
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("can't remove {}", out.display()))?;
    }
    Ok(())
}

/// A packed copy without symbols, which are most of a test binary; the script unpacks it.
fn pack(from: &Path, to: &Path) -> Result<()> {
    let mut strip = Command::new("strip");
    workspace::run(strip.arg("-o").arg(to).arg(from))
        .context("`strip` comes with binutils: apt-get install binutils")?;
    workspace::run(Command::new("gzip").arg("-9").arg(to)).context("`gzip` packs the programs")
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("can't copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("can't create {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_file() {
            copy(&entry.path(), &to.join(name))?;
        } else if entry.file_type()?.is_dir() && name != "__pycache__" {
            copy_folder(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}

fn size_table(files: &[(String, u64)], all: u64) -> String {
    let mut table = table::table(&["file", "size"], 1);
    for (name, bytes) in files {
        table.add_row([name, &table::bytes(*bytes)]);
    }
    table.add_row(["all", &table::bytes(all)]);
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bundles_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("bundle");
        clear(&out).unwrap();
        fs::create_dir_all(&out).unwrap();
        clear(&out).unwrap();
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("thesis.txt"), "x").unwrap();
        assert!(clear(&out).unwrap_err().to_string().contains("something else"));
        fs::write(out.join(SCRIPT), "#!/bin/sh\n").unwrap();
        assert!(clear(&out).is_err());
        fs::write(out.join(SCRIPT), RUN).unwrap();
        clear(&out).unwrap();
        assert!(!out.exists());
    }
    /// A script that prints its arguments stands in for the program.
    #[test]
    fn sanitize_and_profile_are_passed_on_to_the_program() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [(SCRIPT, RUN), ("xtask", "#!/bin/sh\necho \"$@\"\n")] {
            workspace::write_script(&folder.path().join(name), text);
        }
        workspace::run(Command::new("gzip").arg(folder.path().join("xtask"))).unwrap();
        let tests = format!("--binary {}/tests/devices", folder.path().display());
        for (arguments, expected) in [
            ("sanitize", format!("sanitize {tests}")),
            ("sanitize racecheck map", format!("sanitize {tests} --tool racecheck map")),
            ("sanitize map", format!("sanitize {tests} map")),
            ("profile gemm", format!("profile {tests} gemm")),
            ("profile gemm -- ./a b", "profile gemm -- ./a b".to_owned()),
        ] {
            let output = Command::new(folder.path().join(SCRIPT)).args(arguments.split(' ')).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected);
        }
    }

    /// Scripts stand in for the tests and for compute-sanitizer: it finds one bug by racecheck, hangs in synccheck, and reports a
    /// right twin.
    #[test]
    fn planted_bugs_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tests")).unwrap();
        let devices = r"#!/bin/sh
case $WARPSMITH_PLANTED in
list) printf 'b1\tbug\tRace\tone\nb2\tbug\tnothing\ttwo\nr1\tright\tnothing\tthree\n' ;;
b1) echo b1: boom ;;
*) echo $WARPSMITH_PLANTED: no error ;;
esac
";
        let sanitizer = r#"#!/bin/sh
case "$2 $WARPSMITH_PLANTED" in
'racecheck b2') echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86 ;;
'synccheck b2') exec sleep 9 ;;
'initcheck r1') echo '========= ERROR SUMMARY: 3 errors'; exit 86 ;;
*) echo '========= ERROR SUMMARY: 0 errors' ;;
esac
"#;
        for (name, text) in
            [(SCRIPT, RUN), (PLANTED_SCRIPT, PLANTED), ("tests/devices", devices), ("sanitizer", sanitizer)]
        {
            workspace::write_script(&folder.path().join(name), text);
        }
        let mut command = Command::new(folder.path().join(SCRIPT));
        command.arg("planted").env("WARPSMITH_PLANTED_SECONDS", "1");
        command.env("WARPSMITH_COMPUTE_SANITIZER", folder.path().join("sanitizer"));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [
            "b1 bug Race error nothing nothing nothing nothing one",
            "b2 bug nothing ok nothing found hang nothing two",
            "r1 right nothing ok nothing nothing nothing found three",
            "only the simulator: b1",
            "only the sanitizer: b2",
            "reports about right twins: 1",
        ] {
            assert!(rows.iter().any(|it| it.iter().copied().eq(row.split(' '))), "{row} is missing in {text}");
        }
        assert_eq!(output.status.code(), Some(1));
    }
}
