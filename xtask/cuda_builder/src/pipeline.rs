//! The linker step: rlibs in, checked PTX modules and their manifest out.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::arch::{Arch, PtxIsa};
use crate::artifacts::Artifacts;
use crate::assemble::assemble;
use crate::cache::Cache;
use crate::compile::{Compiled, Job, compile};
use crate::discover::{Ptxas, Toolchain};
use crate::error::BuildError;
use crate::ir::{Item, Module as IrModule};
use crate::link::link;
use crate::manifest::{Entry, FORMAT, Manifest, Module};
use crate::marker::EntryMarker;
use crate::panics;
use crate::ptx::Ptx;
use crate::rewrite::{FloatMode, entry_module, rewrite};
use crate::split;

/// How the linker step is to work.
#[derive(Clone, Debug)]
pub struct Options {
    /// The architectures, in the caller's order.
    pub archs: Vec<Arch>,
    /// Build each module for the least of these architectures that can have all of its entries, instead of for each.
    pub least: bool,
    /// Floating-point modes.
    pub float: FloatMode,
    /// Build these modules and families (modules of the same name up to the first point) only; none: all.
    pub families: Vec<String>,
    /// Build only modules that have a kernel whose name contains one of these; none: all.
    pub kernels: Vec<String>,
    /// Assemble each module too.
    pub ptxas: Option<Ptxas>,
    /// Keep the optimised IR.
    pub llvm_ir: bool,
    /// Compile all entries as one module for the first architecture as well.
    pub whole: bool,
}

impl Options {
    fn builds(&self, module: &str) -> bool {
        let family = module.split('.').next().unwrap_or_default();
        self.families.is_empty() || self.families.iter().any(|wanted| wanted == family || wanted == module)
    }

    /// The modules to build, by what they are called and which kernels they have.
    fn chosen(&self, ir: &IrModule, crate_name: &str) -> Result<BTreeSet<String>, BuildError> {
        let mut chosen = BTreeSet::new();
        for entry in ir.entries() {
            let module = entry_module(entry)?.unwrap_or_else(|| crate_name.to_owned());
            let named = |wanted: &String| entry.symbol().contains(wanted.as_str());
            if self.builds(&module) && (self.kernels.is_empty() || self.kernels.iter().any(named)) {
                chosen.insert(module);
            }
        }
        Ok(chosen)
    }
}

/// What the linker step made.
pub struct Linked {
    /// The manifest.
    pub manifest: Manifest,
    /// Relative path and content of each output file but the manifest.
    pub files: Vec<(String, Vec<u8>)>,
    /// The PTX of the whole crate for the first architecture, if asked for.
    pub whole: Option<String>,
}

/// Entries that go into one module.
type Group<'a> = Vec<(&'a str, &'a EntryMarker)>;

/// Runs the linker step.
pub fn run(
    toolchain: &Toolchain,
    artifacts: &Artifacts,
    cache: &Cache,
    options: &Options,
) -> Result<Linked, BuildError> {
    let text = link(toolchain, artifacts, cache)?;
    let module = IrModule::parse(&text)?;
    drop(text);
    let crate_name = &artifacts.crate_name;
    if module.entries().next().is_none() {
        return Err(BuildError::NoEntries { crate_name: crate_name.clone() });
    }
    let chosen = options.chosen(&module, crate_name)?;
    let names: Vec<String> = module.entries().map(|entry| entry.symbol().to_owned()).collect();
    let in_chosen =
        |entry: &Item| entry_module(entry).is_ok_and(|module| chosen.contains(module.as_deref().unwrap_or(crate_name)));
    let mut module = split::prune(&module, in_chosen);
    panics::shorten(&mut module);
    let mut module = split::prune(&module, |_| true);
    let markers = rewrite(&mut module, options.float)?;
    let mut work: Vec<(String, Arch, Group<'_>)> = Vec::new();
    for &arch in &options.archs {
        let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
        for (entry, marker) in buildable(&markers, arch) {
            groups.entry(marker.module.as_deref().unwrap_or(crate_name)).or_default().push((entry, marker));
        }
        work.extend(groups.into_iter().map(|(name, group)| (name.to_owned(), arch, group)));
    }
    if options.least {
        keep_least(&mut work);
    }
    if work.is_empty() && !options.kernels.is_empty() {
        return Err(BuildError::NoKernels {
            crate_name: crate_name.clone(),
            wanted: options.kernels.clone(),
            archs: options.archs.clone(),
            entries: names,
        });
    }
    if work.is_empty() && !options.families.is_empty() {
        return Err(BuildError::NoModules { crate_name: crate_name.clone(), families: options.families.clone() });
    }
    let built = |(name, arch, group): &(String, Arch, Group<'_>)| {
        let (mut description, compiled) = build_module(toolchain, cache, &module, name, *arch, group, options.llvm_ir)?;
        let cubin =
            options.ptxas.as_ref().map(|ptxas| assemble(ptxas, cache, name, *arch, &compiled.ptx)).transpose()?;
        description.cubin = cubin.is_some().then(|| format!("{arch}/{name}.cubin"));
        Ok::<_, BuildError>((description, compiled, cubin))
    };
    let mut built = work.par_iter().map(built).collect::<Result<Vec<_>, _>>()?;
    built.sort_by(|(a, ..), (b, ..)| (&a.name, a.arch).cmp(&(&b.name, b.arch)));
    let whole = match options.archs.first() {
        Some(&arch) if options.whole => {
            let group: Group<'_> = buildable(&markers, arch).collect();
            Some(build_module(toolchain, cache, &module, crate_name, arch, &group, false)?.1.ptx)
        }
        _ => None,
    };
    let mut files = Vec::new();
    let mut modules = Vec::new();
    for (module, compiled, cubin) in built {
        if let Some(llvm_ir) = compiled.llvm_ir {
            files.push((format!("{}/{}.ll", module.arch, module.name), llvm_ir.into_bytes()));
        }
        files.push((module.file.clone(), compiled.ptx.into_bytes()));
        files.extend(module.cubin.clone().zip(cubin));
        modules.push(module);
    }
    let manifest = Manifest {
        format: FORMAT,
        crate_name: crate_name.clone(),
        compiler: toolchain.rustc_version.clone(),
        llvm: toolchain.llvm_version.clone(),
        modules,
    };
    Ok(Linked { manifest, files, whole })
}

/// Leaves out what a lower architecture has with as many entries.
fn keep_least(work: &mut Vec<(String, Arch, Group<'_>)>) {
    work.sort_by(|(a, arch, _), (b, other, _)| (a, arch).cmp(&(b, other)));
    work.dedup_by(|(name, _, group), (before, _, least)| name == before && group.len() == least.len());
}

/// The entries that `arch` can have.
fn buildable(markers: &BTreeMap<String, EntryMarker>, arch: Arch) -> impl Iterator<Item = (&str, &EntryMarker)> {
    let fits = move |marker: &EntryMarker| marker.arch.is_none_or(|least| arch.includes(least));
    markers.iter().filter(move |(_, marker)| fits(marker)).map(|(name, marker)| (name.as_str(), marker))
}

fn build_module(
    toolchain: &Toolchain,
    cache: &Cache,
    ir: &IrModule,
    name: &str,
    arch: Arch,
    group: &Group<'_>,
    llvm_ir: bool,
) -> Result<(Module, Compiled), BuildError> {
    let symbols: Vec<&str> = group.iter().map(|(entry, _)| *entry).collect();
    let (text, host_written) = split::extract(ir, &symbols);
    let mut public = symbols.clone();
    public.extend(host_written);
    let needed = group.iter().filter_map(|(_, marker)| marker.ptx);
    let ptx_isa = needed.fold(arch.ptx_isa(), PtxIsa::max);
    let job = Job { module: name, arch, ptx_isa, text: &text, public: &public, llvm_ir };
    let compiled = compile(toolchain, cache, &job)?;
    let ptx = check(&job, group, &compiled.ptx)?;
    let file = format!("{arch}/{name}.ptx");
    let module = Module { name: name.to_owned(), arch, ptx_isa: ptx.version, file, cubin: None, entries: ptx.entries };
    Ok((module, compiled))
}

/// Reads the PTX back and holds it against what was asked for.
fn check(job: &Job<'_>, group: &Group<'_>, text: &str) -> Result<Ptx, BuildError> {
    let (module, arch) = (job.module.to_owned(), job.arch);
    let ptx = Ptx::parse(text).map_err(|error| BuildError::Ptx { module: module.clone(), arch, text: error.text })?;
    if ptx.version < job.ptx_isa {
        return Err(BuildError::PtxVersion { module, arch, asked: job.ptx_isa, got: ptx.version });
    }
    if ptx.undefined.iter().any(|symbol| symbol.ends_with("rust_begin_unwind")) {
        return Err(BuildError::NoPanicHandler { module, arch });
    }
    if !ptx.undefined.is_empty() {
        return Err(BuildError::Unresolved { module, arch, symbols: ptx.undefined });
    }
    for (name, marker) in group {
        let Some(entry) = ptx.entries.iter().find(|entry| entry.name == *name) else {
            return Err(BuildError::MissingEntry { module, arch, entry: (*name).to_owned() });
        };
        if let Some((key, asked, got)) = differing_bound(marker, entry) {
            return Err(BuildError::LaunchBounds { module, arch, entry: entry.name.clone(), key, asked, got });
        }
    }
    Ok(ptx)
}

/// The first launch bound in which marker and PTX differ. Clusters exist from sm_90 on; llc leaves them out below.
fn differing_bound(marker: &EntryMarker, entry: &Entry) -> Option<(&'static str, String, String)> {
    fn pair<T: std::fmt::Debug + PartialEq>(
        key: &'static str,
        asked: Option<T>,
        got: Option<T>,
    ) -> Option<(&'static str, String, String)> {
        (asked != got).then(|| (key, format!("{asked:?}"), format!("{got:?}")))
    }
    pair("reqntid", marker.reqntid, entry.reqntid)
        .or_else(|| pair("maxntid", marker.maxntid, entry.maxntid))
        .or_else(|| pair("minctasm", marker.minctasm, entry.minctasm))
        .or_else(|| pair("maxnreg", marker.maxnreg, entry.maxnreg))
        .or_else(|| pair("cluster", marker.cluster, entry.cluster))
}
