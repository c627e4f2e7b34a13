//! Moments as GitHub writes them.

use chrono::{DateTime, SecondsFormat, Utc};

use crate::model::Nanos;

/// What a text says of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// This one.
    At(Nanos),
    /// None: empty, or the year 1, which is how Go programs write that there is none.
    Never,
    /// It cannot be understood.
    Unknown,
}

/// Reads a moment.
#[must_use]
pub fn parse(text: &str) -> Moment {
    let text = text.trim();
    if text.is_empty() {
        return Moment::Never;
    }
    let Ok(time) = DateTime::parse_from_rfc3339(text) else { return Moment::Unknown };
    let nanos = time.timestamp_nanos_opt().and_then(|nanos| u64::try_from(nanos).ok());
    match nanos {
        Some(nanos) => Moment::At(nanos),
        None if time.timestamp() < 0 => Moment::Never,
        None => Moment::Unknown,
    }
}

/// Writes a moment as GitHub does: whole seconds.
#[must_use]
pub fn write(nanos: Nanos) -> String {
    let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
    let time: DateTime<Utc> = DateTime::from_timestamp_nanos(nanos);
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Now.
#[must_use]
pub fn now() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_every_tool_writes_them() {
        let second = 1_767_225_600_000_000_000;
        assert_eq!(parse("2026-01-01T00:00:00Z"), Moment::At(second));
        assert_eq!(parse("2026-01-01T00:00:00.5Z"), Moment::At(second + 500_000_000));
        assert_eq!(parse("2026-01-01T01:00:00+01:00"), Moment::At(second));
        assert_eq!(parse("0001-01-01T00:00:00Z"), Moment::Never);
        assert_eq!(parse(""), Moment::Never);
        for unknown in ["yesterday", "2026-13-01T00:00:00Z", "9999-01-01T00:00:00Z"] {
            assert_eq!(parse(unknown), Moment::Unknown, "{unknown}");
        }
        assert_eq!(write(second + 1), "2026-01-01T00:00:00Z");
    }
}
