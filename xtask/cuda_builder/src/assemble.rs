//! One module's PTX to machine code, by NVIDIA's assembler, or the same from the cache.

use std::fs;
use std::process::Command;

use crate::arch::Arch;
use crate::cache::{Cache, Key};
use crate::discover::Ptxas;
use crate::error::{BuildError, IoContext};
use crate::link::run;

/// Assembles for `arch`, which is the PTX's own.
pub fn assemble(ptxas: &Ptxas, cache: &Cache, module: &str, arch: Arch, ptx: &str) -> Result<Vec<u8>, BuildError> {
    let path = cache.path(&Key::new("cubin").with(&ptxas.version).with(arch.name()).with(ptx), "cubin");
    if let Ok(cubin) = fs::read(&path) {
        return Ok(cubin);
    }
    let folder = tempfile::tempdir_in(cache.folder()).context("write in", cache.folder())?;
    let (input, output) = (folder.path().join("module.ptx"), folder.path().join("module.cubin"));
    fs::write(&input, ptx).context("write", &input)?;
    let mut command = Command::new(&ptxas.path);
    command.arg(format!("-arch={arch}")).arg("-o").arg(&output).arg(&input);
    run(command, format!("module {module} for {arch}"), None)?;
    fs::rename(&output, &path).context("write", &path)?;
    fs::read(&path).context("read", &path)
}
