//! What an answer that is not the one hoped for means: whether to ask again, and when.
//!
//! GitHub has two kinds of rate limits, and tells both by 403 or 429. The primary one counts the
//! requests of an hour: `x-ratelimit-remaining` is 0, and `x-ratelimit-reset` says when it starts
//! anew. The secondary ones are for requests that are too many at once: `retry-after` says for how
//! long to wait, and where it is missing, a minute is the least.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::error::GitHubError;
use super::limits::{FIRST_BACKOFF, MAX_BACKOFF, SECONDARY_LIMIT_WAIT};

/// Why a try gave nothing.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another try would end the same.
    Final(GitHubError),
    /// Another try may end better. The error is for when there is none.
    Passing(GitHubError),
    /// The server said for how long to wait. The error is for when there is not the time.
    Limited { wait: Duration, error: GitHubError },
}

/// An answer that is not a success.
#[derive(Debug)]
pub(super) struct Refusal<'a> {
    pub(super) subject: &'a str,
    /// What the token must be allowed to do.
    pub(super) permission: &'static str,
    pub(super) has_token: bool,
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    /// The server's own words.
    pub(super) message: String,
    /// Whether it came from where a redirect led, such as the store of artifacts.
    pub(super) is_elsewhere: bool,
}

impl Refusal<'_> {
    /// What to do about it, at this time.
    pub(super) fn into_failure(self, now_secs: u64) -> Failure {
        // The store's addresses are signed for a minute or so. The next try gets a new one.
        if self.is_elsewhere {
            return Failure::Passing(self.into_status());
        }
        if let Some(limit) = self.limit(now_secs) {
            return self.into_limited(&limit);
        }
        let subject = self.subject.to_owned();
        let (permission, has_token) = (self.permission, self.has_token);
        match self.status {
            StatusCode::UNAUTHORIZED => {
                Failure::Final(GitHubError::Unauthorized { subject, has_token })
            }
            StatusCode::FORBIDDEN => Failure::Final(GitHubError::Forbidden {
                subject,
                permission,
                message: self.message,
                has_token,
            }),
            StatusCode::NOT_FOUND => {
                Failure::Final(GitHubError::NotFound { subject, permission, has_token })
            }
            StatusCode::GONE => Failure::Final(GitHubError::Gone { subject }),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                Failure::Passing(self.into_status())
            }
            status if status.is_server_error() => match self.number(RETRY_AFTER.as_str()) {
                Some(secs) => {
                    Failure::Limited { wait: Duration::from_secs(secs), error: self.into_status() }
                }
                None => Failure::Passing(self.into_status()),
            },
            _ => Failure::Final(self.into_status()),
        }
    }

    fn limit(&self, now_secs: u64) -> Option<Limit> {
        if !matches!(self.status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
            return None;
        }
        if let Some(secs) = self.number(RETRY_AFTER.as_str()) {
            return Some(Limit::of(Duration::from_secs(secs), now_secs));
        }
        if self.number("x-ratelimit-remaining") == Some(0)
            && let Some(until_secs) = self.number("x-ratelimit-reset")
        {
            // The second after it, since clocks differ by as much.
            let wait = Duration::from_secs(until_secs.saturating_sub(now_secs).saturating_add(1));
            return Some(Limit { wait, until_secs });
        }
        let is_secondary = self.message.to_ascii_lowercase().contains("secondary rate limit");
        is_secondary.then(|| Limit::of(SECONDARY_LIMIT_WAIT + jitter(FIRST_BACKOFF), now_secs))
    }

    fn number(&self, header: &str) -> Option<u64> {
        self.headers.get(header)?.to_str().ok()?.trim().parse().ok()
    }

    fn into_limited(self, limit: &Limit) -> Failure {
        let error = GitHubError::RateLimited {
            subject: self.subject.to_owned(),
            resets_at: limit.resets_at(),
            has_token: self.has_token,
        };
        Failure::Limited { wait: limit.wait, error }
    }

    fn into_status(self) -> GitHubError {
        GitHubError::Status {
            subject: self.subject.to_owned(),
            status: self.status.as_u16(),
            message: self.message,
        }
    }
}

/// A rate limit.
struct Limit {
    wait: Duration,
    until_secs: u64,
}

impl Limit {
    fn of(wait: Duration, now_secs: u64) -> Self {
        Self { wait, until_secs: now_secs.saturating_add(wait.as_secs()) }
    }

    fn resets_at(&self) -> DateTime<Utc> {
        let secs = i64::try_from(self.until_secs).unwrap_or(i64::MAX);
        DateTime::from_timestamp(secs, 0).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// How long to wait after so many tries: twice as long each time, and by up to a half of it less,
/// so that jobs that failed together do not come back together.
pub(super) fn backoff(tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(16);
    let longest = FIRST_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF);
    longest - jitter(longest / 2)
}

/// Some time below this one. The keys of a hash map are random enough for it.
fn jitter(below: Duration) -> Duration {
    let share = RandomState::new().build_hasher().finish() >> 32;
    below.mul_f64(share as f64 / (1_u64 << 32) as f64)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    const NOW_SECS: u64 = 1_800_000_000;

    fn failure(status: u16, headers: &[(&'static str, &'static str)], message: &str) -> Failure {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let refusal = Refusal {
            subject: "run 1",
            permission: "actions: read",
            has_token: false,
            status: StatusCode::from_u16(status).unwrap(),
            headers: &headers,
            message: message.into(),
            is_elsewhere: false,
        };
        refusal.into_failure(NOW_SECS)
    }

    fn wait(failure: Failure) -> Duration {
        match failure {
            Failure::Limited { wait, .. } => wait,
            other => panic!("expected a wait, got {other:?}"),
        }
    }

    #[test]
    fn a_primary_limit_lasts_until_its_reset() {
        let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1800000060")];
        assert_eq!(wait(failure(403, &headers, "")), Duration::from_secs(61));
        let Failure::Limited { error, .. } = failure(429, &headers, "") else { panic!() };
        let text = error.to_string();
        assert!(text.contains("until 2027-01-15 08:01:00 UTC") && text.contains("token"), "{text}");
    }

    #[test]
    fn a_limit_that_is_not_used_up_is_none() {
        let headers = [("x-ratelimit-remaining", "7"), ("x-ratelimit-reset", "1800000060")];
        let failure = failure(403, &headers, "no access");
        assert!(matches!(failure, Failure::Final(GitHubError::Forbidden { .. })), "{failure:?}");
    }

    #[test]
    fn a_named_wait_counts_before_all_else() {
        let headers = [("retry-after", "7"), ("x-ratelimit-remaining", "0")];
        assert_eq!(wait(failure(403, &headers, "secondary rate limit")), Duration::from_secs(7));
        assert_eq!(wait(failure(429, &[("retry-after", "0")], "")), Duration::ZERO);
        assert_eq!(wait(failure(503, &[("retry-after", "3")], "")), Duration::from_secs(3));
    }

    #[test]
    fn a_secondary_limit_without_a_time_lasts_a_minute() {
        let message = "You have exceeded a secondary rate limit. Please wait.";
        assert!(wait(failure(403, &[], message)) >= Duration::from_secs(60));
    }

    #[test]
    fn a_reset_beyond_all_time_is_still_a_time() {
        let reset = "18446744073709551615";
        let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)];
        assert!(wait(failure(403, &headers, "")) > Duration::from_secs(1 << 40));
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
        for status in [408, 429, 500, 502, 503] {
            assert!(matches!(failure(status, &[], ""), Failure::Passing(_)), "{status}");
        }
        for status in [400, 401, 403, 404, 410, 418, 422] {
            assert!(matches!(failure(status, &[], ""), Failure::Final(_)), "{status}");
        }
    }

    #[test]
    fn waits_double_up_to_a_bound_and_differ() {
        for tries in 1..40 {
            let longest = FIRST_BACKOFF.saturating_mul(1 << (tries - 1).min(16)).min(MAX_BACKOFF);
            let wait = backoff(tries);
            assert!(wait >= longest / 2 && wait <= longest, "{tries}: {wait:?}");
        }
        assert!((0..10).any(|_| backoff(9) != backoff(9)));
    }
}
