//! What a server answers: taken, another time, never.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::HeaderMap;
use kymo_wire::{Reader, Signal, WireError, text};
use serde_json::Value;

use crate::limits::MAX_QUOTED_CHARS;
use crate::pairs;

/// Bytes in front of a message of gRPC: whether it is packed, and its length.
pub(crate) const GRPC_FRAME_BYTES: usize = 5;
/// Codes of gRPC after which OTLP's specification has a sender try again.
const GRPC_RETRYABLE: [u16; 7] = [1, 4, 8, 10, 11, 14, 15];
const HTTP_RETRYABLE: [u16; 4] = [429, 502, 503, 504];

/// What became of one try.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is kept; perhaps not all of it.
    Accepted(Option<Partial>),
    /// Another time, perhaps after a while.
    Later(String, Option<Duration>),
    /// Never.
    Refused(String),
}

/// What a server says of records that it took the request without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    /// Of what kind they are.
    pub signal: Signal,
    /// How many; 0 if the server only has something to say.
    pub rejected: u64,
    /// Why.
    pub why: String,
}

impl fmt::Display for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = match self.signal {
            Signal::Traces => "spans",
            Signal::Metrics => "points",
            Signal::Logs => "log records",
        };
        match (self.rejected, self.why.as_str()) {
            (0, why) => write!(f, "all {records} were kept, with a word of warning: {why}"),
            (rejected, "") => write!(f, "{rejected} {records} were not kept"),
            (rejected, why) => write!(f, "{rejected} {records} were not kept: {why}"),
        }
    }
}

/// What an answer of HTTP means.
pub(crate) fn of_http(signal: Signal, status: u16, headers: &HeaderMap, body: &Bytes) -> Answer {
    let content_type = headers.get("content-type").and_then(|value| value.to_str().ok());
    let is = |wanted: &str| {
        let start = content_type.and_then(|value| value.get(..wanted.len()));
        start.is_some_and(|start| start.eq_ignore_ascii_case(wanted))
    };
    let is_protobuf = is("application/x-protobuf");
    if (200..300).contains(&status) {
        return Answer::Accepted(match is_protobuf {
            true => partial(signal, body),
            false if is("application/json") => partial_of_json(signal, body),
            false => None,
        });
    }
    let words = if is_protobuf { status_message(body) } else { quoted(&text(body)) };
    let why = format!("it answered {status} {words}").trim_end().to_owned();
    if HTTP_RETRYABLE.contains(&status) {
        return Answer::Later(why, retry_after(headers));
    }
    Answer::Refused(why)
}

/// What an answer of gRPC means.
pub(crate) fn of_grpc(
    signal: Signal,
    status: u16,
    headers: &HeaderMap,
    trailers: &HeaderMap,
    body: &Bytes,
) -> Answer {
    let find = |name: &str| {
        let value = trailers.get(name).or_else(|| headers.get(name))?;
        Some(value.to_str().ok()?.to_owned())
    };
    let Some(code) = find("grpc-status").and_then(|code| code.parse::<u16>().ok()) else {
        // A proxy, or a server of another kind.
        let why =
            format!("it answered HTTP {status} without a status of gRPC: is it an OTLP server?");
        let is_later = HTTP_RETRYABLE.contains(&status);
        return if is_later {
            Answer::Later(why, retry_after(headers))
        } else {
            Answer::Refused(why)
        };
    };
    if code == 0 {
        let message = body.get(GRPC_FRAME_BYTES..);
        return Answer::Accepted(message.and_then(|message| partial(signal, message)));
    }
    let words = find("grpc-message").unwrap_or_default();
    let words = quoted(&pairs::unescape(&words));
    let why = format!("it answered gRPC code {code} {words}");
    if GRPC_RETRYABLE.contains(&code) {
        let asked = find("grpc-status-details-bin").and_then(|details| retry_info(&details));
        return Answer::Later(why, asked.or_else(|| retry_after(headers)));
    }
    Answer::Refused(why)
}

/// The start of what a server says, on one line.
fn quoted(said: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || c.is_control() || c == char::REPLACEMENT_CHARACTER;
    let words: Vec<&str> = said.split(is_gap).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MAX_QUOTED_CHARS).collect()
}

/// How long a server asks to wait: in seconds, or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("retry-after")?.to_str().ok()?.trim();
    match value.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let at = UNIX_EPOCH.checked_add(Duration::from_secs(date_secs(value)?))?;
            Some(at.duration_since(SystemTime::now()).unwrap_or_default())
        }
    }
}

/// Seconds from 1970 to a date of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date_secs(date: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = date.split(' ').collect();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = MONTHS.iter().position(|known| *known == month)? as u64;
    let year: u64 = year.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut seconds = 0;
    for part in time.split(':') {
        seconds = seconds * 60 + part.parse::<u64>().ok().filter(|part| *part <= 60)?;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month >= 2 { (year, month - 2) } else { (year - 1, month + 10) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    const DAYS_TO_1970: u64 = 719_468;
    Some(days.checked_sub(DAYS_TO_1970)? * 86_400 + seconds)
}

/// The pause that a `google.rpc.Status` asks for in its details, in base64: a `RetryInfo`.
fn retry_info(details: &str) -> Option<Duration> {
    let details = STANDARD_NO_PAD.decode(details.trim_end_matches('=')).ok()?;
    let detail = fields(&details).find_map(|(number, detail)| {
        let is_retry_info = fields(detail)
            .any(|(number, url)| number == 1 && url.ends_with(b"google.rpc.RetryInfo"));
        (number == 3 && is_retry_info).then_some(detail)
    })?;
    let info = fields(detail).find(|(number, _)| *number == 2)?.1;
    let delay = fields(info).find(|(number, _)| *number == 1)?.1;
    let mut reader = Reader::new(delay);
    let (mut seconds, mut nanos) = (0, 0);
    while let Ok(Some(tag)) = reader.tag() {
        match tag {
            0x08 => seconds = reader.varint().ok()?,
            0x10 => nanos = u32::try_from(reader.varint().ok()?).ok()?,
            _ => reader.skip(tag).ok()?,
        }
    }
    // More than so many is less than nothing.
    (seconds <= i64::MAX.cast_unsigned() && nanos < 1_000_000_000)
        .then(|| Duration::new(seconds, nanos))
}

/// The numbers and bytes of those fields of a message that have bytes; those before one that is
/// damaged.
fn fields(message: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut reader = Reader::new(message);
    std::iter::from_fn(move || {
        while let Ok(Some(tag)) = reader.tag() {
            if tag & 7 == 2 {
                return Some((tag >> 3, reader.bytes().ok()?));
            }
            reader.skip(tag).ok()?;
        }
        None
    })
}

/// What an `Export…ServiceResponse` says of records that were not kept.
fn partial(signal: Signal, response: &[u8]) -> Option<Partial> {
    let read = || -> Result<Option<Partial>, WireError> {
        let mut reader = Reader::new(response);
        while let Some(tag) = reader.tag()? {
            // `partial_success`: how many, and why.
            if tag != (1 << 3 | 2) {
                reader.skip(tag)?;
                continue;
            }
            let mut partial = Partial { signal, rejected: 0, why: String::new() };
            let mut inner = reader.message()?;
            while let Some(tag) = inner.tag()? {
                match tag >> 3 {
                    // Signed, and less than nothing is nothing.
                    1 => partial.rejected = inner.varint()?.cast_signed().max(0).cast_unsigned(),
                    2 => partial.why = quoted(&text(inner.bytes()?)),
                    _ => inner.skip(tag)?,
                }
            }
            let is_said = partial.rejected > 0 || !partial.why.is_empty();
            return Ok(is_said.then_some(partial));
        }
        Ok(None)
    };
    // An answer that cannot be read is one of success all the same.
    read().unwrap_or(None)
}

/// The same of one in JSON, where numbers of 64 bits are text, or numbers all the same.
fn partial_of_json(signal: Signal, response: &[u8]) -> Option<Partial> {
    let response: Value = serde_json::from_slice(response).ok()?;
    let said = response.get("partialSuccess")?;
    let rejected = said.get(signal.rejected_key());
    let rejected = rejected.and_then(|count| match count {
        Value::String(count) => count.parse().ok(),
        count => count.as_u64(),
    });
    let why = said.get("errorMessage").and_then(Value::as_str).unwrap_or_default();
    let partial = Partial { signal, rejected: rejected.unwrap_or(0), why: quoted(why) };
    let is_said = partial.rejected > 0 || !partial.why.is_empty();
    is_said.then_some(partial)
}

/// The message of a `google.rpc.Status`.
fn status_message(body: &[u8]) -> String {
    let mut reader = Reader::new(body);
    while let Ok(Some(tag)) = reader.tag() {
        if tag == (2 << 3 | 2) {
            return reader.bytes().map(|bytes| quoted(&text(bytes))).unwrap_or_default();
        }
        if reader.skip(tag).is_err() {
            break;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use kymo_wire::encode::Writer;

    use super::*;

    fn trailers(code: &'static str) -> HeaderMap {
        HeaderMap::from_iter([("grpc-status".parse().unwrap(), code.parse().unwrap())])
    }

    #[test]
    fn answers_are_told_apart_as_the_specification_has_them() {
        let none = HeaderMap::new();
        let of_grpc = |status, trailers: &HeaderMap| {
            of_grpc(Signal::Traces, status, &none, trailers, &Bytes::new())
        };
        let of_http = |status, headers: &HeaderMap, body: &'static str| {
            of_http(Signal::Traces, status, headers, &Bytes::from(body))
        };
        assert_eq!(of_grpc(200, &trailers("0")), Answer::Accepted(None));
        assert!(matches!(of_grpc(200, &trailers("14")), Answer::Later(..)));
        assert!(matches!(of_grpc(200, &trailers("3")), Answer::Refused(_)));
        assert!(matches!(of_grpc(404, &none), Answer::Refused(_)));
        assert!(matches!(of_grpc(503, &none), Answer::Later(..)));
        assert_eq!(of_http(200, &none, ""), Answer::Accepted(None));
        assert!(
            matches!(of_http(400, &none, "no"), Answer::Refused(why) if why.ends_with("400 no"))
        );
        let after = HeaderMap::from_iter([("retry-after".parse().unwrap(), "7".parse().unwrap())]);
        let expected = Answer::Later("it answered 429".into(), Some(Duration::from_secs(7)));
        assert_eq!(of_http(429, &after, ""), expected);
    }

    #[test]
    fn pauses_are_read_however_a_server_asks_for_them() {
        assert_eq!(date_secs("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(date_secs("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(date_secs("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        for wrong in ["", "06 Nov 1994", "Sun, 06 Foo 1994 08:49:37 GMT", "a b c d e GMT"] {
            assert_eq!(date_secs(wrong), None, "{wrong}");
        }
        let after = |value: &str| {
            retry_after(&HeaderMap::from_iter([(
                "retry-after".parse().unwrap(),
                value.parse().unwrap(),
            )]))
        };
        assert_eq!(after("120"), Some(Duration::from_secs(120)));
        assert_eq!(after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert!(after("Sun, 06 Nov 2094 08:49:37 GMT") > Some(Duration::from_secs(1 << 30)));
        let mut status = Writer::new();
        status.varint_field(1, 14);
        status.message(3, |w| w.bytes_field(1, b"type.googleapis.com/google.rpc.Help"));
        status.message(3, |w| {
            w.bytes_field(1, b"type.googleapis.com/google.rpc.RetryInfo");
            w.message(2, |w| {
                w.message(1, |w| {
                    w.varint_field(1, 7);
                    w.varint_field(2, 500_000_000);
                });
            });
        });
        let details = STANDARD_NO_PAD.encode(status.as_slice());
        let mut trailers = trailers("14");
        trailers.insert("grpc-status-details-bin", details.parse().unwrap());
        let answer = of_grpc(Signal::Logs, 200, &HeaderMap::new(), &trailers, &Bytes::new());
        let expected = Some(Duration::from_millis(7500));
        assert!(matches!(answer, Answer::Later(_, asked) if asked == expected));
        assert_eq!(retry_info("not base64!"), None);
    }

    #[test]
    fn what_a_server_says_is_one_line_and_cut() {
        assert_eq!(quoted("no\n such\0tenant \u{fffd} "), "no such tenant");
        assert_eq!(quoted(&"x".repeat(100_000)).len(), MAX_QUOTED_CHARS);
    }

    #[test]
    fn records_that_were_not_kept_are_told() {
        let mut writer = Writer::new();
        writer.message(1, |w| {
            w.varint_field(1, 3);
            w.bytes_field(2, b"too old");
        });
        let body = writer.into_bytes();
        let said = |signal, body: &[u8]| partial(signal, body).map(|partial| partial.to_string());
        assert_eq!(said(Signal::Traces, &body).as_deref(), Some("3 spans were not kept: too old"));
        assert_eq!(
            said(Signal::Logs, &body).as_deref(),
            Some("3 log records were not kept: too old")
        );
        assert_eq!(said(Signal::Traces, &[]), None);
        assert_eq!(said(Signal::Traces, &[0xff; 9]), None);
        let mut writer = Writer::new();
        writer.message(1, |w| w.varint_field(1, u64::MAX));
        assert_eq!(said(Signal::Traces, &writer.into_bytes()), None, "-1");
    }

    #[test]
    fn records_that_were_not_kept_are_told_in_json_too() {
        let headers = |kind: &str| {
            HeaderMap::from_iter([("content-type".parse().unwrap(), kind.parse().unwrap())])
        };
        let said = |signal, kind: &str, body: &'static str| {
            let answer = of_http(signal, 200, &headers(kind), &Bytes::from(body));
            let Answer::Accepted(partial) = answer else { panic!("{answer:?}") };
            partial.map(|partial| (partial.rejected, partial.why))
        };
        let json = "Application/JSON; charset=utf-8";
        let body = r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#;
        assert_eq!(said(Signal::Traces, json, body), Some((3, "too old".to_owned())));
        let body = r#"{"partialSuccess":{"rejectedDataPoints":7}}"#;
        assert_eq!(said(Signal::Metrics, json, body), Some((7, String::new())));
        let body = r#"{"partialSuccess":{"rejectedLogRecords":1}}"#;
        assert_eq!(said(Signal::Logs, json, body), Some((1, String::new())));
        assert_eq!(said(Signal::Logs, "text/plain", body), None);
        for nothing in ["", "{}", "[]", r#"{"partialSuccess":{}}"#, r#"{"partialSuccess":3}"#] {
            assert_eq!(said(Signal::Traces, json, nothing), None, "{nothing}");
        }
    }
}
