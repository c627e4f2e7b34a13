//! The bits of a row.

use crate::forest::Note;
use crate::tree::TraceTree;

pub(super) const ERROR: u32 = 1;
pub(super) const ERROR_BELOW: u32 = 1 << 1;
pub(super) const ROOT: u32 = 1 << 2;
pub(super) const ORPHAN: u32 = 1 << 3;
pub(super) const RUNNING: u32 = 1 << 4;
pub(super) const CRITICAL: u32 = 1 << 5;
pub(super) const SKEWED: u32 = 1 << 6;
pub(super) const CYCLE: u32 = 1 << 7;
pub(super) const DUPLICATE: u32 = 1 << 8;
pub(super) const HAS_EVENTS: u32 = 1 << 9;
pub(super) const HAS_LINKS: u32 = 1 << 10;
pub(super) const EXCEPTION: u32 = 1 << 11;
pub(super) const UNTIMED: u32 = 1 << 12;
pub(super) const NAME_CUT: u32 = 1 << 13;
pub(super) const OUTLASTS: u32 = 1 << 14;

/// The bits of all rows.
pub(super) fn of(tree: &TraceTree) -> Vec<u32> {
    let mut flags: Vec<u32> = (0..tree.len()).map(|row| of_row(tree, row)).collect();
    // A parent is before its children: going backwards, they are all known.
    for row in (0..tree.len()).rev() {
        if flags[row] & ERROR != 0 {
            flags[row] |= ERROR_BELOW;
        }
        if let (true, Some(parent)) = (flags[row] & ERROR_BELOW != 0, tree.laid[row].parent) {
            flags[parent as usize] |= ERROR_BELOW;
        }
    }
    flags
}

fn of_row(tree: &TraceTree, row: usize) -> u32 {
    let (span, laid) = (&tree.spans[row], &tree.laid[row]);
    let mut flags = match laid.note {
        Note::Nothing => 0,
        Note::Orphan => ORPHAN,
        Note::Cycle => CYCLE,
        Note::Duplicate => DUPLICATE,
    };
    let parent = laid.parent.map(|parent| tree.spans[parent as usize].place);
    let is_early_or_late = parent.is_some_and(|parent| {
        span.place.start_nanos < parent.start_nanos || span.place.start_nanos > parent.end_nanos
    });
    let outlasts = parent.is_some_and(|parent| span.place.end_nanos > parent.end_nanos);
    for (bit, is_set) in [
        (ERROR, tree.is_error(row)),
        (ROOT, span.place.parent_span_id.is_none()),
        (RUNNING, span.is_running),
        (CRITICAL, laid.is_critical),
        (SKEWED, is_early_or_late || span.duration_nanos < 0),
        (HAS_EVENTS, span.events > 0),
        (HAS_LINKS, span.links > 0),
        (EXCEPTION, span.has_exception),
        (UNTIMED, span.is_untimed),
        (NAME_CUT, tree.name(row).len() > crate::limits::TEXT_MAX_BYTES),
        (OUTLASTS, outlasts),
    ] {
        flags |= if is_set { bit } else { 0 };
    }
    flags
}
