//! What the configuration says of users, certificates and identity providers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use kymo_yaml::Secret;
use serde::Deserialize;
use thiserror::Error;

use crate::method::Methods;
use crate::role::{Role, Tenants};

/// The keys of the configuration that are about identity.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdentitySettings {
    /// What all listeners accept.
    pub auth: Methods,
    /// Who has a password.
    pub users: Vec<UserSettings>,
    /// What is granted to certificates; the first that fits holds.
    pub client_certificates: Vec<CertificateSettings>,
    /// Whose tokens are accepted beside ours.
    pub oidc: Option<OidcSettings>,
}

/// Somebody who has a password.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSettings {
    /// His name, without a colon.
    pub name: String,
    /// The password itself.
    #[serde(default)]
    pub password: Option<Secret>,
    /// Or its hash, `pbkdf2-sha256$…`.
    #[serde(default)]
    pub password_hash: Option<Secret>,
    /// Or a file that has one of the two on its first line; read again when it changes.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// What he may do.
    pub roles: BTreeSet<Role>,
    /// Where.
    #[serde(default)]
    pub tenants: Tenants,
}

/// What is granted to certificates of some name. All the names that are given must fit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateSettings {
    /// Parts of the subject, `CN=runner-*,O=ci`.
    #[serde(default)]
    pub subject: Option<String>,
    /// An alternative name for DNS, `*.ci.example`.
    #[serde(default)]
    pub dns: Option<String>,
    /// An alternative name that is a URI, `spiffe://ci/*`.
    #[serde(default)]
    pub uri: Option<String>,
    /// What they may do.
    pub roles: BTreeSet<Role>,
    /// Where.
    #[serde(default)]
    pub tenants: Tenants,
}

/// An identity provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcSettings {
    /// Its name, a URL, as it stands in its tokens.
    pub issuer: String,
    /// Whom tokens must be for.
    pub audience: String,
    /// Where its keys are; otherwise its description says that
    /// (`<issuer>/.well-known/openid-configuration`).
    #[serde(default)]
    pub jwks_url: Option<String>,
    /// The claim with the roles; dots are levels, `realm_access.roles`.
    #[serde(default = "roles_claim")]
    pub roles_claim: String,
    /// The claim with the tenants. Tokens without it are then refused.
    #[serde(default)]
    pub tenants_claim: Option<String>,
    /// The claim with the name.
    #[serde(default = "user_claim")]
    pub user_claim: String,
    /// What its roles are here; otherwise they are called as ours.
    #[serde(default)]
    pub roles: BTreeMap<String, BTreeSet<Role>>,
    /// Where the roles hold if no claim says it.
    #[serde(default)]
    pub tenants: Tenants,
}

fn roles_claim() -> String {
    "roles".to_owned()
}

fn user_claim() -> String {
    "sub".to_owned()
}

/// A setting that cannot be used. The message has no value that could be secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {why}")]
pub struct WrongSetting {
    /// The key, `users[1].password_hash`.
    pub key: String,
    /// What is wrong with it, and what was expected.
    pub why: String,
}

impl WrongSetting {
    pub(crate) fn new(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self { key: key.into(), why: why.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_configuration_is_read() {
        let text = "
auth: [basic, bearer, client-certificate, oidc]
users:
  - {name: ada, password: secret, roles: [read, admin]}
  - {name: bob, password_file: /run/secrets/bob, roles: [write], tenants: [a, b]}
client_certificates:
  - {subject: 'CN=runner-*', roles: [write], tenants: [ci]}
oidc:
  issuer: https://idp.example/realms/main
  audience: kymo
  roles_claim: realm_access.roles
  roles: {staff: [read, write]}
";
        let settings = kymo_yaml::from_str::<IdentitySettings>(text).unwrap();
        assert_eq!(settings.check(), []);
        assert_eq!(settings.users[0].tenants, Tenants::All);
        assert_eq!(settings.oidc.unwrap().user_claim, "sub");
    }

    #[test]
    fn neither_debug_nor_problems_show_a_password() {
        let text = "users: [{name: a, password: hunter2, password_hash: hunter3, roles: []}]";
        let settings = kymo_yaml::from_str::<IdentitySettings>(text).unwrap();
        let shown = format!("{settings:?} {:?}", settings.check());
        assert!(!shown.contains("hunter"), "{shown}");
    }
}
