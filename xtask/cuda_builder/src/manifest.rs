//! What a build produced: entries with their parameters and launch bounds, per module and architecture.
//!
//! This is the content of `manifest.json`, beside `sm_XX/<module>.ptx` in the output folder and in the archive.

use serde::{Deserialize, Serialize};

use crate::arch::{Arch, PtxIsa};

/// The name of the manifest's file in the output folder and in the archive.
pub const FILE_NAME: &str = "manifest.json";

/// The layout version that this crate writes and reads.
pub const FORMAT: u32 = 1;

/// Everything that one build produced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The layout version of the manifest: [`FORMAT`].
    pub format: u32,
    /// The device crate's library name.
    pub crate_name: String,
    /// The device compiler, as `rustc -V` says it.
    pub compiler: String,
    /// The version of the LLVM tools that made the PTX, e.g. `22.1.8`.
    pub llvm: String,
    /// One for each PTX file, ordered by name, then architecture.
    pub modules: Vec<Module>,
}

impl Manifest {
    /// The module of this name whose architecture is the highest that runs on compute capability `major`.`minor`.
    pub fn best_module(&self, name: &str, major: u16, minor: u16) -> Option<&Module> {
        let runs = |module: &&Module| module.name == name && module.arch.runs_on(major, minor);
        self.modules.iter().filter(runs).max_by_key(|module| module.arch)
    }
}

/// One PTX file: one module built for one architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// The module's name, the same for all architectures.
    pub name: String,
    /// The architecture, the file's `.target`.
    pub arch: Arch,
    /// The PTX version, the file's `.version`.
    pub ptx_isa: PtxIsa,
    /// The file, relative to the manifest, with `/` between folders.
    pub file: String,
    /// The same as machine code for this architecture, if it was assembled: it loads without the driver's compiler, on devices
    /// of the same major version ([`Arch::cubin_runs_on`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cubin: Option<String>,
    /// The kernels, ordered by name.
    pub entries: Vec<Entry>,
}

/// One kernel entry point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The symbol to ask the driver for.
    pub name: String,
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
    /// The block shape that a launch must have (x, y, z threads).
    pub reqntid: Option<[u32; 3]>,
    /// The largest block shape that a launch may have (x, y, z threads).
    pub maxntid: Option<[u32; 3]>,
    /// The least number of blocks per multiprocessor that registers were limited for.
    pub minctasm: Option<u32>,
    /// The limit of registers per thread.
    pub maxnreg: Option<u32>,
    /// The cluster shape that a launch must have (x, y, z blocks).
    pub cluster: Option<[u32; 3]>,
    /// Static shared memory that the entry and what it calls declare, in bytes. Dynamic shared memory is not in it.
    pub static_shared_bytes: u64,
}

/// One kernel parameter as it lies in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Bytes from the start of the parameter buffer.
    pub offset: u64,
}
