//! ptxas on every module, as many at a time as there are processors.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cuda_builder::Arch;
use cuda_builder::manifest::Module;
use rayon::prelude::*;

use super::ptxas_output::{Output, Usage};

/// One module after ptxas.
pub struct Assembled<'m> {
    pub module: &'m Module,
    /// Every kernel of the manifest, ordered by name.
    pub kernels: Vec<Kernel<'m>>,
    /// What ptxas said besides.
    pub output: Output,
    /// ptxas's messages, if it failed.
    pub failure: Option<String>,
    pub cubin_bytes: u64,
    pub time: Duration,
}

/// One kernel.
pub struct Kernel<'m> {
    pub name: &'m str,
    /// Nothing if the manifest promises it and ptxas did not see it.
    pub usage: Option<Usage>,
}

impl Kernel<'_> {
    /// What the short table sorts by.
    pub fn badness(&self) -> (u64, u64, u32) {
        let usage = |usage: &Usage| (usage.spill_stores + usage.spill_loads, usage.stack, usage.registers);
        self.usage.as_ref().map_or((u64::MAX, 0, 0), usage)
    }
}

/// The architectures that this ptxas knows; fails if none is left. Those it has dropped or not learnt are told.
pub fn assemblable(ptxas: &Path, archs: &[Arch]) -> Result<Vec<Arch>> {
    let help =
        Command::new(ptxas).arg("--help").output().with_context(|| format!("can't start {}", ptxas.display()))?;
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let (known, unknown): (Vec<Arch>, Vec<Arch>) =
        archs.iter().partition(|arch| help.contains(&format!("'{}'", arch.name())));
    if known.is_empty() {
        bail!("{} assembles for none of the architectures asked for: {archs:?}", ptxas.display());
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|arch| arch.name()).collect();
        println!("not verified, this ptxas does not know them: {}", names.join(" "));
    }
    Ok(known)
}

/// Assembles all modules in `folder`.
pub fn assemble_all<'m>(ptxas: &Path, folder: &Path, modules: &'m [Module]) -> Result<Vec<Assembled<'m>>> {
    let scratch = tempfile::tempdir()?;
    let one = |(index, module)| assemble(ptxas, folder, module, &scratch.path().join(format!("{index}.cubin")));
    modules.par_iter().enumerate().map(one).collect()
}

fn assemble<'m>(ptxas: &Path, folder: &Path, module: &'m Module, cubin: &Path) -> Result<Assembled<'m>> {
    let start = Instant::now();
    let mut command = Command::new(ptxas);
    command.arg("-v").arg(format!("-arch={}", module.arch)).arg(folder.join(&module.file)).arg("-o").arg(cubin);
    let result = command.output().with_context(|| format!("can't start {}", ptxas.display()))?;
    let text = [result.stderr, result.stdout].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let mut output = Output::parse(&text);
    let kernels =
        module.entries.iter().map(|entry| Kernel { name: &entry.name, usage: output.entries.remove(&entry.name) });
    Ok(Assembled {
        module,
        kernels: kernels.collect(),
        output,
        failure: (!result.status.success()).then(|| text.trim().to_owned()),
        cubin_bytes: std::fs::metadata(cubin).map_or(0, |file| file.len()),
        time: start.elapsed(),
    })
}
