//! `inspect`: what became of a kernel. Rust beside PTX and machine code, what it needs, what it is made of, how much of a machine it
//! reaches.

mod assemble;
mod classes;
mod html;
mod listing;
mod locations;
mod metadata;
mod occupancy;
mod report;
mod roofline;
mod sass;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use cuda_builder::manifest::{Entry, Module};
use cuda_builder::{BuildError, discover};
use rayon::prelude::*;

use crate::device_crate::DeviceCrate;
use crate::tools::Tool;
use crate::verify::assemble::assemblable;
use crate::verify::ptxas_output::Usage;
use crate::{setup, table, workspace};
use assemble::{Assembled, assemble};
use listing::Row;
use locations::{Locations, Sources};
use metadata::Chains;
use report::Launch;
use roofline::{Machine, Measurement, Roof, Unit};
use sass::Sass;

/// Shows what became of kernels: registers, memory, spills, occupancy; instructions by class; Rust beside PTX and machine code.
///
/// Without --ptx, --llvm, --sass, --resources or --html: the resources, and, if one kernel is meant, its instruction mix and
/// machine code for the highest architecture. Counts are static: each instruction counts once, however often it runs.
#[derive(clap::Args)]
pub struct Inspect {
    /// A kernel's name, or a part of the names of several; without it: all kernels
    kernel: Option<String>,
    #[command(flatten)]
    device_crate: DeviceCrate,
    /// Print the PTX with the lines of Rust that it comes from
    #[arg(long)]
    ptx: bool,
    /// Print the optimised LLVM IR
    #[arg(long)]
    llvm: bool,
    /// Print the machine code with the lines of Rust that it comes from, and the instruction mix
    #[arg(long)]
    sass: bool,
    /// Print registers, memory, spills and occupancy only
    #[arg(long)]
    resources: bool,
    /// Write everything (with --ptx and --llvm these too) to one page that opens in a browser, from disk and without a network
    #[arg(long)]
    html: bool,
    /// The page's file [default: inspect.html in the target folder]
    #[arg(long, value_name = "FILE", requires = "html")]
    out: Option<PathBuf>,
    /// Threads of a block, for kernels that take any
    #[arg(long, value_name = "N", default_value_t = 256)]
    threads: u32,
    /// Dynamic shared memory of the launch, which only the host knows
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    dynamic_shared: u32,
    /// Bytes that a measured launch must move from and to memory, for its place under the roofline
    #[arg(long, value_name = "N", requires = "time_us", default_value_t = 0.0)]
    bytes: f64,
    /// Floating-point operations that a measured launch must do
    #[arg(long, value_name = "N", requires = "time_us", default_value_t = 0.0)]
    flops: f64,
    /// Microseconds that a launch of KERNEL took
    #[arg(long, value_name = "T", requires = "kernel")]
    time_us: Option<f64>,
    /// A CSV file of such measurements: kernel,bytes,flops,time_us
    #[arg(long, value_name = "FILE")]
    measurements: Option<PathBuf>,
    /// The machine that was measured: h200, h100, a100
    #[arg(long, value_name = "NAME", default_value = "h200")]
    machine: Machine,
    /// Which of the machine's peaks of arithmetic to measure by [default: what the instructions are for]
    #[arg(long, value_name = "UNIT")]
    peak: Option<Unit>,
    /// Another machine's bytes a second
    #[arg(long, value_name = "B/S")]
    peak_bandwidth: Option<f64>,
    /// Another machine's operations a second
    #[arg(long, value_name = "FLOP/S")]
    peak_flops: Option<f64>,
}

/// A module's text, shared by its kernels.
struct Text {
    ptx: String,
    llvm_ir: String,
    locations: Locations,
}

/// One kernel on one architecture.
struct Kernel<'m> {
    module: &'m Module,
    entry: &'m Entry,
    text: &'m Text,
    usage: Option<Usage>,
    sass: Option<Sass>,
}

impl Kernel<'_> {
    fn uses_dynamic_shared(&self) -> bool {
        let head = format!(".entry {}(", self.entry.name);
        let body = self.text.ptx.split_once(&head).map_or("", |(_, rest)| rest);
        body.split("\n}").next().unwrap_or_default().contains("__warpsmith_dynamic_shared")
    }
}

impl Inspect {
    pub fn run(&self) -> Result<()> {
        setup::ensure()?;
        let ptxas = discover::ptxas(&[workspace::python_packages()])?.path;
        let only_text = (self.ptx || self.llvm || self.resources) && !self.sass && !self.html;
        let nvdisasm = if only_text { None } else { Some(setup::ensure_tool(Tool::Nvdisasm)?) };
        let mut measurements = self.measurements.as_deref().map(Measurement::read).transpose()?.unwrap_or_default();

        let archs = assemblable(&ptxas, &self.device_crate.archs())?;
        let wanted: Vec<&String> = self.kernel.iter().collect();
        let build =
            |builder: cuda_builder::CudaBuilder| builder.kernels(&wanted).generate_line_info(true).emit_llvm_ir(true);
        let built = self.device_crate.build_with(&archs, build).map_err(|error| self.explain(error))?;
        let modules = &built.code.manifest().modules;
        let sources = Sources::new(&self.device_crate.folder()?);
        let texts: Vec<Text> = modules
            .par_iter()
            .map(|module| self.read(built.code.directory(), module, &sources))
            .collect::<Result<_>>()?;
        let assembled: Vec<Assembled> = modules
            .par_iter()
            .map(|module| {
                assemble(&ptxas, nvdisasm.as_deref(), &built.code.directory().join(&module.file), module.arch)
            })
            .collect::<Result<_>>()?;
        let kernels = self.kernels(modules, &texts, assembled);
        measurements.extend(self.measurement(&latest(&kernels))?);
        let launch = Launch { threads: self.threads, dynamic_shared: self.dynamic_shared };

        if self.html {
            let page = html::Page { crate_name: &built.code.manifest().crate_name, kernels: &kernels, launch };
            return self.write_page(&page, &measurements);
        }
        let code = self.code(&latest(&kernels), &measurements);
        workspace::print(&format!("{}{code}{}\n", report::resources(&kernels, launch), built.summary()))
    }

    /// The listings, counts and roofline points that are asked for.
    fn code(&self, kernels: &[&Kernel<'_>], measurements: &[Measurement]) -> String {
        let nothing_asked = !(self.ptx || self.llvm || self.sass || self.resources);
        let machine_code = self.sass || (nothing_asked && kernels.len() == 1);
        let mut text = String::new();
        for kernel in kernels {
            let name = &kernel.entry.name;
            let place = format!("{name}, {}", kernel.module.arch);
            let mut listing = |what: &str, rows: &[Row]| {
                text += &format!("\n==> {what} of {place}\n{}\n", report::listing(rows));
            };
            if self.llvm {
                listing("LLVM IR", &listing::llvm(kernel));
            }
            if self.ptx {
                listing("PTX", &listing::ptx(kernel));
            }
            if let (true, Some(sass)) = (machine_code, &kernel.sass) {
                listing("machine code", &listing::sass(kernel));
                text += &format!("==> {place}: {}\n", report::mix(sass));
            }
            let measured = measurements.iter().filter(|measured| measured.kernel == *name);
            text += &report::roofline(name, self.roof(kernel), measured);
        }
        if nothing_asked && kernels.len() > 1 {
            let kernels = table::count(kernels.len(), "kernel");
            text += &format!("name one of the {kernels}, or give --sass, --ptx or --html, for the code\n");
        }
        text
    }

    fn write_page(&self, page: &html::Page<'_>, measurements: &[Measurement]) -> Result<()> {
        let points = |kernel: &Kernel<'_>| {
            let name = &kernel.entry.name;
            report::roofline(name, self.roof(kernel), measurements.iter().filter(|measured| measured.kernel == *name))
        };
        let listings = html::Listings { ptx: self.ptx, llvm: self.llvm };
        let text = page.write(listings, points);
        let out = self.out.clone().unwrap_or_else(|| workspace::target().join("inspect.html"));
        fs::write(&out, &text).with_context(|| format!("can't write {}", out.display()))?;
        let kernels = latest(page.kernels).len();
        println!(
            "{}, {}: {}",
            table::count(kernels, "kernel"),
            table::bytes(text.len() as u64),
            workspace::shown(&out)
        );
        Ok(())
    }

    fn read(&self, folder: &Path, module: &Module, sources: &Sources) -> Result<Text> {
        let path = folder.join(&module.file);
        let read = |path: PathBuf| fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()));
        let llvm_ir = read(path.with_extension("ll"))?;
        let ptx = read(path)?;
        let locations = Locations::parse(&ptx, &Chains::parse(&llvm_ir), sources);
        // It is many times the PTX.
        let llvm_ir = if self.llvm { llvm_ir } else { String::new() };
        Ok(Text { ptx, llvm_ir, locations })
    }

    /// The kernels that are meant: the one of that very name if there is one, else all that contain it.
    fn kernels<'m>(&self, modules: &'m [Module], texts: &'m [Text], assembled: Vec<Assembled>) -> Vec<Kernel<'m>> {
        let exact = |module: &Module| module.entries.iter().any(|entry| Some(&entry.name) == self.kernel.as_ref());
        let exact = modules.iter().any(exact);
        let meant = |name: &str| {
            self.kernel.as_deref().is_none_or(|wanted| if exact { name == wanted } else { name.contains(wanted) })
        };
        let mut kernels = Vec::new();
        for ((module, text), mut assembled) in modules.iter().zip(texts).zip(assembled) {
            for entry in module.entries.iter().filter(|entry| meant(&entry.name)) {
                let usage = assembled.output.entries.remove(&entry.name);
                let sass = assembled.functions.remove(&entry.name);
                kernels.push(Kernel { module, entry, text, usage, sass });
            }
        }
        kernels.sort_by_key(|kernel| (&kernel.entry.name, kernel.module.arch));
        kernels
    }

    /// The measurement that the options give: of the one kernel that is meant.
    fn measurement(&self, kernels: &[&Kernel<'_>]) -> Result<Option<Measurement>> {
        let Some(time_us) = self.time_us else { return Ok(None) };
        let [kernel] = kernels else {
            bail!("--time-us is the time of one kernel, and {} are meant", table::count(kernels.len(), "kernel"));
        };
        let one = Measurement { kernel: kernel.entry.name.clone(), bytes: self.bytes, flops: self.flops, time_us };
        one.check()?;
        Ok(Some(one))
    }

    fn roof(&self, kernel: &Kernel<'_>) -> Roof {
        let operations = match self.peak.unwrap_or_else(|| report::unit(kernel.sass.as_ref())) {
            Unit::F32 => self.machine.f32,
            Unit::F64 => self.machine.f64,
            Unit::Tensor => self.machine.tensor,
        };
        Roof {
            bandwidth: self.peak_bandwidth.unwrap_or(self.machine.bandwidth),
            operations: self.peak_flops.unwrap_or(operations),
        }
    }

    /// A name that is none gets the names that are near it.
    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let (Some(BuildError::NoKernels { entries, .. }), Some(wanted)) = (error.downcast_ref(), &self.kernel) else {
            return error;
        };
        let elsewhere = entries.iter().any(|name| name.contains(wanted));
        let hint = match elsewhere {
            true => "it has one for another architecture or in another family: try --arch sm_90a".to_owned(),
            false => format!("near it are: {}", near(wanted, entries).join(", ")),
        };
        anyhow!("{error}; {hint}")
    }
}

/// Each kernel on the highest architecture that it was built for.
fn latest<'k, 'm>(kernels: &'k [Kernel<'m>]) -> Vec<&'k Kernel<'m>> {
    let mut latest: BTreeMap<&str, &Kernel<'m>> = BTreeMap::new();
    for kernel in kernels {
        latest.insert(&kernel.entry.name, kernel);
    }
    latest.into_values().collect()
}

/// The five names that are most like `wanted`.
fn near(wanted: &str, names: &[String]) -> Vec<String> {
    let mut names: Vec<(f64, &String)> = names.iter().map(|name| (strsim::jaro_winkler(wanted, name), name)).collect();
    names.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    names.into_iter().take(5).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first() {
        let names = ["map_backward__relu__f32", "gemm_simt__sum__f32", "map_forward__relu__f32"].map(str::to_owned);
        assert_eq!(near("map_forwrd_relu", &names)[0], "map_forward__relu__f32");
    }
}
