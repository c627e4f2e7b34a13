//! Files into what a handshake needs.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{Error, RootCertStore, ServerConfig};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::error::TlsError;
use super::files::Named;
use super::lists::{ByEveryList, Lists};
use super::settings::{ClientCertificates, MinVersion, TlsSettings};
use crate::limits::{EXPIRY_WARNING_DAYS, RESUMED_SESSIONS};

/// What was loaded.
pub(super) struct Loaded {
    pub(super) config: Arc<ServerConfig>,
    /// What clients' certificates are verified by, if they are.
    pub(super) verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// What whoever runs this should know.
    pub(super) warnings: Vec<String>,
}

/// Reads all files of the settings.
pub(super) fn load(settings: &TlsSettings, now: OffsetDateTime) -> Result<Loaded, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let mut warnings = Vec::new();
    let certified = certified(settings, &provider, now, &mut warnings)?;
    let verifier = verifier(settings, &provider, now, &mut warnings)?;
    let versions: &[_] = match settings.min_version {
        MinVersion::Tls12 => &[&TLS12, &TLS13],
        MinVersion::Tls13 => &[&TLS13],
    };
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(unusable)?;
    let builder = match &verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier.clone()),
        None => builder.with_no_client_auth(),
    };
    let resolver = rustls::sign::SingleCertAndKey::from(certified);
    let mut config = builder.with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    if verifier.is_some() {
        // A session that is resumed is not verified again: whoever has expired since would come back
        // by it. (Whoever was revoked would not: sessions are forgotten when files are loaded.)
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    } else {
        config.session_storage = ServerSessionMemoryCache::new(RESUMED_SESSIONS);
    }
    Ok(Loaded { config: Arc::new(config), verifier, warnings })
}

/// The server's own certificate and key.
fn certified(
    settings: &TlsSettings,
    provider: &CryptoProvider,
    now: OffsetDateTime,
    warnings: &mut Vec<String>,
) -> Result<CertifiedKey, TlsError> {
    let certificate = Named { setting: "certificate", path: &settings.certificate };
    let key = Named { setting: "key", path: &settings.key };
    let chain = certificate.certificates()?;
    for one in &chain {
        let parsed = parse(one).map_err(|why| certificate.malformed("a certificate", &why))?;
        warnings.extend(ageing(&parsed, now));
    }
    if key.is_readable_by_all() {
        let path = settings.key.display();
        warnings.push(format!("everybody on this machine may read the key {path}: chmod 600 it"));
    }
    CertifiedKey::from_der(chain, key.key()?, provider).map_err(|error| match error {
        Error::InconsistentKeys(_) => TlsError::OtherKey {
            certificate: settings.certificate.clone(),
            key: settings.key.clone(),
        },
        // Only the key has not been looked at yet.
        error => key.malformed(
            "a key that can be used (RSA of 2048 bits or more, P-256, P-384, Ed25519)",
            &error,
        ),
    })
}

/// What certificates of clients are verified by.
fn verifier(
    settings: &TlsSettings,
    provider: &Arc<CryptoProvider>,
    now: OffsetDateTime,
    warnings: &mut Vec<String>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    let wanted = settings.client_certificates();
    let Some(path) = &settings.client_ca else {
        return match (wanted, settings.revoked.is_empty()) {
            (ClientCertificates::None, true) => Ok(None),
            (ClientCertificates::None, false) => Err(TlsError::NothingToRevoke),
            (ClientCertificates::Optional | ClientCertificates::Required, _) => {
                Err(TlsError::NoAuthority)
            }
        };
    };
    if wanted == ClientCertificates::None {
        return Ok(None);
    }
    let named = Named { setting: "client_ca", path };
    let authorities = named.certificates()?;
    let mut roots = RootCertStore::empty();
    for authority in &authorities {
        let parsed = parse(authority).map_err(|why| named.malformed("an authority", &why))?;
        warnings.extend(ageing(&parsed, now));
        let added = roots.add(authority.clone());
        added.map_err(|error| named.malformed("an authority", &error))?;
    }
    let lists = Lists::read(settings, &authorities, now, warnings)?;
    let roots = Arc::new(roots);
    let verifier = |lists: Vec<CertificateRevocationListDer<'static>>| {
        let builder = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .with_crls(lists);
        let builder = match wanted {
            ClientCertificates::Optional => builder.allow_unauthenticated(),
            _ => builder,
        };
        builder.build().map_err(unusable)
    };
    let first = verifier(lists.turned(0))?;
    let others: Result<Vec<_>, TlsError> =
        (1..lists.turns()).map(|turn| verifier(lists.turned(turn))).collect();
    Ok(Some(ByEveryList::join(first, others?)))
}

/// What there is to say about the age of a certificate. It is served all the same: clients then say
/// what is wrong, and those that do not look go on.
fn ageing(certificate: &X509Certificate<'_>, now: OffsetDateTime) -> Option<String> {
    let (subject, validity) = (certificate.subject(), certificate.validity());
    let (begin, end) = (validity.not_before.to_datetime(), validity.not_after.to_datetime());
    let days_left = (end - now).whole_days();
    if end < now {
        let days = -days_left;
        Some(format!("the certificate of {subject} expired {days} days ago: it will be refused"))
    } else if begin > now {
        Some(format!(
            "the certificate of {subject} is not valid before {begin}: is the clock right?"
        ))
    } else if days_left < EXPIRY_WARNING_DAYS {
        Some(format!("the certificate of {subject} expires in {days_left} days"))
    } else {
        None
    }
}

pub(super) fn parse<'a>(
    certificate: &'a CertificateDer<'_>,
) -> Result<X509Certificate<'a>, String> {
    let parsed = X509Certificate::from_der(certificate);
    parsed.map(|(_, certificate)| certificate).map_err(|error| error.to_string())
}

fn unusable(error: impl ToString) -> TlsError {
    TlsError::Unusable { why: error.to_string() }
}
