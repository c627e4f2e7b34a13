//! What is answered over HTTP: a status and a document.

use std::fmt;

use serde::Serialize;

/// An answer, for whoever speaks HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// Identifies the document, for `ETag`.
    pub etag: Option<String>,
    /// JSON; empty where the status says all.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer with a document.
    pub(crate) fn json<T: Serialize>(status: u16, document: &T) -> Self {
        match serde_json::to_vec(document) {
            Ok(body) => Self { status, etag: None, body },
            // Maps with keys that are no text are what cannot be written, and there are none here.
            Err(_) => Self::empty(500),
        }
    }

    /// An answer without one.
    pub(crate) const fn empty(status: u16) -> Self {
        Self { status, etag: None, body: Vec::new() }
    }

    /// Whether what was asked for was done.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..300)
    }
}

/// The document may name people.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}
