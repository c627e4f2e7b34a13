//! Parts of the file that are lists or have a shape of their own: `destinations`, `rules`, `users`, ….
//!
//! They have no flags and no variables; a value in them may refer to one: `${env:NAME}`.

use std::collections::BTreeMap;

use kymo_admit::rules::RuleSettings;
use kymo_edge::headers::HeaderSettings;
use kymo_forward::destination::DestinationSettings;
use kymo_identity::{CertificateSettings, OidcSettings, UserSettings};
use kymo_server::access::ListenerOptions;
use kymo_yaml::references::is_reference;
use kymo_yaml::{Entry, Node, from_node};
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

/// Instead of what nobody should see.
pub(crate) const HIDDEN: &str = "***";

/// Sections as they may be seen: secrets and what URLs have of them are hidden. A reference to a
/// variable is no secret, and stays.
pub(crate) fn without_secrets(entries: &[Entry]) -> Vec<Entry> {
    let mut entries = entries.to_vec();
    hide_in(&mut entries, "");
    entries
}

fn hide_in(entries: &mut [Entry], above: &str) {
    for entry in entries {
        if is_secret(above, &entry.key) {
            hide_all(&mut entry.node);
        } else {
            hide(&mut entry.node, &entry.key);
        }
    }
}

/// Hides what is secret in a value below a key.
fn hide(node: &mut Node, key: &str) {
    match node {
        Node::Null => {}
        Node::Scalar(scalar) => scalar.text = url_without_secrets(&scalar.text),
        Node::List(items) => items.iter_mut().for_each(|item| hide(&mut item.node, key)),
        Node::Map(entries) => hide_in(entries, key),
    }
}

/// Hides a value that is a secret, whatever shape it has.
fn hide_all(node: &mut Node) {
    match node {
        Node::Null => {}
        Node::Scalar(scalar) if is_reference(&scalar.text) => {}
        _ => *node = Node::text(HIDDEN),
    }
}

/// Whether the value of a key is not to be seen: by the key, or by the one above it.
fn is_secret(above: &str, key: &str) -> bool {
    matches!(key, "password" | "password_hash" | "bearer") || above == "headers"
}

/// A URL without user, password and query; anything else as it is.
pub(crate) fn url_without_secrets(text: &str) -> String {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    };
    let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme))
    else {
        return text.to_owned();
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, format!("?{HIDDEN}")),
        None => (rest, String::new()),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{query}"),
        None => format!("{scheme}://{rest}{query}"),
    }
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
    fn secrets_are_hidden_wherever_they_stand_and_references_stay() {
        let text = "destinations:\n  - name: a\n    endpoint: https://ada:hush@x.test/y?token=hush\n    \
                    bearer: hush\n    headers: {x: hush, team: '${env:TOKEN}', z: '${env:T:-hush}'}\n    \
                    basic: {username: ada, password: [hush]}\n    tenants: [[http://u:hush@z]]\n\
                    users:\n  - {name: ada, password_hash: hush, password: , password_file: /p}\n\
                    rules:\n  - {where: 'name = \"a://b?c\"'}\n";
        let entries = kymo_yaml::parse(text).unwrap();
        let shown = kymo_yaml::write::write(&without_secrets(&entries));
        assert!(!shown.contains("hush"), "{shown}");
        for part in [
            "endpoint: 'https://***@x.test/y?***'\n",
            "bearer: '***'\n",
            "team: '${env:TOKEN}'\n",
            "username: ada\n",
            "password_file: /p\n",
            "where: 'name = \"a://b?c\"'\n",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
        assert!(kymo_yaml::parse(&shown).is_ok(), "{shown}");
    }

    #[test]
    fn urls_lose_what_may_be_secret() {
        let shown = url_without_secrets;
        assert_eq!(shown("s3://key:secret@bucket/x?token=t"), "s3://***@bucket/x?***");
        assert_eq!(shown("https://u:a/b@c@host/x"), "https://***@host/x");
        assert_eq!(shown("s3://bucket/x"), "s3://bucket/x");
        assert_eq!(shown("/a/b@c?d"), "/a/b@c?d");
    }
}
