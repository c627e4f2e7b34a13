//! TLS: whom we trust, and what we show.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::config::TlsSettings;
use crate::connection::read_secret;

/// A configuration for these settings. Files are read now.
pub(crate) fn client_config(settings: &TlsSettings) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let versions: &[_] = if settings.requires_tls13 { &[&TLS13] } else { &[&TLS12, &TLS13] };
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(|error| format!("tls_config: {error}"))?;
    let verifier = verifier(settings, &provider)?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let (Some(cert), Some(key)) = (&settings.cert, &settings.key) else {
        return Ok(builder.with_no_client_auth());
    };
    let cert = read_secret(cert)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(cert.as_bytes()).collect();
    let chain = chain.map_err(|error| format!("tls_config: cert is not PEM: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(read_secret(key)?.as_bytes())
        .map_err(|error| format!("tls_config: key is not PEM: {error}"))?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| format!("tls_config: cert and key do not go together: {error}"))
}

fn verifier(
    settings: &TlsSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    if settings.insecure_skip_verify {
        return Ok(Arc::new(AnyServer { provider: provider.clone(), is_trusted: true }));
    }
    let roots = roots(settings)?;
    if roots.is_empty() {
        // The system has no authorities, as in a small container. Plain HTTP works all the same; a
        // server that cannot be verified is refused when it is reached.
        return Ok(Arc::new(AnyServer { provider: provider.clone(), is_trusted: false }));
    }
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| format!("tls_config: no authority to trust: {error}"))?;
    let Some(name) = &settings.server_name else { return Ok(inner) };
    let name = ServerName::try_from(name.clone())
        .map_err(|_| format!("tls_config: server_name {name:?} is not a name"))?;
    Ok(Arc::new(NamedServer { inner, name }))
}

fn roots(settings: &TlsSettings) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &settings.ca {
        Some(ca) => {
            let text = read_secret(ca)?;
            for cert in CertificateDer::pem_slice_iter(text.as_bytes()) {
                let cert = cert.map_err(|error| format!("tls_config: ca is not PEM: {error}"))?;
                roots
                    .add(cert)
                    .map_err(|error| format!("tls_config: ca has a wrong certificate: {error}"))?;
            }
            if roots.is_empty() {
                return Err("tls_config: ca has no certificates; expected PEM".to_owned());
            }
        }
        None => {
            // Some of a system's certificates may be unreadable; those that are not suffice.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
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
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Takes any certificate, as `insecure_skip_verify` asks for, or none, where there is nobody to
/// trust. Signatures are checked all the same.
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
        Err(rustls::CertificateError::UnknownIssuer.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
