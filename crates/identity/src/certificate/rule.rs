//! What is granted to certificates of some name.
//!
//! A pattern for a subject is compared part by part, not as one text: `CN=runner-*,O=ci` asks for a
//! common name that begins with `runner-` and for the organisation `ci`, wherever the two stand and
//! whatever else there is. A star ends with its part, so that a value with a comma in it cannot
//! pretend to be two.

use std::collections::BTreeSet;

use super::names::CertificateNames;
use super::wildcard::{fits, fits_labels};
use crate::grant::Grant;
use crate::method::Method;
use crate::role::{Role, Tenants};

/// A rule.
#[derive(Debug, Clone)]
pub(crate) struct CertificateRule {
    pub(crate) subject: Option<SubjectPattern>,
    /// In small letters.
    pub(crate) dns: Option<String>,
    pub(crate) uri: Option<String>,
    pub(crate) roles: BTreeSet<Role>,
    pub(crate) tenants: Tenants,
}

impl CertificateRule {
    /// Whether it is about a certificate: all names that it has must fit.
    fn fits(&self, names: &CertificateNames) -> bool {
        self.subject.as_ref().is_none_or(|pattern| pattern.fits(&names.subject))
            && any(self.dns.as_deref(), &names.dns, fits_labels)
            && any(self.uri.as_deref(), &names.uri, fits)
    }
}

/// Whether there is no pattern, or one of the names fits it.
fn any(pattern: Option<&str>, names: &[String], fits: fn(&str, &str) -> bool) -> bool {
    pattern.is_none_or(|pattern| names.iter().any(|name| fits(pattern, name)))
}

/// What is granted to a certificate by the first rule that is about it.
pub(crate) fn granted(rules: &[CertificateRule], names: &CertificateNames) -> Option<Grant> {
    let rule = rules.iter().find(|rule| rule.fits(names))?;
    Some(Grant {
        name: names.text(),
        roles: rule.roles.clone(),
        tenants: rule.tenants.clone(),
        method: Some(Method::ClientCertificate),
    })
}

/// Parts that a subject must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubjectPattern(Vec<(String, String)>);

impl SubjectPattern {
    /// Reads `CN=runner-*,O=ci`. A backslash takes the meaning from what follows it, but a star is
    /// a star.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "expected parts of a subject such as CN=runner-*,O=ci";
        let mut parts = Vec::new();
        for part in split(text) {
            let (name, value) = part.split_once('=').ok_or(expected)?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                return Err(expected.to_owned());
            }
            parts.push((name.to_owned(), unescaped(value)));
        }
        if parts.is_empty() { Err(expected.to_owned()) } else { Ok(Self(parts)) }
    }

    fn fits(&self, subject: &[(String, String)]) -> bool {
        self.0.iter().all(|(wanted, pattern)| {
            subject
                .iter()
                .any(|(name, value)| name.eq_ignore_ascii_case(wanted) && fits(pattern, value))
        })
    }
}

/// Parts between commas that have no backslash before them.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_escaped) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        if letter == ',' && !is_escaped {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    parts.push(part);
    parts
}

fn unescaped(value: &str) -> String {
    let mut letters = value.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    text
}

#[cfg(test)]
mod tests {
    use rcgen::DnType;

    use super::super::names::tests::certificate;
    use super::*;
    use crate::settings::CertificateSettings;

    fn rule(text: &str) -> CertificateRule {
        let settings: CertificateSettings =
            kymo_yaml::from_str(&format!("{text}\nroles: [write]\ntenants: [ci]")).unwrap();
        settings.rule().unwrap()
    }

    fn names(subject: &[(DnType, &str)], dns: &[&str], uri: &[&str]) -> CertificateNames {
        CertificateNames::read(&certificate(subject, dns, uri)).unwrap()
    }

    #[test]
    fn parts_of_a_subject_fit_wherever_they_stand() {
        let runner =
            names(&[(DnType::OrganizationName, "ci"), (DnType::CommonName, "runner-1")], &[], &[]);
        for pattern in ["CN=runner-*", "O=ci, CN=runner-1", "cn=*,o=ci", "O=c*"] {
            assert!(rule(&format!("subject: '{pattern}'")).fits(&runner), "{pattern}");
        }
        for pattern in ["CN=runner", "CN=runner-*,O=prod", "OU=*", "CN=unner-*"] {
            assert!(!rule(&format!("subject: '{pattern}'")).fits(&runner), "{pattern}");
        }
    }

    #[test]
    fn a_comma_in_a_value_does_not_pretend_to_be_another_part() {
        let sly = names(
            &[(DnType::OrganizationName, "evil"), (DnType::CommonName, "runner-1,O=ci")],
            &[],
            &[],
        );
        assert!(!rule("subject: 'CN=runner-*,O=ci'").fits(&sly));
        assert!(rule(r"subject: 'CN=runner-1\,O=ci'").fits(&sly));
    }

    #[test]
    fn alternative_names_fit_and_all_that_are_given_must() {
        let spiffe = names(
            &[(DnType::CommonName, "x")],
            &["r1.ci.example", "other"],
            &["spiffe://ci/ns/runner"],
        );
        assert!(rule("dns: '*.CI.example'").fits(&spiffe));
        assert!(!rule("dns: '*.example'").fits(&spiffe));
        assert!(rule("uri: 'spiffe://ci/*'").fits(&spiffe));
        assert!(rule("subject: CN=x\nuri: 'spiffe://ci/*'").fits(&spiffe));
        assert!(!rule("subject: CN=y\nuri: 'spiffe://ci/*'").fits(&spiffe));
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = [rule("subject: CN=a"), rule("subject: CN=*")];
        let grant = granted(&rules, &names(&[(DnType::CommonName, "b")], &[], &[])).unwrap();
        assert_eq!((grant.name.as_str(), grant.tenant(None)), ("CN=b", Ok("ci")));
        assert_eq!(granted(&rules[..1], &names(&[(DnType::CommonName, "b")], &[], &[])), None);
    }

    #[test]
    fn a_rule_without_a_name_and_a_subject_without_parts_are_refused() {
        let settings = |text: &str| -> CertificateSettings {
            kymo_yaml::from_str(&format!("{text}\nroles: [write]")).unwrap()
        };
        for text in ["", "subject: ''", "subject: runner", "subject: 'CN='", "dns: ''"] {
            assert!(settings(text).rule().is_err(), "{text}");
        }
    }
}
