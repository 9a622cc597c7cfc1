//! Tensor maps passed by value (`repr(C, align(16))`, 16 u64, in IR `[8 x i128]`) get the 64-byte alignment that TMA
//! demands. `align(64)` on the Rust type itself makes rustc crash on `extern "ptx-kernel"` parameters.

use super::attributes;
use crate::ir::Item;

/// Aligns every tensor-map parameter of an entry.
pub fn rewrite(item: &mut Item) {
    if let Some((open, close)) = attributes::parameters(item) {
        let list = item.text[open..close].replace("[8 x i128] ", "[8 x i128] alignstack(64) ");
        item.text.replace_range(open..close, &list);
    }
}
