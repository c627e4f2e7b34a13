//! Who changed which flag, when, and what it was before.
//!
//! An entry holds what a change is about and no more: fields that stayed are left out, and of users
//! those that were added and removed. So a book with long lists does not grow with every change.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::book::Author;
use super::flag::{Flag, FlagError};
use super::limits::MAX_AUDIT_USERS;

/// Fields of a flag's document.
pub type Fields = Map<String, Value>;

/// One change of one flag.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// When, in milliseconds since 1970.
    pub at_millis: u64,
    /// Who.
    pub by: String,
    /// What was done.
    pub action: Action,
    /// The flag's key.
    pub key: String,
    /// The fields that changed, as they were; of `users` those that were removed. `users_left_out`
    /// counts those beyond [`MAX_AUDIT_USERS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Fields>,
    /// The same fields as they are now; of `users` those that were added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Fields>,
}

/// What was done to a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is new.
    Create,
    /// It is another now.
    Update,
    /// It is gone.
    Delete,
}

impl AuditEntry {
    /// What a change from `before` to `after` is.
    pub(crate) fn new(
        key: &str,
        before: Option<&Flag>,
        after: Option<&Flag>,
        author: &Author<'_>,
    ) -> Result<Self, FlagError> {
        let action = match (before, after) {
            (None, _) => Action::Create,
            (Some(_), Some(_)) => Action::Update,
            (Some(_), None) => Action::Delete,
        };
        let mut old = before.map(fields).transpose()?;
        let mut new = after.map(fields).transpose()?;
        if let (Some(old), Some(new)) = (&mut old, &mut new) {
            let is_other = |fields: &Fields, name: &String, value: &Value| {
                fields.get(name).is_none_or(|other| other != value)
            };
            let all = old.clone();
            old.retain(|name, value| is_other(new, name, value));
            new.retain(|name, value| is_other(&all, name, value));
        }
        let (removed, added) = (users(before, after), users(after, before));
        if !removed.is_empty() || !added.is_empty() || action != Action::Update {
            if let Some(old) = &mut old {
                name_users(old, &removed);
            }
            if let Some(new) = &mut new {
                name_users(new, &added);
            }
        }
        let by = author.name().to_owned();
        let key = key.to_owned();
        Ok(Self { at_millis: author.at_millis, by, action, key, before: old, after: new })
    }
}

/// The fields of a flag, without its users and without what the entry says by itself: which flag it
/// is, who changed it and when.
fn fields(flag: &Flag) -> Result<Fields, FlagError> {
    let flag = Flag { users: BTreeSet::new(), ..flag.clone() };
    let value =
        serde_json::to_value(flag).map_err(|error| FlagError::Document(error.to_string()))?;
    let Value::Object(mut fields) = value else {
        return Err(FlagError::Document("a flag is no object".to_owned()));
    };
    for name in ["key", "users", "updated_at_millis", "updated_by"] {
        fields.remove(name);
    }
    Ok(fields)
}

/// The users of a flag that another has not.
fn users<'a>(flag: Option<&'a Flag>, other: Option<&Flag>) -> Vec<&'a String> {
    let is_only_here = |user: &&String| other.is_none_or(|other| !other.users.contains(*user));
    flag.into_iter().flat_map(|flag| &flag.users).filter(is_only_here).collect()
}

/// Adds users to fields: the first by name, the rest by number.
fn name_users(fields: &mut Fields, users: &[&String]) {
    let shown: Vec<_> = users.iter().take(MAX_AUDIT_USERS).map(|user| user.as_str()).collect();
    let left_out = users.len() - shown.len();
    fields.insert("users".to_owned(), Value::from(shown));
    if left_out > 0 {
        fields.insert("users_left_out".to_owned(), Value::from(left_out));
    }
}

impl fmt::Debug for AuditEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditEntry")
            .field("at_millis", &self.at_millis)
            .field("action", &self.action)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
