//! `build-ptx`: a device crate to PTX, with a summary of what came out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cuda_builder::DeviceCode;
use cuda_builder::manifest::{FILE_NAME, Manifest};

use crate::device_crate::DeviceCrate;
use crate::{table, workspace};

/// Builds a device crate to PTX: `manifest.json`, `sm_XX/<module>.ptx`, with --cubin also machine code, and an archive of all.
///
/// What has not changed is not built again.
#[derive(clap::Args)]
pub struct BuildPtx {
    #[command(flatten)]
    device_crate: DeviceCrate,
    /// Copy the result into this folder, replacing an earlier result there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Put the optimised LLVM IR beside each PTX file, as .ll
    #[arg(long)]
    emit_llvm: bool,
    /// Assemble each module as well: a .cubin beside each PTX file, which loads without the driver's compiler
    #[arg(long)]
    cubin: bool,
    /// Name source lines in the PTX (.loc), for profilers and debuggers
    #[arg(long)]
    line_info: bool,
}

impl BuildPtx {
    pub fn run(&self) -> Result<()> {
        let built = self.device_crate.build_with(&self.device_crate.archs(), |builder| {
            builder.emit_llvm_ir(self.emit_llvm).cubins(self.cubin).generate_line_info(self.line_info)
        })?;
        let folder = match &self.out {
            Some(out) => {
                copy(&built.code, out).with_context(|| format!("can't copy the result to {}", out.display()))?;
                out.as_path()
            }
            None => built.code.directory(),
        };
        println!("{}", summary(built.code.manifest(), built.code.directory()));
        println!("{} by {}, LLVM {}", built.summary(), built.code.manifest().compiler, built.code.manifest().llvm);
        println!("in {}", workspace::shown(folder));
        Ok(())
    }
}

/// One row for each module: its architectures, and entries and bytes over all of them.
fn summary(manifest: &Manifest, folder: &Path) -> String {
    #[derive(Default)]
    struct Row {
        archs: Vec<&'static str>,
        entries: usize,
        bytes: u64,
        cubin_bytes: u64,
    }
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for module in &manifest.modules {
        let row = rows.entry(&module.name).or_default();
        row.archs.push(module.arch.name());
        row.entries = row.entries.max(module.entries.len());
        let size = |file: &String| fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        row.bytes += size(&module.file);
        row.cubin_bytes += module.cubin.as_ref().map_or(0, size);
    }
    let mut table = table::table(&["module", "architectures", "entries", "PTX", "cubins"], 2);
    let (mut entries, mut bytes, mut cubin_bytes) = (0, 0, 0);
    for (name, row) in &rows {
        table.add_row([
            *name,
            &row.archs.join(" "),
            &row.entries.to_string(),
            &table::bytes(row.bytes),
            &table::bytes(row.cubin_bytes),
        ]);
        entries += row.entries;
        bytes += row.bytes;
        cubin_bytes += row.cubin_bytes;
    }
    table.add_row(["all", "", &entries.to_string(), &table::bytes(bytes), &table::bytes(cubin_bytes)]);
    table.to_string()
}

/// Copies manifest, PTX, IR and archive. What an earlier manifest in `out` lists and this one does not is removed.
fn copy(code: &DeviceCode, out: &Path) -> Result<()> {
    fs::create_dir_all(out)?;
    if let Ok(text) = fs::read(out.join(FILE_NAME))
        && let Ok(earlier) = serde_json::from_slice::<Manifest>(&text)
    {
        for module in earlier.modules {
            let file = out.join(module.file);
            // Module names hold points: the extension is cut off by hand.
            let stem = file.with_extension("");
            let others = ["ll", "cubin"].map(|extension| stem.with_added_extension(extension));
            for file in others.into_iter().chain([file]) {
                // It may be gone already.
                let _ = fs::remove_file(file);
            }
        }
    }
    copy_files(code.directory(), out)
}

/// Files that start with a dot are the builder's own notes.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
