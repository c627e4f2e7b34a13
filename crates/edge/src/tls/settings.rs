//! What is configured for TLS.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

/// The key `tls` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// The server's certificate and those between it and its authority, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM: PKCS#8, PKCS#1 or SEC1, without a passphrase.
    pub key: PathBuf,
    /// Authorities whose certificates clients may show, in PEM.
    #[serde(default)]
    pub client_ca: Option<PathBuf>,
    /// Whether clients are asked for certificates. Without this they must have one if there is a
    /// `client_ca`: nobody names authorities in order not to ask them.
    #[serde(default)]
    pub client_certificates: Option<ClientCertificates>,
    /// Lists of revoked certificates, in PEM or DER.
    #[serde(default, deserialize_with = "one_or_several")]
    pub revoked: Vec<PathBuf>,
    /// The oldest version of TLS that is spoken.
    #[serde(default)]
    pub min_version: MinVersion,
}

/// Whether clients show certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientCertificates {
    /// They are not asked for one.
    None,
    /// They may; one that is shown has to be good.
    Optional,
    /// They must.
    Required,
}

/// The oldest version of TLS that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum MinVersion {
    /// TLS 1.2 and 1.3.
    #[default]
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3 alone.
    #[serde(rename = "1.3")]
    Tls13,
}

impl TlsSettings {
    /// A certificate and its key, and nothing else.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
            client_ca: None,
            client_certificates: None,
            revoked: Vec::new(),
            min_version: MinVersion::default(),
        }
    }

    /// Whether clients show certificates, with what is meant if that is not said.
    pub fn client_certificates(&self) -> ClientCertificates {
        match (self.client_certificates, &self.client_ca) {
            (Some(said), _) => said,
            (None, Some(_)) => ClientCertificates::Required,
            (None, None) => ClientCertificates::None,
        }
    }

    /// With paths that are relative to a directory, usually that of the configuration.
    pub fn relative_to(mut self, directory: &Path) -> Self {
        for path in self.paths_mut() {
            *path = directory.join(&*path);
        }
        self
    }

    /// Every file that is named.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let single = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        single.into_iter().flatten().chain(&self.revoked).map(PathBuf::as_path)
    }

    fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let single = [Some(&mut self.certificate), Some(&mut self.key), self.client_ca.as_mut()];
        single.into_iter().flatten().chain(&mut self.revoked)
    }
}

/// A path, or a list of paths.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    struct Paths;

    impl<'de> Visitor<'de> for Paths {
        type Value = Vec<PathBuf>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a file or a list of files")
        }

        fn visit_str<E: serde::de::Error>(self, path: &str) -> Result<Self::Value, E> {
            Ok(vec![PathBuf::from(path)])
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut paths = Vec::new();
            while let Some(path) = items.next_element()? {
                paths.push(path);
            }
            Ok(paths)
        }
    }

    deserializer.deserialize_any(Paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TlsSettings, kymo_yaml::Problem> {
        kymo_yaml::from_str(text)
    }

    #[test]
    fn settings_are_read_as_they_are_documented() {
        let full = read(
            "certificate: server.pem\nkey: server.key\nclient_ca: ca.pem\n\
             client_certificates: optional\nrevoked: crl.pem\nmin_version: \"1.3\"\n",
        )
        .unwrap();
        assert_eq!(full.client_certificates(), ClientCertificates::Optional);
        assert_eq!(full.revoked, [PathBuf::from("crl.pem")]);
        assert_eq!(full.min_version, MinVersion::Tls13);
        let short = read("certificate: a\nkey: b\nmin_version: 1.2\n").unwrap();
        assert_eq!(short, TlsSettings::new("a", "b"));
        let several = read("certificate: a\nkey: b\nrevoked: [one.pem, two.crl]\n").unwrap();
        assert_eq!(several.revoked, [PathBuf::from("one.pem"), PathBuf::from("two.crl")]);
    }

    #[test]
    fn what_is_not_a_setting_is_refused() {
        for wrong in [
            "certificate: a\n",
            "certificate: a\nkey: b\nclient_cas: c\n",
            "certificate: a\nkey: b\nmin_version: \"1.1\"\n",
            "certificate: a\nkey: b\nclient_certificates: maybe\n",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn who_names_authorities_wants_certificates_of_clients() {
        let mut settings = TlsSettings::new("a", "b");
        assert_eq!(settings.client_certificates(), ClientCertificates::None);
        settings.client_ca = Some("ca.pem".into());
        assert_eq!(settings.client_certificates(), ClientCertificates::Required);
    }

    #[test]
    fn every_path_is_taken_from_the_directory_and_absolute_ones_stay() {
        let mut settings = TlsSettings::new("a.pem", "/keys/b.key");
        settings.client_ca = Some("ca.pem".into());
        settings.revoked = vec!["crl.pem".into()];
        let settings = settings.relative_to(Path::new("/etc/kymo"));
        let paths: Vec<_> = settings.paths().map(|path| path.to_str().unwrap()).collect();
        let expected = ["/etc/kymo/a.pem", "/keys/b.key", "/etc/kymo/ca.pem", "/etc/kymo/crl.pem"];
        assert_eq!(paths, expected);
    }
}
