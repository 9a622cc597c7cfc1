//! Reading PTX back: versions, entries with parameters and launch bounds, shared memory, undefined symbols.
//!
//! The manifest is taken from the PTX itself, so that it says what the driver will see, not what was meant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::arch::PtxIsa;
use crate::manifest::{Entry, Parameter};

/// What this crate needs to know of a PTX module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// `.version`.
    pub version: PtxIsa,
    /// `.target`, without options.
    pub target: String,
    /// The kernels, ordered by name.
    pub entries: Vec<Entry>,
    /// What is declared `.extern`, except functions that the driver provides.
    pub undefined: Vec<String>,
}

/// A piece of PTX that does not look as expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected PTX: {text:?}")]
pub struct PtxError {
    /// The piece.
    pub text: String,
}

/// Functions that the CUDA driver provides to every module.
const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];
const DRIVER_PREFIX: &str = "__cuda_syscall";
/// The one variable that a launch provides.
const DYNAMIC_SHARED: &str = "__warpsmith_dynamic_shared";

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)^(?:\.visible |\.weak |\.extern )?\.(entry|func)\s+(?:\([^)]*\)\s*)?([\w$%]+)\s*\(([^)]*)\)([^{;]*)([{;])",
    )
});
static SHARED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\.shared\s+(?:\.align\s+(\d+)\s+)?\.[a-z](\d+)\s+([\w$]+)(?:\[(\d+)\])?\s*;"));
static EXTERN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)^\.extern\s+\.(?:func\s+(?:\([^)]*\)\s*)?([\w$]+)|(?:global|shared|const)\s[^;]*?\s([\w$]+)(?:\[\d*\])?\s*;)",
    )
});
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\.param\s+(?:\.align\s+(\d+)\s+)?\.[usbf](\d+)\s+(?:\.ptr\s+(?:\.[a-z]+\s+)*?(?:\.align\s+\d+\s+)?)?[\w$]+(?:\[(\d+)\])?$",
    )
});
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w$]+"));

/// One function's own part of the text.
struct Function<'t> {
    entry: bool,
    parameters: &'t str,
    directives: &'t str,
    body: &'t str,
}

impl Ptx {
    /// Reads a module as llc writes it.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        let header = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim).ok_or_else(|| PtxError { text: text.chars().take(100).collect() })
        };
        let version = header(".version")?;
        let version = version.parse().map_err(|_| PtxError { text: version.to_owned() })?;
        let target = header(".target")?.split(',').next().unwrap_or_default().trim().to_owned();
        let functions = functions(text);
        let shared = shared_variables(text);
        let mut entries = Vec::new();
        for (&name, function) in functions.iter().filter(|(_, function)| function.entry) {
            entries.push(Entry {
                name: name.to_owned(),
                parameters: parameters(function.parameters)?,
                reqntid: shape(function.directives, ".reqntid")?,
                maxntid: shape(function.directives, ".maxntid")?,
                minctasm: number(function.directives, ".minnctapersm")?,
                maxnreg: number(function.directives, ".maxnreg")?,
                cluster: shape(function.directives, ".reqnctapercluster")?,
                static_shared_bytes: shared_bytes(name, &functions, &shared),
            });
        }
        Ok(Ptx { version, target, entries, undefined: undefined(text) })
    }
}

fn functions(text: &str) -> BTreeMap<&str, Function<'_>> {
    let mut functions = BTreeMap::new();
    for found in FUNCTION.captures_iter(text).filter(|found| &found[5] == "{") {
        let group = |at: usize| found.get(at).map_or("", |group| group.as_str());
        let rest = &text[found.get(0).map_or(0, |all| all.end())..];
        // Inline assembly may hold a brace at the start of a line; llc's comment is sure.
        let end = rest.find("// -- End function").or_else(|| rest.find("\n}")).unwrap_or(rest.len());
        let body = &rest[..end];
        let entry = group(1) == "entry";
        functions.insert(group(2), Function { entry, parameters: group(3), directives: group(4), body });
    }
    functions
}

/// Offsets follow the rule for the kernel parameter buffer: each parameter at the next multiple of its alignment.
fn parameters(list: &str) -> Result<Vec<Parameter>, PtxError> {
    let mut parameters = Vec::new();
    let mut end = 0_u64;
    for text in list.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let error = || PtxError { text: text.to_owned() };
        let parts = PARAMETER.captures(text).ok_or_else(error)?;
        let number = |at: usize| parts.get(at).map(|digits| digits.as_str().parse::<u64>()).transpose();
        let element = number(2).map_err(|_| error())?.ok_or_else(error)? / 8;
        let size = element * number(3).map_err(|_| error())?.unwrap_or(1);
        let align = number(1).map_err(|_| error())?.unwrap_or(element).max(1);
        let offset = end.next_multiple_of(align);
        end = offset + size;
        parameters.push(Parameter { size, align, offset });
    }
    Ok(parameters)
}

fn numbers(directives: &str, name: &str) -> Result<Option<Vec<u32>>, PtxError> {
    let Some(line) = directives.lines().find_map(|line| line.trim().strip_prefix(name)) else { return Ok(None) };
    let values = line.split("//").next().unwrap_or_default().split(',').map(|value| value.trim().parse());
    values.collect::<Result<_, _>>().map(Some).map_err(|_| PtxError { text: format!("{name}{line}") })
}

fn number(directives: &str, name: &str) -> Result<Option<u32>, PtxError> {
    Ok(numbers(directives, name)?.and_then(|values| values.first().copied()))
}

fn shape(directives: &str, name: &str) -> Result<Option<[u32; 3]>, PtxError> {
    let values = numbers(directives, name)?;
    Ok(values.map(|values| std::array::from_fn(|axis| values.get(axis).copied().unwrap_or(1))))
}

/// Size and alignment of every static shared variable, in the text's order.
fn shared_variables(text: &str) -> Vec<(&str, u64, u64)> {
    let number = |digits: Option<regex::Match<'_>>| digits.and_then(|digits| digits.as_str().parse::<u64>().ok());
    SHARED
        .captures_iter(text)
        .map(|found| {
            let element = number(found.get(2)).unwrap_or(8) / 8;
            let size = element * number(found.get(4)).unwrap_or(1);
            (found.get(3).map_or("", |name| name.as_str()), size, number(found.get(1)).unwrap_or(element))
        })
        .collect()
}

/// The static shared memory that an entry uses, itself or through the functions it calls.
fn shared_bytes(entry: &str, functions: &BTreeMap<&str, Function<'_>>, shared: &[(&str, u64, u64)]) -> u64 {
    let mut words = BTreeSet::new();
    let mut open = vec![entry];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let Some(function) = functions.get(name).filter(|_| seen.insert(name)) else { continue };
        for word in WORD.find_iter(function.body).map(|word| word.as_str()) {
            words.insert(word);
            open.push(word);
        }
    }
    let used = shared.iter().filter(|(name, ..)| words.contains(name));
    used.fold(0, |end: u64, (_, size, align)| end.next_multiple_of((*align).max(1)) + size)
}

fn undefined(text: &str) -> Vec<String> {
    let names = EXTERN.captures_iter(text).filter_map(|found| found.get(1).or_else(|| found.get(2)));
    let names: BTreeSet<&str> = names.map(|name| name.as_str()).collect();
    let provided =
        |name: &&str| DRIVER_FUNCTIONS.contains(name) || name.starts_with(DRIVER_PREFIX) || *name == DYNAMIC_SHARED;
    names.into_iter().filter(|name| !provided(name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
