//! The messages on the page of troubleshooting are those of the sources, word for word; values are written `..`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const PAGE: &str = "docs/troubleshooting.md";
/// Where our messages come from.
const SOURCES: [&str; 3] = ["host", "gpu", "xtask/cuda_builder/src"];
/// What says in a row that the message is another program's.
const OTHERS: [&str; 2] = ["(rustc)", "(cust_raw)"];

/// A line for each message that no source has.
pub fn unknown(root: &Path) -> Result<Vec<String>> {
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("can't read {PAGE}"))?;
    let mut sources = String::new();
    for folder in SOURCES {
        read(&root.join(folder), &mut sources)?;
    }
    let sources = joined(&sources);
    let rows = page.lines().enumerate().filter(|(_, row)| row.starts_with("| `"));
    let wrong = rows.flat_map(|(number, row)| {
        let cell = row.split(" | ").next().unwrap_or_default();
        let ours = !OTHERS.iter().any(|other| cell.contains(other));
        let pieces = quoted(cell).into_iter().filter(move |_| ours);
        let unknown = pieces.filter(|piece| !sources.contains(piece.as_str()));
        unknown.map(move |piece| format!("{PAGE}:{}: no source says {piece:?}", number + 1)).collect::<Vec<_>>()
    });
    Ok(wrong.collect())
}

fn read(folder: &Path, sources: &mut String) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("can't list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?);
        }
    }
    Ok(())
}

/// Without the breaks inside string literals, and with quotes and braces as they are printed.
fn joined(source: &str) -> String {
    let mut lines = source.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    let text = lines.fold(first, |text, line| text + line.trim_start());
    text.replace("\\\"", "\"").replace("{{", "{").replace("}}", "}")
}

/// The pieces between values of the words in backticks.
fn quoted(cell: &str) -> Vec<String> {
    let spans = if cell.contains("``") { cell.split("``") } else { cell.split("`") };
    let pieces = spans.skip(1).step_by(2).flat_map(|span| span.split(".."));
    // What is shorter says nothing.
    pieces.map(|piece| piece.trim().to_owned()).filter(|piece| piece.len() >= 8).collect()
}

#[cfg(test)]
mod tests {
    use super::{joined, quoted};

    #[test]
    fn values_and_quotes_are_left_out() {
        assert_eq!(
            quoted("| `` the kernel `..` was built for .., which .. can't run ``"),
            ["the kernel `", "` was built for", "can't run"]
        );
        assert_eq!(
            quoted("| `a race for element ..`, `no barrier lies between`"),
            ["a race for element", "no barrier lies between"]
        );
    }

    #[test]
    fn broken_literals_are_joined() {
        assert_eq!(joined("\"one \\\n     two {{ \\\"x\\\" }}\""), "\"one two { \"x\" }\"");
    }
}
