//! References to a variable that has moved to another address space go through `addrspacecast`; LLVM then infers the
//! address space of every access that can be traced back to it.

use std::collections::HashMap;

use regex::Captures;

use crate::ir::{Item, Kind, TOKEN};

/// Memory shared by the threads of a block.
pub const SHARED: u32 = 3;
/// Constant memory.
pub const CONSTANT: u32 = 4;

/// Casts every reference in `item` to a variable of `spaces`, except a variable's own definition.
pub fn redirect(item: &mut Item, spaces: &HashMap<String, u32>) {
    if !item.references().any(|name| spaces.contains_key(name)) {
        return;
    }
    let own = (item.kind == Kind::Global).then(|| item.name.clone());
    item.text = TOKEN
        .replace_all(&item.text, |token: &Captures<'_>| {
            let token = &token[0];
            match spaces.get(token) {
                Some(space) if own.as_deref() != Some(token) => {
                    format!("addrspacecast (ptr addrspace({space}) {token} to ptr)")
                }
                _ => token.to_owned(),
            }
        })
        .into_owned();
}
