//! TLS of clients: whom they trust, and what they show.
//!
//! Of settings that stand in several files (destinations, targets to scrape) one configuration is
//! made here. TLS is 1.2 or later. A system without authorities, as in a small container, is no error:
//! a server that cannot be verified is refused when it is reached.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use thiserror::Error;

/// Whom a client trusts, and what it shows.
#[derive(Clone, Copy, Default)]
pub struct ClientTls<'a> {
    /// Authorities to trust, in PEM; the system's if nothing is said.
    pub authorities: Option<&'a [u8]>,
    /// What to show the server: certificates and their key, in PEM.
    pub identity: Option<(&'a [u8], &'a [u8])>,
    /// The name that the server's certificate must have, instead of its host's.
    pub server_name: Option<&'a str>,
    /// Whether any certificate will do.
    pub takes_any_server: bool,
    /// Whether TLS 1.2 is refused.
    pub requires_tls13: bool,
}

impl fmt::Debug for ClientTls<'_> {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("has_identity", &self.identity.is_some())
            .field("server_name", &self.server_name)
            .field("takes_any_server", &self.takes_any_server)
            .finish_non_exhaustive()
    }
}

/// What cannot be used for TLS. It shows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{part} {why}")]
pub struct TlsError {
    /// The part that is wrong.
    pub part: TlsPart,
    /// What is wrong with it.
    pub why: String,
}

/// A part of what TLS is set up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsPart {
    /// Authorities.
    Authorities,
    /// What is shown to the server.
    Certificate,
    /// Its key.
    Key,
    /// The server's name.
    ServerName,
    /// What is none of them.
    Versions,
}

impl fmt::Display for TlsPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authorities => "ca",
            Self::Certificate => "certificate",
            Self::Key => "key",
            Self::ServerName => "server_name",
            Self::Versions => "versions",
        })
    }
}

impl TlsPart {
    fn wrong(self, why: impl Into<String>) -> TlsError {
        TlsError { part: self, why: why.into() }
    }
}

impl ClientTls<'_> {
    /// A configuration for it, without protocols of ALPN.
    ///
    /// # Errors
    /// What is wrong with which part.
    pub fn config(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let versions: &[_] = if self.requires_tls13 { &[&TLS13] } else { &[&TLS12, &TLS13] };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| TlsPart::Versions.wrong(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(&provider)?);
        let Some((chain, key)) = self.identity else { return Ok(builder.with_no_client_auth()) };
        let chain = certificates(chain, TlsPart::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsPart::Key.wrong(format!("has no key in PEM: {error}")))?;
        builder.with_client_auth_cert(chain, key).map_err(|error| {
            TlsPart::Certificate.wrong(format!("and its key do not go together: {error}"))
        })
    }

    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        let any = |is_trusted| Arc::new(AnyServer { provider: Arc::clone(provider), is_trusted });
        if self.takes_any_server {
            return Ok(any(true));
        }
        let roots = self.roots()?;
        if roots.is_empty() {
            return Ok(any(false));
        }
        let inner =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| TlsPart::Authorities.wrong(format!("cannot be used: {error}")))?;
        let Some(name) = self.server_name else { return Ok(inner) };
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| TlsPart::ServerName.wrong(format!("{name:?} is not a name")))?;
        Ok(Arc::new(NamedServer { inner, name }))
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        match self.authorities {
            Some(pem) => {
                for certificate in certificates(pem, TlsPart::Authorities)? {
                    roots.add(certificate).map_err(|error| {
                        TlsPart::Authorities.wrong(format!("has a wrong certificate: {error}"))
                    })?;
                }
            }
            // Some of a system's certificates may be unreadable; those that are not suffice.
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        Ok(roots)
    }
}

fn certificates(pem: &[u8], part: TlsPart) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(part.wrong("has no certificates in PEM")),
    }
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

/// Takes any certificate, since the settings say so, or none, where there is nobody to trust.
/// Signatures are checked all the same.
#[derive(Debug)]
struct AnyServer {
    provider: Arc<CryptoProvider>,
    is_trusted: bool,
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
        if self.is_trusted {
            return Ok(ServerCertVerified::assertion());
        }
        let why = "the system has no authorities to trust; name a file with the server's as ca";
        Err(rustls::Error::General(why.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_part_is_named_and_nothing_of_it_shown() {
        let part = |tls: ClientTls<'_>| tls.config().map(|_| ()).unwrap_err();
        let secret: &[u8] = b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
        let pair = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
        let (chain, other) = (pair.cert.pem(), rcgen::KeyPair::generate().unwrap());
        let wrong = part(ClientTls { authorities: Some(b"none"), ..Default::default() });
        assert_eq!(wrong.to_string(), "ca has no certificates in PEM");
        let ours = ClientTls { authorities: Some(chain.as_bytes()), ..Default::default() };
        assert!(ours.config().is_ok());
        let wrong = part(ClientTls { server_name: Some("no name"), ..ours });
        assert_eq!(wrong.part, TlsPart::ServerName);
        let wrong = part(ClientTls { identity: Some((b"none", secret)), ..ours });
        assert_eq!(wrong.part, TlsPart::Certificate);
        let wrong = part(ClientTls { identity: Some((chain.as_bytes(), b"none")), ..ours });
        assert_eq!(wrong.part, TlsPart::Key);
        let other = other.serialize_pem();
        let identity = Some((chain.as_bytes(), other.as_bytes()));
        let wrong = part(ClientTls { identity, ..ours });
        assert!(wrong.to_string().contains("do not go together"), "{wrong}");
        let shown = format!("{:?}", ClientTls { identity, ..ours });
        assert!(!shown.contains("KEY"), "{shown}");
    }
}
