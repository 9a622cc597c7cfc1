//! Which toolchain compiles device code: the one search that setup, doctor, build-ptx and build scripts share.
//!
//! A device toolchain is a rustc of at least [`MIN_RUSTC`] with core's source, its cargo, and `llvm-link`, `opt` and
//! `llc` of the same major version as that rustc's LLVM. Searched in this order:
//! 1. [`crate::variables::DEVICE_RUSTC`] and [`crate::variables::DEVICE_CARGO`], alone if set;
//! 2. the running toolchain (`rustc --print sysroot`), which rustup completes with rust-src and llvm-tools;
//! 3. Debian's rustc-web, cargo-web and rust-web-src.
//!
//! LLVM's tools: [`crate::variables::LLVM_BIN`] alone if set; else those of the toolchain's llvm-tools, Debian's
//! `llvm-NN`, and those on `PATH`. Nothing here makes rustup download.

mod candidate;
mod environment;
mod ptxas;
mod report;

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

pub use environment::Environment;
pub use ptxas::{Ptxas, nvidia_program, ptxas, ptxas_in};
pub use report::{PartStatus, Report};

use candidate::Candidate;

/// The oldest device compiler (major, minor): cuda_std's features are written for it.
pub const MIN_RUSTC: (u32, u32) = (1, 95);

/// Something that a device build needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The device compiler.
    Rustc,
    /// Its cargo.
    Cargo,
    /// Core's source, for `-Zbuild-std=core`.
    CoreSource,
    /// LLVM's bitcode linker.
    LlvmLink,
    /// LLVM's optimiser.
    Opt,
    /// LLVM's code generator, with the NVPTX target.
    Llc,
    /// NVIDIA's assembler. Builds don't need it; `verify` does.
    Ptxas,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Rustc => "device rustc",
            Part::Cargo => "device cargo",
            Part::CoreSource => "source of core (rust-src)",
            Part::LlvmLink => "llvm-link",
            Part::Opt => "opt",
            Part::Llc => "llc",
            Part::Ptxas => "ptxas",
        })
    }
}

/// Where a toolchain came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Environment variables.
    Variables,
    /// The running toolchain, usually rustup's.
    Running,
    /// Debian's packages.
    Debian,
}

/// A part that is missing or unfit. The first line names it and the command that installs it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no {part} for device code ({reason}); install it with: {remedy}{}", looked_list(looked))]
pub struct DiscoverError {
    /// The part.
    pub part: Part,
    /// What was found wrong, on one line.
    pub reason: String,
    /// The shell command that installs it, or the variable to correct.
    pub remedy: String,
    /// The places that were looked at.
    pub looked: Vec<PathBuf>,
}

fn looked_list(looked: &[PathBuf]) -> String {
    looked.iter().map(|path| format!("\n  looked at {}", path.display())).collect()
}

/// A complete device toolchain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Toolchain {
    /// Where it came from.
    pub origin: Origin,
    /// The compiler itself, never rustup's proxy.
    pub rustc: PathBuf,
    /// What `rustc -V` says.
    pub rustc_version: String,
    /// Cargo itself, never rustup's proxy.
    pub cargo: PathBuf,
    /// The folder `library` of core's source.
    pub core_source: PathBuf,
    /// LLVM's bitcode linker.
    pub llvm_link: PathBuf,
    /// LLVM's optimiser.
    pub opt: PathBuf,
    /// LLVM's code generator.
    pub llc: PathBuf,
    /// The version of the three, e.g. `22.1.8`.
    pub llvm_version: String,
}

impl Toolchain {
    /// Finds the toolchain for this process.
    pub fn discover() -> Result<Self, DiscoverError> {
        Self::discover_in(&Environment::current())
    }

    /// Finds the toolchain that `environment` offers.
    pub fn discover_in(environment: &Environment) -> Result<Self, DiscoverError> {
        let mut best: Option<Candidate> = None;
        for candidate in candidate::all(environment) {
            let candidate = candidate();
            if let Some(toolchain) = candidate.complete() {
                return Ok(toolchain);
            }
            if best.as_ref().is_none_or(|best| candidate.found() > best.found()) {
                best = Some(candidate);
            }
        }
        Err(best.expect("Debian's is always a candidate").first_error(environment))
    }
}

#[cfg(test)]
mod tests;
