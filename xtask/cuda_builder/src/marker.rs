//! The marker of a kernel entry: the text that follows `.nv:` in its section name.
//!
//! `module=map_forward.relu,arch=sm_80,reqntid=256x1x1,maxntid=256,minctasm=1,maxnreg=168,cluster=2x1x1,ptx=8.0`

use crate::arch::{Arch, ArchParseError, PtxIsa, PtxIsaParseError};

/// The start of an entry's section name.
pub const PREFIX: &str = ".nv:";

/// The most threads that a block can have on any architecture.
const MAX_THREADS: u64 = 1024;
/// The most blocks that a cluster can have (above 8 the launch must opt in).
const MAX_CLUSTER: u64 = 16;

/// What the author of an entry asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryMarker {
    /// The PTX module that the entry belongs to; the crate's name otherwise.
    pub module: Option<String>,
    /// The least architecture that the entry is built for.
    pub arch: Option<Arch>,
    /// The least PTX version that its instructions need.
    pub ptx: Option<PtxIsa>,
    /// The block shape of every launch.
    pub reqntid: Option<[u32; 3]>,
    /// The largest block shape.
    pub maxntid: Option<[u32; 3]>,
    /// Blocks per multiprocessor that registers are limited for.
    pub minctasm: Option<u32>,
    /// Registers per thread at most.
    pub maxnreg: Option<u32>,
    /// The cluster shape of every launch.
    pub cluster: Option<[u32; 3]>,
}

/// What is wrong with a marker.
#[derive(Debug, thiserror::Error)]
pub enum MarkerError {
    /// A key that no version of the builder knows.
    #[error("unknown key {key:?}; legal keys: module, arch, ptx, reqntid, maxntid, minctasm, maxnreg, cluster")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A piece without `=`.
    #[error("{piece:?} is not of the form key=value")]
    NotKeyValue {
        /// The piece between two commas.
        piece: String,
    },
    /// The same key twice.
    #[error("key {key:?} is given twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// A value that is no positive number, or no shape of up to three of them.
    #[error("{key}={value:?} must be {form}")]
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The legal form.
        form: &'static str,
    },
    /// A shape of more elements than the hardware has.
    #[error("{key}={value} has {product} elements, the hardware's limit is {limit}")]
    TooLarge {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// x * y * z.
        product: u64,
        /// The limit.
        limit: u64,
    },
    /// An unknown architecture.
    #[error(transparent)]
    Arch(#[from] ArchParseError),
    /// No PTX version.
    #[error(transparent)]
    PtxIsa(#[from] PtxIsaParseError),
}

impl EntryMarker {
    /// Parses the text after [`PREFIX`].
    pub fn parse(text: &str) -> Result<Self, MarkerError> {
        let mut marker = EntryMarker::default();
        for piece in text.split(',').filter(|piece| !piece.is_empty()) {
            let (key, value) =
                piece.split_once('=').ok_or_else(|| MarkerError::NotKeyValue { piece: piece.to_owned() })?;
            let fresh = match key {
                "module" => marker.module.replace(module_name(value)?).is_none(),
                "arch" => marker.arch.replace(value.parse()?).is_none(),
                "ptx" => marker.ptx.replace(value.parse()?).is_none(),
                "reqntid" => marker.reqntid.replace(shape(key, value, MAX_THREADS)?).is_none(),
                "maxntid" => marker.maxntid.replace(shape(key, value, MAX_THREADS)?).is_none(),
                "minctasm" => marker.minctasm.replace(number(key, value)?).is_none(),
                "maxnreg" => marker.maxnreg.replace(number(key, value)?).is_none(),
                "cluster" => marker.cluster.replace(shape(key, value, MAX_CLUSTER)?).is_none(),
                _ => return Err(MarkerError::UnknownKey { key: key.to_owned() }),
            };
            if !fresh {
                return Err(MarkerError::Twice { key: key.to_owned() });
            }
        }
        Ok(marker)
    }

    /// The launch bounds as LLVM's function attributes.
    pub fn attributes(&self) -> String {
        let shape = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
        let pairs = [
            ("nvvm.reqntid", self.reqntid.map(shape)),
            ("nvvm.maxntid", self.maxntid.map(shape)),
            ("nvvm.minctasm", self.minctasm.map(|n| n.to_string())),
            ("nvvm.maxnreg", self.maxnreg.map(|n| n.to_string())),
            ("nvvm.cluster_dim", self.cluster.map(shape)),
        ];
        let given = pairs.iter().filter_map(|(key, value)| Some(format!("\"{key}\"=\"{}\"", value.as_ref()?)));
        given.collect::<Vec<_>>().join(" ")
    }
}

/// Module names become file names on every system.
fn module_name(value: &str) -> Result<String, MarkerError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "_.-+".contains(c);
    if value.is_empty() || value.starts_with('.') || !value.chars().all(legal) {
        let form = "letters, digits, '_', '.', '-' and '+', not starting with '.'";
        return Err(MarkerError::Value { key: "module".into(), value: value.into(), form });
    }
    Ok(value.to_owned())
}

fn number(key: &str, value: &str) -> Result<u32, MarkerError> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(MarkerError::Value { key: key.into(), value: value.into(), form: "a positive number" }),
    }
}

/// `256`, `16x16` or `8x8x4`; what is left out is 1.
fn shape(key: &str, value: &str, limit: u64) -> Result<[u32; 3], MarkerError> {
    let form = "up to three positive numbers, e.g. 256 or 16x16x1";
    let error = || MarkerError::Value { key: key.into(), value: value.into(), form };
    let mut shape = [1; 3];
    for (i, part) in value.split('x').enumerate() {
        *shape.get_mut(i).ok_or_else(error)? = number(key, part).map_err(|_| error())?;
    }
    let product = shape.iter().map(|&n| u64::from(n)).try_fold(1, u64::checked_mul).unwrap_or(u64::MAX);
    if product > limit {
        return Err(MarkerError::TooLarge { key: key.into(), value: value.into(), product, limit });
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read() {
        let text = "module=map.relu,arch=sm_90a,ptx=8.3,reqntid=256,maxntid=16x16,minctasm=2,maxnreg=168,cluster=2x1x1";
        let marker = EntryMarker::parse(text).unwrap();
        assert_eq!(marker.module.as_deref(), Some("map.relu"));
        assert_eq!(marker.arch, Some(Arch::SM_90A));
        assert_eq!(marker.ptx, Some(PtxIsa { major: 8, minor: 3 }));
        assert_eq!(marker.reqntid, Some([256, 1, 1]));
        assert_eq!(marker.maxntid, Some([16, 16, 1]));
        assert_eq!(
            marker.attributes(),
            r#""nvvm.reqntid"="256,1,1" "nvvm.maxntid"="16,16,1" "nvvm.minctasm"="2" "nvvm.maxnreg"="168" "nvvm.cluster_dim"="2,1,1""#
        );
    }

    #[test]
    fn mistakes_are_named_with_their_values() {
        let message = |text| EntryMarker::parse(text).unwrap_err().to_string();
        assert!(message("maxreg=3").starts_with("unknown key \"maxreg\"; legal keys: module, "));
        assert!(message("reqntid").contains("key=value"));
        assert!(message("maxnreg=1,maxnreg=2").contains("twice"));
        assert!(message("reqntid=64x64").contains("4096 elements, the hardware's limit is 1024"));
        assert!(message("reqntid=1x2x3x4").contains("up to three"));
        assert!(message("minctasm=0").contains("positive"));
        assert!(message("module=../x").contains("letters"));
        assert!(message("arch=sm_1").contains("legal values: sm_70"));
    }
}
