//! `book`: links and quoted messages of the documentation checked, and the book built by mdBook.
//!
//! The code on the pages is checked elsewhere: it is documentation tests of `warpsmith-tests`.

mod links;
pub mod mdbook;
mod messages;

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{table, workspace};

/// Checks the pages and builds the book into target/book.
///
/// The checks need nothing installed: links between pages, to files and to headings (web addresses are not visited), and that
/// the messages on the page of troubleshooting are those of the sources. The book is built
/// by mdBook, which `setup` installs; without it that step is SKIPPED and says so.
#[derive(clap::Args)]
pub struct Book {
    /// Don't build the book
    #[arg(long)]
    links: bool,
    /// Fail where the book can't be built, in the place of SKIPPED
    #[arg(long, conflicts_with = "links")]
    require: bool,
}

impl Book {
    /// What `test` runs.
    pub fn all() -> Self {
        Self { links: false, require: false }
    }

    pub fn run(&self) -> Result<()> {
        let root = workspace::root();
        let mut links = links::check(&root)?;
        links.wrong.extend(messages::unknown(&root)?);
        links.wrong.iter().for_each(|wrong| println!("{wrong}"));
        println!("book: {} on {}", table::count(links.count, "link"), table::count(links.pages, "page"));
        if !links.wrong.is_empty() {
            bail!("{} to correct, above", table::count(links.wrong.len(), "place"));
        }
        match mdbook::find() {
            _ if self.links => Ok(()),
            Some(program) => build(&program),
            None if self.require => bail!("no mdBook {}; {}", mdbook::VERSION, mdbook::REMEDY),
            None => {
                println!("book: SKIPPED building it: no mdBook {}; {}", mdbook::VERSION, mdbook::REMEDY);
                Ok(())
            }
        }
    }
}

/// Installs mdBook if it is missing and can be had; says so if not. Nothing but the book needs it.
pub fn ensure() {
    if mdbook::find().is_none() {
        println!("setup: mdBook {}", mdbook::VERSION);
        if let Err(error) = mdbook::install() {
            println!("setup: no mdBook, the book will not be built: {error:#}; {}", mdbook::REMEDY);
        }
    }
}

fn build(program: &std::path::Path) -> Result<()> {
    let target = workspace::target().join("book");
    let mut command = Command::new(program);
    command.arg("build").arg(workspace::root().join("docs")).arg("--dest-dir").arg(&target);
    // Its warnings are mistakes of the pages, and it succeeds with them.
    let output = command.output().with_context(|| format!("can't start {}", workspace::line(&command)))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || messages.contains("WARN") || messages.contains("ERROR") {
        bail!("mdBook was not content ({}):\n{messages}", output.status);
    }
    println!("book: in {}", workspace::shown(&target.join("index.html")));
    Ok(())
}
