//! Entry markers become LLVM's launch-bound attributes, from which llc writes `.reqntid`, `.maxnreg` and the others.

use std::ops::Range;

use super::{RewriteError, attributes, unrecognised};
use crate::ir::Item;
use crate::marker::{EntryMarker, PREFIX};

/// Takes the marker out of an entry's section and puts its launch bounds in.
pub fn rewrite(item: &mut Item) -> Result<EntryMarker, RewriteError> {
    let Some((section, marker)) = find(item)? else { return Ok(EntryMarker::default()) };
    item.text.replace_range(section, "");
    let line = item.first_line().to_owned();
    attributes::add_to_definition(item, &marker.attributes()).ok_or_else(|| unrecognised("launch bounds", &line))?;
    Ok(marker)
}

/// The module that an entry names, if it names one.
pub fn module(item: &Item) -> Result<Option<String>, RewriteError> {
    Ok(find(item)?.and_then(|(_, marker)| marker.module))
}

/// An entry's marker, and where the section that holds it lies in the text.
fn find(item: &Item) -> Result<Option<(Range<usize>, EntryMarker)>, RewriteError> {
    let opening = format!(" section \"{PREFIX}");
    let Some(start) = item.first_line().find(&opening) else { return Ok(None) };
    let text = item.text[start + opening.len()..].split('"').next().unwrap_or_default();
    let end = start + opening.len() + text.len() + 1;
    let marker = EntryMarker::parse(text).map_err(|source| RewriteError::Marker {
        entry: item.symbol().to_owned(),
        section: format!("{PREFIX}{text}"),
        source,
    })?;
    Ok(Some((start..end, marker)))
}
