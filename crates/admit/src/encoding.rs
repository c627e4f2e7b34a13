//! How a request is encoded, by the names that headers give to it.

use std::fmt;
use std::str::FromStr;

use crate::limits::MAX_QUOTED_CHARS;
use crate::outcome::Refusal;

/// How the messages of an OTLP request are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// OTLP in protobuf.
    Protobuf,
    /// OTLP in JSON.
    Json,
}

/// How a request is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Gzip (RFC 1952), of one or several members.
    Gzip,
    /// Deflate (RFC 1951). HTTP means it wrapped in zlib (RFC 1950), some senders do not; both are
    /// admitted.
    Deflate,
    /// Zstandard (RFC 8878), of one or several frames.
    Zstd,
    /// Snappy, block format: what remote-write is compressed with. Senders of OTLP that say `snappy`
    /// mean its framed format, or do not say which; so it is not found by its name.
    Snappy,
}

impl Compression {
    /// All compressions that are found by their name.
    pub const ALL: [Self; 4] = [Self::None, Self::Gzip, Self::Deflate, Self::Zstd];

    /// The name in `Content-Encoding` and `grpc-encoding`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "identity",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Snappy => "snappy",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Compression {
    type Err = Refusal;

    /// Reads the value of `Content-Encoding` or `grpc-encoding`, in which case does not count. One
    /// compression on top of another is not supported.
    fn from_str(name: &str) -> Result<Self, Refusal> {
        let name = name.trim();
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if name.is_empty() {
            return Ok(Self::None);
        }
        // RFC 9110, 8.4.1.3: the old name means the same.
        if is("x-gzip") {
            return Ok(Self::Gzip);
        }
        Self::ALL.into_iter().find(|compression| is(compression.name())).ok_or_else(|| {
            Refusal::UnsupportedCompression(name.chars().take(MAX_QUOTED_CHARS).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compression_is_found_by_its_name_in_any_case() {
        for compression in Compression::ALL {
            assert_eq!(compression.name().parse(), Ok(compression));
            assert_eq!(compression.name().to_uppercase().parse(), Ok(compression));
        }
        assert_eq!(" gzip ".parse(), Ok(Compression::Gzip));
        assert_eq!("x-gzip".parse(), Ok(Compression::Gzip));
        assert_eq!("".parse(), Ok(Compression::None));
    }

    #[test]
    fn an_unknown_compression_is_refused_with_those_that_are_known() {
        let refusal = "br".parse::<Compression>().unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "compression \"br\" is not supported; use gzip, deflate, zstd or none (identity)"
        );
        assert_eq!(refusal.reason(), "unsupported_compression");
        assert!("snappy".parse::<Compression>().is_err(), "of OTLP it is not known which");
        assert!("gzip, gzip".parse::<Compression>().is_err());
        let long = "x".repeat(100_000).parse::<Compression>().unwrap_err();
        assert!(long.to_string().len() < 200);
    }
}
