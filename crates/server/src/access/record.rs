//! What is written down of who did what, and of who was not let in.
//!
//! A line names people and tokens by name, never a secret. Lines about logins that fail are bounded:
//! an agent with an old password sends it many times a second, and who floods us must not flood the
//! log. What was left out is counted in the next line.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::body::Body;
use http::Request;
use kymo_edge::ClientOrigin;
use kymo_identity::{Action, AuditEvent, Denied, Grant};

use crate::limits::{LOGIN_LINES, LOGIN_LINES_EVERY};

/// Lines that may still be written, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    since: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl Lines {
    /// Whether a line may be written now; how many were left out before it.
    fn next(&mut self, now: Instant) -> Option<u64> {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= LOGIN_LINES_EVERY;
        if self.since.is_none_or(is_over) {
            (self.since, self.written) = (Some(now), 0);
        }
        if self.written >= LOGIN_LINES {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

impl Failures {
    /// Somebody, who is known or not, may not do what he asked for. Those who only have to say who
    /// they are, or to come again, did nothing that has to be known.
    pub(crate) fn note(&self, denied: &Denied, to: Option<&Grant>, address: IpAddr, path: &str) {
        let reason = denied.reason();
        if matches!(denied, Denied::Missing { .. } | Denied::Unavailable { .. }) {
            tracing::debug!(%address, reason, path, "not allowed");
            return;
        }
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).next(Instant::now());
        let Some(left_out) = next else { return };
        let event = AuditEvent::refused(Action::Login, to, denied, address);
        tracing::warn!(path, left_out, "{event}");
    }
}

/// Something was done that is to be known.
pub(crate) fn done(action: Action, by: &Grant, address: IpAddr) {
    tracing::info!("{}", AuditEvent::done(action, by, address));
}

/// From where a request came.
pub(crate) fn address_of(request: &Request<Body>) -> IpAddr {
    let origin = request.extensions().get::<ClientOrigin>();
    origin.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |origin| origin.address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_lines_that_say_how_many_there_were() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        let written = (0..1000).filter_map(|_| lines.next(now)).count();
        assert_eq!(written, LOGIN_LINES as usize);
        let later = now + LOGIN_LINES_EVERY;
        assert_eq!(lines.next(later), Some(1000 - u64::from(LOGIN_LINES)));
        assert_eq!(lines.next(later), Some(0));
    }
}
