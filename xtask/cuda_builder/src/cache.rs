//! Files named after the hash of all that went into them, and writing files whole or not at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{BuildError, IoContext};

/// Changes when the linker step makes other output of the same input.
pub const REVISION: &str = concat!(env!("CARGO_PKG_VERSION"), "-1");

/// A folder of files named by hash.
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens or makes the folder.
    pub fn open(folder: PathBuf) -> Result<Self, BuildError> {
        fs::create_dir_all(&folder).context("create", &folder)?;
        Ok(Cache { folder })
    }

    /// Where the file for this key is or will be.
    pub fn path(&self, key: &Key, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", key.0.finalize().to_hex()))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// A hash under construction. Every part is set off by its length.
#[derive(Clone)]
pub struct Key(blake3::Hasher);

impl Key {
    /// Starts a key for one kind of file.
    pub fn new(kind: &str) -> Self {
        Key(blake3::Hasher::new()).with(REVISION).with(kind)
    }

    /// Adds a part.
    pub fn with(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        self.0.update(&(part.len() as u64).to_le_bytes()).update(part);
        self
    }

    /// Adds a file by name, size and time: cargo rewrites an rlib only if it changed.
    pub fn with_file(self, path: &Path) -> Result<Self, BuildError> {
        let metadata = fs::metadata(path).context("look at", path)?;
        let modified = metadata.modified().context("look at", path)?;
        let stamp = format!("{}|{}|{modified:?}", path.display(), metadata.len());
        Ok(self.with(stamp))
    }

    /// The hash in hexadecimal digits.
    pub fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

/// Writes a file by way of a temporary one beside it, so that no reader sees a part of it. Unchanged files stay.
pub fn write(path: &Path, content: &[u8]) -> Result<(), BuildError> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = path.parent().expect("files lie in folders");
    fs::create_dir_all(folder).context("create", folder)?;
    let mut file = tempfile::Builder::new().prefix(".part-").tempfile_in(folder).context("write in", folder)?;
    file.write_all(content).context("write", path)?;
    // Temporary files are private to their owner; outputs are ordinary files.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).context("write", path)?;
    }
    file.persist(path).map_err(|error| error.error).context("write", path)?;
    Ok(())
}
