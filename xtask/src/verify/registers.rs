//! How many registers the cheap kernels and the matrix products take, kept in a file: a change that costs registers is seen, and accepted on purpose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use cuda_builder::Arch;
use cuda_builder::manifest::Module;
use serde::Deserialize;

use super::assemble::Assembled;
use super::findings::{Finding, Kind};
use crate::device_crate::{CHEAP, PRODUCTS};

/// The architecture that the file is of: the one that is measured.
const ARCH: Arch = Arch::SM_90A;

/// The file's content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// The release of ptxas that chose them. Another one's are not compared.
    ptxas: String,
    /// By kernel.
    registers: BTreeMap<String, u32>,
}

impl Registers {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is wrong", path.display()))
    }

    /// Whether another ptxas made the file.
    pub fn differ_in_ptxas(&self, version: &str) -> bool {
        self.ptxas != version
    }

    /// The release that made the file.
    pub fn ptxas(&self) -> &str {
        &self.ptxas
    }

    /// Every kernel that takes another number than the file says, or that it does not have.
    pub fn findings(&self, assembled: &[Assembled<'_>]) -> Vec<Finding> {
        let differs = |(module, name, registers): (&Module, &str, u32)| {
            let detail = match self.registers.get(name) {
                Some(&listed) if listed == registers => return None,
                Some(listed) => format!("takes {registers}, {listed} before"),
                None => format!("takes {registers} and is not listed"),
            };
            let detail = format!("{detail}; `cargo xtask verify --renew-registers` accepts that");
            let (module, entry) = (module.name.clone(), name.to_owned());
            Some(Finding { module, arch: ARCH, entry, kind: Kind::Registers, bytes: 0, detail })
        };
        listed(assembled).filter_map(differs).collect()
    }
}

/// The file's text for what was assembled.
pub fn text(ptxas: &str, assembled: &[Assembled<'_>]) -> String {
    let mut text = format!(
        "# Registers of a thread of each cheap kernel and matrix product on {ARCH}. `cargo xtask verify --renew-registers` writes this file.\n\
         ptxas = \"{ptxas}\"\n\n[registers]\n"
    );
    let kernels: BTreeMap<&str, u32> = listed(assembled).map(|(_, name, registers)| (name, registers)).collect();
    for (name, registers) in kernels {
        writeln!(text, "{name} = {registers}").expect("strings take all");
    }
    text
}

/// The kernels that the file is to have, of those that were assembled.
fn listed<'a>(assembled: &'a [Assembled<'_>]) -> impl Iterator<Item = (&'a Module, &'a str, u32)> {
    let kept = |module: &&Assembled<'_>| {
        let name = module.module.name.as_str();
        let mut families = CHEAP.iter().chain(&PRODUCTS);
        module.module.arch == ARCH && families.any(|&family| family == name || name.split('.').next() == Some(family))
    };
    let kernels = |module: &'a Assembled<'_>| {
        module.kernels.iter().filter_map(|kernel| Some((module.module, kernel.name, kernel.usage.as_ref()?.registers)))
    };
    assembled.iter().filter(kept).flat_map(kernels)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cuda_builder::manifest::Entry;

    use super::super::assemble::Kernel;
    use super::super::ptxas_output::{Output, Usage};
    use super::*;

    fn module(name: &str, arch: Arch) -> Module {
        let entry = |name: &str| Entry {
            name: name.into(),
            parameters: Vec::new(),
            reqntid: None,
            maxntid: None,
            minctasm: None,
            maxnreg: None,
            cluster: None,
            static_shared_bytes: 0,
        };
        let (ptx_isa, file) = ("8.0".parse().unwrap(), format!("{arch}/{name}.ptx"));
        Module { name: name.into(), arch, ptx_isa, file, cubin: None, entries: vec![entry("a"), entry("b")] }
    }

    fn assembled<'m>(module: &'m Module, registers: [u32; 2]) -> Assembled<'m> {
        let usage = |registers| Some(Usage { registers, ..Usage::default() });
        let kernels = module.entries.iter().zip(registers);
        let kernels = kernels.map(|(entry, registers)| Kernel { name: &entry.name, usage: usage(registers) }).collect();
        Assembled { module, kernels, output: Output::default(), failure: None, cubin_bytes: 0, time: Duration::ZERO }
    }

    #[test]
    fn other_numbers_and_new_kernels_are_found_until_the_file_is_renewed() {
        let cheap = module("bias.relu", ARCH);
        let before = assembled(&cheap, [20, 30]);
        let file: Registers = toml::from_str(&text("13.5", &[before])).unwrap();
        assert!(!file.differ_in_ptxas("13.5") && file.differ_in_ptxas("13.6"));
        assert!(file.findings(&[assembled(&cheap, [20, 30])]).is_empty());
        let more = file.findings(&[assembled(&cheap, [20, 31])]);
        assert_eq!(more.len(), 1);
        assert!(
            more[0].to_string().contains("registers: `b` (module bias.relu, sm_90a): takes 31, 30 before"),
            "{}",
            more[0]
        );

        let empty = Registers { ptxas: "13.5".into(), registers: BTreeMap::new() };
        assert_eq!(empty.findings(&[assembled(&cheap, [1, 2])]).len(), 2);
        let others = [module("softmax.relu", ARCH), module("bias.relu", Arch::SM_80)];
        assert!(empty.findings(&others.each_ref().map(|module| assembled(module, [1, 2]))).is_empty());
    }
}
