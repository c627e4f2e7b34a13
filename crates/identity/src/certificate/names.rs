//! Whose a certificate is: its subject as text (RFC 4514), and its alternative names.

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::AttributeTypeAndValue;

use crate::limits::{MAX_ALTERNATIVE_NAMES, MAX_CERTIFICATE_BYTES, MAX_CERTIFICATE_NAME_BYTES};

/// What attributes of a subject are called.
const TYPES: [(&str, &str); 11] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.5", "serialNumber"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// The names of a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateNames {
    /// Attributes of the subject, the most special first: `("CN", "runner-1")`, `("O", "ci")`.
    pub subject: Vec<(String, String)>,
    /// Names for DNS, in small letters.
    pub dns: Vec<String>,
    /// Names that are URIs.
    pub uri: Vec<String>,
}

impl CertificateNames {
    /// Reads a certificate (DER); none if it is none.
    #[must_use]
    pub fn read(der: &[u8]) -> Option<Self> {
        if der.len() > MAX_CERTIFICATE_BYTES {
            return None;
        }
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let mut subject: Vec<_> = certificate.subject().iter_attributes().map(attribute).collect();
        // As people write it, and as RFC 4514 has it: the other way round.
        subject.reverse();
        let mut names = Self { subject, ..Self::default() };
        // An extension that cannot be read is an error rather than a certificate without names.
        if let Some(extension) = certificate.subject_alternative_name().ok()? {
            let listed = extension.value.general_names.iter().take(MAX_ALTERNATIVE_NAMES);
            for name in listed {
                match name {
                    GeneralName::DNSName(name) => names.dns.push(name.to_ascii_lowercase()),
                    GeneralName::URI(name) => names.uri.push((*name).to_owned()),
                    _ => {}
                }
            }
        }
        let values = names.subject.iter().map(|(_, value)| value);
        let mut all = values.chain(&names.dns).chain(&names.uri);
        all.all(|name| name.len() <= MAX_CERTIFICATE_NAME_BYTES).then_some(names)
    }

    /// The subject as text, `CN=runner-1,O=ci`; where there is none, the first alternative name.
    #[must_use]
    pub fn text(&self) -> String {
        if self.subject.is_empty() {
            let other = self.uri.first().or(self.dns.first());
            return other.cloned().unwrap_or_else(|| "a certificate without a name".to_owned());
        }
        let parts: Vec<String> =
            self.subject.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        parts.join(",")
    }
}

/// An attribute by its short name or its number; a value that is no text as its bytes.
fn attribute(attribute: &AttributeTypeAndValue<'_>) -> (String, String) {
    let number = attribute.attr_type().to_id_string();
    let known = TYPES.iter().find(|(known, _)| *known == number);
    let name = known.map_or(number, |(_, name)| (*name).to_owned());
    let value = attribute.as_str().map_or_else(
        |_| {
            let hex: String =
                attribute.as_slice().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("#{hex}")
        },
        str::to_owned,
    );
    (name, value)
}

/// With a backslash before what has a meaning in the text of a subject, and control characters as
/// numbers.
fn escaped(value: &str) -> String {
    let last = value.chars().count().saturating_sub(1);
    let mut text = String::with_capacity(value.len());
    for (at, letter) in value.chars().enumerate() {
        let is_special = matches!(letter, '"' | '+' | ',' | ';' | '<' | '>' | '\\' | '=')
            || (at == 0 && matches!(letter, ' ' | '#'))
            || (at == last && letter == ' ');
        if letter.is_control() {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                text.push_str(&format!("\\{byte:02X}"));
            }
            continue;
        }
        if is_special {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};

    use super::*;

    /// A certificate of a subject (the most general first) and alternative names.
    pub(crate) fn certificate(subject: &[(DnType, &str)], dns: &[&str], uri: &[&str]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (name, value) in subject {
            params.distinguished_name.push(name.clone(), *value);
        }
        let dns = dns.iter().map(|name| SanType::DnsName((*name).try_into().unwrap()));
        let uri = uri.iter().map(|name| SanType::URI((*name).try_into().unwrap()));
        params.subject_alt_names = dns.chain(uri).collect();
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_subject_is_written_with_the_most_special_part_first() {
        let subject = [
            (DnType::CountryName, "DE"),
            (DnType::OrganizationName, "ci"),
            (DnType::CommonName, "runner-1"),
        ];
        let names =
            CertificateNames::read(&certificate(&subject, &["A.Example"], &["spiffe://ci/r"]))
                .unwrap();
        assert_eq!(names.text(), "CN=runner-1,O=ci,C=DE");
        assert_eq!(names.dns, ["a.example"]);
        assert_eq!(names.uri, ["spiffe://ci/r"]);
    }

    #[test]
    fn a_value_cannot_look_like_another_attribute() {
        let subject = [(DnType::CommonName, "x,O=ci\n#")];
        let names = CertificateNames::read(&certificate(&subject, &[], &[])).unwrap();
        assert_eq!(names.text(), "CN=x\\,O\\=ci\\0A#");
        assert_eq!(escaped(" #a "), "\\ #a\\ ");
    }

    #[test]
    fn a_certificate_without_a_subject_is_called_by_its_alternative_name() {
        let names = CertificateNames::read(&certificate(&[], &["a.example"], &[])).unwrap();
        assert_eq!(names.text(), "a.example");
    }

    #[test]
    fn bytes_that_are_no_certificate_are_none() {
        let whole = certificate(&[(DnType::CommonName, "a")], &[], &[]);
        for bytes in [&b""[..], b"\x30\x80", &[0xff; 100], &vec![0; MAX_CERTIFICATE_BYTES + 1]] {
            assert_eq!(CertificateNames::read(bytes), None);
        }
        for length in 0..whole.len() {
            assert_eq!(CertificateNames::read(&whole[..length]), None);
        }
        // Any other byte anywhere: another certificate or none, but no panic.
        for at in 0..whole.len() {
            for other in [0, 1, 0x30, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = other;
                let _ = CertificateNames::read(&damaged).map(|names| names.text());
            }
        }
    }

    #[test]
    fn a_name_that_is_too_long_makes_a_certificate_that_is_not_read() {
        let long = format!("spiffe://{}", "x".repeat(MAX_CERTIFICATE_NAME_BYTES));
        assert_eq!(CertificateNames::read(&certificate(&[], &[], &[&long])), None);
    }
}
