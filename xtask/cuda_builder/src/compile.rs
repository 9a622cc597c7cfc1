//! One module for one architecture: `opt`, then `llc`, or the same output from the cache.

use std::process::Command;

use crate::arch::{Arch, PtxIsa};
use crate::cache::{self, Cache, Key};
use crate::discover::Toolchain;
use crate::error::{BuildError, IoContext};
use crate::link::run;

/// One module to compile for one architecture.
pub struct Job<'a> {
    /// The module's name, for messages.
    pub module: &'a str,
    /// The architecture.
    pub arch: Arch,
    /// The PTX version to write.
    pub ptx_isa: PtxIsa,
    /// The module's IR.
    pub text: &'a str,
    /// The symbols that stay visible: the entries, and constant memory that the host writes.
    pub public: &'a [&'a str],
    /// Whether the optimised IR is wanted too.
    pub llvm_ir: bool,
}

/// What a job yields.
pub struct Compiled {
    /// The PTX.
    pub ptx: String,
    /// The optimised IR, if asked for.
    pub llvm_ir: Option<String>,
}

/// Compiles, or takes the result of the same job done before.
pub fn compile(toolchain: &Toolchain, cache: &Cache, job: &Job<'_>) -> Result<Compiled, BuildError> {
    let public = job.public.join(",");
    let key = Key::new("ptx")
        .with(&toolchain.llvm_version)
        .with(job.arch.name())
        .with(job.ptx_isa.to_string())
        .with(&public)
        .with(job.text);
    let (ptx_path, ir_path) = (cache.path(&key, "ptx"), cache.path(&key, "ll"));
    let cached = std::fs::read_to_string(&ptx_path).ok();
    if let Some(ptx) = cached {
        if !job.llvm_ir {
            return Ok(Compiled { ptx, llvm_ir: None });
        } else if let Ok(llvm_ir) = std::fs::read_to_string(&ir_path) {
            return Ok(Compiled { ptx, llvm_ir: Some(llvm_ir) });
        }
    }
    let cpu = format!("-mcpu={}", job.arch);
    let isa = format!("-mattr=+ptx{}{}", job.ptx_isa.major, job.ptx_isa.minor);
    let context = || format!("module {} for {}", job.module, job.arch);

    let mut opt = Command::new(&toolchain.opt);
    opt.args([&cpu, &isa]);
    // `__nvvm_reflect("__CUDA_ARCH")` is resolved at the pipeline's start, before anything looks at the branches on it.
    opt.args(["-passes=internalize,globaldce,default<O3>", &format!("-internalize-public-api-list={public}")]);
    opt.args(if job.llvm_ir { ["-S", "-o", "-"].as_slice() } else { ["-o", "-"].as_slice() });
    let optimised = run(opt, context(), Some(job.text.as_bytes()))?;

    let mut llc = Command::new(&toolchain.llc);
    llc.args(["-O3", "-march=nvptx64", &cpu, &isa, "-o", "-"]);
    let ptx = run(llc, context(), Some(&optimised))?;
    let ptx = String::from_utf8(ptx).map_err(std::io::Error::other).context("read", &toolchain.llc)?;
    let llvm_ir = job.llvm_ir.then(|| String::from_utf8_lossy(&optimised).into_owned());
    if let Some(llvm_ir) = &llvm_ir {
        cache::write(&ir_path, llvm_ir.as_bytes())?;
    }
    cache::write(&ptx_path, ptx.as_bytes())?;
    Ok(Compiled { ptx, llvm_ir })
}
