//! A server with TLS that echoes, and clients of rustls that ask it.

#![allow(dead_code, reason = "each test uses some of it")]

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use kymo_edge::certs::{NewAuthority, new_authority};
use kymo_edge::tls::{HandshakeError, PeerCertificate, ServerTls, TlsSettings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// No handshake takes this long.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A directory with an authority, a server and the clients `ada` and `bob`.
pub(crate) fn authority() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let client_names = ["ada", "bob"].map(str::to_owned).to_vec();
    new_authority(place.path(), &NewAuthority { client_names, ..Default::default() }).unwrap();
    place
}

/// Mutual TLS with everything that is in a directory.
pub(crate) fn mutual(place: &Path) -> TlsSettings {
    TlsSettings {
        client_ca: Some(place.join("ca.pem")),
        revoked: vec![place.join("crl.pem")],
        ..plain(place)
    }
}

/// TLS without clients' certificates.
pub(crate) fn plain(place: &Path) -> TlsSettings {
    TlsSettings::new(place.join("server.pem"), place.join("server.key"))
}

/// What became of a handshake, on the server's side.
pub(crate) type Ended = Result<Option<Arc<PeerCertificate>>, HandshakeError>;

/// A server that echoes.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Arc<ServerTls>,
    ended: mpsc::UnboundedReceiver<Ended>,
}

impl Server {
    pub(crate) async fn start(settings: TlsSettings) -> Self {
        Self::start_with(settings, LONG).await
    }

    pub(crate) async fn start_with(settings: TlsSettings, timeout: Duration) -> Self {
        let tls = ServerTls::load(settings).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, ended) = mpsc::unbounded_channel();
        let shared = tls.clone();
        tokio::spawn(async move {
            while let Ok((stream, address)) = listener.accept().await {
                let (tls, sender) = (shared.clone(), sender.clone());
                tokio::spawn(async move {
                    let accepted = tls.accept(stream, address, timeout).await;
                    let (stream, end) = match accepted {
                        Ok(accepted) => (Some(accepted.stream), Ok(accepted.peer)),
                        Err(error) => (None, Err(error)),
                    };
                    sender.send(end).ok();
                    if let Some(stream) = stream {
                        let (mut read, mut write) = tokio::io::split(stream);
                        tokio::io::copy(&mut read, &mut write).await.ok();
                    }
                });
            }
        });
        Self { address, tls, ended }
    }

    /// What became of the next handshake.
    pub(crate) async fn ended(&mut self) -> Ended {
        self.ended.recv().await.unwrap()
    }

    /// The reason for which the next handshake fails.
    pub(crate) async fn refused(&mut self) -> String {
        self.ended().await.unwrap_err().to_string()
    }
}

/// A client: whom it trusts, and what it shows.
pub(crate) struct Client {
    pub(crate) ca: PathBuf,
    pub(crate) shows: Option<(PathBuf, PathBuf)>,
    pub(crate) versions: Vec<&'static SupportedProtocolVersion>,
    pub(crate) protocols: Vec<Vec<u8>>,
}

impl Client {
    pub(crate) fn new(place: &Path) -> Self {
        let versions = rustls::ALL_VERSIONS.to_vec();
        Self { ca: place.join("ca.pem"), shows: None, versions, protocols: Vec::new() }
    }

    /// With the certificate of a name.
    pub(crate) fn showing(mut self, place: &Path, name: &str) -> Self {
        let [certificate, key] =
            ["pem", "key"].map(|end| place.join(format!("client-{name}.{end}")));
        self.shows = Some((certificate, key));
        self
    }

    pub(crate) fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        for authority in certificates(&self.ca) {
            roots.add(authority).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.shows {
            Some((certificate, key)) => {
                let key = PrivateKeyDer::from_pem_slice(&fs::read(key).unwrap()).unwrap();
                builder.with_client_auth_cert(certificates(certificate), key).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = self.protocols.clone();
        config
    }

    /// Connects and asks once: in TLS 1.3 a client learns that it is refused when it reads.
    pub(crate) async fn ask(
        &self,
        server: &Server,
        name: &str,
    ) -> io::Result<TlsStream<TcpStream>> {
        ask(Arc::new(self.config()), server, name).await
    }
}

pub(crate) async fn ask(
    config: Arc<ClientConfig>,
    server: &Server,
    name: &str,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(server.address).await?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut stream = TlsConnector::from(config).connect(name, stream).await?;
    echo(&mut stream).await?;
    Ok(stream)
}

pub(crate) async fn echo(stream: &mut TlsStream<TcpStream>) -> io::Result<()> {
    stream.write_all(b"hello").await?;
    stream.flush().await?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"hello");
    Ok(())
}

pub(crate) fn certificates(path: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(&fs::read(path).unwrap()).map(Result::unwrap).collect()
}

/// The certificate that a server has shown.
pub(crate) fn shown(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

/// Whether there is an `openssl` to ask; a test without one says so.
pub(crate) fn has_openssl() -> bool {
    let found = Command::new("openssl").arg("version").output().is_ok();
    if !found {
        eprintln!("left out: there is no openssl on this machine");
    }
    found
}
