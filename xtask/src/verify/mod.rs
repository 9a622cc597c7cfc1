//! `verify`: every built module through NVIDIA's own assembler, and what it says about each kernel.

pub mod assemble;
mod exceptions;
mod findings;
pub mod ptxas_output;
mod registers;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cuda_builder::{Arch, discover};

use crate::device_crate::DeviceCrate;
use crate::{table, workspace};
use assemble::{Assembled, Kernel, assemble_all};
use exceptions::Exceptions;
use findings::{Finding, findings};
use registers::Registers;

/// Builds a device crate and assembles every module with ptxas: registers, spills, stack and shared memory per kernel.
///
/// Fails on spills, stack or local memory, ptxas's warnings C7510 to C7517 about wgmma, a module that does not assemble,
/// a kernel that is missing, and one that takes other registers than xtask/registers.toml says, unless
/// xtask/verify-exceptions.toml allows it with a reason; and on exceptions in that file that nothing needs any more.
#[derive(clap::Args)]
pub struct Verify {
    #[command(flatten)]
    device_crate: DeviceCrate,
    /// Write the registers that the cheap kernels and the matrix products take on sm_90a to xtask/registers.toml, and look at those kernels only
    #[arg(long)]
    renew_registers: bool,
    /// Show every kernel, not only a summary per module and the kernels with the most registers
    #[arg(long)]
    all: bool,
}

/// How many kernels the short table shows.
const WORST: usize = 10;

impl Verify {
    /// The cheap modules on every usual architecture.
    pub fn cheap() -> Self {
        Verify { device_crate: DeviceCrate::cheap(), renew_registers: false, all: false }
    }

    /// The matrix products on sm_90a.
    pub fn products() -> Self {
        Verify { device_crate: DeviceCrate::products(), ..Self::cheap() }
    }

    pub fn run(&self) -> Result<()> {
        if self.renew_registers {
            return renew_registers();
        }
        let ptxas = discover::ptxas(&[workspace::python_packages()]).context("`cargo xtask setup` installs it")?;
        let exceptions = Exceptions::read(&workspace::root().join("xtask/verify-exceptions.toml"))?;
        let archs = assemble::assemblable(&ptxas.path, &self.device_crate.archs())?;
        let built = self.device_crate.build(&archs, false, false)?;
        let manifest = built.code.manifest();
        let assembled = assemble_all(&ptxas.path, built.code.directory(), &manifest.modules)?;

        self.print_tables(&assembled);
        println!("{}, assembled by ptxas {}", built.summary(), ptxas.version);

        let mut found: Vec<Finding> = assembled.iter().flat_map(findings).collect();
        if manifest.crate_name == LIBRARY {
            let registers = Registers::read(&registers_file())?;
            match registers.differ_in_ptxas(&ptxas.version) {
                true => println!("registers are not compared: the file's are of ptxas {}", registers.ptxas()),
                false => found.extend(registers.findings(&assembled)),
            }
        }
        let verdict = exceptions.judge(&manifest.crate_name, self.device_crate.is_default(), &found);
        verdict.allowed.iter().for_each(|(finding, reason)| println!("allowed: {finding} ({reason})"));
        verdict.stale.iter().for_each(|stale| println!("stale exception: {stale}; remove it"));
        verdict.refused.iter().for_each(|finding| println!("FAILED: {finding}"));
        match (verdict.refused.len(), verdict.stale.len()) {
            (0, 0) => {
                println!("verify: ok");
                Ok(())
            }
            (refused, stale) => bail!(
                "verify: {}, {}; {} is where exceptions are listed",
                table::count(refused, "finding"),
                table::count(stale, "stale exception"),
                Path::new("xtask/verify-exceptions.toml").display()
            ),
        }
    }

    fn print_tables(&self, assembled: &[Assembled<'_>]) {
        let mut kernels: Vec<(&Assembled<'_>, &Kernel<'_>)> =
            assembled.iter().flat_map(|module| module.kernels.iter().map(move |kernel| (module, kernel))).collect();
        if !self.all {
            println!("{}", module_table(assembled));
            kernels.sort_by_key(|(_, kernel)| std::cmp::Reverse(kernel.badness()));
            kernels.truncate(WORST);
            println!("the {} with the most spills, stack and registers (--all shows all):", kernels.len());
        }
        println!("{}", kernel_table(&kernels));
    }
}

/// The crate whose registers are kept.
const LIBRARY: &str = "warpsmith_gpu";

fn registers_file() -> PathBuf {
    workspace::root().join("xtask/registers.toml")
}

fn renew_registers() -> Result<()> {
    let ptxas = discover::ptxas(&[workspace::python_packages()]).context("`cargo xtask setup` installs it")?;
    let built = DeviceCrate::listed().build(&[Arch::SM_90A], false, false)?;
    let assembled = assemble_all(&ptxas.path, built.code.directory(), &built.code.manifest().modules)?;
    let file = registers_file();
    std::fs::write(&file, registers::text(&ptxas.version, &assembled))
        .with_context(|| format!("can't write {}", file.display()))?;
    println!("written: {}", workspace::shown(&file));
    Ok(())
}

fn module_table(assembled: &[Assembled<'_>]) -> String {
    let header =
        ["module", "arch", "entries", "most registers", "spilled bytes", "most stack", "most shared", "cubin", "ptxas"];
    let mut table = table::table(&header, 2);
    for module in assembled {
        let usages = || module.kernels.iter().filter_map(|kernel| kernel.usage.as_ref());
        let registers = usages().map(|usage| usage.registers).max().unwrap_or(0);
        let spilled = usages().map(|usage| usage.spill_stores + usage.spill_loads).sum::<u64>();
        let stack = usages().map(|usage| usage.stack).max().unwrap_or(0);
        let shared = usages().map(|usage| usage.shared).max().unwrap_or(0);
        table.add_row([
            module.module.name.clone(),
            module.module.arch.to_string(),
            module.kernels.len().to_string(),
            registers.to_string(),
            spilled.to_string(),
            stack.to_string(),
            shared.to_string(),
            table::bytes(module.cubin_bytes),
            table::time(module.time),
        ]);
    }
    table.to_string()
}

fn kernel_table(kernels: &[(&Assembled<'_>, &Kernel<'_>)]) -> String {
    let header = ["kernel", "arch", "registers", "spill stores", "spill loads", "stack", "shared", "barriers"];
    let mut table = table::table(&header, 2);
    for (module, kernel) in kernels {
        let numbers = match &kernel.usage {
            Some(usage) => [
                u64::from(usage.registers),
                usage.spill_stores,
                usage.spill_loads,
                usage.stack,
                usage.shared,
                u64::from(usage.barriers),
            ]
            .map(|number| number.to_string()),
            None => std::array::from_fn(|column| if column == 0 { "missing".into() } else { String::new() }),
        };
        let names = [kernel.name.to_owned(), module.module.arch.to_string()];
        table.add_row(names.into_iter().chain(numbers));
    }
    table.to_string()
}
