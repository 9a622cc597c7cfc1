//! Tensor maps lie in the kernel's own parameters, at a multiple of 64 bytes, and TMA takes their address there.
//!
//! Rust can't say that: an entry takes a reference to a type of 128 bytes that is aligned to 64 instead (nothing else that
//! reaches an entry looks like it), and here it becomes what clang makes of `const __grid_constant__ CUtensorMap`. A map by value
//! (`repr(C, align(16))`, 16 u64, in IR `[8 x i128]`) only gets the alignment: `align(64)` on a by-value parameter of
//! `extern "ptx-kernel"` makes rustc crash.

use std::sync::LazyLock;

use regex::Regex;

use super::attributes;
use crate::ir::Item;

static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"ptr (?:[a-z]+(?:\([^()]*\))? )*align 64 (?:[a-z]+(?:\([^()]*\))? )*dereferenceable\(128\) (?:[a-z]+(?:\([^()]*\))? )*(%[-a-zA-Z$._0-9]+)")
        .expect("the pattern is constant")
});

/// Rewrites every tensor-map parameter of an entry.
pub fn rewrite(item: &mut Item) {
    if let Some((open, close)) = attributes::parameters(item) {
        let list = item.text[open..close].replace("[8 x i128] ", "[8 x i128] alignstack(64) ");
        let list = REFERENCE.replace_all(&list, "ptr byval([128 x i8]) align 64 \"nvvm.grid_constant\" $1");
        let list = list.into_owned();
        item.text.replace_range(open..close, &list);
    }
}
