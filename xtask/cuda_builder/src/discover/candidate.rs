//! One toolchain under consideration: each part found, or why it is not.

use std::path::{Path, PathBuf};

use super::environment::executable;
use super::{DiscoverError, Environment, MIN_RUSTC, Origin, Part, Toolchain};
use crate::variables;

/// A part's path and version, or the reason why it can't serve.
type Found = Result<(PathBuf, String), Missing>;

/// The same for callers.
pub(super) type Status = Result<(PathBuf, String), DiscoverError>;

/// Why a part can't serve.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    reason: String,
    looked: Vec<PathBuf>,
    /// The variable whose value is at fault, if one is.
    variable: Option<&'static str>,
}

/// The parts of one toolchain, in the order in which they are reported.
pub(super) struct Candidate {
    origin: Origin,
    llvm_major: Option<u32>,
    parts: [(Part, Found); 6],
}

/// The candidates in the order of preference, each looked at when called.
pub(super) fn all(environment: &Environment) -> Vec<Box<dyn Fn() -> Candidate + '_>> {
    if let Some(rustc) = environment.variable(variables::DEVICE_RUSTC) {
        let rustc = PathBuf::from(rustc);
        return vec![Box::new(move || Candidate::new(environment, Origin::Variables, &rustc))];
    }
    let debian = environment.system("usr");
    let mut candidates: Vec<Box<dyn Fn() -> Candidate + '_>> = Vec::new();
    if let Some(sysroot) = running_sysroot(environment).filter(|sysroot| *sysroot != debian) {
        let rustc = executable(&sysroot.join("bin"), "rustc");
        candidates.push(Box::new(move || Candidate::new(environment, Origin::Running, &rustc)));
    }
    let rustc = executable(&debian.join("bin"), "rustc");
    candidates.push(Box::new(move || Candidate::new(environment, Origin::Debian, &rustc)));
    candidates
}

/// The sysroot of the rustc that cargo runs, or that `PATH` has.
fn running_sysroot(environment: &Environment) -> Option<PathBuf> {
    let named = environment.variable("RUSTC").map(PathBuf::from).filter(|rustc| rustc.is_file());
    let rustc = named.or_else(|| environment.on_path("rustc"))?;
    Some(PathBuf::from(environment.output(&rustc, &["--print", "sysroot"])?.trim_end()))
}

/// The parts of `rustc -vV` that matter.
struct RustcVersion {
    line: String,
    host: String,
    llvm_major: u32,
    number: (u32, u32),
}

fn rustc_version(environment: &Environment, rustc: &Path) -> Option<RustcVersion> {
    let text = environment.output(rustc, &["-vV"])?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let mut release = field("release:")?.split(['.', '-']).map_while(|part| part.parse().ok());
    Some(RustcVersion {
        line: text.lines().next()?.to_owned(),
        host: field("host:")?.to_owned(),
        llvm_major: field("LLVM version:")?.split('.').next()?.parse().ok()?,
        number: (release.next()?, release.next()?),
    })
}

impl Candidate {
    fn new(environment: &Environment, origin: Origin, rustc: &Path) -> Self {
        let missing = |reason: String, looked: Vec<PathBuf>, variable| Missing { reason, looked, variable };
        let rustc_variable = (origin == Origin::Variables).then_some(variables::DEVICE_RUSTC);
        let version = if rustc.is_file() { rustc_version(environment, rustc) } else { None };
        let rustc_part = match &version {
            _ if !rustc.is_file() => Err(missing("not found".into(), vec![rustc.into()], rustc_variable)),
            None => Err(missing("`rustc -vV` fails or has no LLVM".into(), vec![rustc.into()], rustc_variable)),
            Some(version) if version.number < MIN_RUSTC => {
                let reason = format!("{} is too old, {}.{} is needed", version.line, MIN_RUSTC.0, MIN_RUSTC.1);
                Err(missing(reason, vec![rustc.into()], rustc_variable))
            }
            Some(version) => Ok((rustc.to_owned(), version.line.clone())),
        };
        let sysroot = rustc.parent().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let sysroot = match (&rustc_part, origin) {
            // A compiler named by a variable need not lie in its sysroot.
            (Ok(_), Origin::Variables) => environment
                .output(rustc, &["--print", "sysroot"])
                .map_or(sysroot, |text| PathBuf::from(text.trim_end())),
            _ => sysroot,
        };
        let cargo_named = environment.variable(variables::DEVICE_CARGO).map(PathBuf::from);
        let cargo_variable = cargo_named.is_some().then_some(variables::DEVICE_CARGO);
        let cargo =
            cargo_named.unwrap_or_else(|| rustc.with_file_name(format!("cargo{}", std::env::consts::EXE_SUFFIX)));
        let cargo_part = if cargo.is_file() {
            Ok((cargo, String::new()))
        } else {
            Err(missing("not found".into(), vec![cargo], cargo_variable))
        };
        // rustup keeps it below lib, Debian too (through a link).
        let source = sysroot.join("lib/rustlib/src/rust/library");
        let core_part = if source.join("core/src/lib.rs").is_file() {
            Ok((source, version.as_ref().map(|version| version.line.clone()).unwrap_or_default()))
        } else {
            Err(missing("not found".into(), vec![source], None))
        };
        let llvm_major = version.as_ref().map(|version| version.llvm_major);
        let host_bin = version.as_ref().map(|version| sysroot.join("lib/rustlib").join(&version.host).join("bin"));
        let llvm = |name| llvm_tool(environment, name, llvm_major, host_bin.as_deref());
        let parts = [
            (Part::Rustc, rustc_part),
            (Part::Cargo, cargo_part),
            (Part::CoreSource, core_part),
            (Part::LlvmLink, llvm("llvm-link")),
            (Part::Opt, llvm("opt")),
            (Part::Llc, llvm("llc")),
        ];
        Candidate { origin, llvm_major, parts }
    }

    /// How many parts were found. Without its compiler a candidate counts for nothing.
    pub(super) fn found(&self) -> usize {
        match self.parts[0].1 {
            Ok(_) => self.parts.iter().filter(|(_, found)| found.is_ok()).count(),
            Err(_) => 0,
        }
    }

    /// The toolchain, if nothing is missing.
    pub(super) fn complete(&self) -> Option<Toolchain> {
        let part = |at: usize| self.parts[at].1.as_ref().ok().cloned();
        let (rustc, rustc_version) = part(0)?;
        Some(Toolchain {
            origin: self.origin,
            rustc,
            rustc_version,
            cargo: part(1)?.0,
            core_source: part(2)?.0,
            llvm_link: part(3)?.0,
            opt: part(4)?.0,
            llvm_version: part(5)?.1,
            llc: part(5)?.0,
        })
    }

    /// Each part with its path and version, or its error.
    pub(super) fn statuses(&self, environment: &Environment) -> Vec<(Part, Status)> {
        let status = |(part, found): &(Part, Found)| {
            let error = |missing: &Missing| self.error(environment, *part, missing);
            (*part, found.as_ref().map_err(error).cloned())
        };
        self.parts.iter().map(status).collect()
    }

    pub(super) fn first_error(&self, environment: &Environment) -> DiscoverError {
        let (part, missing) = self
            .parts
            .iter()
            .find_map(|(part, found)| Some((*part, found.as_ref().err()?)))
            .expect("only called on an incomplete candidate");
        self.error(environment, part, missing)
    }

    fn error(&self, environment: &Environment, part: Part, missing: &Missing) -> DiscoverError {
        let remedy = match missing.variable {
            Some(variable) => format!("a correct path in {variable}"),
            None => self.remedy(environment, part),
        };
        DiscoverError { part, reason: missing.reason.clone(), remedy, looked: missing.looked.clone() }
    }

    fn remedy(&self, environment: &Environment, part: Part) -> String {
        let (major, minor) = MIN_RUSTC;
        let llvm = self.llvm_major.map_or("llvm-22".to_owned(), |major| format!("llvm-{major}"));
        if self.origin != Origin::Debian && environment.rustup_may_download() {
            return match part {
                Part::Rustc | Part::Cargo => format!("rustup toolchain install {major}.{minor}.0"),
                Part::CoreSource => "rustup component add rust-src".into(),
                _ => "rustup component add llvm-tools".into(),
            };
        }
        match (part, self.origin) {
            (Part::LlvmLink | Part::Opt | Part::Llc, _) => format!("apt-get install {llvm}"),
            (Part::CoreSource, Origin::Debian) => "apt-get install rust-web-src".into(),
            (Part::Cargo, Origin::Debian) => "apt-get install cargo-web".into(),
            // Debian's sources fit Debian's compiler only: all of its set is needed.
            _ => format!("apt-get install rustc-web cargo-web rust-web-src {llvm}"),
        }
    }
}

/// Finds one of LLVM's tools, of the major version that reads this rustc's bitcode.
fn llvm_tool(environment: &Environment, name: &str, major: Option<u32>, host_bin: Option<&Path>) -> Found {
    let Some(major) = major else {
        return Err(Missing {
            reason: "without a rustc its version is unknown".into(),
            looked: Vec::new(),
            variable: None,
        });
    };
    let mut places = Vec::new();
    let named = environment.variable(variables::LLVM_BIN);
    if let Some(folder) = named {
        places.push(executable(Path::new(folder), name));
    } else {
        places.extend(host_bin.map(|folder| executable(folder, name)));
        places.push(executable(&environment.system(&format!("usr/lib/llvm-{major}/bin")), name));
        places.extend(environment.on_path(&format!("{name}-{major}")));
        places.extend(environment.on_path(name));
    }
    let variable = named.map(|_| variables::LLVM_BIN);
    let mut reason = format!("not found in version {major}, that of rustc's LLVM");
    for place in places.iter().filter(|place| place.is_file()) {
        let text = environment.output(place, &["--version"]).unwrap_or_default();
        let version = text.split("LLVM version ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let Some(version) = version else {
            reason = format!("{} does not say its LLVM version", place.display());
            continue;
        };
        if version.split('.').next().and_then(|number| number.parse().ok()) != Some(major) {
            reason = format!("{} is of LLVM {version}, rustc's is {major}", place.display());
        } else if name == "llc" && !text.contains("nvptx64") {
            reason = format!("{} has no NVPTX target", place.display());
        } else {
            let version = version.split('-').next().unwrap_or(version).to_owned();
            return Ok((place.clone(), version));
        }
    }
    Err(Missing { reason, looked: places, variable })
}
