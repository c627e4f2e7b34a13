//! The durable log of a Kymograph node.
//!
//! A request that was admitted is appended here, acknowledged once it is on disk, and then read by
//! its consumers (store, forward, live), each with its own cursor.
//!
//! ```text
//!  append ──> queue ──> leader: write + fdatasync ──> acknowledge ──> recent (memory) ──> readers
//!             commit    writer, segment files           state          └ fell behind: scan (disk)
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `journal` | the face: open, append, cursors |
//! | `commit` | group commit |
//! | `writer` | segments, failed syncs |
//! | `recovery`, `scan` | what a directory holds after whatever happened |
//! | `reader`, `recent` | consumers |
//! | `state`, `cursors`, `dedup`, `stats` | what is known in memory |
//! | `retention` | deletion, the empty segment of an idle journal, the files `cursors` and `.kd` |
//! | `erase` | records that are to be forgotten, taken out of segments |
//! | `format`, `small_file`, `segment` | bytes and names |
//! | `disk`, `os`, `sim` | the seam to the file system, the real one, and one that loses power |
//! | [`limits`] | every limit, with its reason |
//!
//! The format, the recovery and the invariants J1 to J8 that comments here cite are described in
//! `docs/formats/journal.md`.
//!
//! Promised: an acknowledged record survives any crash, is read exactly once by a reader, and in
//! order; one that was not acknowledged is read at most once. Refused: more than one process at a
//! time, files of a newer version, and guessing: damage is set aside and counted, never skipped in
//! silence.

mod commit;
mod cursors;
mod dedup;
pub mod disk;
mod erase;
mod error;
mod format;
mod journal;
pub mod limits;
mod os;
mod reader;
mod recent;
mod recovery;
mod retention;
mod scan;
mod segment;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
mod small_file;
mod state;
mod stats;
mod writer;

pub use cursors::{Cursor, CursorOptions};
pub use disk::{DirEntry, Disk, DiskFile, OsDisk};
pub use erase::{Edit, Erased};
pub use error::{Error, Result};
pub use format::{Compression, Format, Position, Signal};
pub use journal::{Appended, Durability, Journal, Options, Record};
pub use reader::Reader;
pub use recovery::{Damage, Recovery};
pub use scan::Entry;
pub use stats::{Count, LossKey, LossReason, Stats};
