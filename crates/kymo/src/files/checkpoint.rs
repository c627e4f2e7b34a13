//! The first line of a checkpoint (`docs/formats/checkpoint.md`), which says what the file is.
//!
//! It may stand anywhere in a file, since checkpoints may be joined. Members that are not known are
//! ignored; a version that is not known is refused, with everything behind it.

use serde::Deserialize;

/// The version that is read here.
const VERSION: u64 = 1;
/// What the member `kymo` says.
const KIND: &str = "checkpoint";

#[derive(Deserialize)]
struct Header {
    kymo: String,
    version: Option<u64>,
}

/// Whether a line, or what is there of it, is such a line: its first member is `kymo`.
pub(super) fn begins_header(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let inside = line.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with(b"\"kymo\""))
}

/// Whether what follows can be read; the error says why not.
pub(super) fn check_header(line: &[u8]) -> Result<(), String> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let expected = format!("expected {{\"kymo\":\"{KIND}\",\"version\":{VERSION},…}}");
    let header: Header =
        serde_json::from_slice(line).map_err(|error| format!("{expected}: {error}"))?;
    if header.kymo != KIND {
        return Err(format!("is a file of kymo but not a checkpoint: {expected}"));
    }
    match header.version {
        Some(VERSION) => Ok(()),
        Some(version) => Err(format!(
            "is a checkpoint of version {version}, and this kymo reads version {VERSION}: use a \
             newer kymo; nothing of it is read"
        )),
        None => Err(format!("does not say its version: {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_known_by_its_first_member_and_must_be_right() {
        let good = b"{\"kymo\":\"checkpoint\",\"version\":1,\"session_id\":\"a\",\"new\":{}}\n";
        assert!(begins_header(good) && check_header(good).is_ok());
        assert!(begins_header(b"{ \"kymo\" : 1}") && begins_header(b"\xef\xbb\xbf{\"kymo\":\"ch"));
        for other in [&b"{\"resourceSpans\":[],\"kymo\":1}"[..], b"", b"{", b"\"kymo\""] {
            assert!(!begins_header(other));
        }
        for wrong in [
            "{\"kymo\":\"journal\",\"version\":1}",
            "{\"kymo\":\"checkpoint\"}",
            "{\"kymo\":\"checkpoint\",\"version\":2}",
            "{\"kymo\":\"checkpoint\",\"version\":\"1\"}",
            "{\"kymo\":",
        ] {
            assert!(check_header(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
