//! Lists of revoked certificates, all of which count.
//!
//! The library asks the first list of an authority that is about a certificate, and no other. An
//! authority may have several, though: one for each year, or an old one beside a new one. So clients
//! are verified once for each: the lists of every authority are turned round, until each has been the
//! first. Whoever one of them revokes stays out.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use time::OffsetDateTime;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use super::config::parse;
use super::error::TlsError;
use super::files::Named;
use super::settings::TlsSettings;
use crate::limits::MAX_LISTS_OF_AUTHORITY;

/// Those of one authority.
struct OfOne {
    /// Its name, as it is encoded.
    authority: Vec<u8>,
    lists: Vec<CertificateRevocationListDer<'static>>,
}

/// All lists.
pub(super) struct Lists(Vec<OfOne>);

impl Lists {
    /// Reads them. One that is overdue is used all the same: clients that it revokes stay out, and no
    /// others are locked out because nobody wrote a new list.
    pub(super) fn read(
        settings: &TlsSettings,
        authorities: &[CertificateDer<'_>],
        now: OffsetDateTime,
        warnings: &mut Vec<String>,
    ) -> Result<Self, TlsError> {
        let mut all = Self(Vec::new());
        for path in &settings.revoked {
            let named = Named { setting: "revoked", path };
            for list in named.lists()? {
                let expected = "a list of revoked certificates";
                let (_, parsed) = CertificateRevocationList::from_der(&list)
                    .map_err(|error| named.malformed(expected, &error))?;
                let (authority, issuer) = (parsed.issuer().as_raw().to_vec(), parsed.issuer());
                let next = parsed.next_update().map(|next| next.to_datetime());
                if next.is_some_and(|next| next < now) {
                    let path = path.display();
                    warnings.push(format!(
                        "the list of revoked certificates of {issuer} in {path} is overdue: it is used, but may lack some"
                    ));
                }
                let name = issuer.to_string();
                all.add(authority, list.clone(), name)?;
            }
        }
        all.has_every(authorities)?;
        Ok(all)
    }

    fn add(
        &mut self,
        authority: Vec<u8>,
        list: CertificateRevocationListDer<'static>,
        name: String,
    ) -> Result<(), TlsError> {
        match self.0.iter_mut().find(|known| known.authority == authority) {
            // The same list twice, as it stands in two files, is one.
            Some(known) if known.lists.contains(&list) => {}
            Some(known) if known.lists.len() == MAX_LISTS_OF_AUTHORITY => {
                return Err(TlsError::TooManyLists {
                    authority: name,
                    most: MAX_LISTS_OF_AUTHORITY,
                });
            }
            Some(known) => known.lists.push(list),
            None => self.0.push(OfOne { authority, lists: vec![list] }),
        }
        Ok(())
    }

    /// Where there are lists, a certificate whose authority has none is refused. That is said when it
    /// is configured, not when the clients come.
    fn has_every(&self, authorities: &[CertificateDer<'_>]) -> Result<(), TlsError> {
        for authority in authorities {
            let Ok(authority) = parse(authority) else { continue };
            let subject = authority.subject();
            let has_list = self.0.iter().any(|known| known.authority == subject.as_raw());
            if !has_list && !self.0.is_empty() {
                return Err(TlsError::NoListOf { authority: subject.to_string() });
            }
        }
        Ok(())
    }

    /// How often they are turned until each has been the first of its authority.
    pub(super) fn turns(&self) -> usize {
        self.0.iter().map(|known| known.lists.len()).max().unwrap_or(0)
    }

    /// All of them, turned so often.
    pub(super) fn turned(&self, turn: usize) -> Vec<CertificateRevocationListDer<'static>> {
        let turned = self.0.iter().flat_map(|known| {
            let first = turn % known.lists.len().max(1);
            known.lists.iter().cycle().skip(first).take(known.lists.len())
        });
        turned.cloned().collect()
    }
}

/// Verifies clients by every list.
#[derive(Debug)]
pub(super) struct ByEveryList {
    first: Arc<dyn ClientCertVerifier>,
    others: Vec<Arc<dyn ClientCertVerifier>>,
}

impl ByEveryList {
    /// Several that are the same but for the order of their lists.
    pub(super) fn join(
        first: Arc<dyn ClientCertVerifier>,
        others: Vec<Arc<dyn ClientCertVerifier>>,
    ) -> Arc<dyn ClientCertVerifier> {
        if others.is_empty() { first } else { Arc::new(Self { first, others }) }
    }
}

impl ClientCertVerifier for ByEveryList {
    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        for other in &self.others {
            other.verify_client_cert(leaf, between, now)?;
        }
        self.first.verify_client_cert(leaf, between, now)
    }

    fn offer_client_auth(&self) -> bool {
        self.first.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.first.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.first.root_hint_subjects()
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.first.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.first.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.first.supported_verify_schemes()
    }
}
