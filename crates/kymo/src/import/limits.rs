//! Every bound of an import, with its reason.

/// Largest request: the most that one record of the journal holds.
pub(crate) const MAX_REQUEST_BYTES: usize = kymo_journal::limits::MAX_BODY_BYTES;

/// Largest JSON object, which is read whole. JSON is about four times the size of its protobuf.
pub(crate) const MAX_TEXT_BYTES: usize = 4 * MAX_REQUEST_BYTES;

/// First bytes of a file by which its format is told: more than the first line of any JSON that is
/// written over several lines.
pub(crate) const LOOK_AHEAD_BYTES: usize = 64 << 10;

/// A protobuf request of this size ends at its next resource group, so that a file that is one
/// large request is read in pieces. Each piece is a request of its own.
pub(crate) const SPLIT_REQUEST_BYTES: usize = 4 << 20;

/// Requests of so many bytes share one sync of the journal. Less would wait for the disk more
/// often; more only takes memory.
pub(crate) const BATCH_BYTES: usize = 8 << 20;

/// The same in requests, for files of many small ones.
pub(crate) const BATCH_REQUESTS: usize = 4096;

/// Messages about one file, so that a wrong file does not fill the screen.
pub(crate) const MAX_FAULTS_SHOWN: u64 = 10;
