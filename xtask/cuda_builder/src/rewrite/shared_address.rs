//! The two ways between a generic pointer into shared memory and its 32-bit address there. Rust has no pointers with an address
//! space, so `cuda_std` declares two functions, which get their bodies here. Where LLVM knows the variable behind the
//! pointer, nothing is left of them but its address.

use super::space::SHARED;
use super::{RewriteError, unrecognised};
use crate::ir::{Kind, Module};

/// Turns a pointer into an address.
pub const ADDRESS: &str = "@__warpsmith_shared_address";
/// Turns an address into a pointer.
pub const POINTER: &str = "@__warpsmith_shared_pointer";

/// Gives the declared ones of the two their bodies.
pub fn rewrite(module: &mut Module) -> Result<(), RewriteError> {
    for item in module.items.iter_mut().filter(|item| item.kind == Kind::Declaration) {
        let (result, parameter, body) = match item.name.as_str() {
            ADDRESS => (
                "i32",
                "ptr",
                format!(
                    "  %s = addrspacecast ptr %x to ptr addrspace({SHARED})\n  %r = ptrtoint ptr addrspace({SHARED}) %s to i32\n  ret i32 %r\n"
                ),
            ),
            POINTER => (
                "ptr",
                "i32",
                format!(
                    "  %s = inttoptr i32 %x to ptr addrspace({SHARED})\n  %r = addrspacecast ptr addrspace({SHARED}) %s to ptr\n  ret ptr %r\n"
                ),
            ),
            _ => continue,
        };
        let name = &item.name;
        // Attributes between the words may differ from compiler to compiler; a calling convention would be an error.
        let line = item.first_line().replace("noundef ", "").replace(" noundef", "");
        if !line.starts_with(&format!("declare {result} {name}({parameter})")) {
            return Err(unrecognised("shared address", &item.text));
        }
        item.text = format!("define internal {result} {name}({parameter} %x) alwaysinline {{\n{body}}}\n");
        item.kind = Kind::Definition;
    }
    Ok(())
}
