//! Statics in `.shared` and `.constant`, and the dynamic shared memory, move to their address spaces.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::space::{CONSTANT, SHARED, redirect};
use super::{DYNAMIC_SHARED, FAULT_RECORD, RewriteError, unrecognised};
use crate::ir::{Item, Kind, Module};

/// Name and linkage, `global` or `constant`, type and value, section, the rest (alignment, metadata).
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^((?:@"[^"]*"|@[-a-zA-Z$._0-9]+) = (?:[a-z_]+ )*?)(global|constant) (.*?)(?:, section "([^"]*)")?((?:, (?:align \d+|![a-z]+ !\d+))*)\n?$"#)
        .expect("the pattern is constant")
});

/// A value that is more than `undef`: a string, a number, a pointer, or zero.
static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"zeroinitializer|c"|\b(?:i\d+|half|bfloat|float|double|ptr) (?:-?\d|0x|null|true|false|@)"#)
        .expect("the pattern is constant")
});

/// Rewrites the definitions and everything that refers to them.
pub fn rewrite(module: &mut Module) -> Result<(), RewriteError> {
    let mut spaces = HashMap::new();
    for item in module.items.iter_mut().filter(|item| item.kind == Kind::Global) {
        if item.name == DYNAMIC_SHARED {
            item.text = format!("{DYNAMIC_SHARED} = external addrspace({SHARED}) global [0 x i8], align 1024\n");
            spaces.insert(item.name.clone(), SHARED);
        } else if let Some(space) = place(item)? {
            spaces.insert(item.name.clone(), space);
        }
    }
    if !spaces.is_empty() {
        module.items.iter_mut().for_each(|item| redirect(item, &spaces));
    }
    Ok(())
}

/// Rewrites one static's definition; the address space, where its section names one.
fn place(item: &mut Item) -> Result<Option<u32>, RewriteError> {
    let section = |name: &str| item.text.contains(&format!(", section \"{name}\""));
    let (shared, constant) = (section(".shared"), section(".constant"));
    if !shared && !constant {
        return Ok(None);
    }
    let parts = DEFINITION.captures(&item.text).ok_or_else(|| unrecognised("address space", &item.text))?;
    let (linkage, kind, value, rest) = (&parts[1], &parts[2], &parts[3], &parts[5]);
    // The host looks for it by name, but linking has made everything private that a dependency defines.
    let linkage = if item.name == FAULT_RECORD { linkage.replace("internal ", "") } else { linkage.to_owned() };
    if shared && DEFINED.is_match(value) {
        let symbol = item.symbol().to_owned();
        return Err(RewriteError::SharedInitialised { symbol, value: value.chars().take(80).collect() });
    }
    let (space, kind) = match (shared, kind) {
        (true, _) => (SHARED, "global"),
        // A mutable static in constant memory is written by the host: LLVM must not fold its first value.
        (false, "global") => (CONSTANT, "externally_initialized global"),
        (false, _) => (CONSTANT, "constant"),
    };
    item.text = format!("{linkage}addrspace({space}) {kind} {value}{rest}\n");
    Ok(Some(space))
}
