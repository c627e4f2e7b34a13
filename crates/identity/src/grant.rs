//! What somebody may do who has said who he is.
//!
//! A request names its tenant by the header `X-Scope-OrgID`, or lets the grant name it: a token of
//! one tenant means that tenant. A header that names another one is refused, never overruled: the
//! sender would look for his data in the wrong place.

use std::collections::BTreeSet;

use crate::denied::Denied;
use crate::method::Method;
use crate::role::{Role, Tenants};

/// The tenant of a request that names none, from somebody who is not bound to one.
pub const DEFAULT_TENANT: &str = "default";

/// Who somebody is and what he may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Who: the user's name, the token's name, the certificate's subject.
    pub name: String,
    /// What he may do.
    pub roles: BTreeSet<Role>,
    /// Where.
    pub tenants: Tenants,
    /// How he proved it; nothing where nobody is asked.
    pub method: Option<Method>,
}

impl Grant {
    /// What everybody has where nobody is asked who he is: all of it.
    #[must_use]
    pub fn open() -> Self {
        Self {
            name: "anonymous".to_owned(),
            roles: BTreeSet::from([Role::Admin]),
            tenants: Tenants::All,
            method: None,
        }
    }

    /// Whether he has a role at all, for some tenant.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.roles.iter().any(|held| held.includes(role))
    }

    /// Whether he may do what a role allows, for a tenant.
    #[must_use]
    pub fn may(&self, role: Role, tenant: &str) -> bool {
        self.has(role) && self.tenants.contains(tenant)
    }

    /// Whether he may read all of these together. Nothing cannot be read.
    #[must_use]
    pub fn may_read_all<T: AsRef<str>>(&self, tenants: &[T]) -> bool {
        !tenants.is_empty() && tenants.iter().all(|tenant| self.may(Role::Read, tenant.as_ref()))
    }

    /// Insists that he may do what a role allows for all tenants: an admin of some of them may not
    /// change what concerns all.
    ///
    /// # Errors
    ///
    /// [`Denied::Role`] or [`Denied::AllTenants`].
    pub fn require_all(&self, role: Role) -> Result<(), Denied> {
        if !self.has(role) {
            return Err(Denied::Role { role });
        }
        if self.tenants == Tenants::All { Ok(()) } else { Err(Denied::AllTenants { role }) }
    }

    /// Whether he may hand these on to others: only an admin, and only of what is his.
    #[must_use]
    pub fn may_give(&self, roles: &BTreeSet<Role>, tenants: &Tenants) -> bool {
        self.has(Role::Admin)
            && roles.iter().all(|role| self.has(*role))
            && self.tenants.covers(tenants)
    }

    /// The tenant that a request is about: the one it names, else the only one of the grant, else
    /// `default`.
    ///
    /// # Errors
    ///
    /// [`Denied::Tenant`] if the grant is not for it.
    pub fn tenant<'a>(&'a self, asked: Option<&'a str>) -> Result<&'a str, Denied> {
        let asked = asked.map(str::trim).filter(|name| !name.is_empty());
        let tenant = asked.or_else(|| self.tenants.sole()).unwrap_or(DEFAULT_TENANT);
        if self.tenants.contains(tenant) {
            return Ok(tenant);
        }
        Err(Denied::Tenant { tenant: tenant.to_owned(), is_named: asked.is_some() })
    }

    /// Insists that he may do what a role allows, for a tenant.
    ///
    /// # Errors
    ///
    /// [`Denied::Role`] or [`Denied::Tenant`].
    pub fn require(&self, role: Role, tenant: &str) -> Result<(), Denied> {
        if !self.has(role) {
            return Err(Denied::Role { role });
        }
        self.tenant(Some(tenant)).map(|_| ())
    }

    /// Insists that he may read all of these together.
    ///
    /// # Errors
    ///
    /// [`Denied::Role`], or [`Denied::Tenant`] of the first that he may not read.
    pub fn require_read_all<T: AsRef<str>>(&self, tenants: &[T]) -> Result<(), Denied> {
        tenants.iter().try_for_each(|tenant| self.require(Role::Read, tenant.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(roles: &[Role], tenants: &[&str]) -> Grant {
        Grant {
            name: "ada".to_owned(),
            roles: roles.iter().copied().collect(),
            tenants: Tenants::from(tenants.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()),
            method: Some(Method::Basic),
        }
    }

    #[test]
    fn a_role_holds_for_the_tenants_of_the_grant_only() {
        let reader = grant(&[Role::Read], &["a", "b"]);
        assert!(reader.may(Role::Read, "a"));
        assert!(!reader.may(Role::Read, "c"));
        assert!(!reader.may(Role::Write, "a"));
        assert!(reader.may_read_all(&["a", "b"]));
        assert!(!reader.may_read_all(&["a", "c"]));
        assert!(!reader.may_read_all::<&str>(&[]));
        assert_eq!(reader.require_read_all(&["a", "b"]), Ok(()));
        let other = Denied::Tenant { tenant: "c".to_owned(), is_named: true };
        assert_eq!(reader.require_read_all(&["a", "c", "d"]), Err(other));
        assert_eq!(reader.require(Role::Write, "a"), Err(Denied::Role { role: Role::Write }));
        assert!(matches!(reader.require(Role::Read, "c"), Err(Denied::Tenant { .. })));
        assert_eq!(reader.require(Role::Read, "b"), Ok(()));
    }

    #[test]
    fn a_grant_for_one_tenant_means_it_and_a_header_cannot_name_another() {
        let token = grant(&[Role::Write], &["ci"]);
        assert_eq!(token.tenant(None), Ok("ci"));
        assert_eq!(token.tenant(Some("  ")), Ok("ci"));
        assert_eq!(token.tenant(Some("ci")), Ok("ci"));
        let other = token.tenant(Some("prod")).unwrap_err();
        assert_eq!(other.status(), http::StatusCode::FORBIDDEN);
        assert_eq!(grant(&[Role::Read], &["*"]).tenant(None), Ok("default"));
        assert_eq!(grant(&[Role::Read], &["a", "default"]).tenant(None), Ok("default"));
        let unnamed = grant(&[Role::Read], &["a", "b"]);
        assert!(unnamed.tenant(None).unwrap_err().to_string().contains("X-Scope-OrgID"));
    }

    #[test]
    fn an_admin_of_some_tenants_cannot_give_more_than_he_has() {
        let admin = grant(&[Role::Admin], &["a"]);
        let of = |roles: &[Role], tenants| {
            let given = grant(roles, tenants);
            admin.may_give(&given.roles, &given.tenants)
        };
        assert!(of(&[Role::Write, Role::Admin], &["a"]));
        assert!(!of(&[Role::Write], &["b"]));
        assert!(!of(&[Role::Write], &["*"]));
        let all = Denied::AllTenants { role: Role::Admin };
        assert_eq!(admin.require_all(Role::Admin), Err(all));
        assert_eq!(Grant::open().require_all(Role::Admin), Ok(()));
        let reader = grant(&[Role::Read], &["*"]);
        assert_eq!(reader.require_all(Role::Read), Ok(()));
        assert_eq!(reader.require_all(Role::Admin), Err(Denied::Role { role: Role::Admin }));
        assert!(!reader.may_give(&reader.roles, &reader.tenants));
    }
}
