//! LLVM IR as text, cut into its top-level items. Enough to rewrite and split it without linking against LLVM.
//!
//! LLVM prints one item a line, except function bodies; strings hold no raw quote (it is written `\22`), so a quoted
//! piece is a token of its own and references can't be mistaken for text.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use regex::Regex;

/// What the tokens of interest look like: a symbol, a quoted piece to skip, an attribute group, a metadata node.
pub static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"@"[^"]*"|@[-a-zA-Z$._0-9]+|"[^"]*"|#[0-9]+|![0-9]+"#).expect("the pattern is constant")
});

/// What a top-level item with a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A global variable or alias.
    Global,
    /// A function without a body.
    Declaration,
    /// A function with its body.
    Definition,
}

/// A top-level item with a name.
#[derive(Clone, Debug)]
pub struct Item {
    /// The symbol as it is written, with its `@`.
    pub name: String,
    /// Variable, declaration or definition.
    pub kind: Kind,
    /// The whole text, ending in a newline.
    pub text: String,
}

impl Item {
    /// Whether this is a kernel entry point.
    pub fn is_entry(&self) -> bool {
        self.kind == Kind::Definition && self.first_line().contains(" ptx_kernel ")
    }

    /// The line that holds name, linkage and attributes.
    pub fn first_line(&self) -> &str {
        self.text.split_once('\n').map_or(&self.text, |(line, _)| line)
    }

    /// The symbol without `@` and quotes: what the PTX calls it.
    pub fn symbol(&self) -> &str {
        self.name[1..].trim_matches('"')
    }

    /// The symbols that the text refers to, itself included.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        TOKEN.find_iter(&self.text).map(|token| token.as_str()).filter(|token| token.starts_with('@'))
    }
}

/// A module's text, cut up.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `target` lines, type definitions and module-level assembly, in their order.
    pub header: Vec<String>,
    /// Globals and functions, in their order.
    pub items: Vec<Item>,
    /// The texts of `attributes #N = { ... }` between the braces.
    pub attributes: BTreeMap<u32, String>,
    /// The right sides of `!N = ...`.
    pub metadata: BTreeMap<u32, String>,
    /// The lines `!name = !{...}`.
    pub named_metadata: Vec<String>,
}

/// A line that is none of the forms that LLVM prints at top level.
#[derive(Debug, thiserror::Error)]
#[error(
    "line {line} of the linked LLVM IR is of a kind that the linker step does not know: {text:?}; this is a limit of warpsmith-cuda-builder, please report it"
)]
pub struct IrError {
    /// Counted from 1.
    pub line: usize,
    /// The line's first 200 characters.
    pub text: String,
}

impl Module {
    /// Cuts the output of `llvm-link -S` into items.
    pub fn parse(text: &str) -> Result<Self, IrError> {
        let mut module = Module::default();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let unknown = || IrError { line: number + 1, text: line.chars().take(200).collect() };
            if line.is_empty() || line.starts_with(';') || line.starts_with("source_filename") {
                continue;
            } else if line.starts_with("define ") {
                let name = first_symbol(line).ok_or_else(unknown)?;
                let mut body = format!("{line}\n");
                for (_, line) in lines.by_ref() {
                    body.push_str(strip_comment(line));
                    body.push('\n');
                    if line == "}" {
                        break;
                    }
                }
                module.items.push(Item { name, kind: Kind::Definition, text: body });
            } else if line.starts_with("declare ") {
                let name = first_symbol(line).ok_or_else(unknown)?;
                module.items.push(Item { name, kind: Kind::Declaration, text: format!("{line}\n") });
            } else if line.starts_with('@') {
                let name = first_symbol(line).ok_or_else(unknown)?;
                module.items.push(Item { name, kind: Kind::Global, text: format!("{line}\n") });
            } else if let Some(rest) = line.strip_prefix("attributes #") {
                let (number, body) = rest.split_once(" = { ").ok_or_else(unknown)?;
                let body = body.strip_suffix(" }").ok_or_else(unknown)?;
                module.attributes.insert(number.parse().map_err(|_| unknown())?, body.to_owned());
            } else if let Some(rest) = line.strip_prefix('!') {
                let (name, body) = rest.split_once(" = ").ok_or_else(unknown)?;
                match name.parse() {
                    Ok(number) => drop(module.metadata.insert(number, body.to_owned())),
                    Err(_) => module.named_metadata.push(line.to_owned()),
                }
            } else if ["target ", "%", "$", "module asm "].iter().any(|prefix| line.starts_with(prefix)) {
                module.header.push(line.to_owned());
            } else {
                return Err(unknown());
            }
        }
        Ok(module)
    }

    /// Puts the items together again.
    #[cfg(test)]
    pub fn print(&self) -> String {
        let mut text = String::new();
        for line in &self.header {
            text.push_str(line);
            text.push('\n');
        }
        for item in &self.items {
            text.push_str(&item.text);
        }
        for (number, body) in &self.attributes {
            text.push_str(&format!("attributes #{number} = {{ {body} }}\n"));
        }
        for line in &self.named_metadata {
            text.push_str(line);
            text.push('\n');
        }
        for (number, body) in &self.metadata {
            text.push_str(&format!("!{number} = {body}\n"));
        }
        text
    }

    /// The kernel entry points.
    pub fn entries(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.is_entry())
    }

    /// Where each named item lies in `items`.
    pub fn index(&self) -> HashMap<&str, usize> {
        self.items.iter().enumerate().map(|(i, item)| (item.name.as_str(), i)).collect()
    }
}

fn first_symbol(line: &str) -> Option<String> {
    TOKEN.find_iter(line).map(|token| token.as_str()).find(|token| token.starts_with('@')).map(str::to_owned)
}

/// Block labels carry `; preds = ...`, which numbers and order would make unstable.
fn strip_comment(line: &str) -> &str {
    match line.find("; preds = ").or_else(|| line.find("; No predecessors!")) {
        Some(at) if !line[..at].contains('"') => line[..at].trim_end(),
        _ => line,
    }
}
