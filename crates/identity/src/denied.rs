//! Why a request may not go on, and what is answered.
//!
//! The answer never says which part of the credentials was wrong, and never repeats them.

use std::fmt::Write as _;
use std::time::Duration;

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use thiserror::Error;

use crate::method::Method;
use crate::role::Role;

/// gRPC's codes for it.
mod grpc {
    pub(super) const PERMISSION_DENIED: u32 = 7;
    pub(super) const RESOURCE_EXHAUSTED: u32 = 8;
    pub(super) const UNAVAILABLE: u32 = 14;
    pub(super) const UNAUTHENTICATED: u32 = 16;
}

/// Why a request may not go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Denied {
    /// It does not say who it is from.
    #[error("credentials are needed: {}", wanted(.accepted))]
    Missing {
        /// What the listener accepts.
        accepted: Vec<Method>,
    },
    /// What it says is not right.
    #[error("the credentials are not valid")]
    Wrong {
        /// What the listener accepts.
        accepted: Vec<Method>,
        /// The name that was given, if there is a user of that name: for the audit, not for the
        /// answer. Other names are not kept, for people type passwords into the wrong field.
        claimed: Option<String>,
        /// What was wrong: for the log, not for the answer.
        why: &'static str,
    },
    /// It comes from where too many were wrong.
    #[error("too many failed logins; try again in {} s", whole_secs(.retry_after))]
    TooMany {
        /// When another attempt makes sense.
        retry_after: Duration,
    },
    /// It is known who it is from, but nothing is granted to him.
    #[error("the credentials are valid, but grant nothing here")]
    NothingGranted {
        /// Who it is.
        name: String,
    },
    /// He has another role.
    #[error("these credentials do not have the role {role}")]
    Role {
        /// The role that is needed.
        role: Role,
    },
    /// It is about a tenant of others.
    #[error("{}", not_of_tenant(.tenant, *.is_named))]
    Tenant {
        /// The tenant.
        tenant: String,
        /// Whether the request named it; otherwise it is the one of requests that name none.
        is_named: bool,
    },
    /// It is about all tenants, and the credentials are for some.
    #[error("this concerns all tenants; it needs the role {role} for all of them")]
    AllTenants {
        /// The role that is needed.
        role: Role,
    },
    /// It cannot be checked now.
    #[error("credentials cannot be checked now; try again in {} s", whole_secs(.retry_after))]
    Unavailable {
        /// When another attempt makes sense.
        retry_after: Duration,
    },
}

impl Denied {
    /// The status of HTTP.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            // 401 must come with a challenge, and there is none that asks for a certificate.
            Self::Missing { accepted } | Self::Wrong { accepted, .. }
                if challenges(accepted, false).is_empty() =>
            {
                StatusCode::FORBIDDEN
            }
            Self::Missing { .. } | Self::Wrong { .. } => StatusCode::UNAUTHORIZED,
            Self::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::NothingGranted { .. }
            | Self::Role { .. }
            | Self::Tenant { .. }
            | Self::AllTenants { .. } => StatusCode::FORBIDDEN,
            Self::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The code of gRPC.
    #[must_use]
    pub fn grpc_code(&self) -> u32 {
        match self {
            Self::Missing { .. } | Self::Wrong { .. } => grpc::UNAUTHENTICATED,
            Self::TooMany { .. } => grpc::RESOURCE_EXHAUSTED,
            Self::NothingGranted { .. }
            | Self::Role { .. }
            | Self::Tenant { .. }
            | Self::AllTenants { .. } => grpc::PERMISSION_DENIED,
            Self::Unavailable { .. } => grpc::UNAVAILABLE,
        }
    }

    /// When another attempt makes sense, if it does without a change.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooMany { retry_after } | Self::Unavailable { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// Headers of the answer: `WWW-Authenticate` once for each accepted way, `Retry-After`.
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match self {
            Self::Missing { accepted } => add_challenges(&mut headers, accepted, false),
            Self::Wrong { accepted, .. } => add_challenges(&mut headers, accepted, true),
            _ => {}
        }
        if let Some(retry_after) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_secs(&retry_after)));
        }
        headers
    }

    /// A word for logs and counters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing_credentials",
            Self::Wrong { .. } => "wrong_credentials",
            Self::TooMany { .. } => "too_many_failures",
            Self::NothingGranted { .. } => "nothing_granted",
            Self::Role { .. } => "missing_role",
            Self::Tenant { .. } | Self::AllTenants { .. } => "other_tenant",
            Self::Unavailable { .. } => "unavailable",
        }
    }
}

fn add_challenges(headers: &mut HeaderMap, accepted: &[Method], is_wrong: bool) {
    for challenge in challenges(accepted, is_wrong) {
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
}

fn challenges(accepted: &[Method], is_wrong: bool) -> Vec<&'static str> {
    let mut challenges = Vec::new();
    if accepted.contains(&Method::Basic) {
        challenges.push("Basic realm=\"kymo\", charset=\"UTF-8\"");
    }
    if accepted.contains(&Method::Bearer) || accepted.contains(&Method::Oidc) {
        challenges.push(if is_wrong {
            "Bearer realm=\"kymo\", error=\"invalid_token\""
        } else {
            "Bearer realm=\"kymo\""
        });
    }
    challenges
}

/// Rounded up: who comes a moment too early is refused again.
fn whole_secs(time: &Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}

fn wanted(accepted: &[Method]) -> String {
    let mut text = String::new();
    for (nth, method) in accepted.iter().enumerate() {
        let joint = if nth == 0 { "" } else { ", or " };
        // Writing to a text cannot fail.
        let _ = write!(text, "{joint}{}", method.wanted());
    }
    text
}

fn not_of_tenant(tenant: &str, is_named: bool) -> String {
    if is_named {
        return format!("these credentials are not for the tenant {tenant:?}");
    }
    format!(
        "these credentials are not for the tenant {tenant:?}, which is meant where the header \
         X-Scope-OrgID names none; name one of theirs"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_sent_for_each_accepted_way() {
        let denied =
            Denied::Missing { accepted: vec![Method::Basic, Method::Bearer, Method::Oidc] };
        let headers = denied.headers();
        let challenges: Vec<_> = headers.get_all(WWW_AUTHENTICATE).iter().collect();
        assert_eq!(challenges.len(), 2);
        assert!(challenges[0].to_str().unwrap().starts_with("Basic "));
        assert_eq!(denied.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(denied.grpc_code(), 16);
    }

    #[test]
    fn a_certificate_cannot_be_asked_for_so_its_absence_is_forbidden() {
        let denied = Denied::Missing { accepted: vec![Method::ClientCertificate] };
        assert_eq!(denied.status(), StatusCode::FORBIDDEN);
        assert_eq!(denied.grpc_code(), 16);
        assert!(denied.headers().is_empty());
        assert!(denied.to_string().contains("client certificate"));
    }

    #[test]
    fn the_time_to_wait_is_rounded_up() {
        let denied = Denied::TooMany { retry_after: Duration::from_millis(5001) };
        assert_eq!(denied.headers()[RETRY_AFTER], "6");
        assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
        let denied = Denied::Unavailable { retry_after: Duration::ZERO };
        assert_eq!(denied.headers()[RETRY_AFTER], "1");
    }

    #[test]
    fn an_answer_does_not_name_the_user_it_was_wrong_for() {
        let denied = Denied::Wrong {
            accepted: vec![Method::Basic],
            claimed: Some("ada".into()),
            why: "old",
        };
        assert!(!denied.to_string().contains("ada") && !denied.to_string().contains("old"));
        assert!(!format!("{:?}", denied.headers()).contains("ada"));
    }
}
