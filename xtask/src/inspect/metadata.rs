//! Source positions in LLVM IR with line tables: which files the calls that were inlined into one another lie in.
//!
//! PTX names the file of an instruction alone; of the functions that it was inlined into, a comment has the paths as the compiler
//! was given them, `src/lib.rs` for any crate. The IR's `!DILocation` nodes have the folders.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub file: PathBuf,
    /// From 1; 0: the compiler made it of several.
    pub line: u32,
    pub column: u32,
}

/// A place and the calls that it was inlined through, the innermost first.
pub type Chain = Vec<Frame>;

/// Chains with whole paths, by the same with the compiler's paths.
#[derive(Debug, Default)]
pub struct Chains(HashMap<Chain, Chain>);

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static NODE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$"));
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\b(scope|file|inlinedAt|line|column|filename|directory): (?:!(\d+)|(\d+)|"([^"]*)")"#));

/// One node, with the fields that it has.
#[derive(Debug, Default)]
struct Node<'t> {
    scope: Option<u32>,
    file: Option<u32>,
    inlined_at: Option<u32>,
    line: u32,
    column: u32,
    filename: &'t str,
    directory: &'t str,
}

impl Chains {
    /// Reads a module's IR.
    pub fn parse(llvm_ir: &str) -> Self {
        let (mut nodes, mut locations) = (HashMap::new(), Vec::new());
        for found in llvm_ir.lines().filter_map(|line| NODE.captures(line)) {
            let Ok(number) = found[1].parse::<u32>() else { continue };
            let body = found.get(3).map_or("", |body| body.as_str());
            match &found[2] {
                "DILocation" => locations.push(number),
                "DISubprogram" | "DILexicalBlock" | "DILexicalBlockFile" | "DIFile" => {}
                _ => continue,
            }
            nodes.insert(number, node(body));
        }
        let chains = locations.iter().filter_map(|&location| {
            let (mut short, mut long) = (Vec::new(), Vec::new());
            let mut next = Some(location);
            while let Some(node) = next.and_then(|number| nodes.get(&number)) {
                let file: &Node<'_> = nodes.get(&nodes.get(&node.scope?)?.file?)?;
                let frame = |file| Frame { file, line: node.line, column: node.column };
                short.push(frame(PathBuf::from(file.filename)));
                long.push(frame(Path::new(file.directory).join(file.filename)));
                next = node.inlined_at;
            }
            Some((short, long))
        });
        Chains(chains.collect())
    }

    /// The chain with whole paths.
    pub fn whole(&self, chain: &[Frame]) -> Option<&Chain> {
        self.0.get(chain)
    }
}

fn node(body: &str) -> Node<'_> {
    let mut node = Node::default();
    for found in FIELD.captures_iter(body) {
        let group = |at: usize| found.get(at).map_or("", |group| group.as_str());
        let (reference, number) = (group(2).parse().ok(), group(3).parse().unwrap_or(0));
        match group(1) {
            "scope" => node.scope = reference,
            "file" => node.file = reference,
            "inlinedAt" => node.inlined_at = reference,
            "line" => node.line = number,
            "column" => node.column = number,
            "filename" => node.filename = group(4),
            _ => node.directory = group(4),
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_get_their_folders() {
        // As opt 22 writes it, shortened.
        let chains = Chains::parse(
            r#"!6 = !DIFile(filename: "src/lib.rs", directory: "/a/cuda_std", checksumkind: CSK_MD5)
!13 = !DIFile(filename: "/rust/core.rs", directory: "")
!5 = distinct !DISubprogram(name: "axpy", scope: !7, file: !6, line: 95, type: !9)
!12 = distinct !DISubprogram(name: "f", scope: !14, file: !13, line: 82)
!28 = !DIFile(filename: "src/lib.rs", directory: "/b/kernels")
!37 = !DILexicalBlockFile(scope: !38, file: !28, discriminator: 2)
!11 = !DILocation(line: 83, column: 5, scope: !12, inlinedAt: !17)
!17 = distinct !DILocation(line: 20, scope: !37, inlinedAt: !32)
!32 = !DILocation(line: 95, column: 60, scope: !5)
"#,
        );
        let frame = |file: &str, line, column| Frame { file: file.into(), line, column };
        let short = vec![frame("/rust/core.rs", 83, 5), frame("src/lib.rs", 20, 0), frame("src/lib.rs", 95, 60)];
        let long = [
            frame("/rust/core.rs", 83, 5),
            frame("/b/kernels/src/lib.rs", 20, 0),
            frame("/a/cuda_std/src/lib.rs", 95, 60),
        ];
        assert_eq!(chains.whole(&short).unwrap(), &long);
        assert_eq!(chains.whole(&short[..2]), None);
    }
}
