//! Whether an endpoint refused something, or could not be reached.
//!
//! The SDK's errors are texts. Those of `opentelemetry-otlp` name a code of gRPC or a status of
//! HTTP, and that is looked for; if they ever no longer do, everything counts as not reached, and is
//! tried again for a bounded time. A test against a server of ours holds them to it.

use opentelemetry_sdk::error::OTelSdkError;

/// Codes of gRPC after which nothing is gained by sending the same again.
const FINAL_CODES: [&str; 8] = [
    "InvalidArgument",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "FailedPrecondition",
    "Unimplemented",
    "Internal",
    "Unauthenticated",
];

/// Statuses of HTTP from 300 to 599 after which it makes sense to send the same again.
const LATER_STATUSES: [u16; 5] = [408, 429, 502, 503, 504];

/// Whether the endpoint does not want it, now or ever.
pub(super) fn is_refused(error: &OTelSdkError) -> bool {
    let OTelSdkError::InternalFailure(text) = error else {
        return matches!(error, OTelSdkError::AlreadyShutdown);
    };
    // Of this machine's making: more than a request may have.
    if text.contains("exceeding the configured limit") {
        return true;
    }
    if let Some(code) = word_after(text, "gRPC code: ") {
        return FINAL_CODES.contains(&code);
    }
    word_after(text, "status code: ")
        .and_then(|status| status.parse::<u16>().ok())
        .is_some_and(|status| status >= 300 && !LATER_STATUSES.contains(&status))
}

fn word_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(mark)?;
    rest.split(|c: char| !c.is_ascii_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_a_server_that_is_away() {
        for (text, expected) in [
            ("TonicTracesClient export failed with gRPC code: Unauthenticated", true),
            ("TonicTracesClient export failed with gRPC code: Unimplemented: x", true),
            ("TonicTracesClient export failed with gRPC code: Unavailable: refused", false),
            ("TonicTracesClient export failed with gRPC code: ResourceExhausted", false),
            ("HTTP export failed with status code: 401: who are you", true),
            ("HTTP export failed with status code: 307", true),
            ("HTTP export failed with status code: 503", false),
            ("HTTP export failed: network error: connection refused", false),
            ("something else", false),
        ] {
            let error = OTelSdkError::InternalFailure(text.to_owned());
            assert_eq!(is_refused(&error), expected, "{text}");
        }
        assert!(!is_refused(&OTelSdkError::Timeout(std::time::Duration::ZERO)));
    }
}
