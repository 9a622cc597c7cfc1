//! Every part with what was found, or what is missing and how to get it: for `doctor` and `setup`.

use std::path::PathBuf;

use serde::Serialize;

use super::{Environment, Part, candidate, ptxas_in};

/// One part's state.
#[derive(Clone, Debug, Serialize)]
pub struct PartStatus {
    /// The part.
    pub part: Part,
    /// Its name for people.
    pub name: String,
    /// Where it is.
    pub path: Option<PathBuf>,
    /// Its version, where it tells one.
    pub version: Option<String>,
    /// What is wrong, if it is missing.
    pub reason: Option<String>,
    /// The command that installs it, if it is missing.
    pub remedy: Option<String>,
}

/// All parts, in the order in which a build needs them.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether device code can be built (ptxas is not needed for it).
    pub can_build: bool,
    /// The parts.
    pub parts: Vec<PartStatus>,
}

impl Report {
    /// Looks at this process's environment; `packages` as for [`super::ptxas`].
    pub fn new(packages: &[PathBuf]) -> Self {
        Self::new_in(&Environment::current(), packages)
    }

    /// Looks at what `environment` offers.
    pub fn new_in(environment: &Environment, packages: &[PathBuf]) -> Self {
        let candidates: Vec<_> = candidate::all(environment).into_iter().map(|look| look()).collect();
        let complete = candidates.iter().find(|candidate| candidate.complete().is_some());
        // The first of the best, as `Toolchain::discover` chooses.
        let best = complete
            .or_else(|| candidates.iter().rev().max_by_key(|candidate| candidate.found()))
            .expect("Debian's is always a candidate");
        let mut parts: Vec<PartStatus> =
            best.statuses(environment).into_iter().map(|(part, found)| status(part, found)).collect();
        let ptxas = ptxas_in(environment, packages).map(|ptxas| (ptxas.path, ptxas.version));
        parts.push(status(Part::Ptxas, ptxas));
        Report { can_build: complete.is_some(), parts }
    }

    /// The parts that are missing.
    pub fn missing(&self) -> impl Iterator<Item = &PartStatus> {
        self.parts.iter().filter(|part| part.path.is_none())
    }
}

fn status(part: Part, found: candidate::Status) -> PartStatus {
    let name = part.to_string();
    match found {
        Ok((path, version)) => {
            let version = Some(version).filter(|version| !version.is_empty());
            PartStatus { part, name, path: Some(path), version, reason: None, remedy: None }
        }
        Err(error) => {
            PartStatus { part, name, path: None, version: None, reason: Some(error.reason), remedy: Some(error.remedy) }
        }
    }
}
