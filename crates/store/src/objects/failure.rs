//! What the failure of a request to a bucket means.
//!
//! The client's errors quote requests and answers, which may hold keys and signatures. From here
//! on there is only the status, the server's error code, or the system's words for a broken
//! connection.

use std::{error::Error, iter};

use object_store::client::HttpError;

/// What a failed request comes down to.
pub(super) enum Failure {
    NotFound,
    NoBucket,
    Denied(String),
    Unavailable(String),
    Refused(String),
}

impl Failure {
    pub(super) fn of(error: &object_store::Error) -> Failure {
        if is_transport(error) {
            return Failure::Unavailable(innermost(error));
        }
        let Some((status, code)) = answer(error) else {
            return match error {
                object_store::Error::NotFound { .. } => Failure::NotFound,
                _ => Failure::Refused(innermost(error)),
            };
        };
        let detail = format!("HTTP status {status} {code}").trim_end().to_owned();
        match (status, &*code) {
            (_, "NoSuchBucket") => Failure::NoBucket,
            (404, _) => Failure::NotFound,
            (401 | 403, _) | (_, "ExpiredToken" | "InvalidToken") => Failure::Denied(detail),
            (301 | 307, _) | (_, "AuthorizationHeaderMalformed") => {
                Failure::Refused(format!("{detail}; set AWS_REGION to the region of the bucket"))
            }
            (501, _) => Failure::Refused(format!(
                "{detail}; the server must know create-if-absent, `PUT` with `If-None-Match: *`"
            )),
            (408 | 409 | 412 | 429 | 500.., _) => Failure::Unavailable(detail),
            _ => Failure::Refused(detail),
        }
    }
}

/// The causes of `error`, itself first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// Whether the request or its answer was lost on the way.
pub(super) fn is_transport(error: &object_store::Error) -> bool {
    causes(error).any(|cause| cause.is::<HttpError>())
}

/// The text of the last cause, in which no request or answer is quoted.
pub(super) fn innermost(error: &object_store::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

pub(super) fn status(error: &object_store::Error) -> Option<u16> {
    answer(error).map(|(status, _)| status)
}

/// The status and error code that the server answered with; the code may be empty.
///
/// The client's own type for this is private, so it is read from that type's text, which is
/// pinned by the tests of [`super::s3`].
fn answer(error: &object_store::Error) -> Option<(u16, String)> {
    causes(error).find_map(|cause| {
        let text = cause.to_string();
        if let Some(rest) = text.strip_prefix("Server returned non-2xx status code: ") {
            return Some((rest.get(..3)?.parse().ok()?, error_code(rest)));
        }
        // The odd 200 that holds an error after all, which only overloaded servers send.
        let rest = text.strip_prefix("Server returned error response: ")?;
        Some((503, error_code(rest)))
    })
}

/// The `Code` of an XML error document.
fn error_code(document: &str) -> String {
    let code = document.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    code.map(|(code, _)| code.chars().filter(char::is_ascii_alphanumeric).take(64).collect())
        .unwrap_or_default()
}
