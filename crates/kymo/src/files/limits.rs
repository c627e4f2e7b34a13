//! Every bound of reading files, with its reason.

/// Largest request: the most that one record of the journal holds.
pub(crate) const MAX_REQUEST_BYTES: usize = kymo_journal::limits::MAX_BODY_BYTES;

/// Largest JSON object, which is read whole. JSON is about four times the size of its protobuf.
pub(super) const MAX_TEXT_BYTES: usize = 4 * MAX_REQUEST_BYTES;

/// First bytes of a file by which its format is told: more than the first line of any JSON that is
/// written over several lines.
pub(super) const LOOK_AHEAD_BYTES: usize = 64 << 10;

/// A protobuf request of this size ends at its next resource group, so that a file that is one
/// large request is read in pieces. Each piece is a request of its own.
pub(super) const SPLIT_REQUEST_BYTES: usize = 4 << 20;

/// Lines of RHAPSODY share a request up to this size: far below what any server takes, and large
/// enough that what a request costs is divided by hundreds.
pub(super) const RHAPSODY_REQUEST_BYTES: usize = 256 << 10;

/// Lines of RHAPSODY share a request if they are of about the same time, as those that a session
/// writes at once: who sends them again at the speed at which they happened sends requests.
pub(super) const RHAPSODY_REQUEST_NANOS: u64 = 1_000_000_000;

/// Spans of RHAPSODY that are known again: some 64 MiB of ids. A file of more has its repetitions
/// read as they are; a store drops them.
pub(super) const MAX_KNOWN_SPANS: usize = 4 << 20;

/// Messages about one file, so that a wrong file does not fill the screen.
pub(crate) const MAX_FAULTS_SHOWN: u64 = 10;

/// Requests that wait between the one that is taken and the one that is being read: three in memory
/// at most. None would do if all took as long; and the largest are too large for many.
pub(super) const READ_AHEAD_REQUESTS: usize = 1;
