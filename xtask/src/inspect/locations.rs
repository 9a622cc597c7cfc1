//! Which line of Rust each line of PTX comes from, by the directives `.loc` and `.file`, and which of the calls inlined into one
//! another is the one to show.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;

use super::metadata::{Chain, Chains, Frame};

/// The places that a PTX file's lines come from.
#[derive(Debug, Default)]
pub struct Locations {
    places: Vec<Place>,
    /// For each line, where in `places` its place is.
    lines: Vec<Option<usize>>,
}

/// A line of Rust to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File and line.
    pub name: String,
    /// The line's text.
    pub text: String,
    /// Where the code itself is written, if that is inside something inlined into the line.
    pub inside: Option<String>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static LOC: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:\s*//\s*(.*))?"));
static FILE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^\s*\.file\s+(\d+)\s+"([^"]*)""#));
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\.(?:entry|func)\s"));

impl Locations {
    /// Reads a PTX file as llc writes it; `chains` are those of the same module's IR.
    pub fn parse(ptx: &str, chains: &Chains, sources: &Sources) -> Self {
        let files: HashMap<&str, &str> =
            ptx.lines().filter_map(|line| FILE.captures(line)).map(|found| pair(&found)).collect();
        let mut locations = Locations::default();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut current = None;
        for line in ptx.lines() {
            if let Some(found) = LOC.captures(line) {
                let next = locations.places.len();
                let at = *known.entry(line.trim()).or_insert(next);
                if at == next {
                    let comment = found.get(4).map_or("", |comment| comment.as_str());
                    let number = |group: usize| found[group].parse().unwrap_or(0);
                    let file = PathBuf::from(files.get(&found[1]).copied().unwrap_or_default());
                    let innermost = Frame { file, line: number(2), column: number(3) };
                    locations.places.push(sources.place(&chain(innermost, comment, chains)));
                }
                current = Some(at);
            } else if FUNCTION.is_match(line) {
                current = None;
            }
            locations.lines.push(current);
        }
        locations
    }

    /// The place of a line, counted from 1.
    pub fn of_line(&self, line: usize) -> Option<&Place> {
        let at = (*self.lines.get(line.checked_sub(1)?)?)?;
        self.places.get(at)
    }
}

fn pair<'t>(found: &regex::Captures<'t>) -> (&'t str, &'t str) {
    let group = |at: usize| found.get(at).map_or("", |group| group.as_str());
    (group(1), group(2))
}

/// `a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6 ] ]`, or the innermost place alone where the IR does not have the same.
fn chain(innermost: Frame, comment: &str, chains: &Chains) -> Chain {
    let written = comment.trim_end_matches([' ', ']']).split(" @[ ").map(|place| {
        let mut parts = place.rsplitn(3, ':');
        let mut number = || parts.next().and_then(|digits| digits.trim().parse().ok());
        let (last, before) = (number(), number());
        match (before, last) {
            // A column of 0 is left out.
            (Some(line), Some(column)) => Some(Frame { file: parts.next()?.into(), line, column }),
            (None, Some(line)) => Some(Frame { file: place.rsplit_once(':')?.0.into(), line, column: 0 }),
            _ => None,
        }
    });
    let written: Option<Chain> = written.collect();
    written.and_then(|written| chains.whole(&written).cloned()).unwrap_or_else(|| vec![innermost])
}

/// Source files, read once, and the rule for what to show.
#[derive(Debug)]
pub struct Sources {
    /// The inspected crate's folder.
    own: PathBuf,
    files: Mutex<HashMap<PathBuf, Vec<String>>>,
}

impl Sources {
    /// For a crate in this folder.
    pub fn new(own: &Path) -> Self {
        let own = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        Sources { own, files: Mutex::default() }
    }

    /// A line of a file without the space around it; empty where there is none.
    fn text(&self, frame: &Frame) -> String {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let read =
            || fs::read_to_string(&frame.file).unwrap_or_default().lines().map(|line| line.trim().to_owned()).collect();
        let lines: &Vec<String> = files.entry(frame.file.clone()).or_insert_with(read);
        (frame.line as usize).checked_sub(1).and_then(|at| lines.get(at)).cloned().unwrap_or_default()
    }

    /// The place to show of a chain: the innermost one in the inspected crate; else the innermost that is neither of the compiler's
    /// library nor of `cuda_std`; else the innermost. What a macro's attribute stands for is passed over.
    fn shown<'c>(&self, chain: &'c [Frame]) -> Option<&'c Frame> {
        let written = |frame: &&Frame| frame.line > 0 && !self.text(frame).starts_with("#[");
        let own = |frame: &&Frame| frame.file.starts_with(&self.own) && !of_library(&frame.file);
        let other = |frame: &&Frame| !of_library(&frame.file);
        let first = |rule: &dyn Fn(&&Frame) -> bool| chain.iter().find(|frame| rule(frame) && written(frame));
        first(&own).or_else(|| first(&other)).or_else(|| chain.iter().find(|frame| frame.line > 0)).or(chain.first())
    }

    /// What to show of a chain.
    fn place(&self, chain: &[Frame]) -> Place {
        let shown = self.shown(chain);
        let innermost = chain.first().filter(|innermost| innermost.line > 0 && Some(*innermost) != shown);
        let name = |frame| self.name(frame);
        Place {
            name: shown.map(name).unwrap_or_default(),
            text: shown.map(|frame| self.text(frame)).unwrap_or_default(),
            inside: innermost.map(name),
        }
    }

    /// File and line, the file as short as it is clear: below the crate, or its last three parts.
    fn name(&self, frame: &Frame) -> String {
        if frame.line == 0 {
            return "(several lines)".into();
        }
        let parts: Vec<_> = frame.file.iter().map(|part| part.to_string_lossy()).collect();
        let name = match frame.file.strip_prefix(&self.own) {
            Ok(below) => below.display().to_string(),
            Err(_) => parts[parts.len().saturating_sub(3)..].join("/"),
        };
        format!("{name}:{}", frame.line)
    }
}

/// Core's sources, wherever the toolchain keeps them, and the device's standard library.
fn of_library(file: &Path) -> bool {
    let text = file.to_string_lossy();
    text.contains("/library/core/") || text.contains("/cuda_std/src/") || text.contains("/compiler-builtins/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = r#".visible .entry axpy(
{
	.loc	1 95 0                          // src/lib.rs:95:0
	ld.param.b64 	%rd14, [axpy_param_4];
	.loc	2 83 5                          // /rust/library/core/src/f32.rs:83:5 @[ src/lib.rs:2:36 @[ src/lib.rs:95:60 ] ]
	fma.rn.f32 	%r19, %r2, %r17, %r18;
	st.global.b32 	[%rd28], %r19;
}
.visible .entry other(
{
	ret;
}
	.file	1 "/a/cuda_std/src/lib.rs"
	.file	2 "/rust/library/core/src/f32.rs"
"#;

    #[test]
    fn lines_have_places_with_and_without_the_ir() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().canonicalize().unwrap();
        fs::create_dir(own.join("src")).unwrap();
        fs::write(own.join("src/lib.rs"), "#[kernel]\n    let sum = mul_add(a, x, y);\n").unwrap();
        let sources = Sources::new(&own);

        let bare = Locations::parse(PTX, &Chains::default(), &sources);
        let innermost = Place { name: "core/src/f32.rs:83".into(), text: String::new(), inside: None };
        assert_eq!(bare.of_line(7), Some(&innermost));
        assert_eq!((bare.of_line(2), bare.of_line(11), bare.of_line(0), bare.of_line(99)), (None, None, None, None));

        let ir = format!(
            "!1 = !DIFile(filename: \"src/lib.rs\", directory: \"{}\")\n\
             !2 = !DIFile(filename: \"src/lib.rs\", directory: \"/a/cuda_std\")\n\
             !3 = !DIFile(filename: \"/rust/library/core/src/f32.rs\", directory: \"\")\n\
             !11 = !DISubprogram(file: !1)\n!12 = !DISubprogram(file: !2)\n!13 = !DISubprogram(file: !3)\n\
             !21 = !DILocation(line: 95, column: 60, scope: !12)\n\
             !22 = !DILocation(line: 2, column: 36, scope: !11, inlinedAt: !21)\n\
             !23 = !DILocation(line: 83, column: 5, scope: !13, inlinedAt: !22)\n",
            own.display()
        );
        let locations = Locations::parse(PTX, &Chains::parse(&ir), &sources);
        let expected = Place {
            name: "src/lib.rs:2".into(),
            text: "let sum = mul_add(a, x, y);".into(),
            inside: Some("core/src/f32.rs:83".into()),
        };
        assert_eq!(locations.of_line(6), Some(&expected));
    }
}
