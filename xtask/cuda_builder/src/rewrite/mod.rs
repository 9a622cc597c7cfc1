//! The rewrites of the linked IR: what Rust can't say, said in LLVM's words. One file for each.
//!
//! They run before anything is optimised: LLVM turns a shared-memory static that it takes for an ordinary variable into
//! a private one, and duplicates or merges barriers whose assembly is not marked convergent.

mod attributes;
mod convergent;
mod entry;
mod float;
mod globals;
mod shared_address;
mod space;
mod tensor_map;

use std::collections::BTreeMap;

use crate::ir::{Kind, Module};
use crate::marker::{EntryMarker, MarkerError};

/// The external symbol that stands for the launch's dynamic shared memory.
pub const DYNAMIC_SHARED: &str = "@__warpsmith_dynamic_shared";

/// The constant of `cuda_std` that says where kernels leave word of a fault; the host sets it.
pub const FAULT_RECORD: &str = "@__warpsmith_fault_record";

/// How floating-point operations are to be compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloatMode {
    /// f32 subnormals are flushed to zero.
    pub ftz: bool,
    /// A multiplication and the addition that follows may become one fused operation.
    pub contract: bool,
}

/// A marker that can't be followed.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// An entry's marker does not parse.
    #[error("kernel `{entry}` has the section \"{section}\": {source}")]
    Marker {
        /// The entry.
        entry: String,
        /// The whole section name.
        section: String,
        /// What is wrong with it.
        source: MarkerError,
    },
    /// A section name that means nothing on the device.
    #[error(
        "`{symbol}` is placed in section \"{section}\", which means nothing on the device; use .shared or .constant for a static, .nv:... for a kernel"
    )]
    UnknownSection {
        /// The static or function.
        symbol: String,
        /// The section's name.
        section: String,
    },
    /// A `.nv:` section on a function that is no kernel, or on a static.
    #[error("`{symbol}` is placed in section \"{section}\" but is no `extern \"ptx-kernel\"` function")]
    NotAnEntry {
        /// The static or function.
        symbol: String,
        /// The section's name.
        section: String,
    },
    /// A shared static with an initial value, which the hardware can't give it.
    #[error(
        "static `{symbol}` in shared memory has an initial value ({value}), but shared memory starts undefined; declare it as MaybeUninit::uninit()"
    )]
    SharedInitialised {
        /// The static.
        symbol: String,
        /// The start of the value, as LLVM writes it.
        value: String,
    },
    /// Text that is not as LLVM usually writes it: the rewrite would be skipped silently.
    #[error(
        "{rewrite}: this line of LLVM IR can't be rewritten: {line:?}; this is a limit of warpsmith-cuda-builder, please report it"
    )]
    Unrecognised {
        /// Which rewrite.
        rewrite: &'static str,
        /// The line's first 300 characters.
        line: String,
    },
}

pub use entry::module as entry_module;

fn unrecognised(rewrite: &'static str, line: &str) -> RewriteError {
    RewriteError::Unrecognised { rewrite, line: line.chars().take(300).collect() }
}

/// Rewrites the whole module and returns the entries' markers by symbol.
pub fn rewrite(module: &mut Module, float: FloatMode) -> Result<BTreeMap<String, EntryMarker>, RewriteError> {
    attributes::strip_targets(module);
    globals::rewrite(module)?;
    shared_address::rewrite(module)?;
    let mut markers = BTreeMap::new();
    for item in module.items.iter_mut().filter(|item| item.kind == Kind::Definition) {
        if item.is_entry() {
            markers.insert(item.symbol().to_owned(), entry::rewrite(item)?);
            tensor_map::rewrite(item);
        }
        convergent::rewrite(item)?;
        float::rewrite(item, float)?;
    }
    check_sections(module)?;
    Ok(markers)
}

/// Any section that is left was written by someone who expects it to do something.
fn check_sections(module: &Module) -> Result<(), RewriteError> {
    for item in &module.items {
        let Some((_, rest)) = item.first_line().split_once(" section \"") else { continue };
        let section = rest.split('"').next().unwrap_or_default().to_owned();
        let symbol = item.symbol().to_owned();
        return Err(if section.starts_with(crate::marker::PREFIX) {
            RewriteError::NotAnEntry { symbol, section }
        } else {
            RewriteError::UnknownSection { symbol, section }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
