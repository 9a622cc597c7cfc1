//! Entry markers become LLVM's launch-bound attributes, from which llc writes `.reqntid`, `.maxnreg` and the others.

use super::{RewriteError, attributes, unrecognised};
use crate::ir::Item;
use crate::marker::{EntryMarker, PREFIX};

/// Takes the marker out of an entry's section and puts its launch bounds in.
pub fn rewrite(item: &mut Item) -> Result<EntryMarker, RewriteError> {
    let opening = format!(" section \"{PREFIX}");
    let Some(start) = item.first_line().find(&opening) else { return Ok(EntryMarker::default()) };
    let text = item.text[start + opening.len()..].split('"').next().unwrap_or_default().to_owned();
    let end = start + opening.len() + text.len() + 1;
    let marker = EntryMarker::parse(&text).map_err(|source| RewriteError::Marker {
        entry: item.symbol().to_owned(),
        section: format!("{PREFIX}{text}"),
        source,
    })?;
    item.text.replace_range(start..end, "");
    let line = item.first_line().to_owned();
    attributes::add_to_definition(item, &marker.attributes()).ok_or_else(|| unrecognised("launch bounds", &line))?;
    Ok(marker)
}
