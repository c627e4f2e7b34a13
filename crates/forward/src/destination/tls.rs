//! TLS of a destination: whom we trust, what we show, and when the files of both have changed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::credentials::Stamp;
use super::settings::DestinationTls;
use crate::limits::MAX_CERTIFICATE_BYTES;

impl DestinationTls {
    /// The files that it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.ca, &self.certificate, &self.key].into_iter().flatten()
    }

    /// The versions of those files.
    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        self.files().map(|path| Stamp::of(path)).collect()
    }

    /// A configuration of TLS 1.2 and later for a protocol. Files are read now.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub(crate) fn client_config(&self, is_grpc: bool) -> Result<ClientConfig, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("tls: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(&provider)?);
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let pem = read(path)?;
                let key_path = self.key.as_ref().unwrap_or(path);
                let key = PrivateKeyDer::from_pem_slice(&read(key_path)?).map_err(|error| {
                    format!("tls: {} has no key in PEM: {error}", key_path.display())
                })?;
                builder.with_client_auth_cert(certificates(&pem, path)?, key).map_err(|error| {
                    format!("tls: {} and its key do not go together: {error}", path.display())
                })?
            }
        };
        config.alpn_protocols = match is_grpc {
            true => vec![b"h2".to_vec()],
            false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        Ok(config)
    }

    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, String> {
        if self.insecure_skip_verify {
            return Ok(Arc::new(AnyServer { provider: Arc::clone(provider) }));
        }
        let mut roots = RootCertStore::empty();
        match &self.ca {
            Some(path) => {
                for certificate in certificates(&read(path)?, path)? {
                    roots.add(certificate).map_err(|error| {
                        format!("tls: {} has a wrong certificate: {error}", path.display())
                    })?;
                }
            }
            // Some of a system's certificates may be unreadable; those that are not suffice.
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| format!("tls: no authority to trust: {error}; set tls.ca"))?;
        let Some(name) = &self.server_name else { return Ok(verifier) };
        let name = ServerName::try_from(name.clone())
            .map_err(|_| format!("tls: server_name {name:?} is not a name"))?;
        Ok(Arc::new(NamedServer { inner: verifier, name }))
    }
}

fn certificates(pem: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(format!("tls: {} has no certificates in PEM", path.display())),
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

/// Verifies the certificate for another name than the host's.
#[derive(Debug)]
struct NamedServer {
    inner: Arc<WebPkiServerVerifier>,
    name: ServerName<'static>,
}

impl ServerCertVerifier for NamedServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.inner.verify_server_cert(end_entity, intermediates, &self.name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Takes any certificate, since the settings say so.
#[derive(Debug)]
struct AnyServer {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
