//! The compiled kernels of one device crate: an archive or a folder of PTX modules, and perhaps cubins, with a manifest.
//!
//! A module is loaded when a kernel of it is first asked for, once, from the best architecture that the device runs.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use cuda_builder::manifest::{self, Entry, Manifest};
use cuda_std::{Has, Kernel};

use crate::error::{Error, Result};
use crate::kernel::TypedKernel;
use crate::loaded::Loaded;
use crate::module::{self, Module};
use crate::runtime::{Cuda, Runtime};

/// The kernels that one `kernels! { ... }` compiled; `L` is the marker type that it declared.
///
/// On the CPU runtime, and where the device code was not built, a library exists but gives no kernels: the error says why.
pub struct Library<L> {
    runtime: Runtime,
    code: Arc<DeviceCode>,
    marker: PhantomData<fn() -> L>,
}

/// What a library's archive or folder holds.
pub(crate) struct DeviceCode {
    crate_name: &'static str,
    source: Source,
    manifest: Manifest,
    /// Loaded modules by file. The outer lock is held for the look-up alone, so that modules load side by side.
    modules: Mutex<HashMap<String, Arc<ModuleCell>>>,
}

#[derive(Default)]
struct ModuleCell {
    loaded: OnceLock<Module>,
    loading: Mutex<()>,
}

enum Source {
    Archive(&'static [u8]),
    Folder(PathBuf),
    /// The device code was not built.
    Missing(String),
}

/// # Kernels from an archive or a folder
impl Runtime {
    /// The library in an archive that `cuda_builder` wrote. A text in the archive's place is the reason why there is none.
    ///
    /// # Errors
    /// [`Error::Archive`]
    pub fn library<L: cuda_std::Library>(&self, archive: &'static [u8]) -> Result<Library<L>> {
        let source = if archive.starts_with(b"PK") {
            Source::Archive(archive)
        } else {
            Source::Missing(match String::from_utf8_lossy(archive).trim() {
                "" => "they were left out of the build; run `cargo xtask setup` and build again".into(),
                reason => reason.into(),
            })
        };
        Ok(Library::new(self, Arc::new(DeviceCode::open(L::CRATE, source)?)))
    }

    /// The library in a folder: `manifest.json` and `sm_XX/<module>.ptx`.
    ///
    /// # Errors
    /// [`Error::Archive`]
    pub fn library_from_dir<L: cuda_std::Library>(&self, folder: impl AsRef<Path>) -> Result<Library<L>> {
        let source = Source::Folder(folder.as_ref().to_owned());
        Ok(Library::new(self, Arc::new(DeviceCode::open(L::CRATE, source)?)))
    }
}

impl<L> Library<L> {
    pub(crate) fn new(runtime: &Runtime, code: Arc<DeviceCode>) -> Self {
        Self { runtime: runtime.clone(), code, marker: PhantomData }
    }

    pub(crate) fn into_code(self) -> Arc<DeviceCode> {
        self.code
    }

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// What was built.
    pub fn manifest(&self) -> &Manifest {
        &self.code.manifest
    }

    /// Why there is no device code; `None` if there is.
    pub fn missing_reason(&self) -> Option<&str> {
        match &self.code.source {
            Source::Missing(reason) => Some(reason),
            _ => None,
        }
    }

    /// The kernel instance `K`; its module is loaded and its parameters are compared with the manifest.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on the CPU, [`Error::NoDeviceCode`], [`Error::KernelMissing`], [`Error::ArchUnavailable`],
    /// [`Error::ModuleLoad`], [`Error::ManifestMismatch`].
    pub fn kernel<K: Kernel>(&self) -> Result<TypedKernel<K>>
    where
        L: Has<K>,
    {
        if self.runtime.is_simulator() {
            return Ok(TypedKernel::simulated(&self.runtime, L::ENTRY));
        }
        let loaded = self.load(L::MODULE, L::ENTRY, |entry| crate::loaded::expect_parameters::<K>(entry))?;
        Ok(TypedKernel::new(&self.runtime, loaded))
    }

    fn load(&self, module: &str, entry: &str, check: impl FnOnce(&Entry) -> Result<()>) -> Result<Arc<Loaded>> {
        let Some(cuda) = self.runtime.cuda_state() else {
            let remedy = "kernels run on a GPU: call the operation's CPU version, or use Runtime::cuda(0)";
            return Err(self.runtime.unsupported("load a kernel", remedy));
        };
        if let Source::Missing(reason) = &self.code.source {
            return Err(Error::NoDeviceCode { library: self.code.crate_name.into(), reason: reason.clone() });
        }
        let (built, described) = self.code.find(cuda, module, entry)?;
        check(described)?;
        let loaded = self.code.module(cuda, built)?;
        let function = loaded.function(cuda, entry)?.ok_or_else(|| self.code.missing(module, entry))?;
        Loaded::new(cuda, described, function).map(Arc::new)
    }
}

impl DeviceCode {
    fn open(crate_name: &'static str, source: Source) -> Result<Self> {
        let manifest = match &source {
            Source::Missing(_) => Manifest {
                format: manifest::FORMAT,
                crate_name: crate_name.into(),
                compiler: String::new(),
                llvm: String::new(),
                modules: Vec::new(),
            },
            source => {
                let text = read(crate_name, source, manifest::FILE_NAME)?;
                serde_json::from_slice(&text).map_err(|error| unreadable(crate_name, manifest::FILE_NAME, error))?
            }
        };
        if manifest.format != manifest::FORMAT {
            let reason = format!("its format is {}, this program reads {}", manifest.format, manifest::FORMAT);
            return Err(unreadable(crate_name, manifest::FILE_NAME, reason));
        }
        Ok(Self { crate_name, source, manifest, modules: Mutex::default() })
    }

    /// The best module of that name that holds the entry, and the entry's description.
    fn find(&self, cuda: &Cuda, module: &str, entry: &str) -> Result<(&manifest::Module, &Entry)> {
        let properties = &cuda.device.properties;
        let (major, minor) = properties.compute_capability;
        let holders = || {
            let named = self.manifest.modules.iter().filter(|candidate| candidate.name == module);
            named.filter_map(|candidate| Some((candidate, candidate.entries.iter().find(|it| it.name == entry)?)))
        };
        let best = holders()
            .filter(|(candidate, _)| candidate.arch.runs_on(major as u16, minor as u16))
            .max_by_key(|(candidate, _)| candidate.arch);
        if let Some((candidate, entry)) = best {
            return Ok((candidate, entry));
        }
        let built: Vec<String> = holders().map(|(candidate, _)| candidate.arch.to_string()).collect();
        if built.is_empty() {
            return Err(self.missing(module, entry));
        }
        Err(Error::ArchUnavailable {
            kernel: entry.into(),
            built,
            device: properties.name.clone(),
            compute_capability: properties.compute_capability_text(),
        })
    }

    /// The error for an entry that is not there, with the names that look like it.
    fn missing(&self, module: &str, entry: &str) -> Error {
        let names = self.manifest.modules.iter().flat_map(|module| &module.entries).map(|entry| entry.name.as_str());
        Error::KernelMissing {
            kernel: entry.into(),
            library: format!("the module `{module}` of {}", self.crate_name),
            near: near(entry, names),
        }
    }

    /// The module, loaded once: its machine code if it has some that fits the device and the driver takes, else its PTX. A failure
    /// is not kept: the next call tries again.
    fn module(&self, cuda: &Cuda, built: &manifest::Module) -> Result<Module> {
        let cell = {
            let mut modules = self.modules.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            Arc::clone(modules.entry(built.file.clone()).or_default())
        };
        let _loading = cell.loading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(module) = cell.loaded.get() {
            return Ok(*module);
        }
        let (name, kernels, (major, minor)) = (&built.name, called(built), cuda.device.properties.compute_capability);
        let read = |file: &str| read(self.crate_name, &self.source, file);
        let cubin = built.cubin.as_ref().filter(|_| built.arch.cubin_runs_on(major as u16, minor as u16));
        let assembled = cubin.map(|file| module::load_image(cuda, name, &kernels, &read(file)?));
        let module = match assembled {
            Some(Ok(module)) => module,
            // A driver may be too old for the assembler that made it.
            Some(Err(_)) | None => module::load(cuda, name, &kernels, read(&built.file)?)?,
        };
        Ok(*cell.loaded.get_or_init(|| module))
    }
}

/// What errors call the kernels of a module.
fn called(module: &manifest::Module) -> String {
    let names: Vec<&str> = module.entries.iter().map(|entry| entry.name.as_str()).collect();
    match names.as_slice() {
        [first, second, rest @ ..] if !rest.is_empty() => format!("{first}, {second} or {} others", rest.len()),
        names => names.join(" or "),
    }
}

/// The names most similar to `wanted`, the nearest first.
fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut scored: Vec<_> = names.map(|name| (strsim::jaro_winkler(wanted, name), name)).collect();
    scored.retain(|(score, _)| *score > 0.8);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup();
    scored.into_iter().take(3).map(|(_, name)| name.into()).collect()
}

fn unreadable(library: &str, what: &str, reason: impl ToString) -> Error {
    Error::Archive { library: library.into(), what: what.into(), reason: reason.to_string() }
}

fn read(library: &str, source: &Source, file: &str) -> Result<Vec<u8>> {
    match source {
        Source::Folder(folder) => {
            let path = folder.join(file);
            std::fs::read(&path).map_err(|error| unreadable(library, &path.display().to_string(), error))
        }
        Source::Archive(bytes) => {
            let mut archive =
                zip::ZipArchive::new(Cursor::new(*bytes)).map_err(|error| unreadable(library, "the archive", error))?;
            let mut entry = archive.by_name(file).map_err(|error| unreadable(library, file, error))?;
            let mut content = Vec::new();
            entry.read_to_end(&mut content).map_err(|error| unreadable(library, file, error))?;
            Ok(content)
        }
        Source::Missing(reason) => Err(unreadable(library, file, reason)),
    }
}

impl<L: cuda_std::Library> std::fmt::Debug for Library<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Library({}: {} modules)", L::CRATE, self.code.manifest.modules.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Marker;
    impl cuda_std::Library for Marker {
        const CRATE: &'static str = "example-gpu";
    }

    #[test]
    fn a_text_in_place_of_the_archive_is_the_reason() {
        let library = Runtime::cpu().library::<Marker>(b"no device toolchain").unwrap();
        assert_eq!(library.missing_reason(), Some("no device toolchain"));
        assert!(Runtime::cpu().library::<Marker>(b"").unwrap().missing_reason().unwrap().contains("setup"));
    }

    #[test]
    fn unreadable_code_says_what_and_where() {
        let error = Runtime::cpu().library::<Marker>(b"PK but no archive").unwrap_err().to_string();
        assert!(error.contains("example-gpu") && error.contains("the archive"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let error = Runtime::cpu().library_from_dir::<Marker>(folder.path()).unwrap_err().to_string();
        assert!(error.contains("manifest.json"), "{error}");
        std::fs::write(
            folder.path().join("manifest.json"),
            r#"{"format":7,"crate_name":"a","compiler":"","llvm":"","modules":[]}"#,
        )
        .unwrap();
        let error = Runtime::cpu().library_from_dir::<Marker>(folder.path()).unwrap_err().to_string();
        assert!(error.contains("format is 7"), "{error}");
    }

    #[test]
    fn near_names_come_nearest_first() {
        let names = ["map_forward__relu__f32", "map_forward__relu__f16", "softmax__f32"];
        assert_eq!(near("map_forward__rleu__f32", names.into_iter())[0], names[0]);
        assert!(near("zzz", names.into_iter()).is_empty());
    }
}
