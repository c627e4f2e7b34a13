//! Handshakes that fail, and which of them are said aloud.
//!
//! Anyone who reaches a port can make handshakes fail, so each is a line of level `debug` and no
//! more. Clients that are refused for their certificates are something to be mended: the first of
//! them in a while for each reason is a warning, which also says how many there were since the last.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
use thiserror::Error as ThisError;

use crate::limits::REFUSAL_LOG_EVERY;

/// Why a handshake failed.
#[derive(Debug, ThisError)]
pub enum HandshakeError {
    /// The client was too slow.
    #[error("the client did not finish its handshake in time")]
    Timeout,
    /// The client went away.
    #[error("the client closed the connection during the handshake")]
    Closed,
    /// What came is not TLS; usually plain HTTP.
    #[error("the client does not speak TLS; expected https:// in its address")]
    NotTls,
    /// Nothing that both know: usually an old version of TLS.
    #[error("the client has no version or cipher in common: {0}")]
    Incompatible(String),
    /// The client has to show a certificate and did not.
    #[error("the client shows no certificate; this listener requires one of client_ca")]
    NoCertificate,
    /// The client's certificate is not good.
    #[error("the client's certificate is refused: {0}")]
    Certificate(Cow<'static, str>),
    /// The client refused us.
    #[error("the client refused this server: {0}")]
    RefusedByClient(String),
    /// Something else.
    #[error("the handshake failed: {0}")]
    Other(String),
}

impl HandshakeError {
    /// A word for it, such as the label of a counter has.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::NotTls => "not_tls",
            Self::Incompatible(_) => "incompatible",
            Self::NoCertificate => "no_certificate",
            Self::Certificate(_) => "certificate",
            Self::RefusedByClient(_) => "refused_by_client",
            Self::Other(_) => "other",
        }
    }

    /// What is wrong with the certificate of a client, if that is it: one of a few words.
    fn of_certificate(&self) -> Option<&'static str> {
        match self {
            Self::NoCertificate => Some("none"),
            Self::Certificate(Cow::Borrowed(why)) => Some(why),
            Self::Certificate(Cow::Owned(_)) => Some("other"),
            _ => None,
        }
    }
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        match of_tls {
            Some(Error::NoCertificatesPresented) => Self::NoCertificate,
            Some(Error::InvalidCertificate(why)) => Self::Certificate(certificate(why)),
            Some(Error::PeerIncompatible(why)) => Self::Incompatible(format!("{why:?}")),
            Some(Error::AlertReceived(alert)) => Self::RefusedByClient(refusal(*alert)),
            Some(Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            )) => Self::NotTls,
            Some(other) => Self::Other(other.to_string()),
            None if is_gone(&error) => Self::Closed,
            None => Self::Other(error.to_string()),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// What is wrong with a client's certificate, for people.
fn certificate(why: &CertificateError) -> Cow<'static, str> {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::Revoked => "it is revoked",
        CertificateError::UnknownIssuer => "client_ca does not have its authority",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for clients"
        }
        CertificateError::UnknownRevocationStatus => "revoked has no list of its authority",
        // The library has no name for it. Programs that make certificates that sign for themselves
        // make them so.
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is that of an authority, or signed for itself"
        }
        other => return other.to_string().into(),
    }
    .into()
}

/// What clients mean by their alerts.
fn refusal(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::UnknownCA => "it does not know the authority of our certificate".into(),
        AlertDescription::CertificateExpired => "our certificate has expired".into(),
        AlertDescription::BadCertificate => {
            "it does not like our certificate, often because of another name".into()
        }
        other => format!("{other:?}"),
    }
}

/// Says of refused clients what is worth a warning, once in a while for each reason.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<BTreeMap<&'static str, Refusals>>);

#[derive(Debug, Default)]
struct Refusals {
    said: Option<Instant>,
    /// Those that were not said since.
    unsaid: u64,
}

impl RefusalLog {
    /// Takes note of a failure.
    pub(super) fn failed(&self, error: &HandshakeError, address: SocketAddr) {
        tracing::debug!(%error, %address, "a handshake failed");
        let Some(why) = error.of_certificate() else { return };
        if let Some(others) = self.due(why, Instant::now()) {
            tracing::warn!(%address, others, "refused a connection: {error}");
        }
    }

    /// How many were not said since the last warning, if another one may be given now.
    fn due(&self, why: &'static str, now: Instant) -> Option<u64> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refusals = all.entry(why).or_default();
        let is_due = refusals.said.is_none_or(|said| now - said >= REFUSAL_LOG_EVERY);
        if !is_due {
            refusals.unsaid += 1;
            return None;
        }
        refusals.said = Some(now);
        Some(std::mem::take(&mut refusals.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn refusals_are_said_once_in_a_while_and_counted_meanwhile() {
        let (log, start) = (RefusalLog::default(), Instant::now());
        let due = |after| log.due("none", start + after);
        assert_eq!(due(Duration::ZERO), Some(0));
        assert_eq!(due(Duration::ZERO), None);
        assert_eq!(due(REFUSAL_LOG_EVERY / 2), None);
        assert_eq!(log.due("it is revoked", start), Some(0), "who shows none hides nobody else");
        assert_eq!(due(REFUSAL_LOG_EVERY), Some(2));
        assert_eq!(due(REFUSAL_LOG_EVERY), None);
    }

    #[test]
    fn failures_are_told_apart() {
        let of_tls = |error: Error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            HandshakeError::from(error).reason()
        };
        assert_eq!(of_tls(Error::NoCertificatesPresented), "no_certificate");
        assert_eq!(of_tls(Error::InvalidCertificate(CertificateError::Revoked)), "certificate");
        assert_eq!(of_tls(Error::AlertReceived(AlertDescription::UnknownCA)), "refused_by_client");
        let not_tls = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(of_tls(not_tls), "not_tls");
        let gone = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(HandshakeError::from(gone).reason(), "closed");
    }
}
