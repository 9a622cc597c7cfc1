//! What was measured, and the table made of it.

use std::fmt::Write;

use anyhow::{Context, Result, bail};

use crate::table;

/// The largest error of one function in one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The activation.
    pub name: String,
    /// `f32`, `f32 fast`, `f16`, `bf16`.
    pub kind: String,
    /// `forward` or `derivative`.
    pub what: String,
    /// In last places of the result.
    pub ulp: f64,
    /// In last places of the largest term.
    pub of_term: f64,
    /// Where, what came out, and what would be exact.
    pub at: String,
    pub got: String,
    pub want: String,
}

impl Row {
    /// The most that is promised; nothing is for Fast in f32.
    fn bar(&self) -> f64 {
        match self.kind.as_str() {
            "f32" => 2.0,
            "f16" | "bf16" => 1.0,
            _ => f64::INFINITY,
        }
    }
}

/// A point of a picture: the activation, x, and values there.
#[derive(Clone, Debug, PartialEq)]
pub struct Point<const N: usize> {
    pub name: String,
    pub x: f64,
    pub values: [f64; N],
}

/// Everything.
#[derive(Debug, Default)]
pub struct Report {
    pub rows: Vec<Row>,
    /// Inputs of f32.
    pub count: u64,
    /// f, f' and f''.
    pub curves: Vec<Point<3>>,
    /// The largest errors of f and f' around x, in f32.
    pub spreads: Vec<Point<2>>,
}

impl Report {
    /// The lines of the measuring program.
    pub fn parse(text: &str) -> Result<Self> {
        let mut report = Self::default();
        for line in text.lines() {
            let parts: Vec<&str> = line.split(';').collect();
            let context = || format!("can't read `{line}`");
            match parts[..] {
                ["error", name, kind, what, ulp, of_term, at, got, want] => {
                    let [name, kind, what, at, got, want] = [name, kind, what, at, got, want].map(str::to_owned);
                    let (ulp, of_term) = (ulp.parse().with_context(context)?, of_term.parse().with_context(context)?);
                    // The first counts: what a GPU has measured precedes the host's sample.
                    if report.row(&name, &kind, &what).is_none() {
                        report.rows.push(Row { name, kind, what, ulp, of_term, at, got, want });
                    }
                }
                ["count", count] => report.count = report.count.max(count.parse().with_context(context)?),
                ["curve", name, x, a, b, c] => report.curves.push(point(name, x, [a, b, c]).with_context(context)?),
                ["spread", name, x, a, b] => report.spreads.push(point(name, x, [a, b]).with_context(context)?),
                _ => bail!("can't read `{line}`"),
            }
        }
        Ok(report)
    }

    /// The activations, in the catalogue's order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.name.as_str()) {
                names.push(&row.name);
            }
        }
        names
    }

    fn row(&self, name: &str, kind: &str, what: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name && row.kind == kind && row.what == what)
    }

    /// All rows, for a terminal.
    pub fn terminal(&self) -> String {
        let header = ["activation", "type", "", "ulp", "of the term", "at", "result", "exactly"];
        let mut table = table::table(&header, 3);
        for Row { name, kind, what, ulp, of_term, at, got, want } in &self.rows {
            table.add_row([name, kind, what, &format!("{ulp:.2}"), &format!("{of_term:.2}"), at, got, want]);
        }
        table.to_string()
    }

    /// The page of the book.
    pub fn page(&self) -> String {
        const KINDS: [&str; 4] = ["f32", "f32 fast", "f16", "bf16"];
        let inputs = match self.count {
            c if c >= 1 << 32 => "all 2^32 inputs of f32".to_owned(),
            c => format!("{c} inputs of f32, evenly spaced over all bit patterns"),
        };
        let mut page = format!(
            "# Accuracy\n\nThe largest errors of every activation with its default state, over {inputs} (Fast: at most 2^24 of them) and all of \
             f16 and bf16, in units in the last place, against f64. Made by `cargo xtask accuracy`.\n\n\
             A star: near a root, where terms cancel, the unit is the last place of the largest term. *Precise* is what f32 is computed in; \
             *Fast* has to be asked for in f32, and is what 16-bit types are computed in, whose last place is coarser than its error. \
             Here the host's exact operations stand in for the GPU's approximate instructions; those add up to 2^-22.\n\n\
             The bars: 2 for Precise f32, 1 for 16 bits.\n\n\
             | | f32 Precise: f | f' | f32 Fast: f | f' | f16: f | f' | bf16: f | f' | worst f32 input of f, f' |\n\
             | --- | --: | --: | --: | --: | --: | --: | --: | --: | --- |\n"
        );
        for name in self.names() {
            let cells = KINDS.iter().flat_map(|kind| ["forward", "derivative"].map(|what| self.row(name, kind, what)));
            let _ = write!(page, "| [{name}](accuracy/{name}.svg) |");
            for row in cells {
                match row {
                    Some(row) if row.ulp > row.of_term + 0.005 => drop(write!(page, " {} * |", number(row.of_term))),
                    Some(row) => drop(write!(page, " {} |", number(row.ulp))),
                    None => page.push_str(" |"),
                }
            }
            let erring = |what| self.row(name, "f32", what).filter(|row| row.ulp > 0.0);
            let at = |what| erring(what).map_or("–", |row| row.at.as_str());
            let _ = writeln!(page, " {}, {} |", at("forward"), at("derivative"));
        }
        let above = self.rows.iter().filter(|row| row.of_term > row.bar());
        let above: Vec<String> =
            above.map(|row| format!("{} {} ({}, {})", row.name, row.what, row.kind, number(row.of_term))).collect();
        let _ = match above.as_slice() {
            [] => writeln!(page, "\nAll are within the bars."),
            some => writeln!(page, "\nAbove the bars: {}.", some.join(", ")),
        };
        page.push_str(PEERS);
        page
    }
}

fn number(ulp: f64) -> String {
    match ulp {
        u if u < 0.0 => "–".into(),
        u if u >= 100.0 => format!("{u:.0}"),
        u => format!("{u:.2}"),
    }
}

/// What the usual formulas give; see the tests of the catalogue for the exact values.
const PEERS: &str = "
## Where the usual formulas differ

What the usual formulas give in f32, `0.5·x·(1 + erf(x/√2))` and `0.5·x·(1 + tanh(u))` for gelu, worked out by hand: no library was run for this
table. The exact values are what is computed here.

| | x | formula | exactly | off by |
| --- | --: | --: | --: | --: |
| gelu (erf) | -5 | -1.49e-6 | -1.43325786e-6 | 4 % |
| gelu (erf) | -6 | -0.0 | -5.91952587e-9 | all of it |
| gelu (tanh) | -5 | -2.98e-7 | -2.2917962e-7 | 30 % |
| gelu (tanh) | -6 | -0.0 | -8.4396467e-11 | all of it |
| gelu, both | -inf | NaN | 0 | |
| softplus(beta = 1), written as ln(1 + eˣ) | 100 | inf | 100 | |
| silu, written as x / (1 + e⁻ˣ) | -90 | -0.0 | -7.37461136e-38 | all of it |
";

fn point<const N: usize>(name: &str, x: &str, values: [&str; N]) -> Result<Point<N>> {
    let mut numbers = [0.0; N];
    for (number, text) in numbers.iter_mut().zip(values) {
        *number = text.parse()?;
    }
    Ok(Point { name: name.to_owned(), x: x.parse()?, values: numbers })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const TEXT: &str = "\
count;16777216
error;relu;f32;forward;0.000;0.000;0e0;0e0;0e0
error;relu;f32;derivative;0.000;0.000;0e0;0e0;0e0
error;silu;f32;forward;1.250;1.250;-2e0;1e0;1e0
error;silu;f32;derivative;163.000;1.500;-1.278e0;1e-9;2e-9
error;silu;bf16;forward;0.510;0.510;1e0;1e0;1e0
curve;silu;-1;-0.26894;0.07233;0.35300
curve;silu;1;0.73106;0.92767;0.35300
spread;silu;-1;0.9;1.1
spread;silu;1;0.8;1.2
";

    #[test]
    fn the_page_has_a_row_for_each_activation_and_marks_roots() {
        let report = Report::parse(TEXT).unwrap();
        assert_eq!(report.names(), ["relu", "silu"]);
        let page = report.page();
        assert!(page.contains("| [silu](accuracy/silu.svg) | 1.25 | 1.50 * |"), "{page}");
        assert!(page.contains("16777216 inputs"), "{page}");
        assert!(Report { count: 1 << 32, ..report }.page().contains("all 2^32"));
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        assert!(Report::parse("error;relu").unwrap_err().to_string().contains("`error;relu`"));
        assert!(Report::parse("curve;relu;x;1;2;3").is_err());
    }
}
