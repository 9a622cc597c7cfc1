//! What is wrong with an assembled module.

use std::fmt;

use cuda_builder::Arch;
use serde::Deserialize;

use super::assemble::Assembled;
use super::ptxas_output::Usage;

/// What can be wrong, by the names that the list of exceptions uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Kind {
    /// `spills`: registers are kept in local memory.
    Spills,
    /// `stack`: a stack frame or another use of local memory.
    Stack,
    /// `registers`: the kernel takes another number of registers than xtask/registers.toml says.
    Registers,
    /// `missing`: the manifest has the kernel and ptxas has not, or the other way round.
    Missing,
    /// `C7510` to `C7517`: ptxas's remarks about wgmma.
    Remark(String),
    /// The module does not assemble. Nothing allows that.
    Failure,
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "spills" => Ok(Kind::Spills),
            "stack" => Ok(Kind::Stack),
            "registers" => Ok(Kind::Registers),
            "missing" => Ok(Kind::Missing),
            code if wgmma_remark(code) => Ok(Kind::Remark(text)),
            _ => Err(format!(
                "{text:?} can't be allowed; legal values: spills, stack, registers, missing, C7510 .. C7517"
            )),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Spills => "spills",
            Kind::Stack => "stack",
            Kind::Registers => "registers",
            Kind::Missing => "missing",
            Kind::Remark(code) => code,
            Kind::Failure => "ptxas failed",
        })
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub module: String,
    pub arch: Arch,
    /// The kernel or function; the module's name where ptxas names none.
    pub entry: String,
    pub kind: Kind,
    /// Bytes of local memory: the larger of those stored and loaded by spills, or the stack frame's; 0 for other kinds.
    pub bytes: u64,
    /// With the values.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { module, arch, entry, kind, detail, .. } = self;
        write!(f, "{kind}: `{entry}` (module {module}, {arch}): {detail}")
    }
}

/// C7510 to C7517: wgmma is serialised, or waits that nobody wrote are put in.
fn wgmma_remark(code: &str) -> bool {
    matches!(code.strip_prefix("C751").and_then(|last| last.parse::<u8>().ok()), Some(0..=7))
}

/// Everything that is wrong with a module.
pub fn findings(assembled: &Assembled<'_>) -> Vec<Finding> {
    let module = assembled.module;
    let finding = |entry: &str, kind, bytes, detail| Finding {
        module: module.name.clone(),
        arch: module.arch,
        entry: entry.to_owned(),
        kind,
        bytes,
        detail,
    };
    if let Some(text) = &assembled.failure {
        return vec![finding(&module.name, Kind::Failure, 0, format!("{} does not assemble:\n{text}", module.file))];
    }
    let mut found = Vec::new();
    let mut check = |name: &str, usage: &Usage| {
        if usage.spill_stores + usage.spill_loads > 0 {
            let detail = format!("{} bytes stored, {} loaded", usage.spill_stores, usage.spill_loads);
            found.push(finding(name, Kind::Spills, usage.spill_stores.max(usage.spill_loads), detail));
        }
        if usage.stack > 0 {
            let detail = format!("{} bytes of local memory a thread", usage.stack);
            found.push(finding(name, Kind::Stack, usage.stack, detail));
        }
    };
    for kernel in &assembled.kernels {
        if let Some(usage) = &kernel.usage {
            check(kernel.name, usage);
        }
    }
    assembled.output.functions.iter().for_each(|(name, usage)| check(name, usage));
    for kernel in assembled.kernels.iter().filter(|kernel| kernel.usage.is_none()) {
        found.push(finding(kernel.name, Kind::Missing, 0, "the manifest has it, the assembled module has not".into()));
    }
    for name in assembled.output.entries.keys() {
        found.push(finding(name, Kind::Missing, 0, "the assembled module has it, the manifest has not".into()));
    }
    for remark in assembled.output.remarks.iter().filter(|remark| wgmma_remark(&remark.code)) {
        let name = remark.function.as_deref().unwrap_or(&module.name);
        found.push(finding(name, Kind::Remark(remark.code.clone()), 0, remark.text.clone()));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cuda_builder::manifest::{Entry, Module};

    use super::super::assemble::Kernel;
    use super::super::ptxas_output::{Output, Remark};
    use super::*;

    fn module(entries: &[&str]) -> Module {
        let entry = |name: &&str| Entry {
            name: (*name).to_owned(),
            parameters: Vec::new(),
            reqntid: None,
            maxntid: None,
            minctasm: None,
            maxnreg: None,
            cluster: None,
            static_shared_bytes: 0,
        };
        Module {
            name: "m".into(),
            arch: Arch::SM_80,
            ptx_isa: "7.0".parse().unwrap(),
            file: "sm_80/m.ptx".into(),
            cubin: None,
            entries: entries.iter().map(entry).collect(),
        }
    }

    fn kinds(module: &Module, usages: Vec<Option<Usage>>, output: Output) -> Vec<String> {
        let kernels = module.entries.iter().zip(usages);
        let kernels = kernels.map(|(entry, usage)| Kernel { name: &entry.name, usage }).collect();
        let time = Duration::ZERO;
        let assembled = Assembled { module, kernels, output, failure: None, cubin_bytes: 0, time };
        findings(&assembled).iter().map(|finding| format!("{} {}", finding.entry, finding.kind)).collect()
    }

    #[test]
    fn each_kind_is_found() {
        let module = module(&["clean", "spilling", "gone"]);
        let spilling = Usage { spill_stores: 4, spill_loads: 4, stack: 8, ..Usage::default() };
        let mut output = Output::default();
        output.entries.insert("surprise".into(), Usage::default());
        output.functions.insert("helper".into(), Usage { stack: 16, ..Usage::default() });
        let remark = |code: &str| Remark { code: code.into(), function: Some("clean".into()), text: String::new() };
        output.remarks = vec![remark("C7510"), remark("C7508")];
        let kinds = kinds(&module, vec![Some(Usage::default()), Some(spilling), None], output);
        let expected =
            ["spilling spills", "spilling stack", "helper stack", "gone missing", "surprise missing", "clean C7510"];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_kind_that_is_none_is_refused_with_the_legal_ones() {
        let error = Kind::try_from("C7508".to_owned()).unwrap_err();
        assert!(error.contains("legal values: spills"), "{error}");
        assert_eq!(Kind::try_from("C7517".to_owned()), Ok(Kind::Remark("C7517".into())));
    }
}
