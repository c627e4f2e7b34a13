//! Pieces of queries: texts and moments as SQL has them.

use chrono::{DateTime, SecondsFormat};

/// A text as SQL has it.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Texts between commas.
pub(crate) fn list(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    texts.join(", ")
}

/// A name of a column.
pub(crate) fn column(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A moment in nanoseconds since 1970 as RFC 3339 writes it, in UTC.
pub(crate) fn moment(nanos: i64) -> String {
    DateTime::from_timestamp_nanos(nanos).to_rfc3339_opts(SecondsFormat::Nanos, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_stays_one_text() {
        assert_eq!(list(&["it's", "b"]), "'it''s', 'b'");
        assert_eq!(column("span.a\"b"), "\"span.a\"\"b\"");
        assert_eq!(moment(1_500_000_000), "1970-01-01T00:00:01.500000000Z");
    }
}
