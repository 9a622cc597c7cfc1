//! NVIDIA's assembler: from a CUDA toolkit, or from the PyPI wheel `nvidia-cuda-nvcc`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::environment::executable;
use super::{DiscoverError, Environment, Part};
use crate::variables;

/// An assembler that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ptxas {
    /// The program.
    pub path: PathBuf,
    /// Its release, e.g. `13.0`.
    pub version: String,
}

/// Where the wheel has its programs, below a site-packages folder; the first level is the CUDA major version's.
const WHEEL: [&str; 2] = ["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"];

/// Finds ptxas for this process.
///
/// `packages` are folders into which `pip install --target` may have put the wheel, e.g. `target/tools/python`; they
/// come before the system's. The order: [`crate::variables::PTXAS`] alone if set, `packages`, `PATH`, `CUDA_PATH`,
/// `CUDA_HOME`, `/usr/local/cuda*`, and the site-packages of the active Python environment.
pub fn ptxas(packages: &[PathBuf]) -> Result<Ptxas, DiscoverError> {
    ptxas_in(&Environment::current(), packages)
}

/// Finds ptxas in what `environment` offers; see [`ptxas`].
pub fn ptxas_in(environment: &Environment, packages: &[PathBuf]) -> Result<Ptxas, DiscoverError> {
    let error = |reason: String, remedy: &str, looked| DiscoverError {
        part: Part::Ptxas,
        reason,
        remedy: remedy.to_owned(),
        looked,
    };
    if let Some(path) = environment.variable(variables::PTXAS).map(PathBuf::from) {
        return probe(environment, &path).ok_or_else(|| {
            let remedy = format!("a correct path in {}", variables::PTXAS);
            error("`ptxas --version` fails".into(), &remedy, vec![path])
        });
    }
    let places = places(environment, packages, "ptxas");
    let found = places.iter().filter(|place| place.is_file()).find_map(|place| probe(environment, place));
    found.ok_or_else(|| {
        // Where pip is to put it is known when the caller named a folder.
        let target = packages.first().map(|folder| format!(" --target {}", folder.display())).unwrap_or_default();
        error("not found".into(), &format!("python3 -m pip install{target} nvidia-cuda-nvcc"), places)
    })
}

/// Finds another of NVIDIA's command-line programs, e.g. `nvdisasm`, in the places where [`ptxas`] looks; the places themselves
/// where it is in none of them.
pub fn nvidia_program(name: &str, packages: &[PathBuf]) -> Result<PathBuf, Vec<PathBuf>> {
    let places = places(&Environment::current(), packages, name);
    places.iter().find(|place| place.is_file()).cloned().ok_or(places)
}

fn places(environment: &Environment, packages: &[PathBuf], name: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let wheel = |folder: &Path| WHEEL.map(|bin| executable(&folder.join(bin), name));
    packages.iter().for_each(|folder| places.extend(wheel(folder)));
    places.extend(environment.on_path(name));
    for variable in ["CUDA_PATH", "CUDA_HOME"] {
        places.extend(environment.variable(variable).map(|root| executable(&Path::new(root).join("bin"), name)));
    }
    let toolkits = folders(&environment.system("usr/local"), "cuda");
    places.extend(toolkits.into_iter().map(|folder| executable(&folder.join("bin"), name)));
    let interpreters = ["python3", "python"].map(|name| environment.on_path(name));
    let prefixes = interpreters.iter().flatten().filter_map(|file| file.parent()?.parent());
    let virtual_environment = environment.variable("VIRTUAL_ENV").map(Path::new);
    for prefix in virtual_environment.into_iter().chain(prefixes) {
        for folder in folders(&prefix.join("lib"), "python3") {
            places.extend(wheel(&folder.join("site-packages")));
            places.extend(wheel(&folder.join("dist-packages")));
        }
    }
    places
}

/// The folders in `parent` whose names start so, the last in order first: `cuda-13` before `cuda-12`, `cuda` last.
fn folders(parent: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let mut found: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    found.sort_by(|a, b| b.cmp(a));
    found
}

fn probe(environment: &Environment, path: &Path) -> Option<Ptxas> {
    let text = environment.output(path, &["--version"])?;
    let version = text.split("release ").nth(1)?.split(',').next()?.trim().to_owned();
    Some(Ptxas { path: path.to_owned(), version })
}
