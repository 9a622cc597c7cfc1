//! Links between the pages: the file must be there, and the heading in it. Web addresses are left alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// What was found.
pub struct Links {
    pub pages: usize,
    pub count: usize,
    /// A line for each wrong one.
    pub wrong: Vec<String>,
}

/// The list of the book's pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// A page: what it links to, by line, and its headings as anchors.
#[derive(Default)]
struct Page {
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

/// Checks the Markdown at the root of the repository, and all of `docs`.
pub fn check(root: &Path) -> Result<Links> {
    let mut pages = BTreeMap::new();
    for folder in ["", "docs"] {
        let folder_path = root.join(folder);
        for entry in fs::read_dir(&folder_path).with_context(|| format!("can't list {}", folder_path.display()))? {
            let name = entry?.file_name();
            let path = Path::new(folder).join(name);
            if path.extension().is_some_and(|extension| extension == "md") {
                let file = root.join(&path);
                let text = fs::read_to_string(&file).with_context(|| format!("can't read {}", file.display()))?;
                pages.insert(path, Page::parse(&text));
            }
        }
    }
    let mut wrong = Vec::new();
    for (path, page) in &pages {
        for (line, link) in &page.links {
            if let Err(reason) = follow(root, &pages, path, link) {
                wrong.push(format!("{}:{line}: {link}: {reason}", path.display()));
            }
        }
    }
    wrong.extend(unlisted(&pages));
    Ok(Links { pages: pages.len(), count: pages.values().map(|page| page.links.len()).sum(), wrong })
}

impl Page {
    fn parse(text: &str) -> Self {
        let mut page = Page::default();
        let mut heading: Option<String> = None;
        let mut seen: HashMap<String, usize> = HashMap::new();
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = 1 + text[..range.start].matches('\n').count();
                    page.links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let number = seen.entry(anchor.clone()).or_default();
                    page.anchors.insert(if *number == 0 { anchor } else { format!("{anchor}-{number}") });
                    *number += 1;
                }
                _ => {}
            }
        }
        page
    }
}

/// A heading as both mdBook and GitHub name it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// An error that says why the link leads nowhere.
fn follow(root: &Path, pages: &BTreeMap<PathBuf, Page>, from: &Path, link: &str) -> Result<(), String> {
    if ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme)) {
        return Ok(());
    }
    let (file, fragment) = link.split_once('#').map_or((link, None), |(file, fragment)| (file, Some(fragment)));
    let folder = from.parent().unwrap_or(Path::new(""));
    let target = if file.is_empty() { from.to_owned() } else { normal(&folder.join(file)) };
    if from.starts_with("docs") && !target.starts_with("docs") {
        return Err("leads out of the book: name the file, or link to a page".into());
    }
    if !root.join(&target).exists() {
        return Err(format!("there is no {}", target.display()));
    }
    let (Some(fragment), Some(page)) = (fragment, pages.get(&target)) else { return Ok(()) };
    if page.anchors.contains(fragment) {
        return Ok(());
    }
    let anchors: Vec<_> = page.anchors.iter().map(String::as_str).collect();
    Err(format!("{} has no such heading; it has: {}", target.display(), anchors.join(", ")))
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            part => normal.push(part),
        }
        normal
    })
}

/// Pages that the list of the book doesn't name exactly once.
fn unlisted(pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let summary = Path::new(SUMMARY);
    let Some(list) = pages.get(summary) else { return vec![format!("{SUMMARY}: there is none")] };
    let times = |name: &Path| list.links.iter().filter(|(_, link)| Path::new("docs").join(link) == name).count();
    let book = pages.keys().filter(|path| path.starts_with("docs") && *path != summary);
    book.filter_map(|path| match times(path) {
        1 => None,
        times => Some(format!("{SUMMARY}: names {} {times} times; once is right", path.display())),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(pages: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("docs")).unwrap();
        for (name, text) in pages {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn wrong(pages: &[(&str, &str)]) -> Vec<String> {
        check(repository(pages).path()).unwrap().wrong
    }

    const SUMMARY_PAGE: (&str, &str) = (SUMMARY, "[a](a.md)\n[b](b.md)\n");

    #[test]
    fn links_that_lead_somewhere() {
        let a = "# On a GPU\n[b](b.md#what-s-there-and-code) [self](#on-a-gpu) ![p](p.svg) [web](https://example.org/x#y)\n";
        let b = "# What s there, and `code`\n## Twice\n## Twice\n[second](#twice-1)\n";
        let links =
            [SUMMARY_PAGE, ("README.md", "[a](docs/a.md)"), ("docs/a.md", a), ("docs/b.md", b), ("docs/p.svg", "")];
        assert_eq!(wrong(&links), [] as [String; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_named_with_their_line() {
        let a = "text\n[gone](gone.md)\n[gone](b.md#gone)\n[out](../README.md)\n";
        let wrong = wrong(&[SUMMARY_PAGE, ("README.md", ""), ("docs/a.md", a), ("docs/b.md", "# Here\n")]);
        assert_eq!(
            wrong,
            [
                "docs/a.md:2: gone.md: there is no docs/gone.md",
                "docs/a.md:3: b.md#gone: docs/b.md has no such heading; it has: here",
                "docs/a.md:4: ../README.md: leads out of the book: name the file, or link to a page",
            ]
        );
    }

    #[test]
    fn every_page_is_listed_once() {
        let wrong = wrong(&[(SUMMARY, "[a](a.md)\n"), ("docs/a.md", ""), ("docs/c.md", "")]);
        assert_eq!(wrong, ["docs/SUMMARY.md: names docs/c.md 0 times; once is right"]);
    }
}
