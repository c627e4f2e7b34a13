//! Files of certificates, keys and lists, and how to see that they have changed.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use super::error::TlsError;
use crate::limits::{MAX_PEM_BYTES, MAX_REVOKED_BYTES};

/// What a file is told by from what stands there later: also if a link on the way to it leads
/// elsewhere, as Kubernetes and certbot swap them, and if only its permissions are mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What is at the end of a path now; nothing if it cannot be looked at.
pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size_bytes: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// A file, of the setting that names it.
pub(super) struct Named<'a> {
    pub(super) setting: &'static str,
    pub(super) path: &'a Path,
}

impl Named<'_> {
    /// Certificates in PEM; at least one.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let bytes = self.read(MAX_PEM_BYTES)?;
        let expected = "certificate in PEM (-----BEGIN CERTIFICATE-----)";
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        let found = found.map_err(|error| self.malformed("PEM", &error))?;
        if found.is_empty() { Err(self.lacks(expected)) } else { Ok(found) }
    }

    /// The first key.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let bytes = self.read(MAX_PEM_BYTES)?;
        match PrivateKeyDer::from_pem_slice(&bytes) {
            Ok(key) => Ok(key),
            Err(pem::Error::NoItemsFound) if is_encrypted(&bytes) => {
                Err(TlsError::Encrypted { path: self.path() })
            }
            Err(pem::Error::NoItemsFound) => {
                Err(self.lacks("private key in PEM (PKCS#8, PKCS#1 or SEC1)"))
            }
            Err(error) => Err(self.malformed("PEM", &error)),
        }
    }

    /// Lists of revoked certificates: any number in PEM, or one in DER.
    pub(super) fn lists(&self) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
        let bytes = self.read(MAX_REVOKED_BYTES)?;
        if bytes.first() == Some(&DER_SEQUENCE) {
            return Ok(vec![CertificateRevocationListDer::from(bytes)]);
        }
        let found: Result<Vec<_>, _> =
            CertificateRevocationListDer::pem_slice_iter(&bytes).collect();
        let found = found.map_err(|error| self.malformed("PEM", &error))?;
        let expected = "list of revoked certificates (-----BEGIN X509 CRL-----, or DER)";
        if found.is_empty() { Err(self.lacks(expected)) } else { Ok(found) }
    }

    /// Whether everybody on this machine may read it.
    pub(super) fn is_readable_by_all(&self) -> bool {
        fs::metadata(self.path).is_ok_and(|metadata| metadata.mode() & 0o004 != 0)
    }

    pub(super) fn malformed(&self, expected: &'static str, why: &dyn ToString) -> TlsError {
        let (setting, path) = (self.setting, self.path());
        TlsError::Malformed { setting, path, expected, why: why.to_string() }
    }

    fn lacks(&self, expected: &'static str) -> TlsError {
        TlsError::Lacks { setting: self.setting, path: self.path(), expected }
    }

    fn read(&self, limit_bytes: u64) -> Result<Vec<u8>, TlsError> {
        let failed = |source| TlsError::Read { setting: self.setting, path: self.path(), source };
        // A pipe would keep whoever opens it waiting for as long as nobody writes.
        if !fs::metadata(self.path).map_err(failed)?.is_file() {
            return Err(self.malformed("a regular file", &"it is a directory, a pipe or a device"));
        }
        let mut bytes = Vec::new();
        let file = File::open(self.path).map_err(failed)?;
        file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit_bytes {
            let (setting, path) = (self.setting, self.path());
            return Err(TlsError::TooLarge { setting, path, limit_bytes });
        }
        Ok(bytes)
    }

    fn path(&self) -> PathBuf {
        self.path.to_owned()
    }
}

/// What everything in DER begins with that is in these files.
const DER_SEQUENCE: u8 = 0x30;

/// Whether a key in PEM is there, but with a passphrase.
fn is_encrypted(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(content: &[u8], read: impl Fn(&Named<'_>) -> Option<TlsError>) -> String {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, content).unwrap();
        read(&Named { setting: "some", path: &path }).unwrap().to_string()
    }

    #[test]
    fn files_that_are_something_else_are_refused_with_what_was_expected() {
        let certificates = |named: &Named<'_>| named.certificates().err();
        assert!(error(b"", certificates).contains("has no certificate in PEM"));
        assert!(error(b"hello", certificates).contains("has no certificate in PEM"));
        let broken = b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
        assert!(error(broken, certificates).contains("is not PEM"));
        assert!(error(b"hello", |named| named.lists().err()).contains("X509 CRL"));
        let key = |named: &Named<'_>| named.key().err();
        assert!(error(b"", key).contains("has no private key in PEM"));
        let sealed =
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        assert!(error(sealed, key).contains("openssl pkey"));
    }

    #[test]
    fn a_file_that_is_missing_large_or_no_file_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let missing = Named { setting: "key", path: &place.path().join("gone.pem") };
        let message = missing.key().unwrap_err().to_string();
        assert!(message.starts_with("tls.key: ") && message.contains("gone.pem"), "{message}");
        let directory = Named { setting: "key", path: place.path() };
        assert!(directory.key().unwrap_err().to_string().contains("regular file"));
        let path = place.path().join("large");
        File::create(&path).unwrap().set_len(MAX_PEM_BYTES + 1).unwrap();
        let large = Named { setting: "key", path: &path };
        assert!(matches!(large.key(), Err(TlsError::TooLarge { .. })));
    }

    #[test]
    fn a_stamp_tells_when_another_file_stands_behind_a_link() {
        let place = tempfile::tempdir().unwrap();
        let [one, two, link] = ["one", "two", "link"].map(|name| place.path().join(name));
        fs::write(&one, "same").unwrap();
        fs::write(&two, "same").unwrap();
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let before = stamp(&link);
        assert_eq!(before, stamp(&link));
        fs::remove_file(&link).unwrap();
        assert_eq!(stamp(&link), None);
        std::os::unix::fs::symlink(&two, &link).unwrap();
        assert_ne!(before, stamp(&link));
    }
}
