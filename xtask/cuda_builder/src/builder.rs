//! The builder: options by value, and the build from nested cargo to the output folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::artifacts::Artifacts;
use crate::cache::{self, Cache, Key};
use crate::discover::{self, Ptxas, Toolchain};
use crate::error::{BuildError, IoContext};
use crate::manifest::Manifest;
use crate::nested_cargo::{self, Request};
use crate::output::Output;
use crate::pipeline::{self, Options};
use crate::rewrite::FloatMode;
use crate::variables;

/// Builds a device crate.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), cuda_builder::BuildError> {
/// use cuda_builder::{Arch, CudaBuilder};
/// let code = CudaBuilder::new("kernels").arch(Arch::SM_80).build()?;
/// println!("{} modules in {}", code.manifest().modules.len(), code.directory().display());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is built before `build` is called"]
pub struct CudaBuilder {
    path: PathBuf,
    archs: Vec<Arch>,
    least: bool,
    copies: Vec<PathBuf>,
    arguments: Vec<String>,
    release: bool,
    line_info: bool,
    fault_messages: bool,
    cubins: bool,
    families: Vec<String>,
    kernels: Vec<String>,
    llvm_ir: bool,
    fma_contraction: bool,
    ftz: bool,
    target_dir: Option<PathBuf>,
    toolchain: Option<Toolchain>,
}

impl CudaBuilder {
    /// The crate in the folder `path`, which has a `[lib]`; relative paths start at the current folder (in a build
    /// script: the package's).
    pub fn new(path: impl AsRef<Path>) -> Self {
        CudaBuilder {
            path: path.as_ref().to_owned(),
            archs: Vec::new(),
            least: false,
            copies: Vec::new(),
            arguments: Vec::new(),
            release: true,
            line_info: false,
            fault_messages: false,
            cubins: false,
            families: Vec::new(),
            kernels: Vec::new(),
            llvm_ir: false,
            fma_contraction: false,
            ftz: false,
            target_dir: None,
            toolchain: None,
        }
    }

    /// Builds for this architecture, besides those given before. Without any: `sm_75`.
    pub fn arch(mut self, arch: Arch) -> Self {
        if !self.archs.contains(&arch) {
            self.archs.push(arch);
        }
        self
    }

    /// Builds for these architectures, besides those given before.
    pub fn archs(self, archs: &[Arch]) -> Self {
        archs.iter().fold(self, |builder, &arch| builder.arch(arch))
    }

    /// Builds each module once, for the least of the architectures that can have all of its entries: half the time for two of them. A
    /// driver compiles PTX for the device at hand, whatever it was written for; what is lost is code that asks
    /// `cuda_std::arch()` for a higher one without demanding it by `arch = ...`.
    pub fn each_module_once(mut self) -> Self {
        self.least = true;
        self
    }

    /// Copies the result to a file: `x.ptx` gets all kernels as one PTX for the first architecture, `x.zip` the
    /// archive of all modules and architectures.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copies.push(path.as_ref().to_owned());
        self
    }

    /// Further arguments of the nested `cargo rustc`, e.g. `["--features", "x"]`.
    pub fn build_args(mut self, arguments: &[impl AsRef<str>]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Whether to build with the release profile. Default: true. The PTX is optimised either way; the dev profile
    /// adds debug assertions and overflow checks.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self
    }

    /// Whether the PTX names source lines (`.loc`), for profilers. Default: false, since every edited line changes them.
    pub fn generate_line_info(mut self, line_info: bool) -> Self {
        self.line_info = line_info;
        self
    }

    /// Whether each module is assembled as well, by ptxas, which must be there: the output then has a cubin beside each PTX, which
    /// loads without the driver's compiler where it fits the device. Default: false.
    pub fn cubins(mut self, cubins: bool) -> Self {
        self.cubins = cubins;
        self
    }

    /// Builds only these modules and families: `map.relu`, or `map` for all modules of that name up to the first point. Default:
    /// all.
    pub fn families(mut self, families: &[impl AsRef<str>]) -> Self {
        self.families.extend(families.iter().map(|family| family.as_ref().to_owned()));
        self
    }

    /// Builds only the modules that have a kernel whose name contains one of these texts, each with all of its kernels. Default: all.
    pub fn kernels(mut self, names: &[impl AsRef<str>]) -> Self {
        self.kernels.extend(names.iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Whether an index out of bounds, and any other panic of Rust's, tells the host its message, file and line. Default: false,
    /// which ends the kernel by a plain trap. (`gpu_assert!` and `gpu_panic!` have their messages either way.) For debugging:
    /// the PTX then changes with every edited line, and each check costs registers and instructions.
    pub fn fault_messages(mut self, messages: bool) -> Self {
        self.fault_messages = messages;
        self
    }

    /// Whether the optimised LLVM IR is put beside each PTX file, as `.ll`. Default: false.
    pub fn emit_llvm_ir(mut self, llvm_ir: bool) -> Self {
        self.llvm_ir = llvm_ir;
        self
    }

    /// Whether a multiplication and a following addition may become one fused operation. Default: false, so that the
    /// GPU gives the CPU's bits; write `mul_add` where a fused operation is meant.
    pub fn fma_contraction(mut self, contract: bool) -> Self {
        self.fma_contraction = contract;
        self
    }

    /// Whether f32 subnormals are flushed to zero. Default: false.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// The nested cargo's target folder, which must not be the outer one. Default: the variable
    /// [`variables::DEVICE_TARGET_DIR`], else `device` in the outer target folder.
    pub fn target_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.target_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// A toolchain found before. Default: [`Toolchain::discover`].
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Builds, or finds that nothing has changed.
    ///
    /// In a build script it prints the `cargo::rerun-if-changed` lines of everything that the device crate depends on.
    ///
    /// # Errors
    /// See [`BuildError`]: each says what was wrong and what to do.
    pub fn build(self) -> Result<DeviceCode, BuildError> {
        if !self.path.join("Cargo.toml").is_file() {
            return Err(BuildError::NoCrate { path: self.path });
        }
        for path in &self.copies {
            if !["ptx", "zip"].iter().any(|legal| path.extension().is_some_and(|extension| extension == *legal)) {
                return Err(BuildError::CopyTo { path: path.clone() });
            }
        }
        let in_build_script = nested_cargo::build_script_out_dir().is_some();
        if in_build_script {
            // Before anything can fail: installing what is missing must run the script again.
            variables::ALL.iter().for_each(|name| println!("cargo::rerun-if-env-changed={name}"));
        }
        let path = self.path.canonicalize().context("find", &self.path)?;
        let toolchain = match &self.toolchain {
            Some(toolchain) => toolchain.clone(),
            None => Toolchain::discover().inspect_err(|_| {
                if in_build_script {
                    installation_records().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
                }
            })?,
        };
        let target_dir = match &self.target_dir {
            Some(folder) => std::path::absolute(folder).context("find", folder)?,
            None => nested_cargo::target_dir(&toolchain, &path)?,
        };
        let store = target_dir.join("warpsmith");
        fs::create_dir_all(&store).context("create", &store)?;
        // Two builds at once: the second waits, then finds all done. The lock goes with the file handle.
        let lock = store.join(".lock");
        let lock_file = File::create(&lock).context("create", &lock)?;
        lock_file.lock().context("lock", &lock)?;

        let request = Request {
            path: &path,
            target_dir: &target_dir,
            release: self.release,
            line_info: self.line_info,
            fault_messages: self.fault_messages,
            arguments: &self.arguments,
        };
        let messages = nested_cargo::run(&toolchain, &request)?;
        let artifacts = Artifacts::parse(&messages, &path, &toolchain.core_source)?;
        // Where `cargo xtask setup` puts it, in a folder around this one, before the system's.
        let packages: Vec<PathBuf> = target_dir.ancestors().skip(1).map(|outer| outer.join("tools/python")).collect();
        let ptxas = self.cubins.then(|| discover::ptxas(&packages)).transpose()?;
        let code = self.link(&toolchain, ptxas, &artifacts, &path, &store)?;
        if in_build_script {
            artifacts.sources().iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
        }
        Ok(code)
    }

    /// The linker step, unless its output is there.
    fn link(
        &self,
        toolchain: &Toolchain,
        ptxas: Option<Ptxas>,
        artifacts: &Artifacts,
        path: &Path,
        store: &Path,
    ) -> Result<DeviceCode, BuildError> {
        let options = Options {
            archs: if self.archs.is_empty() { vec![Arch::default()] } else { self.archs.clone() },
            least: self.least,
            float: FloatMode { ftz: self.ftz, contract: self.fma_contraction },
            families: self.families.clone(),
            kernels: self.kernels.clone(),
            ptxas,
            llvm_ir: self.llvm_ir,
            whole: self.copies.iter().any(|path| path.extension().is_some_and(|extension| extension == "ptx")),
        };
        let identity = Key::new("output").with(path.as_os_str().as_encoded_bytes()).with(format!(
            "{options:?} {} {} {} {:?}",
            self.release, self.line_info, self.fault_messages, self.arguments
        ));
        let mut key =
            identity.clone().with(&toolchain.rustc_version).with(&toolchain.llvm_version).with_file(&artifacts.root)?;
        for rlib in artifacts.dependencies.iter().chain(&artifacts.core) {
            key = key.with_file(rlib)?;
        }
        let (name, key) = (format!("{}-{}", artifacts.crate_name, &identity.hex()[..12]), key.hex());
        let output = Output { folder: store.join("out").join(name) };
        let (manifest, fresh) = match output.fresh(&key) {
            Some(manifest) => (manifest, true),
            None => {
                let linked = pipeline::run(toolchain, artifacts, &Cache::open(store.join("cache"))?, &options)?;
                output.write(&linked, &key)?;
                (linked.manifest, false)
            }
        };
        let archive = output.archive(&manifest.crate_name);
        for copy in &self.copies {
            let from = if copy.extension().is_some_and(|it| it == "zip") { &archive } else { &output.whole() };
            cache::write(copy, &fs::read(from).context("read", from)?)?;
        }
        Ok(DeviceCode { directory: output.folder, archive, manifest, fresh, sources: artifacts.sources() })
    }
}

/// Files that change when something is installed: a build script that went on without device code runs again then.
fn installation_records() -> impl Iterator<Item = PathBuf> {
    let rustup = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let rustup = rustup.or_else(|| Some(std::env::home_dir()?.join(".rustup")));
    let toolchain = std::env::var_os("RUSTUP_TOOLCHAIN");
    let components = rustup.zip(toolchain).map(|(home, name)| home.join("toolchains").join(name));
    let components = components.map(|folder| folder.join("lib/rustlib/components"));
    [Some(PathBuf::from("/var/lib/dpkg/status")), components].into_iter().flatten().filter(|file| file.is_file())
}

/// A finished build.
#[derive(Clone, Debug)]
pub struct DeviceCode {
    directory: PathBuf,
    archive: PathBuf,
    manifest: Manifest,
    fresh: bool,
    sources: Vec<PathBuf>,
}

impl DeviceCode {
    /// The folder of `manifest.json`, `sm_XX/<module>.ptx` and, if asked for, `sm_XX/<module>.cubin`. The next build with the same options rewrites it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The same as one zip file, to be embedded by `include_bytes!`.
    pub fn archive(&self) -> &Path {
        &self.archive
    }

    /// What was built.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether all of it was there already.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// The files that the build depends on.
    pub fn sources(&self) -> &[PathBuf] {
        &self.sources
    }
}
