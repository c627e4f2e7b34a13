//! TLS of a listener: certificates that are loaded again when they change, and handshakes.
//!
//! ```no_run
//! # async fn example(listener: tokio::net::TcpListener) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use kymo_edge::limits::HANDSHAKE_TIMEOUT;
//! use kymo_edge::tls::{ServerTls, TlsSettings};
//!
//! let tls = ServerTls::load(TlsSettings::new("server.pem", "server.key"))?;
//! tokio::spawn(tls.clone().watch());
//! let (stream, address) = listener.accept().await?;
//! let accepted = tls.accept(stream, address, HANDSHAKE_TIMEOUT).await?;
//! // hyper serves accepted.stream; accepted.peer goes with its requests.
//! # Ok(())
//! # }
//! ```
//!
//! Promised: TLS 1.2 and 1.3 and nothing older; HTTP/2 and HTTP/1.1 by ALPN; a connection that is
//! open goes on whatever becomes of the files; a change that cannot be loaded changes nothing and is
//! said once; a revoked client gets in neither by a new connection nor by a resumed session.
//!
//! | module | what is there |
//! |---|---|
//! | `settings` | what is configured |
//! | `files` | files, and how to see that they have changed |
//! | `config` | files into what a handshake needs |
//! | `lists` | lists of revoked certificates |
//! | `handshake` | handshakes that fail |
//! | `peer` | certificates that clients show |
//! | `error` | why it cannot be set up |

mod config;
mod error;
mod files;
mod handshake;
mod lists;
mod peer;
mod settings;

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use time::OffsetDateTime;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

pub use self::error::TlsError;
pub use self::handshake::HandshakeError;
pub use self::peer::PeerCertificate;
pub use self::settings::{ClientCertificates, MinVersion, TlsSettings};
pub use tokio_rustls::server::TlsStream;

use self::config::Loaded;
use self::files::Stamp;
use self::handshake::RefusalLog;
use crate::limits::RELOAD_EVERY;

/// Certificates of a listener, as they are now.
pub struct ServerTls {
    settings: TlsSettings,
    current: RwLock<Arc<Current>>,
    seen: Mutex<Seen>,
    refusals: RefusalLog,
}

/// What handshakes use that begin now.
struct Current {
    config: Arc<ServerConfig>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// Counts how often files were loaded.
    generation: u64,
}

/// What the files were when they were last looked at.
struct Seen {
    stamps: Vec<Option<Stamp>>,
    /// What was wrong with them.
    failure: Option<Failure>,
}

/// Why files could not be loaded.
struct Failure {
    message: String,
    is_said: bool,
}

impl Seen {
    /// Takes note of a failure, and says it once, at the second look that finds the same: between
    /// them may lie the moment in which a key has been replaced and its certificate has not.
    fn failed(&mut self, message: String) {
        match &mut self.failure {
            Some(known) if known.message == message => {
                if !known.is_said {
                    tracing::error!(
                        "cannot load changed certificates; the old ones stay in use: {message}"
                    );
                    known.is_said = true;
                }
            }
            _ => self.failure = Some(Failure { message, is_said: false }),
        }
    }
}

/// What a look at the files has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// They are as they were.
    Unchanged,
    /// They have changed, and connections that begin now use them.
    Loaded,
    /// They have changed and cannot be used: what was loaded before stays.
    Failed,
}

/// A connection after its handshake.
#[derive(Debug)]
pub struct Accepted<S> {
    /// What is sent and received.
    pub stream: TlsStream<S>,
    /// The certificate that the client has shown.
    pub peer: Option<Arc<PeerCertificate>>,
}

impl ServerTls {
    /// Reads the files.
    pub fn load(settings: TlsSettings) -> Result<Arc<Self>, TlsError> {
        // Stamps come first: what changes while files are read is seen at the next look.
        let stamps = stamps(&settings);
        let current = Current::new(load(&settings)?, 0);
        let seen = Mutex::new(Seen { stamps, failure: None });
        let current = RwLock::new(Arc::new(current));
        Ok(Arc::new(Self { settings, current, seen, refusals: RefusalLog::default() }))
    }

    /// What a connection that begins now uses.
    pub fn acceptor(&self) -> Arc<ServerConfig> {
        self.current().config.clone()
    }

    /// Whether clients' certificates are verified.
    pub fn verifies_clients(&self) -> bool {
        self.current().verifier.is_some()
    }

    /// Looks at the files, and loads them again if they have changed, or if they could not be loaded
    /// the last time. It reads files, so it is not for threads that answer requests.
    pub fn reload_if_changed(&self) -> Reload {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&self.settings);
        if seen.stamps == stamps && seen.failure.is_none() {
            return Reload::Unchanged;
        }
        seen.stamps = stamps;
        match load(&self.settings) {
            Ok(loaded) => {
                let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                *current = Arc::new(Current::new(loaded, current.generation + 1));
                seen.failure = None;
                tracing::info!(certificate = %self.settings.certificate.display(), "loaded changed certificates");
                Reload::Loaded
            }
            Err(error) => {
                seen.failed(error.to_string());
                Reload::Failed
            }
        }
    }

    /// Looks at the files again and again; it never ends by itself.
    pub async fn watch(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(RELOAD_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let tls = self.clone();
            if tokio::task::spawn_blocking(move || tls.reload_if_changed()).await.is_err() {
                // It was cancelled, because the runtime ends, or has panicked and said so.
                tracing::debug!("certificates were not looked at");
            }
        }
    }

    /// Does a handshake with a client at an address. What fails has been logged, as far as it is
    /// worth it.
    pub async fn accept<S>(
        self: &Arc<Self>,
        stream: S,
        address: SocketAddr,
        timeout: Duration,
    ) -> Result<Accepted<S>, HandshakeError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let current = self.current();
        self.handshake(current.config.clone(), &current, stream, address, timeout).await
    }

    /// The same with a client that speaks one protocol, and not HTTP.
    pub async fn accept_speaking<S>(
        self: &Arc<Self>,
        protocol: &[u8],
        stream: S,
        address: SocketAddr,
        timeout: Duration,
    ) -> Result<Accepted<S>, HandshakeError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let current = self.current();
        let mut config = (*current.config).clone();
        config.alpn_protocols = vec![protocol.to_vec()];
        self.handshake(Arc::new(config), &current, stream, address, timeout).await
    }

    async fn handshake<S>(
        self: &Arc<Self>,
        config: Arc<ServerConfig>,
        current: &Current,
        stream: S,
        address: SocketAddr,
        timeout: Duration,
    ) -> Result<Accepted<S>, HandshakeError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let handshake = TlsAcceptor::from(config).accept(stream);
        let ended = match tokio::time::timeout(timeout, handshake).await {
            Ok(ended) => ended.map_err(HandshakeError::from),
            Err(_) => Err(HandshakeError::Timeout),
        };
        let stream = ended.inspect_err(|error| self.refusals.failed(error, address))?;
        let shown = stream.get_ref().1.peer_certificates();
        let peer = PeerCertificate::new(self, current.generation, shown);
        Ok(Accepted { stream, peer })
    }

    fn current(&self) -> Arc<Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generation = self.current().generation;
        f.debug_struct("ServerTls")
            .field("settings", &self.settings)
            .field("generation", &generation)
            .finish_non_exhaustive()
    }
}

impl Current {
    fn new(loaded: Loaded, generation: u64) -> Self {
        Self { config: loaded.config, verifier: loaded.verifier, generation }
    }

    /// Whether a client with these certificates would be let in. If clients are not verified any
    /// more, a certificate says nothing.
    fn verifies(&self, chain: &[CertificateDer<'static>]) -> bool {
        let (Some(verifier), Some((leaf, between))) = (&self.verifier, chain.split_first()) else {
            return false;
        };
        verifier.verify_client_cert(leaf, between, UnixTime::now()).is_ok()
    }
}

/// Loads, and says what should be known.
fn load(settings: &TlsSettings) -> Result<Loaded, TlsError> {
    let loaded = config::load(settings, OffsetDateTime::now_utc())?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    Ok(loaded)
}

fn stamps(settings: &TlsSettings) -> Vec<Option<Stamp>> {
    settings.paths().map(files::stamp).collect()
}
