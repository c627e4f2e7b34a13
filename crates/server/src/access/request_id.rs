//! The name of a request, by which who asked and who runs the server mean the same one.
//!
//! Every answer has it as `X-Request-Id`, and so has the line that is written of a request that failed.
//! One that came along, as proxies send it, is kept if it can do no harm where it is shown.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// The header.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Those that proxies make have 16 to 36 bytes.
const MAX_BYTES: usize = 64;

/// The name that a request came with, or a new one.
pub(super) fn of(headers: &HeaderMap) -> HeaderValue {
    match headers.get(HEADER) {
        Some(name) if is_harmless(name.as_bytes()) => name.clone(),
        _ => made(),
    }
}

fn is_harmless(name: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    (1..=MAX_BYTES).contains(&name.len()) && name.iter().all(is_plain)
}

/// A number that no other start of a server has, and one that counts.
fn made() -> HeaderValue {
    static START: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{:016x}-{count:x}", *START);
    HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("unnamed"))
}

/// Writes down that a request failed. What the server could not do is for who runs it; that somebody asked
/// for the wrong thing, or shall come again, is not: he is told so, and may do it many times a second.
pub(super) fn note(name: &HeaderValue, method: &Method, path: &str, status: StatusCode) {
    let (request_id, status_code) = (name.to_str().unwrap_or_default(), status.as_u16());
    let is_told_enough =
        matches!(status, StatusCode::NOT_IMPLEMENTED | StatusCode::SERVICE_UNAVAILABLE);
    if status.is_server_error() && !is_told_enough {
        tracing::warn!(request_id, %method, path, status = status_code, "a request failed");
    } else if status.is_server_error() || status.is_client_error() {
        tracing::debug!(request_id, %method, path, status = status_code, "a request was refused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &[u8]) -> HeaderValue {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(name).unwrap());
        of(&headers)
    }

    #[test]
    fn a_name_that_came_along_is_kept_if_it_is_harmless() {
        let longest = "a".repeat(MAX_BYTES);
        for kept in ["7", "0f8fad5b-d9cb-469f-a165-70867728950e", "a.B_c-9", &longest] {
            assert_eq!(named(kept.as_bytes()), kept);
        }
        let too_long = "a".repeat(MAX_BYTES + 1);
        for refused in [&b""[..], b"a b", b"<b>", b"a\"", b"\xc3\xa4", too_long.as_bytes()] {
            assert_ne!(named(refused).as_bytes(), refused);
        }
    }

    #[test]
    fn names_that_are_made_differ_and_are_harmless() {
        let (one, other) = (of(&HeaderMap::new()), of(&HeaderMap::new()));
        assert_ne!(one, other);
        assert!(is_harmless(one.as_bytes()), "{one:?}");
    }
}
