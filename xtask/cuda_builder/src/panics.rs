//! Panics that nobody will read are cut short, before anything is optimised.
//!
//! A bounds check alone draws in core's formatting machinery, many times the code of a usual kernel, and the position of
//! each check in the source. Where the panic handler does not look at its argument all of it is for nothing: core's
//! functions that end in a panic then call the handler at once, and positions are replaced by one that says nothing, so
//! that moving a kernel within its file does not change it. A handler that does look at its argument switches this off.

use std::collections::HashSet;

use regex::Captures;

use crate::ir::{Item, Kind, Module, TOKEN};

/// The end of the panic handler's mangled name.
const HANDLER: &str = "rust_begin_unwind";
/// Stands for every source position.
const NOWHERE: &str = "@anon.nowhere";

/// Shortens the panics of a freshly linked module.
pub fn shorten(module: &mut Module) {
    let Some(handler) = module.items.iter().find(|item| is_silent_handler(item)).map(|item| item.name.clone()) else {
        return;
    };
    let never_returns: Vec<String> = module
        .attributes
        .iter()
        .filter(|(_, body)| body.split(' ').any(|attribute| attribute == "noreturn"))
        .map(|(number, _)| format!(" #{number} "))
        .collect();
    let mut shortened = HashSet::new();
    for item in module.items.iter_mut().filter(|item| item.kind == Kind::Definition && is_core(item.symbol())) {
        let line = item.first_line();
        if line.contains(" void @") && line.ends_with('{') && never_returns.iter().any(|group| line.contains(group)) {
            // Not poison: the parameter may be declared as defined and aligned. The handler ignores it.
            item.text = format!("{line}\n  call void {handler}(ptr inttoptr (i64 8 to ptr))\n  unreachable\n}}\n");
            shortened.insert(item.name.clone());
        }
    }
    let calls = |line: &str| TOKEN.find_iter(line).any(|token| shortened.contains(token.as_str()));
    let mut replaced = false;
    for item in module.items.iter_mut().filter(|item| item.kind == Kind::Definition) {
        if !item.references().any(|name| shortened.contains(name)) {
            continue;
        }
        let mut text = String::with_capacity(item.text.len());
        for line in item.text.lines() {
            if line.contains(" call void @") && calls(line) {
                let line = TOKEN.replace_all(line, |token: &Captures<'_>| {
                    let name = if token[0].starts_with("@anon.") { NOWHERE } else { &token[0] };
                    replaced |= name == NOWHERE;
                    name.to_owned()
                });
                text.push_str(&line);
            } else {
                text.push_str(line);
            }
            text.push('\n');
        }
        item.text = text;
    }
    if replaced {
        // As large as anything that a message or position can be declared to be dereferenceable for.
        let text = format!("{NOWHERE} = private unnamed_addr constant [4096 x i8] zeroinitializer, align 16\n");
        module.items.push(Item { name: NOWHERE.to_owned(), kind: Kind::Global, text });
    }
}

/// Whether this is a panic handler whose only parameter is used nowhere in its body.
fn is_silent_handler(item: &Item) -> bool {
    item.kind == Kind::Definition
        && item.symbol().ends_with(HANDLER)
        && item.text.lines().skip(1).all(|line| !line.contains("%0"))
}

/// Whether a mangled name (v0 or legacy) is of the crate core.
fn is_core(symbol: &str) -> bool {
    symbol.starts_with("_ZN4core") || (symbol.starts_with("_R") && symbol.contains("_4core"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(handler_body: &str) -> String {
        let text = format!(
            r#"@anon.a.1 = private constant [24 x i8] zeroinitializer
define internal void @_RNvCs1_7___rustc17rust_begin_unwind(ptr noundef %0) unnamed_addr #0 {{
{handler_body}
  unreachable
}}
define internal void @_RNvNtCs1_4core9panicking18panic_bounds_check(i64 %0, i64 %1, ptr %2) unnamed_addr #0 {{
  call void @format()
  unreachable
}}
define internal void @_RNvNtCs1_4core3fmt5write(ptr %0) unnamed_addr #1 {{
  ret void
}}
define ptx_kernel void @k() #1 {{
  call void @_RNvNtCs1_4core9panicking18panic_bounds_check(i64 1, i64 2, ptr noundef @anon.a.1) #0
  unreachable
}}
attributes #0 = {{ noreturn nounwind }}
attributes #1 = {{ nounwind }}
"#
        );
        let mut module = Module::parse(&text).unwrap();
        shorten(&mut module);
        module.print()
    }

    #[test]
    fn panics_go_straight_to_a_handler_that_does_not_look() {
        let text = shortened("  call void @llvm.trap()");
        assert!(!text.contains("@format"), "{text}");
        assert!(
            text.contains("call void @_RNvCs1_7___rustc17rust_begin_unwind(ptr inttoptr (i64 8 to ptr))"),
            "{text}"
        );
        assert!(text.contains("(i64 1, i64 2, ptr noundef @anon.nowhere) #0"), "{text}");
        assert!(text.contains("@_RNvNtCs1_4core3fmt5write(ptr %0) unnamed_addr #1 {\n  ret void"), "{text}");
    }

    #[test]
    fn a_handler_that_looks_gets_everything() {
        let text = shortened("  call void @print(ptr %0)");
        assert!(text.contains("@format") && !text.contains("nowhere"), "{text}");
    }
}
