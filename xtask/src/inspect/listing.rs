//! Code with the lines of Rust that it comes from between: rows, for the terminal and the page alike.

use std::sync::LazyLock;

use regex::Regex;

use super::Kernel;
use super::locations::Place;
use super::sass::Instruction;

static POSITION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r",? !dbg !\d+").expect("the pattern is constant"));

/// One row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// The code below it comes from here: file and line, and the line's text.
    Source { place: String, text: String },
    /// A line of code, and where it is written itself if that is inside something inlined into the source's line.
    Code { text: String, inside: Option<String> },
}

/// The machine code.
pub fn sass(kernel: &Kernel<'_>) -> Vec<Row> {
    let instructions = kernel.sass.iter().flat_map(|sass| &sass.instructions);
    rows(instructions.map(|instruction| (instruction.ptx_line, code(instruction))), kernel)
}

fn code(instruction: &Instruction) -> Vec<String> {
    let Instruction { offset, predicate, opcode, operands, label, .. } = instruction;
    let label = label.iter().map(|label| format!("{label}:"));
    let line = format!("    {offset:05x} {predicate:>6} {opcode} {operands}");
    label.chain([line.trim_end().to_owned()]).collect()
}

/// The PTX of the kernel itself, without the labels and directives that only carry positions.
pub fn ptx(kernel: &Kernel<'_>) -> Vec<Row> {
    let head = format!(".entry {}(", kernel.entry.name);
    let lines = kernel.text.ptx.lines().enumerate().skip_while(|(_, line)| !line.contains(&head));
    let mut ended = false;
    let body = lines.take_while(|(_, line)| !std::mem::replace(&mut ended, line.starts_with('}')));
    let positions = |line: &str| {
        let line = line.trim();
        line.is_empty() || [".loc", "$L__tmp", "$L__func", "//"].iter().any(|start| line.starts_with(start))
    };
    let shown = body.filter(|(_, line)| !positions(line));
    rows(shown.map(|(at, line)| (at + 1, vec![line.replace('\t', "    ")])), kernel)
}

/// The optimised LLVM IR of the kernel itself.
pub fn llvm(kernel: &Kernel<'_>) -> Vec<Row> {
    let head = format!("@{}(", kernel.entry.name);
    let lines = kernel.text.llvm_ir.lines().skip_while(|line| !(line.starts_with("define ") && line.contains(&head)));
    let mut ended = false;
    let body = lines.take_while(|line| !std::mem::replace(&mut ended, *line == "}"));
    body.map(|line| Row::Code { text: POSITION.replace(line, "").into_owned(), inside: None }).collect()
}

/// Puts a source row wherever the line to show changes. Each item: the line of PTX, and code.
fn rows(code: impl Iterator<Item = (usize, Vec<String>)>, kernel: &Kernel<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut last = None;
    for (line, code) in code {
        let place = kernel.text.locations.of_line(line);
        let name = place.map(|place| &place.name);
        if name != last
            && let Some(Place { name, text, .. }) = place
        {
            rows.push(Row::Source { place: name.clone(), text: text.clone() });
        }
        last = name;
        let inside = place.and_then(|place| place.inside.as_ref());
        rows.extend(code.into_iter().map(|text| {
            let inside = inside.filter(|_| !text.ends_with(':')).cloned();
            Row::Code { text, inside }
        }));
    }
    rows
}
