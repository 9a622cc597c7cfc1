//! Why a build failed.

use std::path::PathBuf;
use std::process::ExitStatus;

use crate::arch::{Arch, PtxIsa};
use crate::discover::DiscoverError;
use crate::ir::IrError;
use crate::rewrite::RewriteError;

/// Why a build failed, with what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Part of the toolchain is missing.
    #[error(transparent)]
    Toolchain(#[from] DiscoverError),
    /// The path given to [`crate::CudaBuilder::new`] is no crate.
    #[error("no crate at {}: {} does not exist", path.display(), path.join("Cargo.toml").display())]
    NoCrate {
        /// The path.
        path: PathBuf,
    },
    /// A file that [`crate::CudaBuilder::copy_to`] can't make.
    #[error("can't tell what to copy to {}: the name must end in .ptx (one PTX of the whole crate) or .zip (the archive)", path.display())]
    CopyTo {
        /// The path.
        path: PathBuf,
    },
    /// The nested cargo failed; its messages went to standard error.
    #[error("the device crate {} does not compile ({status}); cargo's messages are above{}", path.display(), hint_text(*.hint))]
    Cargo {
        /// The crate's folder.
        path: PathBuf,
        /// How cargo ended.
        status: ExitStatus,
        /// What is behind the messages, where it is a mistake that only a GPU makes one.
        hint: Option<&'static str>,
    },
    /// The nested cargo succeeded without naming what was expected of it.
    #[error("cargo built {} but named no {what} in its messages; is there a [lib] target?", path.display())]
    Artifact {
        /// The crate's folder.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// One of LLVM's tools, or ptxas, failed.
    #[error("{} failed ({status}){}:\n{message}", tool.display(), context_text(context))]
    Llvm {
        /// The tool.
        tool: PathBuf,
        /// The module and architecture, if the tool was run for one.
        context: String,
        /// How it ended.
        status: ExitStatus,
        /// Its standard error.
        message: String,
    },
    /// The linked IR has a line of an unknown kind.
    #[error(transparent)]
    Ir(#[from] IrError),
    /// A marker can't be followed.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// The crate has no kernel.
    #[error(
        "{crate_name} has no kernel: no `extern \"ptx-kernel\"` function with an exported name; instantiate some with kernels! {{ ... }}, or mark one #[unsafe(no_mangle)]"
    )]
    NoEntries {
        /// The crate.
        crate_name: String,
    },
    /// A kernel was asked for and is not in the PTX.
    #[error(
        "module {module} for {arch}: kernel `{entry}` is missing from the PTX; it was dropped or renamed while compiling"
    )]
    MissingEntry {
        /// The module.
        module: String,
        /// The architecture.
        arch: Arch,
        /// The kernel.
        entry: String,
    },
    /// The PTX states other launch bounds than the marker asked for.
    #[error("module {module} for {arch}: kernel `{entry}` was marked {key}={asked:?} but its PTX says {got:?}")]
    LaunchBounds {
        /// The module.
        module: String,
        /// The architecture.
        arch: Arch,
        /// The kernel.
        entry: String,
        /// The marker's key.
        key: &'static str,
        /// The marker's value.
        asked: String,
        /// The directive's value.
        got: String,
    },
    /// No module has a name that was asked for.
    #[error("{crate_name} has no module or family of the names {}; a module's family is its name up to the first point", families.join(", "))]
    NoModules {
        /// The crate.
        crate_name: String,
        /// What was asked for.
        families: Vec<String>,
    },
    /// No kernel has a name that was asked for, on any of these architectures.
    #[error("{crate_name} has no kernel whose name contains {}, for {}", wanted.join(" or "), archs.iter().map(Arch::to_string).collect::<Vec<_>>().join(", "))]
    NoKernels {
        /// The crate.
        crate_name: String,
        /// What was asked for.
        wanted: Vec<String>,
        /// The architectures that were asked for.
        archs: Vec<Arch>,
        /// Every kernel that the crate has, by name, for whatever architecture.
        entries: Vec<String>,
    },
    /// Code refers to something that nothing defines.
    #[error("module {module} for {arch}: undefined symbol{}: {}; a device crate can call only Rust code, and vprintf, __assertfail, malloc and free of the CUDA driver", if symbols.len() == 1 { "" } else { "s" }, symbols.join(", "))]
    Unresolved {
        /// The module.
        module: String,
        /// The architecture.
        arch: Arch,
        /// The symbols.
        symbols: Vec<String>,
    },
    /// Code can panic and no crate says what happens then.
    #[error(
        "module {module} for {arch}: kernels can panic but there is no panic handler; depend on cuda_std and `use cuda_std as _;`, or write a #[panic_handler]"
    )]
    NoPanicHandler {
        /// The module.
        module: String,
        /// The architecture.
        arch: Arch,
    },
    /// PTX that this crate can't read back.
    #[error(
        "module {module} for {arch}: the PTX can't be read back at {text:?}; this is a limit of warpsmith-cuda-builder, please report it"
    )]
    Ptx {
        /// The module.
        module: String,
        /// The architecture.
        arch: Arch,
        /// The piece of PTX.
        text: String,
    },
    /// The code generator wrote a PTX version below the one asked for.
    #[error("module {module} for {arch}: PTX {asked} was asked for and llc wrote {got}")]
    PtxVersion {
        /// The module.
        module: String,
        /// The architecture.
        arch: Arch,
        /// The version asked for.
        asked: PtxIsa,
        /// The version written.
        got: PtxIsa,
    },
    /// A file or a process could not be handled.
    #[error("can't {action} {}: {source}", path.display())]
    Io {
        /// What was attempted, e.g. "write".
        action: &'static str,
        /// The file or program.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// An rlib that is no archive.
    #[error("{} is no archive of bitcode: {message}", path.display())]
    Archive {
        /// The rlib.
        path: PathBuf,
        /// What the reader says.
        message: String,
    },
    /// The archive of the output could not be written.
    #[error("can't write the archive {}: {source}", path.display())]
    Zip {
        /// The archive.
        path: PathBuf,
        /// What the writer says.
        source: zip::result::ZipError,
    },
}

fn hint_text(hint: Option<&str>) -> String {
    hint.map_or_else(String::new, |hint| format!(". {hint}"))
}

fn context_text(context: &str) -> String {
    if context.is_empty() { String::new() } else { format!(" on {context}") }
}

/// Adds the action and the path to an I/O error.
pub(crate) trait IoContext<T> {
    fn context(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T, BuildError>;
}

impl<T> IoContext<T> for std::io::Result<T> {
    fn context(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T, BuildError> {
        self.map_err(|source| BuildError::Io { action, path: path.into(), source })
    }
}
