//! Parts of the file that are lists or have a shape of their own: `destinations`, `rules`, `users`, ….
//!
//! They have no flags and no variables; a value in them may refer to one: `${env:NAME}`.

use std::collections::BTreeMap;

use kymo_admit::rules::RuleSettings;
use kymo_edge::headers::HeaderSettings;
use kymo_forward::destination::DestinationSettings;
use kymo_identity::{CertificateSettings, OidcSettings, UserSettings};
use kymo_server::access::ListenerOptions;
use kymo_yaml::{Entry, from_node};
use serde::de::DeserializeOwned;

use super::file::Reader;

/// The keys of all of them.
pub(crate) const NAMES: [&str; 7] = [
    "destinations",
    "rules",
    "listeners",
    "users",
    "client_certificates",
    "oidc",
    "security_headers",
];

/// What a file says in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sections {
    pub(crate) destinations: Vec<DestinationSettings>,
    pub(crate) rules: Vec<RuleSettings>,
    pub(crate) listeners: BTreeMap<String, ListenerOptions>,
    pub(crate) users: Vec<UserSettings>,
    pub(crate) client_certificates: Vec<CertificateSettings>,
    pub(crate) oidc: Option<OidcSettings>,
    pub(crate) security_headers: HeaderSettings,
}

/// Whether a key at the top of a file is one of them.
pub(crate) fn is_one(key: &str) -> bool {
    NAMES.contains(&key)
}

impl Sections {
    /// Reads one of them.
    pub(crate) fn read(&mut self, reader: &mut Reader<'_>, entry: &Entry) {
        match entry.key.as_str() {
            "destinations" => self.destinations = value(reader, entry),
            "rules" => self.rules = value(reader, entry),
            "listeners" => self.listeners = value(reader, entry),
            "users" => self.users = value(reader, entry),
            "client_certificates" => self.client_certificates = value(reader, entry),
            "oidc" => self.oidc = value(reader, entry),
            _ => self.security_headers = value(reader, entry),
        }
    }
}

/// The value of a key; its default if there is none, or if it is wrong, which is told.
fn value<T: DeserializeOwned + Default>(reader: &mut Reader<'_>, entry: &Entry) -> T {
    match from_node::<Option<T>>(&entry.node, entry.at) {
        Ok(value) => value.unwrap_or_default(),
        Err(problem) => {
            reader.problem_of(&problem.below(&entry.key, entry.key_at));
            T::default()
        }
    }
}

/// Whether a value of a section is not to be seen: by the last of the keys above it.
pub(crate) fn is_secret(path: &str) -> bool {
    let mut keys = path.rsplit('.');
    let last = keys.next().unwrap_or_default();
    matches!(last, "password" | "password_hash" | "bearer") || keys.next() == Some("headers")
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Inputs, resolve_inputs};
    use super::*;

    fn problems(file: &str) -> Vec<String> {
        let config_file = Some(("k.yaml".into(), file.into()));
        let resolved = resolve_inputs(Inputs { config_file, ..Inputs::default() });
        resolved.unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_typo_in_a_section_is_told_with_its_place_and_what_was_meant() {
        assert_eq!(
            problems("destinations:\n  - name: a\n    protocol: grpc\n    endpont: http://x:1\n"),
            ["k.yaml:4:5: destinations[0]: endpont is not a key here; did you mean endpoint?"]
        );
        assert_eq!(
            problems("destinatons: []\n"),
            ["k.yaml:1:1: destinatons is not a setting; did you mean destinations?"]
        );
    }

    #[test]
    fn what_is_secret_is_known_by_its_key() {
        for path in ["destinations.basic.password", "destinations.bearer", "destinations.headers.x"]
        {
            assert!(is_secret(path), "{path}");
        }
        assert!(!is_secret("users.password_file") && !is_secret("destinations.endpoint"));
    }
}
