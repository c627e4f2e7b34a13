//! What a block says of itself: the value of the Parquet key `kymo`, a
//! versioned protobuf message in base64, since Parquet takes only text there.

use base64::prelude::{BASE64_STANDARD, Engine};
use prost::Message;

/// The version that is written.
pub const VERSION: u32 = 1;
/// The least version a reader must know to read what is written.
pub const LEAST_READER: u32 = 1;
/// The Parquet key.
pub const KEY: &str = "kymo";

/// A range of the file outside Parquet's own pages, compressed with zstd.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Region {
    /// First byte in the file.
    #[prost(uint64, tag = "1")]
    pub offset: u64,
    /// Bytes in the file.
    #[prost(uint64, tag = "2")]
    pub length_bytes: u64,
    /// Bytes when decompressed; 0 for a region that is not compressed.
    #[prost(uint64, tag = "3")]
    pub plain_bytes: u64,
    /// CRC32C of the bytes in the file.
    #[prost(fixed32, tag = "4")]
    pub crc: u32,
}

/// An attribute column.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeColumn {
    /// The key.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// The number of the [`ValueType`](crate::schema::ValueType).
    #[prost(uint32, tag = "2")]
    pub value_type: u32,
    /// Which Parquet leaf column holds it.
    #[prost(uint32, tag = "3")]
    pub leaf: u32,
    /// Rows that have it.
    #[prost(uint64, tag = "4")]
    pub count: u64,
    /// Whether its values are in the granule filters.
    #[prost(bool, tag = "5")]
    pub filtered: bool,
}

/// Where the text filters of a column are.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct TextFilter {
    /// The Parquet leaf column.
    #[prost(uint32, tag = "1")]
    pub leaf: u32,
    /// Its filters, not compressed.
    #[prost(message, optional, tag = "2")]
    pub region: Option<Region>,
}

/// The footer.
#[derive(Clone, PartialEq, Message)]
pub struct Footer {
    /// Version of the format.
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// Least version that a reader must know.
    #[prost(uint32, tag = "2")]
    pub least_reader: u32,
    /// Name of the signal.
    #[prost(string, tag = "3")]
    pub signal: String,
    /// Rows.
    #[prost(uint64, tag = "4")]
    pub rows: u64,
    /// Least time of a row.
    #[prost(sint64, tag = "5")]
    pub min_time_nanos: i64,
    /// Greatest time of a row.
    #[prost(sint64, tag = "6")]
    pub max_time_nanos: i64,
    /// First journal position that may be in it, for level 0.
    #[prost(uint64, tag = "7")]
    pub journal_start: u64,
    /// Journal position behind the last that may be in it, for level 0.
    #[prost(uint64, tag = "8")]
    pub journal_end: u64,
    /// Attribute columns.
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<AttributeColumn>,
    /// Encoded origins, each after its length.
    #[prost(message, optional, tag = "10")]
    pub origins: Option<Region>,
    /// Encoded shapes, each after its length.
    #[prost(message, optional, tag = "11")]
    pub shapes: Option<Region>,
    /// Sorted (hash of trace id, first row), not compressed.
    #[prost(message, optional, tag = "12")]
    pub trace_index: Option<Region>,
    /// Granule filters, not compressed.
    #[prost(message, optional, tag = "13")]
    pub filters: Option<Region>,
    /// The catalogue.
    #[prost(message, optional, tag = "14")]
    pub catalogue: Option<Region>,
    /// What wrote it.
    #[prost(string, tag = "15")]
    pub writer: String,
    /// Traces, or series identities.
    #[prost(uint64, tag = "16")]
    pub groups: u64,
    /// Rows that have attributes in `rest`.
    #[prost(uint64, tag = "17")]
    pub rest_rows: u64,
    /// Text filters, for each column that has them.
    #[prost(message, repeated, tag = "18")]
    pub text_filters: Vec<TextFilter>,
    /// Whether the granule filters hold the trace ids of log records.
    #[prost(bool, tag = "19")]
    pub trace_ids_filtered: bool,
}

impl Footer {
    /// As text.
    pub fn to_text(&self) -> String {
        BASE64_STANDARD.encode(self.encode_to_vec())
    }

    /// From text; `None` if it is not a footer.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::decode(&BASE64_STANDARD.decode(text).ok()?[..]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_comes_back_from_its_text() {
        for length in 0..7 {
            let footer = Footer { writer: "x".repeat(length), rows: 7, ..Footer::default() };
            assert_eq!(Footer::from_text(&footer.to_text()), Some(footer));
        }
        assert_eq!(Footer::from_text("not a footer!"), None);
    }
}
