//! A trace as columns, the form in which a page draws it: `docs/formats/trace-columns.md`.
//!
//! | module | what it holds |
//! |---|---|
//! | `texts` | tables of texts, bounded |
//! | `header` | what the header says |
//! | `flags` | the bits of a row |
//! | `block` | columns as bytes |

mod block;
mod flags;
mod header;
#[cfg(test)]
mod tests;
mod texts;

use serde::Serialize;

use crate::limits::PATH_MAX_STRETCHES;
use crate::tree::TraceTree;
use block::Block;
use header::Header;
pub(crate) use texts::cut;

/// The content type of the answer.
pub const CONTENT_TYPE: &str = "application/vnd.kymo.trace-columns";

const MAGIC: &[u8; 4] = b"KYTC";
const VERSION: u32 = 1;
/// Bytes before the header.
const PREFIX_BYTES: usize = 16;

/// Writes a trace as columns. `shown_id` is the id it was asked for by; of `damaged_blocks` spans may
/// be missing.
pub fn columns(
    tree: &TraceTree,
    shown_id: &str,
    damaged_blocks: usize,
) -> Result<Vec<u8>, serde_json::Error> {
    let flags = flags::of(tree);
    let (header, codes) = Header::of(tree, shown_id, damaged_blocks, &flags);
    let mut block = Block::default();
    add_times(tree, &mut block);
    add_places(tree, &mut block);
    block.whole_numbers("name", codes.names.iter().copied());
    block.whole_numbers("service", codes.services.iter().copied());
    block.whole_numbers("resource", tree.spans.iter().map(|span| span.resource));
    block.whole_numbers("scope", tree.spans.iter().map(|span| span.scope));
    block.whole_numbers("kind", tree.spans.iter().map(|span| u32::from(span.kind)));
    block.whole_numbers("status", tree.spans.iter().map(|span| u32::from(span.status)));
    block.signed("message", codes.messages.iter().copied());
    block.whole_numbers("events", tree.spans.iter().map(|span| span.events));
    block.whole_numbers("links", tree.spans.iter().map(|span| span.links));
    block.whole_numbers("flags", flags.iter().copied());
    block.ids("id", tree.spans.iter().map(|span| span.place.span_id));
    add_path(tree, &mut block);
    assemble(&header, block)
}

fn add_times(tree: &TraceTree, block: &mut Block) {
    let since_start = |nanos: i64| (nanos - tree.start_nanos) as f64;
    block.numbers("start", tree.spans.iter().map(|span| since_start(span.place.start_nanos)));
    block.numbers("duration", tree.spans.iter().map(|span| span.duration_nanos as f64));
    block.numbers("self", tree.laid.iter().map(|laid| laid.self_nanos as f64));
    block.numbers("critical", tree.laid.iter().map(|laid| laid.critical_nanos as f64));
    block.numbers("slack", tree.laid.iter().map(|laid| laid.slack_nanos as f64));
    block.numbers("saving", tree.laid.iter().map(|laid| laid.saving_nanos as f64));
}

fn add_places(tree: &TraceTree, block: &mut Block) {
    let parent = |parent: Option<u32>| parent.map_or(-1, u32::cast_signed);
    block.signed("parent", tree.laid.iter().map(|laid| parent(laid.parent)));
    block.whole_numbers("subtree", tree.laid.iter().map(|laid| laid.subtree));
    let depth = |depth: u32| depth.min(u32::from(u16::MAX));
    block.whole_numbers("depth", tree.laid.iter().map(|laid| depth(laid.depth)));
}

fn add_path(tree: &TraceTree, block: &mut Block) {
    let stretches = || tree.stretches.iter().take(PATH_MAX_STRETCHES);
    let since_start = |nanos: i64| (nanos - tree.start_nanos) as f64;
    block.signed("pathRow", stretches().map(|s| s.row.map_or(-1, u32::cast_signed)));
    block.numbers("pathStart", stretches().map(|s| since_start(s.from_nanos)));
    block.numbers("pathDuration", stretches().map(|s| (s.to_nanos - s.from_nanos) as f64));
}

/// The header as it is written: with the list of columns.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    header: &'a Header<'a>,
    columns: &'a [block::Column],
}

fn assemble(header: &Header<'_>, block: Block) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(&Written { header, columns: &block.columns })?;
    let mut out = Vec::with_capacity(PREFIX_BYTES + json.len() + 8 + block.bytes.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(json.len() as u32).to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&json);
    out.resize(out.len().next_multiple_of(8), 0);
    out.extend_from_slice(&block.bytes);
    Ok(out)
}
