//! Which device crate to build and for what: the options that `build-ptx` and `verify` share.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cuda_builder::discover::Toolchain;
use cuda_builder::{Arch, CudaBuilder, DeviceCode};

use crate::{table, workspace};

/// The device crate of the library itself.
pub const DEFAULT_PACKAGE: &str = "warpsmith-gpu";

/// What `host/build.rs` embeds, so that both share one build. It has the reasons.
pub const DEFAULT_ARCHS: [Arch; 2] = [Arch::SM_80, Arch::SM_90A];

/// What is quick to build: element by element, and sums. The other activations take as long as these for each architecture again.
pub const CHEAP: [&str; 5] = ["bias", "reduce", "optim", "map.relu", "map.gelu_tanh"];

/// Matrix products: many registers, where a spill costs most.
pub const PRODUCTS: [&str; 4] = ["gemm", "gemm_mma", "gemm_wgmma", "gemm_wgmma_split"];

/// Which crate, for which architectures.
#[derive(clap::Args)]
pub struct DeviceCrate {
    /// Architecture to build for, or `all` (75 80 86 89 90 90a 100 120); may be repeated [default: sm_80 sm_90a]
    #[arg(long, value_name = "ARCH", num_args = 1.., value_delimiter = ',')]
    arch: Vec<ArchChoice>,
    /// Package of this workspace to build [default: warpsmith-gpu]
    #[arg(short, long, value_name = "CRATE")]
    package: Option<String>,
    /// Folder of a crate outside this workspace, instead of -p
    #[arg(long, value_name = "DIR", conflicts_with = "package")]
    path: Option<PathBuf>,
    /// Build only this module, such as `map.relu`, or family of modules, such as `map`; may be repeated
    #[arg(long, value_name = "FAMILY", num_args = 1.., value_delimiter = ',')]
    family: Vec<String>,
    /// Give bounds checks and panics in kernels messages that reach the host, for debugging
    #[arg(long)]
    fault_messages: bool,
}

/// One value of `--arch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArchChoice {
    All,
    One(Arch),
}

impl std::str::FromStr for ArchChoice {
    type Err = cuda_builder::ArchParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" { Ok(ArchChoice::All) } else { text.parse().map(ArchChoice::One) }
    }
}

impl DeviceCrate {
    /// The library's own, as it is embedded.
    pub fn default_one() -> Self {
        DeviceCrate { arch: Vec::new(), package: None, path: None, family: Vec::new(), fault_messages: false }
    }

    /// The library's cheap modules, for every usual architecture.
    pub fn cheap() -> Self {
        let family = CHEAP.map(str::to_owned).to_vec();
        DeviceCrate { arch: vec![ArchChoice::All], family, ..Self::default_one() }
    }

    /// The library's matrix products, for the architecture whose figures are kept.
    pub fn products() -> Self {
        let family = PRODUCTS.map(str::to_owned).to_vec();
        DeviceCrate { arch: vec![ArchChoice::One(Arch::SM_90A)], family, ..Self::default_one() }
    }

    /// What `xtask/registers.toml` lists.
    pub fn listed() -> Self {
        let family = CHEAP.iter().chain(&PRODUCTS).map(|&family| family.to_owned()).collect();
        DeviceCrate { family, ..Self::products() }
    }

    /// Whether all of the crate is looked at, for the default architectures.
    pub fn is_default(&self) -> bool {
        self.arch.is_empty() && self.family.is_empty()
    }

    /// The architectures, ascending and once each.
    pub fn archs(&self) -> Vec<Arch> {
        let mut archs: Vec<Arch> = match self.arch.as_slice() {
            [] => DEFAULT_ARCHS.to_vec(),
            some => some
                .iter()
                .flat_map(|choice| match choice {
                    ArchChoice::All => Arch::USUAL.to_vec(),
                    ArchChoice::One(arch) => vec![*arch],
                })
                .collect(),
        };
        archs.sort();
        archs.dedup();
        archs
    }

    /// The crate's folder.
    pub fn folder(&self) -> Result<PathBuf> {
        if let Some(path) = &self.path {
            return Ok(path.clone());
        }
        let wanted = self.package.as_deref().unwrap_or(DEFAULT_PACKAGE);
        let packages = workspace::packages()?;
        match packages.iter().find(|package| package.name == wanted) {
            Some(package) => Ok(package.manifest_path.parent().context("a manifest lies in a folder")?.to_owned()),
            None => {
                let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
                bail!("no package `{wanted}` in this workspace; it has: {}", names.join(", "))
            }
        }
    }

    /// Builds for `archs`, with a cubin for each module if asked for.
    pub fn build(&self, archs: &[Arch], emit_llvm: bool, cubins: bool) -> Result<Built> {
        self.build_with(archs, |builder| builder.emit_llvm_ir(emit_llvm).cubins(cubins))
    }

    /// Builds for `archs` with further options.
    pub fn build_with(&self, archs: &[Arch], options: impl FnOnce(CudaBuilder) -> CudaBuilder) -> Result<Built> {
        let toolchain = Toolchain::discover().context("`cargo xtask setup` installs what is missing")?;
        let folder = self.folder()?;
        let builder = CudaBuilder::new(&folder).archs(archs).toolchain(toolchain);
        let builder = options(builder.fault_messages(self.fault_messages).families(&self.family));
        // The same as a build script of the outer build uses, so that what one has compiled serves the other.
        let builder = match std::env::var_os(cuda_builder::variables::DEVICE_TARGET_DIR) {
            None if self.path.is_none() => builder.target_dir(workspace::target().join("device")),
            _ => builder,
        };
        let start = Instant::now();
        let code = builder.build()?;
        Ok(Built { code, time: start.elapsed() })
    }
}

/// What a build gave.
pub struct Built {
    pub code: DeviceCode,
    pub time: Duration,
}

impl Built {
    /// `built 12 modules in 3.4 s`, or that there was nothing to do.
    pub fn summary(&self) -> String {
        let files = table::count(self.code.manifest().modules.len(), "PTX file");
        let time = table::time(self.time);
        match self.code.is_fresh() {
            true => format!("{files}, unchanged ({time})"),
            false => format!("{files} built in {time}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archs(values: &[&str]) -> Vec<Arch> {
        let arch = values.iter().map(|value| value.parse().unwrap()).collect();
        DeviceCrate { arch, ..DeviceCrate::default_one() }.archs()
    }

    #[test]
    fn architectures_are_sorted_and_all_means_all() {
        assert_eq!(archs(&[]), DEFAULT_ARCHS);
        assert_eq!(archs(&["sm_90a", "sm_80", "sm_90a"]), [Arch::SM_80, Arch::SM_90A]);
        assert_eq!(archs(&["all", "sm_80"]), Arch::USUAL);
        assert_eq!(archs(&["all", "sm_103"]).len(), Arch::USUAL.len() + 1);
        assert!("sm_1".parse::<ArchChoice>().is_err());
    }
}
