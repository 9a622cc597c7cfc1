//! Which names a project may have: those that cargo, rustc and the project's own files can all live with.

use anyhow::{Result, bail};

/// Rust's keywords, strict and reserved, of all editions; `cargo new` refuses them too.
const KEYWORDS: [&str; 53] = [
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "union",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "macro_rules",
];
/// Crates that are always there, and folders of cargo's own below the target folder.
const CARGO: [&str; 9] = ["core", "std", "alloc", "test", "proc_macro", "build", "deps", "examples", "incremental"];
/// What the project's files call their dependencies.
const DEPENDENCIES: [&str; 6] = ["kernels", "warpsmith", "warpsmith_gpu", "cuda_std", "cuda_builder", "criterion"];

/// An error that says why, unless a project may have this name.
pub fn check(name: &str) -> Result<()> {
    let Some(first) = name.chars().next() else {
        bail!("a project needs a name: lower-case letters, digits, `-` and `_`, a letter first");
    };
    if let Some(wrong) = name.chars().find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(*c))) {
        let lower = name.to_lowercase();
        if wrong.is_ascii_uppercase() && check(&lower).is_ok() {
            bail!("`{name}` can't name a crate: rustc wants lower-case names; try `{lower}`");
        }
        bail!("`{name}` can't name a crate: {wrong:?} is none of lower-case letters, digits, `-` and `_`");
    }
    if !first.is_ascii_lowercase() {
        bail!("`{name}` can't name a crate: it must begin with a letter; try `x{name}`");
    }
    // In Rust both are `_`.
    let krate = name.replace('-', "_");
    let reason = match krate.as_str() {
        krate if KEYWORDS.contains(&krate) => "is a keyword of Rust",
        krate if CARGO.contains(&krate) => "is a name that Rust or cargo uses itself",
        krate if DEPENDENCIES.contains(&krate) => "is a crate that the project depends on",
        _ => return Ok(()),
    };
    bail!("`{name}` can't name a project, since it {reason}; try `my_{krate}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_crates() {
        for name in ["snake", "my-act_2", "a", "selfish", "x9"] {
            check(name).unwrap();
        }
    }

    #[test]
    fn other_names_are_refused_with_the_reason() {
        for (name, reason) in [
            ("", "needs a name"),
            ("fn", "keyword"),
            ("gen", "keyword"),
            ("self", "keyword"),
            ("9lives", "begin with a letter"),
            ("_hidden", "begin with a letter"),
            ("-x", "begin with a letter"),
            ("MyAct", "try `myact`"),
            ("Self", "'S'"),
            ("a.b", "'.'"),
            ("a/b", "'/'"),
            ("..", "'.'"),
            ("a b", "' '"),
            ("a\"b", "'\"'"),
            ("größe", "'ö'"),
            ("test", "uses itself"),
            ("std", "uses itself"),
            ("build", "uses itself"),
            ("kernels", "depends on"),
            ("cuda-std", "depends on"),
        ] {
            let error = check(name).expect_err(name).to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
    }
}
