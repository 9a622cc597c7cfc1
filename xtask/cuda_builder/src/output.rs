//! The output folder: PTX files, manifest, archive; written so that a reader sees whole files only.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::cache;
use crate::error::{BuildError, IoContext};
use crate::manifest::{FILE_NAME, Manifest};
use crate::pipeline::Linked;

/// Beside the output, for the next call: the key of the build that made it.
const STAMP: &str = ".stamp";
/// The whole crate's PTX for the first architecture.
const WHOLE: &str = ".whole.ptx";

/// An output folder.
pub struct Output {
    /// The folder.
    pub folder: PathBuf,
}

impl Output {
    /// The manifest of an earlier build with the same key, if nothing of its output is missing.
    pub fn fresh(&self, key: &str) -> Option<Manifest> {
        if fs::read_to_string(self.folder.join(STAMP)).ok()? != key {
            return None;
        }
        let manifest: Manifest = serde_json::from_slice(&fs::read(self.folder.join(FILE_NAME)).ok()?).ok()?;
        let present = |path: &Path| path.is_file();
        let files = manifest.modules.iter().flat_map(|module| std::iter::once(&module.file).chain(&module.cubin));
        let modules = files.into_iter().all(|file| present(&self.folder.join(file)));
        (modules && present(&self.archive(&manifest.crate_name))).then_some(manifest)
    }

    /// The archive's path.
    pub fn archive(&self, crate_name: &str) -> PathBuf {
        self.folder.join(format!("{crate_name}.zip"))
    }

    /// The path of the whole crate's PTX.
    pub fn whole(&self) -> PathBuf {
        self.folder.join(WHOLE)
    }

    /// Writes everything, removes what earlier builds left, and stamps the folder last.
    pub fn write(&self, linked: &Linked, key: &str) -> Result<(), BuildError> {
        fs::create_dir_all(&self.folder).context("create", &self.folder)?;
        let stamp = self.folder.join(STAMP);
        if stamp.exists() {
            fs::remove_file(&stamp).context("remove", &stamp)?;
        }
        let manifest = serde_json::to_string_pretty(&linked.manifest).expect("a manifest is plain data") + "\n";
        let archive = self.archive(&linked.manifest.crate_name);
        let mut written = BTreeSet::from([self.folder.join(FILE_NAME), archive.clone()]);
        for (name, content) in &linked.files {
            let path = self.folder.join(name);
            cache::write(&path, content)?;
            written.insert(path);
        }
        if let Some(whole) = &linked.whole {
            cache::write(&self.whole(), whole.as_bytes())?;
            written.insert(self.whole());
        }
        cache::write(&self.folder.join(FILE_NAME), manifest.as_bytes())?;
        let zip = zip(linked, &manifest).map_err(|source| BuildError::Zip { path: archive.clone(), source })?;
        cache::write(&archive, &zip)?;
        remove_others(&self.folder, &written)?;
        cache::write(&stamp, key.as_bytes())
    }
}

/// The archive: manifest, PTX and cubins, deflated, with fixed times so that the same content gives the same bytes.
fn zip(linked: &Linked, manifest: &str) -> zip::result::ZipResult<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    let code = linked.files.iter().filter(|(name, _)| name.ends_with(".ptx") || name.ends_with(".cubin"));
    let files = code.map(|(name, content)| (name.as_str(), content.as_slice()));
    for (name, content) in std::iter::once((FILE_NAME, manifest.as_bytes())).chain(files) {
        writer.start_file(name, options)?;
        writer.write_all(content)?;
    }
    Ok(writer.finish()?.into_inner())
}

fn remove_others(folder: &Path, keep: &BTreeSet<PathBuf>) -> Result<(), BuildError> {
    for entry in fs::read_dir(folder).context("read", folder)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            remove_others(&path, keep)?;
            // Succeeds on an empty folder only, which is what is wanted.
            let _ = fs::remove_dir(&path);
        } else if !keep.contains(&path) {
            fs::remove_file(&path).context("remove", &path)?;
        }
    }
    Ok(())
}
