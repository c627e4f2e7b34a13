//! Why TLS cannot be set up. Messages name the setting and the file, and never what is in a key.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why certificates cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("tls.{setting}: {path} cannot be read: {source}", path = path.display())]
    Read {
        /// The key of the configuration.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A file is out of proportion.
    #[error("tls.{setting}: {path} is larger than {limit_bytes} bytes; is it the right file?", path = path.display())]
    TooLarge {
        /// The key of the configuration.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// The limit.
        limit_bytes: u64,
    },
    /// A file does not have what it should.
    #[error("tls.{setting}: {path} has no {expected}", path = path.display())]
    Lacks {
        /// The key of the configuration.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What should be in it.
        expected: &'static str,
    },
    /// A file is damaged, or is something else.
    #[error("tls.{setting}: {path} is not {expected}: {why}", path = path.display())]
    Malformed {
        /// The key of the configuration.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A key needs a passphrase.
    #[error("tls.key: {path} is encrypted; expected a key without a passphrase: `openssl pkey -in {path} -out plain.key` makes one", path = path.display())]
    Encrypted {
        /// The file.
        path: PathBuf,
    },
    /// Two files do not go together.
    #[error("tls.key: {key} is not the key of the first certificate in {certificate}; expected the server's own certificate first", key = key.display(), certificate = certificate.display())]
    OtherKey {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// Clients are to show certificates of nobody.
    #[error(
        "tls.client_certificates: without client_ca no certificate is good; name the authority of the clients there"
    )]
    NoAuthority,
    /// Revoked certificates of nobody.
    #[error(
        "tls.revoked: it is about certificates of clients, which are not asked for; set client_ca, or leave it out"
    )]
    NothingToRevoke,
    /// There are lists of revoked certificates, but none of this authority.
    #[error(
        "tls.revoked: there is no list of {authority}, which client_ca has; all its clients would be refused: add its list, or take it out of client_ca"
    )]
    NoListOf {
        /// The subject of the authority.
        authority: String,
    },
    /// More lists of one authority than are taken.
    #[error(
        "tls.revoked: there are more than {most} lists of {authority}; put what they have into one"
    )]
    TooManyLists {
        /// The subject of the authority.
        authority: String,
        /// The most there can be.
        most: usize,
    },
    /// The library refuses it.
    #[error("tls: the certificates cannot be used: {why}")]
    Unusable {
        /// What it says.
        why: String,
    },
}
