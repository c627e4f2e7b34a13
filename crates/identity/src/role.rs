//! Roles, and the tenants that they hold for.
//!
//! A role is what one may do; where is a set of tenants. `admin` includes the other two: who can
//! make tokens could give them to himself anyway.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_TENANT_BYTES, MAX_TENANTS_NAMED};

/// What one may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Send telemetry.
    Write,
    /// Query it.
    Read,
    /// All of it, and change settings: tokens, who is recorded, limits.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Write, Self::Read, Self::Admin];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }

    /// What a word means.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// Whether who has this one may do what the other one allows.
    #[must_use]
    pub fn includes(self, other: Self) -> bool {
        self == other || self == Self::Admin
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Tenants that roles hold for. In settings and JSON a list of names, in which `*` means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub enum Tenants {
    /// All, those too that come later.
    #[default]
    All,
    /// These.
    Named(BTreeSet<String>),
}

impl Tenants {
    /// What stands for all of them.
    pub const ANY: &str = "*";

    /// Whether a tenant is among them.
    #[must_use]
    pub fn contains(&self, tenant: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(tenant),
        }
    }

    /// Whether all of the others are among them.
    #[must_use]
    pub fn covers(&self, others: &Self) -> bool {
        match (self, others) {
            (Self::All, _) => true,
            (Self::Named(_), Self::All) => false,
            (Self::Named(names), Self::Named(others)) => others.is_subset(names),
        }
    }

    /// The tenant, if it is one only.
    #[must_use]
    pub fn sole(&self) -> Option<&str> {
        match self {
            Self::Named(names) if names.len() == 1 => names.first().map(String::as_str),
            _ => None,
        }
    }

    /// Says what is wrong with them: names that a request cannot have.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self::Named(names) = self else { return Ok(()) };
        if names.is_empty() {
            return Err("names no tenant; expected names, or \"*\" for all".to_owned());
        }
        if names.len() > MAX_TENANTS_NAMED {
            return Err(format!("names more than {MAX_TENANTS_NAMED} tenants; use \"*\""));
        }
        names.iter().try_for_each(|name| check_name(name))
    }
}

/// What may be the name of a tenant is decided at admission. Here a star is refused as well: it
/// looks like a pattern, and there are none.
fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |found: char| matches!(found, ' '..='~') && found != '|';
    if name.is_empty() || name.len() > MAX_TENANT_BYTES || !name.chars().all(is_allowed) {
        return Err(format!(
            "{name:?} cannot be a tenant; expected 1 to {MAX_TENANT_BYTES} printable ASCII \
             characters without a bar"
        ));
    }
    if name.contains('*') {
        return Err(format!(
            "{name:?} is not a name; expected whole names, or \"*\" alone for all"
        ));
    }
    Ok(())
}

impl From<Vec<String>> for Tenants {
    fn from(names: Vec<String>) -> Self {
        if names.iter().any(|name| name == Self::ANY) {
            return Self::All;
        }
        Self::Named(names.into_iter().collect())
    }
}

impl From<Tenants> for Vec<String> {
    fn from(tenants: Tenants) -> Self {
        match tenants {
            Tenants::All => vec![Tenants::ANY.to_owned()],
            Tenants::Named(names) => names.into_iter().collect(),
        }
    }
}

impl fmt::Display for Tenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str(Self::ANY),
            Self::Named(names) => {
                for (nth, name) in names.iter().enumerate() {
                    write!(f, "{}{name}", if nth == 0 { "" } else { "|" })?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Tenants {
        Tenants::from(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn admin_includes_the_other_roles_and_they_include_nothing() {
        for role in Role::ALL {
            assert!(Role::Admin.includes(role));
            assert_eq!(Role::of(role.word()), Some(role));
            assert_eq!(Role::Read.includes(role), role == Role::Read);
        }
        assert_eq!(Role::of("Admin"), None);
    }

    #[test]
    fn a_star_in_a_list_means_all_tenants() {
        assert_eq!(named(&["a", "*"]), Tenants::All);
        assert!(Tenants::All.contains("anything"));
        assert!(!named(&["a"]).contains("b"));
        assert_eq!(serde_json::to_string(&Tenants::All).unwrap(), r#"["*"]"#);
        assert_eq!(
            serde_json::from_str::<Tenants>(r#"["b","a","b"]"#).unwrap(),
            named(&["a", "b"])
        );
    }

    #[test]
    fn named_tenants_never_cover_all() {
        assert!(Tenants::All.covers(&named(&["a"])));
        assert!(!named(&["a"]).covers(&Tenants::All));
        assert!(named(&["a", "b"]).covers(&named(&["b"])));
        assert!(!named(&["a"]).covers(&named(&["a", "b"])));
    }

    #[test]
    fn patterns_and_names_that_no_request_can_have_are_refused() {
        assert!(named(&[]).check().is_err());
        for name in ["team-*", "a|b", "", "b\u{fc}ro", &"x".repeat(65)] {
            assert!(named(&[name]).check().is_err(), "{name:?}");
        }
        assert_eq!(named(&["team a"]).check(), Ok(()));
    }
}
