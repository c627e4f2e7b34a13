//! Files of a destination's TLS: what they say, and when they have changed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustls::ClientConfig;

use super::credentials::Stamp;
use super::settings::DestinationTls;
use crate::limits::MAX_CERTIFICATE_BYTES;
use crate::tls::{ClientTls, TlsError, TlsPart};

impl DestinationTls {
    /// The files that it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.ca, &self.certificate, &self.key].into_iter().flatten()
    }

    /// The versions of those files.
    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        self.files().map(|path| Stamp::of(path)).collect()
    }

    /// A configuration for a protocol. Files are read now.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub(crate) fn client_config(&self, is_grpc: bool) -> Result<ClientConfig, String> {
        let authorities = self.ca.as_deref().map(read).transpose()?;
        let chain = self.certificate.as_deref().map(read).transpose()?;
        let key = self.key_path().map(read).transpose()?;
        let tls = ClientTls {
            authorities: authorities.as_deref(),
            identity: chain.as_deref().zip(key.as_deref()),
            server_name: self.server_name.as_deref(),
            takes_any_server: self.insecure_skip_verify,
            requires_tls13: false,
        };
        let mut config = tls.config().map_err(|wrong| self.told(&wrong))?;
        config.alpn_protocols = match is_grpc {
            true => vec![b"h2".to_vec()],
            false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        Ok(config)
    }

    /// Where the key is: with the certificate, if nothing else is said.
    fn key_path(&self) -> Option<&Path> {
        self.key.as_deref().or(self.certificate.as_deref())
    }

    /// What is wrong, with the name of the file.
    fn told(&self, wrong: &TlsError) -> String {
        let path = match wrong.part {
            TlsPart::Authorities => self.ca.as_deref(),
            TlsPart::Certificate => self.certificate.as_deref(),
            TlsPart::Key => self.key_path(),
            TlsPart::ServerName | TlsPart::Versions => None,
        };
        match path {
            Some(path) => format!("tls: {} {}", path.display(), wrong.why),
            None => format!("tls: {wrong}"),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |why: String| format!("tls: cannot read {}: {why}", path.display());
    let mut pem = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_CERTIFICATE_BYTES + 1).read_to_end(&mut pem))
        .map_err(|error| failed(error.to_string()))?;
    if pem.len() as u64 > MAX_CERTIFICATE_BYTES {
        return Err(failed(format!("it has more than {MAX_CERTIFICATE_BYTES} bytes")));
    }
    Ok(pem)
}
