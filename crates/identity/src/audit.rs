//! What is written down of who did what: logins, and changes by those who may make them.
//!
//! Events have names of people and tokens, never a secret. As text they are one line, whatever the
//! names are: control characters are escaped, so that nobody can forge a line.

use std::fmt;
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::denied::Denied;
use crate::grant::Grant;
use crate::method::Method;

/// Something that somebody did, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditEvent {
    /// When, in milliseconds since 1970.
    pub at_unix_millis: u64,
    /// What.
    pub action: Action,
    /// Who: nothing if that is not known.
    pub who: Option<String>,
    /// How he proved it.
    pub method: Option<Method>,
    /// From where.
    pub address: IpAddr,
    /// What became of it.
    pub outcome: Outcome,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Action {
    /// A request said who it is from.
    Login,
    /// A token was made.
    TokenMade {
        /// Its id.
        id: String,
        /// What it is for.
        name: String,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Its id.
        id: String,
    },
    /// Something else was changed: a flag of the audience, a setting.
    Changed {
        /// What, `audience/flag_ot_traces`.
        what: String,
        /// To what, without secrets.
        to: String,
    },
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Outcome {
    /// It was done.
    Allowed,
    /// It was refused.
    Refused {
        /// A word: `wrong_credentials`.
        reason: &'static str,
        /// More of it, if there is more.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
}

impl AuditEvent {
    /// A login, as it ended.
    #[must_use]
    pub fn login(result: &Result<Grant, Denied>, address: IpAddr) -> Self {
        match result {
            Ok(grant) => Self::done(Action::Login, grant, address),
            Err(denied) => Self::refused(Action::Login, None, denied, address),
        }
    }

    /// Something that was done.
    #[must_use]
    pub fn done(action: Action, by: &Grant, address: IpAddr) -> Self {
        Self {
            at_unix_millis: now_unix_millis(),
            action,
            who: Some(by.name.clone()),
            method: by.method,
            address,
            outcome: Outcome::Allowed,
        }
    }

    /// Something that was refused, to somebody who is known or not.
    #[must_use]
    pub fn refused(action: Action, to: Option<&Grant>, denied: &Denied, address: IpAddr) -> Self {
        let claimed = match denied {
            Denied::Wrong { claimed, .. } => claimed.clone(),
            Denied::NothingGranted { name } => Some(name.clone()),
            _ => None,
        };
        let detail = match denied {
            Denied::Wrong { why, .. } => Some((*why).to_owned()),
            Denied::Role { .. } | Denied::Tenant { .. } | Denied::AllTenants { .. } => {
                Some(denied.to_string())
            }
            _ => None,
        };
        Self {
            at_unix_millis: now_unix_millis(),
            action,
            who: to.map(|grant| grant.name.clone()).or(claimed),
            method: to.and_then(|grant| grant.method),
            address,
            outcome: Outcome::Refused { reason: denied.reason(), detail },
        }
    }

    /// As JSON, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Without the time, which logs have anyway.
impl fmt::Display for AuditEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Login => f.write_str("login")?,
            Action::TokenMade { id, name } => write!(f, "token {id} ({name:?}) made")?,
            Action::TokenRevoked { id } => write!(f, "token {id:?} revoked")?,
            Action::Changed { what, to } => write!(f, "{what:?} changed to {to:?}")?,
        }
        match &self.who {
            Some(who) => write!(f, " by {who:?}")?,
            None => f.write_str(" by somebody unknown")?,
        }
        if let Some(method) = self.method {
            write!(f, " ({method})")?;
        }
        write!(f, " from {}", self.address)?;
        match &self.outcome {
            Outcome::Allowed => Ok(()),
            Outcome::Refused { reason, detail: None } => write!(f, ": refused, {reason}"),
            Outcome::Refused { reason, detail: Some(detail) } => {
                write!(f, ": refused, {reason} ({})", detail.escape_debug())
            }
        }
    }
}

fn now_unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn wrong(claimed: Option<&str>) -> Denied {
        let claimed = claimed.map(str::to_owned);
        Denied::Wrong { accepted: vec![Method::Basic], claimed, why: "name or password" }
    }

    #[test]
    fn events_read_like_sentences() {
        let made = Action::TokenMade { id: "abcdefghijkl".into(), name: "runner".into() };
        assert_eq!(
            AuditEvent::done(made, &Grant::open(), HERE).to_string(),
            "token abcdefghijkl (\"runner\") made by \"anonymous\" from 192.0.2.1"
        );
        assert_eq!(
            AuditEvent::login(&Err(wrong(Some("ada"))), HERE).to_string(),
            "login by \"ada\" from 192.0.2.1: refused, wrong_credentials (name or password)"
        );
        assert_eq!(
            AuditEvent::login(&Err(wrong(None)), HERE).to_string(),
            "login by somebody unknown from 192.0.2.1: refused, wrong_credentials (name or password)"
        );
    }

    #[test]
    fn a_name_cannot_forge_a_line() {
        let mut grant = Grant::open();
        grant.name = "ada\nlogin by \"root\"".to_owned();
        let what = "x\ny".to_owned();
        let event =
            AuditEvent::done(Action::Changed { what: what.clone(), to: what }, &grant, HERE);
        assert!(!event.to_string().contains('\n'));
        assert!(!event.to_json().contains('\n'));
        let denied = Denied::Tenant { tenant: "a\nb".to_owned(), is_named: true };
        let event = AuditEvent::refused(Action::Login, Some(&grant), &denied, HERE);
        assert!(!event.to_string().contains('\n'));
    }

    #[test]
    fn an_event_as_json_has_fixed_names() {
        let event = AuditEvent::login(&Err(wrong(Some("ada"))), HERE);
        let json: serde_json::Value = serde_json::from_str(&event.to_json()).unwrap();
        assert_eq!(json["action"]["kind"], "login");
        assert_eq!(json["who"], "ada");
        assert_eq!(json["address"], "192.0.2.1");
        assert_eq!(json["outcome"]["result"], "refused");
        assert_eq!(json["outcome"]["reason"], "wrong_credentials");
    }
}
