//! Limits of what is told of one trace, each with its reason. Those of what a trace may hold are in
//! `kymo_traceview::limits`.

use std::time::Duration;

/// Bytes of a file that is uploaded: a trace of half a million spans as JSON.
pub const UPLOAD_MAX_BYTES: usize = 256 << 20;
/// Files that are taken apart at once: each takes several times its size meanwhile.
pub(super) const UPLOADS_AT_ONCE: usize = 2;
/// How long one waits for others' files to be taken apart: each takes some seconds.
pub(super) const UPLOAD_WAIT: Duration = Duration::from_secs(30);
/// Bytes of all uploads that are kept; the oldest of the tenant who has most go first. They are in
/// memory only. A newest that is larger by itself stays alone: its file was bounded.
pub(super) const UPLOADS_MAX_BYTES: usize = 512 << 20;
/// Uploaded traces that are kept.
pub(super) const UPLOADS_MAX: usize = 1_000;
/// How long an upload is kept: somebody who left it open over a day of work finds it.
pub(super) const UPLOAD_MAX_AGE: Duration = Duration::from_secs(12 * 3_600);
/// Bytes of traces that were looked at last. They are kept laid out, since the page asks for details
/// of what it shows, and rows must mean the same spans then. A newest that is larger by itself stays
/// alone, as one of a million spans does: `query.memory_per_trace` has bounded it.
pub(super) const RECENT_MAX_BYTES: usize = 256 << 20;
/// How many of them.
pub(super) const RECENT_MAX: usize = 64;
/// How long. Spans may have come since: who loads the trace again gets them at once.
pub(super) const RECENT_MAX_AGE: Duration = Duration::from_secs(300);
