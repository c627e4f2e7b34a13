//! Every bound of an import, with its reason. Those of reading are in `files`.

/// Requests of so many bytes share one sync of the journal. Less would wait for the disk more
/// often; more only takes memory.
pub(crate) const BATCH_BYTES: usize = 8 << 20;

/// The same in requests, for files of many small ones.
pub(crate) const BATCH_REQUESTS: usize = 4096;
