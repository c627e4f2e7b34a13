//! What can go wrong with GitHub, and what to do about it.
//!
//! No message contains the token, nor the address of a download, whose query is a key in itself.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use thiserror::Error;

/// Why GitHub gave no answer, or not one that can be used.
///
/// `subject` is what was asked for, such as `run 7 of octocat/hello`.
#[derive(Debug, Error)]
pub enum GitHubError {
    /// The repository's name is not one.
    #[error("{0:?} is not a repository; expected owner/name, such as octocat/hello-world")]
    Repository(String),
    /// The address of the API cannot be used. It is not quoted: it may hold a password.
    #[error("the address of GitHub's API {0}; expected one such as https://api.github.com")]
    ApiUrl(&'static str),
    /// The token or the user agent cannot be sent.
    #[error("the {0} has characters that no header can have; check that it is one line of text")]
    Header(&'static str),
    /// There can be no connections at all, say without certificates.
    #[error("cannot make connections: {0}; check the system's certificates and the proxy")]
    Setup(String),
    /// 401.
    #[error("{}", unauthorized(.subject, *.has_token))]
    Unauthorized {
        /// What was asked for.
        subject: String,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// 403, and not for a rate limit.
    #[error("{}", forbidden(.subject, .permission, .message, *.has_token))]
    Forbidden {
        /// What was asked for.
        subject: String,
        /// What the token must be allowed to do.
        permission: &'static str,
        /// GitHub's own words.
        message: String,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// 404: not there, or not for this token to know of.
    #[error("{}", not_found(.subject, .permission, *.has_token))]
    NotFound {
        /// What was asked for.
        subject: String,
        /// What the token must be allowed to do.
        permission: &'static str,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// 410, or an artifact that says of itself that it expired. Whoever reads several goes on with
    /// the next.
    #[error("{subject} has expired and is no longer there; keep artifacts longer (retention-days)")]
    Gone {
        /// What was asked for.
        subject: String,
    },
    /// A rate limit whose end is later than the time limit allows.
    #[error("{}", rate_limited(.subject, .resets_at, *.has_token))]
    RateLimited {
        /// What was asked for.
        subject: String,
        /// When GitHub answers again.
        resets_at: DateTime<Utc>,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// The time limit ended first, or no try had an answer in its time.
    #[error("no answer in time about {subject}; try again, or allow more time")]
    Deadline {
        /// What was asked for.
        subject: String,
    },
    /// No connection, or one that broke, each time.
    #[error("cannot reach GitHub for {subject}: {cause}; check the network and the proxy")]
    Unreachable {
        /// What was asked for.
        subject: String,
        /// What the last try met.
        cause: String,
    },
    /// A status that nothing here is made for, or 5xx each time.
    #[error("HTTP status {status} for {subject}{}; try again later", quoted(.message))]
    Status {
        /// What was asked for.
        subject: String,
        /// The status.
        status: u16,
        /// The server's own words, if it had any.
        message: String,
    },
    /// The next page is said to be somewhere else, where the token must not go.
    #[error(
        "the next page of {subject} is on {host}, not where the API is; check the API's address"
    )]
    ForeignLink {
        /// What was asked for.
        subject: String,
        /// Where the next page is said to be.
        host: String,
    },
    /// An answer above its limit.
    #[error("{subject} is larger than {limit_bytes} bytes, which is all that is read")]
    TooLarge {
        /// What was asked for.
        subject: String,
        /// How much would have been read.
        limit_bytes: u64,
    },
    /// A list that does not end.
    #[error("{subject} go on after {limit_pages} pages, which is all that are read")]
    TooManyPages {
        /// What was asked for.
        subject: String,
        /// How many pages were read.
        limit_pages: u32,
    },
    /// An answer that is not JSON, or not that of this API.
    #[error("the answer for {subject} is not GitHub's: {cause}; check the API's address")]
    Json {
        /// What was asked for.
        subject: String,
        /// What is wrong with it.
        cause: String,
    },
    /// An artifact whose name cannot be that of a directory.
    #[error("the artifact's name {0:?} cannot name a directory; upload it under a plain name")]
    ArtifactName(String),
    /// The directory to unpack to is already there.
    #[error("{} is already there; remove it, or download elsewhere", .0.display())]
    Exists(PathBuf),
    /// An artifact that is no zip file, or a damaged one.
    #[error("artifact {artifact:?} cannot be unpacked: {cause}; upload it again, as a zip file")]
    BrokenZip {
        /// The artifact's name.
        artifact: String,
        /// What is wrong with it.
        cause: String,
    },
    /// An artifact that unpacks to more than is taken.
    #[error("artifact {artifact:?} holds more than {limit}; upload less")]
    Unpacked {
        /// The artifact's name.
        artifact: String,
        /// How much would have been taken, with its unit.
        limit: String,
    },
    /// The disk does not take it.
    #[error("cannot write {}: {cause}; check the disk's space and permissions", .path.display())]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
}

fn unauthorized(subject: &str, has_token: bool) -> String {
    if has_token {
        format!("GitHub refuses the token for {subject}; it may have expired: give a new one")
    } else {
        format!("GitHub tells of {subject} only to holders of a token; give one")
    }
}

fn forbidden(subject: &str, permission: &str, message: &str, has_token: bool) -> String {
    let quoted = quoted(message);
    if has_token {
        format!("the token may not be used for {subject}{quoted}; give it `{permission}`")
    } else {
        format!("{subject} needs a token{quoted}; give one with `{permission}`")
    }
}

fn not_found(subject: &str, permission: &str, has_token: bool) -> String {
    if has_token {
        format!(
            "{subject} is not there, or not visible to this token; check the repository and the \
             number, and that the token has `{permission}` there"
        )
    } else {
        format!(
            "{subject} is not there, or not public; check the repository and the number, or give \
             a token with `{permission}`"
        )
    }
}

fn rate_limited(subject: &str, resets_at: &DateTime<Utc>, has_token: bool) -> String {
    let time = resets_at.format("%Y-%m-%d %H:%M:%S UTC");
    let advice = if has_token {
        "try again then, or use another token with a higher limit"
    } else {
        "try again then, or give a token, which raises the limit"
    };
    format!(
        "GitHub's rate limit lasts until {time}, which is too late for {subject} in the time \
         allowed; {advice}"
    )
}

fn quoted(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}
