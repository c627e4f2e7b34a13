//! Prepared statements as bytes: the query, and a row of values once it is bound.
//!
//! Whoever has a handle could as well ask its query: it opens nothing, so it is not signed.

use prost::Message;

/// A prepared statement.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Handle {
    /// The query.
    #[prost(string, tag = "1")]
    pub(crate) query: String,
    /// Its values, an Arrow IPC stream of one batch of one row; empty if there are none.
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) values: bytes::Bytes,
}

impl Handle {
    pub(crate) fn new(query: String) -> Self {
        Self { query, values: bytes::Bytes::new() }
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, tonic::Status> {
        Self::decode(bytes).map_err(|error| {
            let message = format!("the handle of a prepared statement cannot be read: {error}");
            tonic::Status::invalid_argument(message)
        })
    }

    pub(crate) fn bytes(&self) -> bytes::Bytes {
        self.encode_to_vec().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_as_it_was_written_and_others_are_refused() {
        let handle = Handle { query: "SELECT $1".to_owned(), values: bytes::Bytes::from("x") };
        assert_eq!(Handle::read(&handle.bytes()).unwrap(), handle);
        assert_eq!(Handle::read(&[0xff]).unwrap_err().code(), tonic::Code::InvalidArgument);
    }
}
