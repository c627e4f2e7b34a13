//! The certificate that a client has shown.
//!
//! A connection may stay open for weeks, and its client can be revoked or expire meanwhile. So the
//! certificate is verified again: when certificates or lists of the server have been loaded again,
//! and once in a while. Whoever answers requests asks [`PeerCertificate::is_still_accepted`] for
//! each and closes the connection if not.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustls::pki_types::CertificateDer;

use super::ServerTls;
use crate::limits::RECHECK_EVERY;

/// A client's certificate, verified.
pub struct PeerCertificate {
    chain: Vec<CertificateDer<'static>>,
    tls: Arc<ServerTls>,
    checked: Mutex<Checked>,
}

/// What was found out last.
#[derive(Clone, Copy)]
struct Checked {
    /// Of which loading of files.
    generation: u64,
    at: Instant,
    is_accepted: bool,
}

impl PeerCertificate {
    /// After a handshake, in which it was verified. A client without a certificate has none.
    pub(super) fn new(
        tls: &Arc<ServerTls>,
        generation: u64,
        chain: Option<&[CertificateDer<'static>]>,
    ) -> Option<Arc<Self>> {
        let chain = chain.filter(|chain| !chain.is_empty())?.to_vec();
        let checked = Mutex::new(Checked { generation, at: Instant::now(), is_accepted: true });
        Some(Arc::new(Self { chain, tls: tls.clone(), checked }))
    }

    /// The client's own certificate, in DER.
    pub fn der(&self) -> &[u8] {
        self.chain.first().map_or(&[], |leaf| leaf.as_ref())
    }

    /// Whether it would be let in now. Cheap unless something has changed.
    pub fn is_still_accepted(&self) -> bool {
        self.is_accepted_at(Instant::now())
    }

    fn is_accepted_at(&self, now: Instant) -> bool {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.tls.current();
        let is_recent = now.saturating_duration_since(checked.at) < RECHECK_EVERY;
        if checked.generation != current.generation || !is_recent {
            let is_accepted = current.verifies(&self.chain);
            *checked = Checked { generation: current.generation, at: now, is_accepted };
        }
        checked.is_accepted
    }
}

impl fmt::Debug for PeerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerCertificate").field("size_bytes", &self.der().len()).finish()
    }
}
