//! One module through ptxas, with line information, and nvdisasm.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use cuda_builder::Arch;

use super::sass::{self, Sass};
use crate::verify::ptxas_output::Output;

/// What NVIDIA's tools say about a module.
#[derive(Debug, Default)]
pub struct Assembled {
    /// Registers, memory and spills of each kernel.
    pub output: Output,
    /// Each kernel's instructions; none without a disassembler.
    pub functions: BTreeMap<String, Sass>,
}

/// Assembles a PTX file for its architecture and takes the result apart.
pub fn assemble(ptxas: &Path, nvdisasm: Option<&Path>, ptx: &Path, arch: Arch) -> Result<Assembled> {
    let folder = tempfile::tempdir()?;
    let cubin = folder.path().join("module.cubin");
    let mut command = Command::new(ptxas);
    command.args(["-v", "-lineinfo"]).arg(format!("-arch={arch}")).arg(ptx).arg("-o").arg(&cubin);
    let (_, messages) = run(&mut command)?;
    let functions = match nvdisasm {
        // -gp: beside each instruction the line of PTX, from which the way to the source is known.
        Some(nvdisasm) => sass::parse(&run(Command::new(nvdisasm).args(["-c", "-gp"]).arg(&cubin))?.0),
        None => BTreeMap::new(),
    };
    Ok(Assembled { output: Output::parse(&messages), functions })
}

/// Standard output, and both outputs together, of a program that must succeed.
fn run(command: &mut Command) -> Result<(String, String)> {
    let result = command.output().with_context(|| format!("can't start {}", command.get_program().display()))?;
    let [out, messages] = [result.stdout, result.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if !result.status.success() {
        bail!("{} failed ({}):\n{}", command.get_program().display(), result.status, (messages + &out).trim());
    }
    let both = messages + &out;
    Ok((out, both))
}
