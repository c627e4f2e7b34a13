//! What an answer means for a request that must not get lost.
//!
//! [`Answer`] knows taken, later and never, as OTLP's specification has them. A destination has to
//! go on for days, so it looks closer at "never": wrong credentials can be mended, a path that is
//! not there may be a proxy's fault, and a server that cannot unpack can be sent plain bytes.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use kymo_wire::Signal;

use crate::answer::{Answer, Partial, of_grpc, of_http};

/// What became of one try.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is kept; perhaps not all of it.
    Taken(Option<Partial>),
    /// Another time.
    Later {
        /// What happened.
        why: String,
        /// How long the server asks to wait.
        asked: Option<Duration>,
        /// What may help.
        hope: Hope,
    },
    /// Never, for this request.
    Refused(String),
    /// The server does not know the encoding.
    UnknownEncoding(String),
}

/// What may help a request that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hope {
    /// Time: the server is away, or busy.
    Time,
    /// Somebody: credentials are wrong. It is asked seldom, and for ever.
    Somebody,
    /// Nobody knows: it is no answer, or one of an error that the request itself may cause. Whether
    /// others are taken tells.
    Doubtful,
    /// Nothing is there that takes this signal; or a proxy does not know the way. Whether other
    /// signals are taken tells.
    NotHere,
}

/// An answer as it came.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) trailers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Verdict {
    pub(crate) fn later(why: String) -> Self {
        Self::Later { why, asked: None, hope: Hope::Time }
    }

    /// What an answer of HTTP means; `is_packed` if the request was.
    pub(crate) fn of_http(signal: Signal, reply: &Reply, is_packed: bool) -> Self {
        let answer = of_http(signal, reply.status, &reply.headers, &reply.body);
        let why = match answer {
            Answer::Refused(why) => why,
            other => return other.into(),
        };
        match reply.status {
            // Some answer 400 to what they cannot unpack.
            400 | 415 if is_packed => Self::UnknownEncoding(why),
            401 | 403 | 407 => Self::Later { why, asked: None, hope: Hope::Somebody },
            404 | 405 => Self::Later { why, asked: None, hope: Hope::NotHere },
            // A redirect, or a server that failed in a way of its own.
            300..=399 | 408 | 500.. => Self::Later { why, asked: None, hope: Hope::Doubtful },
            _ => Self::Refused(why),
        }
    }

    /// What an answer of gRPC means; `is_packed` if the request was.
    pub(crate) fn of_grpc(signal: Signal, reply: &Reply, is_packed: bool) -> Self {
        let Reply { status, headers, trailers, body } = reply;
        let answer = of_grpc(signal, *status, headers, trailers, body);
        let code = trailers.get("grpc-status").or_else(|| headers.get("grpc-status"));
        let code = code.and_then(|code| code.to_str().ok()?.parse::<u16>().ok());
        match (answer, code) {
            (Answer::Refused(why), Some(12)) if is_packed => Self::UnknownEncoding(why),
            (Answer::Refused(why), Some(7 | 16)) => {
                Self::Later { why, asked: None, hope: Hope::Somebody }
            }
            (Answer::Refused(why), None) if matches!(status, 401 | 403 | 407) => {
                Self::Later { why, asked: None, hope: Hope::Somebody }
            }
            (Answer::Refused(why), Some(12)) => {
                Self::Later { why, asked: None, hope: Hope::NotHere }
            }
            (Answer::Refused(why), None) if matches!(status, 404 | 405) => {
                Self::Later { why, asked: None, hope: Hope::NotHere }
            }
            // Unknown and internal errors, no status at all.
            (Answer::Refused(why), None | Some(2 | 13)) => {
                Self::Later { why, asked: None, hope: Hope::Doubtful }
            }
            // What is too large today is so tomorrow.
            (Answer::Later(why, None), Some(8 | 11)) if is_too_large(&why) => Self::Refused(why),
            (answer, _) => answer.into(),
        }
    }
}

/// Whether a server says of a message that it is too large for it. Libraries of gRPC say "exhausted"
/// or "out of range" then, which stand for other things too, and of nothing else in these words: those
/// of Go and C++, Java, .NET, Rust.
fn is_too_large(why: &str) -> bool {
    const WORDS: [&str; 4] = [
        "larger than max",
        "exceeds maximum size",
        "exceeds the maximum configured message size",
        "message length too large",
    ];
    WORDS.iter().any(|words| why.contains(words))
}

impl From<Answer> for Verdict {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Accepted(partial) => Self::Taken(partial),
            Answer::Later(why, asked) => Self::Later { why, asked, hope: Hope::Time },
            Answer::Refused(why) => Self::Refused(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, code: Option<&str>, message: &str) -> Reply {
        let mut trailers = HeaderMap::new();
        if let Some(code) = code {
            trailers.insert("grpc-status", code.parse().unwrap());
            trailers.insert("grpc-message", message.parse().unwrap());
        }
        Reply { status, headers: HeaderMap::new(), trailers, body: Bytes::new() }
    }

    fn kind(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Taken(_) => "taken",
            Verdict::Later { hope: Hope::Time, .. } => "time",
            Verdict::Later { hope: Hope::Somebody, .. } => "somebody",
            Verdict::Later { hope: Hope::Doubtful, .. } => "doubtful",
            Verdict::Later { hope: Hope::NotHere, .. } => "not here",
            Verdict::Refused(_) => "refused",
            Verdict::UnknownEncoding(_) => "encoding",
        }
    }

    #[test]
    fn answers_of_http_are_told_apart() {
        for (status, is_packed, expected) in [
            (200, true, "taken"),
            (204, false, "taken"),
            (400, false, "refused"),
            (400, true, "encoding"),
            (415, true, "encoding"),
            (413, true, "refused"),
            (401, true, "somebody"),
            (403, false, "somebody"),
            (404, false, "not here"),
            (302, false, "doubtful"),
            (429, false, "time"),
            (503, false, "time"),
            (500, false, "doubtful"),
        ] {
            let verdict = Verdict::of_http(Signal::Logs, &reply(status, None, ""), is_packed);
            assert_eq!(kind(&verdict), expected, "{status}");
        }
    }

    #[test]
    fn answers_of_grpc_are_told_apart() {
        for (status, code, message, is_packed, expected) in [
            (200, Some("0"), "", true, "taken"),
            (200, Some("3"), "", true, "refused"),
            (200, Some("12"), "", true, "encoding"),
            (200, Some("12"), "", false, "not here"),
            (404, None, "", false, "not here"),
            (200, Some("13"), "", false, "doubtful"),
            (200, Some("16"), "", false, "somebody"),
            (200, Some("14"), "", false, "time"),
            (200, Some("8"), "quota", false, "time"),
            (200, Some("8"), "received message larger than max (9 vs. 4)", false, "refused"),
            (200, Some("8"), "gRPC message exceeds maximum size 4: 9", false, "refused"),
            (200, Some("11"), "decoded message length too large: found 9 bytes", true, "refused"),
            (200, Some("11"), "", false, "time"),
            (200, None, "", false, "doubtful"),
            (200, Some("garbage"), "", false, "doubtful"),
            (403, None, "", false, "somebody"),
            (503, None, "", false, "time"),
        ] {
            let verdict = Verdict::of_grpc(Signal::Logs, &reply(status, code, message), is_packed);
            assert_eq!(kind(&verdict), expected, "{status} {code:?}");
        }
    }
}
