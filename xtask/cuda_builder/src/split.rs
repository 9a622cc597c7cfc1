//! Splitting: the part of a module that some entries reach, written so that unrelated changes leave its text alone.
//!
//! Items follow in the order in which they are reached, and attribute groups, metadata and compiler-made constants
//! (`@anon.<hash>.<number>`) are numbered by first appearance. The text is therefore fit to be hashed: a change in one
//! kernel changes the text of its own module only.

use std::collections::{HashMap, HashSet};

use regex::Captures;

use crate::ir::{Item, Kind, Module, TOKEN};

/// The items that `roots` reach (roots first), by position in `module.items`.
pub fn reachable(module: &Module, roots: &[usize]) -> Vec<usize> {
    let index = module.index();
    let mut order = Vec::new();
    let mut seen: HashSet<usize> = HashSet::new();
    let mut stack: Vec<usize> = roots.iter().rev().copied().collect();
    while let Some(at) = stack.pop() {
        if !seen.insert(at) {
            continue;
        }
        order.push(at);
        let found: Vec<usize> = module.items[at].references().filter_map(|name| index.get(name).copied()).collect();
        stack.extend(found.into_iter().rev().filter(|next| !seen.contains(next)));
    }
    order
}

/// The module reduced to what the entries that `keep` names reach: dead code goes before anything is rewritten.
pub fn prune(module: &Module, keep: impl Fn(&Item) -> bool) -> Module {
    let is_root = |item: &Item| item.is_entry() && keep(item);
    let roots: Vec<usize> = (0..module.items.len()).filter(|&i| is_root(&module.items[i])).collect();
    let items = reachable(module, &roots).into_iter().map(|i| module.items[i].clone()).collect();
    Module { items, ..module.clone() }
}

/// The text of the part of `module` that the entries of these symbols reach, and the symbols in it that the host
/// writes by name (mutable statics in constant memory), which must stay visible too.
pub fn extract<'m>(module: &'m Module, entries: &[&str]) -> (String, Vec<&'m str>) {
    let asked: HashSet<&str> = entries.iter().copied().collect();
    let is_root = |item: &Item| item.is_entry() && asked.contains(item.symbol());
    let roots: Vec<usize> = (0..module.items.len()).filter(|&i| is_root(&module.items[i])).collect();
    let items: Vec<&Item> = reachable(module, &roots).into_iter().map(|i| &module.items[i]).collect();
    let host_written = |item: &&&Item| {
        let line = item.first_line();
        item.kind == Kind::Global && line.contains(" externally_initialized ") && !line.contains(" = internal ")
    };
    let host_written = items.iter().filter(host_written).map(|item| item.symbol()).collect();
    let mut numbering = Numbering::default();
    let mut text = String::new();
    for line in &module.header {
        text.push_str(line);
        text.push('\n');
    }
    for item in items {
        text.push_str(&numbering.rename(&item.text));
    }
    for line in &module.named_metadata {
        // The compiler's version is part of the cache key already.
        if !line.starts_with("!llvm.ident") {
            text.push_str(&numbering.rename(line));
            text.push('\n');
        }
    }
    for (new, old) in numbering.attributes.order.clone().into_iter().enumerate() {
        let body = module.attributes.get(&old).map_or("", String::as_str);
        text.push_str(&format!("attributes #{new} = {{ {body} }}\n"));
    }
    let mut done = 0;
    while let Some(&old) = numbering.metadata.order.get(done) {
        let body = module.metadata.get(&old).map_or("!{}", String::as_str);
        let body = numbering.rename(body).into_owned();
        text.push_str(&format!("!{done} = {body}\n"));
        done += 1;
    }
    (text, host_written)
}

/// New numbers in the order of first appearance.
#[derive(Default)]
struct Counter<T> {
    order: Vec<T>,
    number: HashMap<T, usize>,
}

impl<T: Clone + Eq + std::hash::Hash> Counter<T> {
    fn number(&mut self, old: T) -> usize {
        *self.number.entry(old.clone()).or_insert_with(|| {
            self.order.push(old);
            self.order.len() - 1
        })
    }
}

#[derive(Default)]
struct Numbering {
    attributes: Counter<u32>,
    metadata: Counter<u32>,
    constants: Counter<String>,
}

impl Numbering {
    fn rename<'t>(&mut self, text: &'t str) -> std::borrow::Cow<'t, str> {
        TOKEN.replace_all(text, |token: &Captures<'_>| {
            let token = &token[0];
            let parse = |digits: &str| digits.parse().expect("the token is made of digits");
            match token.as_bytes()[0] {
                b'#' => format!("#{}", self.attributes.number(parse(&token[1..]))),
                b'!' => format!("!{}", self.metadata.number(parse(&token[1..]))),
                _ if token.starts_with("@anon.") => format!("@anon.{}", self.constants.number(token.to_owned())),
                _ => token.to_owned(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"target triple = "nvptx64-nvidia-cuda"
@anon.aa.7 = private constant [1 x i8] c"a"
@anon.aa.9 = private constant [1 x i8] c"\22@unused\22"
@unused = internal constant ptr @dead
@TABLE = addrspace(4) externally_initialized global [4 x i8] zeroinitializer
define ptx_kernel void @one() #3 {
  %1 = load i8, ptr @anon.aa.9, align 1, !range !8
  call void @helper()
  ret void
}
define ptx_kernel void @two() #5 {
  %1 = load i8, ptr addrspacecast (ptr addrspace(4) @TABLE to ptr), align 1
  ret void
}
define internal void @helper() #5 {
  br label %1

1:                                                ; preds = %0
  ret void
}
define internal void @dead() #4 {
  ret void
}
attributes #3 = { nounwind }
attributes #4 = { cold }
attributes #5 = { convergent }
!llvm.ident = !{!0}
!llvm.module.flags = !{!2}
!0 = !{!"rustc"}
!2 = !{i32 8, !"PIC Level", i32 2}
!8 = !{i8 0, i8 2, !9}
!9 = !{}
"#;

    #[test]
    fn only_what_is_reached_stays_and_is_numbered_afresh() {
        let module = prune(&Module::parse(TEXT).unwrap(), |_| true);
        assert!(!module.items.iter().any(|item| ["@dead", "@unused"].contains(&item.name.as_str())));
        let (text, host_written) = extract(&module, &["one"]);
        assert!(text.contains("@one() #0 {\n  %1 = load i8, ptr @anon.0, align 1, !range !0\n"), "{text}");
        assert!(text.contains("@helper() #1 {\n  br label %1\n\n1:\n"), "{text}");
        assert!(text.contains("@anon.0 = private constant [1 x i8] c\"\\22@unused\\22\"\n"), "{text}");
        assert!(!text.contains("@two") && !text.contains("TABLE") && !text.contains("llvm.ident"), "{text}");
        assert!(text.contains("!llvm.module.flags = !{!1}\n"), "{text}");
        assert!(text.ends_with("!0 = !{i8 0, i8 2, !2}\n!1 = !{i32 8, !\"PIC Level\", i32 2}\n!2 = !{}\n"), "{text}");
        assert!(host_written.is_empty());
        assert_eq!(extract(&module, &["two"]).1, ["TABLE"]);
    }

    #[test]
    fn a_change_elsewhere_leaves_the_text_alone() {
        let text = |text: &str| extract(&prune(&Module::parse(text).unwrap(), |_| true), &["one"]).0;
        let moved = TEXT.replace("anon.aa.9", "anon.bb.3").replace("#3", "#30").replace("!8", "!80");
        assert_eq!(text(TEXT), text(&moved.replace("load i8, ptr addrspacecast", "load i16, ptr addrspacecast")));
    }
}
