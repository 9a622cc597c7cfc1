//! Volatile inline assembly becomes convergent, as clang makes it for CUDA: a barrier or a warp operation must not be
//! duplicated, merged or moved across a branch.
//!
//! rustc marks functions convergent but not inline assembly (rust-lang/rust#149637 covers functions). This goes when
//! rustc marks `asm!` on nvptx64 itself.

use std::sync::LazyLock;

use regex::Regex;

use super::{RewriteError, attributes, unrecognised};
use crate::ir::Item;

static CALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^(\s*(?:%\S+ = )?(?:tail |musttail |notail )?call .*\))((?: #[0-9]+)*)((?:, ![^"]*)?)$"#)
        .expect("the pattern is constant")
});

/// Marks the function, and the volatile assembly in it.
pub fn rewrite(item: &mut Item) -> Result<(), RewriteError> {
    if item.text.contains(" asm sideeffect ") {
        let mut text = String::with_capacity(item.text.len() + 64);
        for line in item.text.lines() {
            if line.contains(" asm sideeffect ") {
                let parts = CALL.captures(line).ok_or_else(|| unrecognised("convergent assembly", line))?;
                text.push_str(&format!("{}{} convergent{}\n", &parts[1], &parts[2], without_location(&parts[3])));
            } else {
                text.push_str(line);
                text.push('\n');
            }
        }
        item.text = text;
    }
    // Functions too, for compilers that leave it out; LLVM takes it away again where nothing in the function needs it.
    let line = item.first_line().to_owned();
    attributes::add_to_definition(item, "convergent").ok_or_else(|| unrecognised("convergent function", &line))
}

/// `!srcloc` is a source position: it would change the text of every kernel behind an edited line.
fn without_location(metadata: &str) -> String {
    let kept = metadata.split(", ").filter(|piece| !piece.is_empty() && !piece.starts_with("!srcloc"));
    kept.map(|piece| format!(", {piece}")).collect()
}
