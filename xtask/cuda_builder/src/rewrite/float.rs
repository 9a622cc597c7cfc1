//! Opt-in floating-point modes: flush f32 subnormals, and fuse multiplications with additions.

use std::sync::LazyLock;

use regex::Regex;

use super::{FloatMode, RewriteError, attributes, unrecognised};
use crate::ir::Item;

static OPERATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(\s*%\S+ = (?:fadd|fsub|fmul|fneg|fdiv))((?: [a-z]+)*?) (float|double|half|bfloat|<\d+ x (?:float|double|half|bfloat)>) ")
        .expect("the pattern is constant")
});

/// Applies the modes to one function.
pub fn rewrite(item: &mut Item, mode: FloatMode) -> Result<(), RewriteError> {
    if mode.ftz {
        let line = item.first_line().to_owned();
        attributes::add_to_definition(item, r#""denormal-fp-math-f32"="preserve-sign,preserve-sign""#)
            .ok_or_else(|| unrecognised("ftz", &line))?;
    }
    if mode.contract {
        item.text = OPERATION
            .replace_all(&item.text, |parts: &regex::Captures<'_>| {
                let (operation, flags, ty) = (&parts[1], &parts[2], &parts[3]);
                let set = flags.split(' ').any(|flag| flag == "contract" || flag == "fast");
                format!("{operation}{flags}{} {ty} ", if set { "" } else { " contract" })
            })
            .into_owned();
    }
    Ok(())
}
