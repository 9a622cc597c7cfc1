//! Reading what `nvdisasm -c -gp` prints: machine instructions, each with the line of PTX that it comes from.
//!
//! ```text
//! .text.axpy:
//!         //## File ".nv_debug_ptx_txt", line 18
//!         /*0000*/                   LDC R1, c[0x0][0x28] ;
//! .L_x_4:
//!         /*01f0*/               @P0 EXIT ;
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::classes::{self, Class};

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Bytes from the function's start.
    pub offset: u32,
    /// E.g. `@!P0`.
    pub predicate: String,
    /// With its modifiers, e.g. `LDG.E.128`.
    pub opcode: String,
    /// The rest.
    pub operands: String,
    /// The line of the PTX file, from 1; 0 where none is told.
    pub ptx_line: usize,
    /// A label on it.
    pub label: Option<String>,
}

/// A kernel's instructions in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sass {
    pub instructions: Vec<Instruction>,
}

/// Instructions from a branch's target to the branch behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Positions in [`Sass::instructions`].
    pub range: std::ops::RangeInclusive<usize>,
    /// Whether no other loop lies within.
    pub innermost: bool,
}

/// What some instructions are, each counted once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    pub classes: BTreeMap<Class, u32>,
    /// Bytes that a thread moves by class: global loads, shared stores and so on.
    pub bytes: BTreeMap<Class, u32>,
    /// Floating-point operations of a thread by class.
    pub operations: BTreeMap<Class, f64>,
}

impl Mix {
    /// The number of instructions.
    pub fn count(&self) -> u32 {
        self.classes.values().sum()
    }
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static SECTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\.text\.([^\s:]+):"));
static LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"//## File "[^"]*", line (\d+)"#));
static LABEL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([.$\w]+):"));
static INSTRUCTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*/\*([0-9a-f]+)\*/\s+(?:(@!?\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;"));
static TARGET: LazyLock<Regex> = LazyLock::new(|| pattern(r"`\(([.$\w]+)\)"));

/// Every function of a disassembled module by the name of its section, which is the kernel's.
pub fn parse(text: &str) -> BTreeMap<String, Sass> {
    let mut functions: BTreeMap<String, Sass> = BTreeMap::new();
    let mut current: Option<String> = None;
    let (mut ptx_line, mut label) = (0, None);
    for line in text.lines() {
        if let Some(found) = SECTION.captures(line) {
            functions.insert(found[1].to_owned(), Sass::default());
            current = Some(found[1].to_owned());
            (ptx_line, label) = (0, None);
        } else if line.trim_start().starts_with(".section") {
            current = None;
        } else if let Some(found) = LINE.captures(line) {
            ptx_line = found[1].parse().unwrap_or(0);
        } else if let Some(found) = LABEL.captures(line) {
            label = Some(found[1].to_owned());
        } else if let (Some(found), Some(name)) = (INSTRUCTION.captures(line), &current) {
            let group = |at: usize| found.get(at).map_or(String::new(), |group| group.as_str().to_owned());
            let instruction = Instruction {
                offset: u32::from_str_radix(&found[1], 16).unwrap_or(u32::MAX),
                predicate: group(2),
                opcode: group(3),
                operands: group(4),
                ptx_line,
                label: label.take(),
            };
            functions.entry(name.clone()).or_default().instructions.push(instruction);
        }
    }
    functions.values_mut().for_each(Sass::trim);
    functions
}

impl Sass {
    /// The assembler fills a function up with `NOP`s behind a branch to itself.
    fn trim(&mut self) {
        while self.instructions.last().is_some_and(|last| last.opcode == "NOP" && last.label.is_none()) {
            self.instructions.pop();
        }
        let to_itself = |last: &Instruction| last.label.as_deref().is_some_and(|label| target(last) == Some(label));
        if self.instructions.last().is_some_and(to_itself) {
            self.instructions.pop();
        }
    }

    /// What the instructions are.
    pub fn mix(&self) -> Mix {
        mix(&self.instructions)
    }

    /// The loops, in the order of their starts.
    pub fn loops(&self) -> Vec<Loop> {
        let labels: BTreeMap<&str, usize> =
            self.instructions.iter().enumerate().filter_map(|(at, it)| Some((it.label.as_deref()?, at))).collect();
        let back = |(at, instruction): (usize, &Instruction)| {
            let start = *labels.get(target(instruction)?)?;
            (instruction.opcode.starts_with("BRA") && start < at).then_some(start..=at)
        };
        let mut ranges: Vec<_> = self.instructions.iter().enumerate().filter_map(back).collect();
        ranges.sort_by_key(|range| (*range.start(), *range.end()));
        let within = |inner: &std::ops::RangeInclusive<usize>, outer: &std::ops::RangeInclusive<usize>| {
            inner != outer && outer.start() <= inner.start() && inner.end() <= outer.end()
        };
        let innermost = |range| !ranges.iter().any(|other| within(other, range));
        ranges.iter().map(|range| Loop { range: range.clone(), innermost: innermost(range) }).collect()
    }

    /// What the instructions of a loop are.
    pub fn mix_of(&self, body: &Loop) -> Mix {
        mix(&self.instructions[body.range.clone()])
    }
}

fn target(instruction: &Instruction) -> Option<&str> {
    TARGET.captures(&instruction.operands).and_then(|found| found.get(1)).map(|label| label.as_str())
}

fn mix(instructions: &[Instruction]) -> Mix {
    let mut mix = Mix::default();
    for Instruction { opcode, .. } in instructions {
        let class = classes::class(opcode);
        *mix.classes.entry(class).or_default() += 1;
        let (bytes, operations) = (classes::bytes(opcode), classes::operations(opcode));
        if bytes > 0 {
            *mix.bytes.entry(class).or_default() += bytes;
        }
        if operations > 0.0 {
            *mix.operations.entry(class).or_default() += operations;
        }
    }
    mix
}

#[cfg(test)]
mod tests {
    use super::*;

    // As nvdisasm 13.5 printed it, shortened.
    const TEXT: &str = "\
\t.section\t.text.axpy,\"ax\",@progbits
        .type           axpy,@function
axpy:
.text.axpy:
\t//## File \".nv_debug_ptx_txt\", line 18
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File \".nv_debug_ptx_txt\", line 101
.L_x_4:
        /*01f0*/               @P0 EXIT ;
.L_x_2:
        /*0450*/                   LDG.E R6, desc[UR6][R6.64] ;
        /*0460*/                   LDG.E.64 R9, desc[UR6][R4.64] ;
\t//## File \".nv_debug_ptx_txt\", line 130
        /*04f0*/                   FFMA R9, R6, UR5, R9 ;
        /*0500*/                   STG.E desc[UR6][R4.64], R9 ;
        /*0510*/              @!P0 BRA `(.L_x_2) ;
.L_x_5:
        /*0520*/                   EXIT ;
.L_x_3:
        /*0550*/                   BRA `(.L_x_3);
        /*0560*/                   NOP;
\t.section\t.text.other,\"ax\",@progbits
.text.other:
        /*0000*/                   EXIT ;
";

    #[test]
    fn instructions_have_lines_labels_and_predicates() {
        let functions = parse(TEXT);
        assert_eq!(functions.keys().collect::<Vec<_>>(), ["axpy", "other"]);
        let axpy = &functions["axpy"].instructions;
        assert_eq!(axpy.len(), 8, "the filling is left out");
        assert_eq!(
            (axpy[0].opcode.as_str(), axpy[0].operands.as_str(), axpy[0].ptx_line),
            ("LDC", "R1, c[0x0][0x28]", 18)
        );
        assert_eq!((axpy[1].predicate.as_str(), axpy[1].label.as_deref()), ("@P0", Some(".L_x_4")));
        assert_eq!((axpy[4].opcode.as_str(), axpy[4].offset, axpy[4].ptx_line), ("FFMA", 0x4f0, 130));
        assert_eq!(axpy[5].ptx_line, 130, "a line holds for what follows");
    }

    #[test]
    fn the_mix_counts_each_instruction_once_and_loops_are_found() {
        let axpy = &parse(TEXT)["axpy"];
        let mix = axpy.mix();
        assert_eq!((mix.count(), mix.classes[&Class::GlobalLoad], mix.classes[&Class::Control]), (8, 2, 3));
        assert_eq!((mix.bytes[&Class::GlobalLoad], mix.bytes[&Class::GlobalStore]), (12, 4));
        assert_eq!(mix.operations[&Class::Fp32], 2.0);
        let loops = axpy.loops();
        assert_eq!(loops, [Loop { range: 2..=6, innermost: true }]);
        assert_eq!(axpy.mix_of(&loops[0]).count(), 5);
    }
}
