//! Programs that only single tests need, from Debian's packages.

use std::path::PathBuf;

use super::apt;

/// A program that a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file on `PATH`, or those that will do in its place.
    pub names: &'static [&'static str],
    /// Debian's package.
    pub package: &'static str,
    /// What the test is about.
    pub tests: &'static str,
}

/// All.
pub const ALL: [Program; 2] = [
    Program { names: &["gdb"], package: "gdb", tests: "breakpoints in a simulated kernel" },
    Program { names: &["chromium", "google-chrome"], package: "chromium", tests: "the page of `inspect --html`" },
];

impl Program {
    /// Where it is.
    pub fn find(self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        let mut files =
            std::env::split_paths(&path).flat_map(|folder| self.names.iter().map(move |name| folder.join(name)));
        files.find(|file| file.is_file())
    }
}

/// Installs those that are missing. `false`, with the reason printed, if one can't be had: its tests are skipped then.
pub fn ensure() -> bool {
    let missing: Vec<Program> = ALL.into_iter().filter(|program| program.find().is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    let packages: Vec<String> = missing.iter().map(|program| program.package.to_owned()).collect();
    println!("setup: apt-get install {} (tests run them)", packages.join(" "));
    if let Err(error) = apt::install(&packages) {
        println!("setup: {error:#}");
    }
    let absent = missing.into_iter().filter(|program| program.find().is_none());
    let absent = absent.inspect(|program| println!("setup: no {}; SKIPPED: {}", program.names[0], program.tests));
    absent.count() == 0
}
