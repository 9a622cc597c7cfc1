//! Target attributes go: LLVM's inliner refuses to inline between functions whose target-cpu or target-features differ,
//! and core is compiled once for all architectures. `opt` and `llc` are told the architecture instead.

use std::sync::LazyLock;

use regex::Regex;

use crate::ir::{Item, Module};

static TARGETS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#" ?"(?:target-cpu|target-features|tune-cpu)"="[^"]*""#).expect("the pattern is constant")
});

/// Removes target attributes from every attribute group.
pub fn strip_targets(module: &mut Module) {
    for body in module.attributes.values_mut() {
        *body = TARGETS.replace_all(body, "").trim().to_owned();
    }
}

/// Adds attributes to a function definition, right behind its parameter list. `None` where no list is found.
pub fn add_to_definition(item: &mut Item, attributes: &str) -> Option<()> {
    if attributes.is_empty() {
        return Some(());
    }
    let (_, mut at) = parameters(item)?;
    for word in [" local_unnamed_addr", " unnamed_addr"] {
        if item.text[at..].starts_with(word) {
            at += word.len();
        }
    }
    item.text.insert_str(at, &format!(" {attributes}"));
    Some(())
}

/// Where the parameter list of a definition opens, and the position behind its closing parenthesis.
pub fn parameters(item: &Item) -> Option<(usize, usize)> {
    let line = item.first_line();
    let open = line.find(&format!("{}(", item.name))? + item.name.len();
    let (mut depth, mut quoted) = (0, false);
    for (at, byte) in line.bytes().enumerate().skip(open) {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some((open, at + 1));
                }
            }
            _ => {}
        }
    }
    None
}
