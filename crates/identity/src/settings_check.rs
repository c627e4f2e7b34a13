//! What is wrong with settings: all of it, each with its key, without values that could be secret.

use std::collections::BTreeSet;

use crate::certificate::rule::{CertificateRule, SubjectPattern};
use crate::limits::{MAX_CERTIFICATE_RULES, MAX_NAME_BYTES, MAX_PASSWORD_BYTES, MAX_USERS};
use crate::method::Method;
use crate::oidc::address;
use crate::password::PasswordHash;
use crate::role::{Role, Tenants};
use crate::settings::{
    CertificateSettings, IdentitySettings, OidcSettings, UserSettings, WrongSetting,
};

impl IdentitySettings {
    /// Everything that is wrong. Files are not read.
    #[must_use]
    pub fn check(&self) -> Vec<WrongSetting> {
        let mut wrong = Vec::new();
        self.check_users(&mut wrong);
        self.check_certificates(&mut wrong);
        if let Some(oidc) = &self.oidc {
            oidc.check(&mut wrong);
        }
        wrong.extend(self.check_methods("auth", &self.auth));
        wrong
    }

    /// Ways that are accepted under a key, of which nobody could use one: those that need users,
    /// certificates or a provider that are not there. Tokens can come later.
    #[must_use]
    pub fn check_methods(&self, key: &str, methods: &[Method]) -> Vec<WrongSetting> {
        let missing = |method: &&Method| match method {
            Method::Basic => self.users.is_empty(),
            Method::ClientCertificate => self.client_certificates.is_empty(),
            Method::Oidc => self.oidc.is_none(),
            Method::Bearer => false,
        };
        let describe = |method: &Method| {
            let needed = match method {
                Method::Basic => "users",
                Method::ClientCertificate => "client_certificates",
                _ => "oidc",
            };
            WrongSetting::new(key, format!("{method} needs the key {needed}, which is not there"))
        };
        methods.iter().filter(missing).map(describe).collect()
    }

    /// What is set for ways that no listener accepts, of those that are listed: it would do nothing,
    /// and whoever set it would believe that it does.
    #[must_use]
    pub fn check_used(&self, accepted: &[Method]) -> Vec<WrongSetting> {
        let set = [
            ("users", Method::Basic, !self.users.is_empty()),
            (
                "client_certificates",
                Method::ClientCertificate,
                !self.client_certificates.is_empty(),
            ),
            ("oidc", Method::Oidc, self.oidc.is_some()),
        ];
        let unused = set.into_iter().filter(|(_, way, is_set)| *is_set && !accepted.contains(way));
        let describe = |(key, method, _): (&str, Method, bool)| {
            let why = format!(
                "no address asks for {}, so this does nothing: add {method} to auth, or to auth \
                 of a listener, or take it away",
                method.wanted()
            );
            WrongSetting::new(key, why)
        };
        unused.map(describe).collect()
    }

    fn check_users(&self, wrong: &mut Vec<WrongSetting>) {
        if self.users.len() > MAX_USERS {
            wrong.push(WrongSetting::new("users", format!("expected at most {MAX_USERS}")));
        }
        let mut names = BTreeSet::new();
        for (nth, user) in self.users.iter().enumerate() {
            let key = format!("users[{nth}]");
            user.check(&key, wrong);
            if !names.insert(user.name.as_str()) {
                let why = format!("there are two users of the name {:?}", user.name);
                wrong.push(WrongSetting::new(format!("{key}.name"), why));
            }
        }
    }

    fn check_certificates(&self, wrong: &mut Vec<WrongSetting>) {
        if self.client_certificates.len() > MAX_CERTIFICATE_RULES {
            let why = format!("expected at most {MAX_CERTIFICATE_RULES}");
            wrong.push(WrongSetting::new("client_certificates", why));
        }
        for (nth, settings) in self.client_certificates.iter().enumerate() {
            let key = format!("client_certificates[{nth}]");
            check_grant(&key, &settings.roles, &settings.tenants, wrong);
            if let Err(why) = settings.rule() {
                wrong.push(WrongSetting::new(key, why));
            }
        }
    }
}

impl UserSettings {
    fn check(&self, key: &str, wrong: &mut Vec<WrongSetting>) {
        let mut add =
            |name: &str, why: String| wrong.push(WrongSetting::new(format!("{key}.{name}"), why));
        let is_control = |name: &str| name.chars().any(char::is_control);
        if self.name.is_empty() || self.name.len() > MAX_NAME_BYTES || is_control(&self.name) {
            add("name", format!("expected 1 to {MAX_NAME_BYTES} printable bytes"));
        } else if self.name.contains(':') {
            add("name", "a user's name cannot have a colon, which ends it in requests".to_owned());
        }
        if let Some(password) = &self.password {
            if password.reveal().is_empty() || password.reveal().len() > MAX_PASSWORD_BYTES {
                add("password", format!("expected 1 to {MAX_PASSWORD_BYTES} bytes"));
            } else if PasswordHash::is_meant(password.reveal()) {
                add("password", "this is a hash; the key for it is password_hash".to_owned());
            }
        }
        if let Some(Err(why)) =
            self.password_hash.as_ref().map(|hash| PasswordHash::parse(hash.reveal()))
        {
            add("password_hash", why.to_string());
        }
        let ways =
            [self.password.is_some(), self.password_hash.is_some(), self.password_file.is_some()];
        if ways.into_iter().filter(|is_given| *is_given).count() != 1 {
            let why = "expected exactly one of password, password_hash, password_file";
            wrong.push(WrongSetting::new(key, why));
        }
        check_grant(key, &self.roles, &self.tenants, wrong);
    }
}

impl CertificateSettings {
    /// The rule that they are, or why they are none.
    pub(crate) fn rule(&self) -> Result<CertificateRule, String> {
        if self.subject.is_none() && self.dns.is_none() && self.uri.is_none() {
            return Err("expected subject, dns or uri".to_owned());
        }
        for (key, pattern) in [("dns", &self.dns), ("uri", &self.uri)] {
            if pattern.as_ref().is_some_and(|pattern| pattern.is_empty()) {
                return Err(format!(
                    "{key} is empty; expected a name, in which * stands for any characters"
                ));
            }
        }
        let subject = self.subject.as_deref().map(SubjectPattern::parse).transpose()?;
        Ok(CertificateRule {
            subject,
            dns: self.dns.as_ref().map(|pattern| pattern.to_ascii_lowercase()),
            uri: self.uri.clone(),
            roles: self.roles.clone(),
            tenants: self.tenants.clone(),
        })
    }
}

impl OidcSettings {
    fn check(&self, wrong: &mut Vec<WrongSetting>) {
        let mut add =
            |name: &str, why: String| wrong.push(WrongSetting::new(format!("oidc.{name}"), why));
        if let Err(why) = address::check(&self.issuer) {
            add("issuer", why);
        }
        if let Some(Err(why)) = self.jwks_url.as_deref().map(address::check) {
            add("jwks_url", why);
        }
        // Without it, tokens that were made for other programs would be accepted.
        if self.audience.is_empty() {
            add("audience", "expected whom tokens are made for, as the provider calls it".into());
        }
        let tenants_claim = self.tenants_claim.as_deref().unwrap_or("-");
        let claims = [
            ("roles_claim", self.roles_claim.as_str()),
            ("tenants_claim", tenants_claim),
            ("user_claim", &self.user_claim),
        ];
        for (key, claim) in claims {
            if claim.is_empty() {
                add(key, "expected the name of a claim".to_owned());
            }
        }
        if let Some((role, _)) = self.roles.iter().find(|(_, roles)| roles.is_empty()) {
            add("roles", format!("{role:?} stands for nothing; expected write, read or admin"));
        }
        if let Err(why) = self.tenants.check() {
            add("tenants", why);
        }
    }
}

fn check_grant(
    key: &str,
    roles: &BTreeSet<Role>,
    tenants: &Tenants,
    wrong: &mut Vec<WrongSetting>,
) {
    if roles.is_empty() {
        let why = "expected some of write, read, admin";
        wrong.push(WrongSetting::new(format!("{key}.roles"), why));
    }
    if let Err(why) = tenants.check() {
        wrong.push(WrongSetting::new(format!("{key}.tenants"), why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let settings = kymo_yaml::from_str::<IdentitySettings>(text).unwrap();
        settings.check().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_nobody_could_log_in_with_is_told() {
        assert_eq!(
            problems("auth: [basic, bearer, client-certificate, oidc]"),
            [
                "auth: basic needs the key users, which is not there",
                "auth: client-certificate needs the key client_certificates, which is not there",
                "auth: oidc needs the key oidc, which is not there",
            ]
        );
    }

    #[test]
    fn what_no_listener_asks_for_is_told() {
        let text = "
users: [{name: ada, password: x, roles: [read]}]
client_certificates: [{subject: CN=a, roles: [write]}]
oidc: {issuer: 'https://idp.example', audience: kymo}
";
        let settings = kymo_yaml::from_str::<IdentitySettings>(text).unwrap();
        let keys = |accepted: &[Method]| -> Vec<String> {
            settings.check_used(accepted).into_iter().map(|wrong| wrong.key).collect()
        };
        assert_eq!(keys(&[]), ["users", "client_certificates", "oidc"]);
        assert_eq!(keys(&[Method::Basic, Method::Bearer]), ["client_certificates", "oidc"]);
        assert!(keys(&[Method::Oidc, Method::Basic, Method::ClientCertificate]).is_empty());
        let why = settings.check_used(&[])[0].to_string();
        assert!(why.contains("add basic to auth"), "{why}");
        assert_eq!(IdentitySettings::default().check_used(&[]), []);
    }

    #[test]
    fn wrong_users_are_told_apart_by_their_place() {
        let text = "
users:
  - {name: 'a:b', password: x, roles: [read]}
  - {name: bob, roles: [read]}
  - {name: bob, password: x, password_hash: y, roles: []}
  - {name: eve, password: 'pbkdf2-sha256$1$2$3', roles: [read], tenants: ['a*']}
";
        let found = problems(text).join("\n");
        for part in [
            "users[0].name: a user's name cannot have a colon",
            "users[1]: expected exactly one of",
            "users[2].password_hash: ",
            "users[2]: expected exactly one of",
            "users[2].roles: expected some of",
            "users[2].name: there are two users",
            "users[3].password: this is a hash",
            "users[3].tenants: \"a*\" is not a name",
        ] {
            assert!(found.contains(part), "{part} is not in:\n{found}");
        }
    }

    #[test]
    fn a_provider_is_reached_safely_and_for_somebody() {
        let text = "oidc: {issuer: 'http://idp.example', audience: '', jwks_url: 'ftp://x'}";
        let found = problems(text).join("\n");
        for key in ["oidc.issuer: ", "oidc.audience: ", "oidc.jwks_url: "] {
            assert!(found.contains(key), "{key} is not in:\n{found}");
        }
        assert_eq!(problems("oidc: {issuer: 'http://127.0.0.1:8080/x', audience: k}").len(), 0);
    }
}
