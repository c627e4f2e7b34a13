//! Sockets: binding, accepting, and serving HTTP/1 and HTTP/2 on every port.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use hyper::service::{Service, service_fn};
use hyper::{Request, StatusCode, Version, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use kymo_edge::limits::HANDSHAKE_TIMEOUT;
use kymo_edge::tls::{PeerCertificate, ServerTls};
use kymo_postgres::Postgres;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::error::ServerError;
use crate::heads::{Answered, Heads, Timed};
use crate::limits;
use crate::telemetry::Telemetry;

/// Binds an address; `flag` is the one that sets it.
pub(crate) async fn bind(flag: &'static str, address: &str) -> Result<TcpListener, ServerError> {
    let mut addresses = match tokio::net::lookup_host(address).await {
        Ok(addresses) => addresses.peekable(),
        Err(_) => return Err(ServerError::Address { flag, address: address.to_owned() }),
    };
    let port = addresses.peek().map_or(0, SocketAddr::port);
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for resolved in addresses {
        match TcpListener::bind(resolved).await {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    let address = address.to_owned();
    Err(match failure.kind() {
        io::ErrorKind::AddrInUse => ServerError::PortInUse { flag, address, port },
        _ => ServerError::Listen { flag, address, source: failure },
    })
}

/// Who is at the other end of a connection. Every request of it has this as an extension.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Whether it speaks TLS.
    pub(crate) is_secure: bool,
    /// What it has shown.
    pub(crate) certificate: Option<Arc<PeerCertificate>>,
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// It has not begun.
    Serving,
    /// No more connections are wanted.
    Stopping,
    /// Those that are left end at once.
    Cut,
}

/// All listeners of a server and their connections.
pub(crate) struct Listeners {
    phase: watch::Sender<Phase>,
    /// Each gives its connections when it ends.
    accepting: Vec<JoinHandle<GracefulShutdown>>,
    /// Those that speak no HTTP; each ends with its connections.
    others: Vec<JoinHandle<()>>,
    connections: Arc<Semaphore>,
    telemetry: Arc<Telemetry>,
}

impl Listeners {
    pub(crate) fn new(max_connections: usize, telemetry: Arc<Telemetry>) -> Self {
        Self {
            phase: watch::Sender::new(Phase::Serving),
            accepting: Vec::new(),
            others: Vec::new(),
            connections: Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS))),
            telemetry,
        }
    }

    /// Begins to serve a listener, with TLS if it has certificates.
    pub(crate) fn serve(
        &mut self,
        listener: TcpListener,
        router: Router,
        tls: Option<Arc<ServerTls>>,
    ) {
        let (accepting, graceful) = (self.accepting(listener), GracefulShutdown::new());
        let port = Port { accepting, router, tls, server: builder(), graceful };
        self.accepting.push(tokio::spawn(port.accept()));
    }

    /// Begins to serve a listener that speaks PostgreSQL's protocol.
    pub(crate) fn serve_postgres(&mut self, listener: TcpListener, postgres: Arc<Postgres>) {
        let mut accepting = self.accepting(listener);
        let mut phase = self.phase.subscribe();
        self.others.push(tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Some((stream, address, permit)) = accepting.next().await {
                let served = postgres.clone().serve(stream, address);
                connections.spawn(async move {
                    served.await;
                    drop(permit);
                });
                // Those that have ended are forgotten.
                while connections.try_join_next().is_some() {}
            }
            postgres.stop();
            tokio::select! {
                () = async { while connections.join_next().await.is_some() {} } => {}
                _ = phase.wait_for(|phase| *phase == Phase::Cut) => {}
            }
        }));
    }

    fn accepting(&self, listener: TcpListener) -> Accepting {
        Accepting {
            listener,
            phase: self.phase.subscribe(),
            connections: self.connections.clone(),
            telemetry: self.telemetry.clone(),
            warned: None,
        }
    }

    /// Accepts no more, and gives requests under way some time to end.
    pub(crate) async fn stop(mut self, timeout: Duration) {
        self.phase.send_replace(Phase::Stopping);
        let mut connections = Vec::new();
        for task in std::mem::take(&mut self.accepting) {
            // It ends by itself; a panic in it has been reported.
            connections.extend(task.await.ok().map(GracefulShutdown::shutdown));
        }
        let others = futures::future::join_all(&mut self.others);
        let ended = futures::future::join(futures::future::join_all(connections), others);
        if tokio::time::timeout(timeout, ended).await.is_err() {
            tracing::warn!("some connections did not end in time and are cut");
        }
        self.phase.send_replace(Phase::Cut);
    }
}

/// HTTP/1 and HTTP/2, told apart by their first bytes.
pub(crate) fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::IDLE_TIMEOUT)
        .max_buf_size(limits::MAX_HEAD_BYTES)
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        .max_frame_size(limits::FRAME_BYTES)
        .max_concurrent_streams(limits::MAX_STREAMS)
        .max_header_list_size(limits::MAX_HEADER_BYTES)
        .keep_alive_interval(limits::PING_INTERVAL)
        .keep_alive_timeout(limits::PING_TIMEOUT);
    builder
}

/// A listener and its place among all connections.
struct Accepting {
    listener: TcpListener,
    phase: watch::Receiver<Phase>,
    connections: Arc<Semaphore>,
    telemetry: Arc<Telemetry>,
    warned: Option<Instant>,
}

impl Accepting {
    /// The next connection, once there is room for it; none if no more are wanted.
    async fn next(&mut self) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        loop {
            let accepted = tokio::select! {
                _ = self.phase.wait_for(|phase| *phase >= Phase::Stopping) => return None,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_of_one_connection(&error) => continue,
                Err(error) => {
                    if self.warned.is_none_or(|at| at.elapsed() >= limits::ACCEPT_WARNING_EVERY) {
                        tracing::warn!(%error, "cannot accept connections; is the limit of open files (ulimit -n) too low?");
                        self.warned = Some(Instant::now());
                    }
                    tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let permit = tokio::select! {
                _ = self.phase.wait_for(|phase| *phase >= Phase::Stopping) => return None,
                permit = self.connections.clone().acquire_owned() => permit,
            };
            self.telemetry.connected();
            if let Err(error) = prepare(&stream) {
                tracing::debug!(%error, "a connection keeps the system's settings");
            }
            // The semaphore is never closed.
            return permit.ok().map(|permit| (stream, address, permit));
        }
    }
}

/// One listener of HTTP.
struct Port {
    accepting: Accepting,
    router: Router,
    tls: Option<Arc<ServerTls>>,
    server: auto::Builder<TokioExecutor>,
    graceful: GracefulShutdown,
}

impl Port {
    async fn accept(mut self) -> GracefulShutdown {
        while let Some((stream, address, permit)) = self.accepting.next().await {
            self.connection(stream, address, permit);
        }
        self.graceful
    }

    fn connection(&self, stream: TcpStream, address: SocketAddr, permit: OwnedSemaphorePermit) {
        let mut peer = Peer { address, is_secure: false, certificate: None };
        let serving = Serving {
            server: self.server.clone(),
            router: self.router.clone(),
            watcher: self.graceful.watcher(),
        };
        let tls = self.tls.clone();
        let mut phase = self.accepting.phase.clone();
        tokio::spawn(async move {
            let served = async {
                let Some(tls) = tls else { return serving.run(stream, peer).await };
                // Why a handshake fails has been logged where it is known.
                let Ok(accepted) = tls.accept(stream, address, HANDSHAKE_TIMEOUT).await else {
                    return;
                };
                peer.is_secure = true;
                peer.certificate = accepted.peer;
                serving.run(accepted.stream, peer).await;
            };
            tokio::select! {
                () = served => {}
                _ = phase.wait_for(|phase| *phase == Phase::Cut) => {}
            }
            drop(permit);
        });
    }
}

/// What serves one connection.
struct Serving {
    server: auto::Builder<TokioExecutor>,
    router: Router,
    watcher: Watcher,
}

impl Serving {
    async fn run<S>(self, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (has_asked, heads) = (Arc::new(AtomicBool::new(false)), Heads::default());
        let stream = Timed::new(stream, heads.clone(), limits::HEAD_TIMEOUT);
        let router = TowerToHyperService::new(self.router);
        let asked = has_asked.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            asked.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(peer.clone());
            // In HTTP/2 nobody looks at heads.
            let under_way = (request.version() < Version::HTTP_2).then(|| heads.asked());
            let (answer, heads) = (router.call(request), heads.clone());
            async move {
                let answer = answer.await?;
                if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
                    heads.switched();
                }
                Ok::<_, Infallible>(match under_way {
                    Some(under_way) => answer.map(|body| Body::new(Answered::new(body, under_way))),
                    None => answer,
                })
            }
        });
        let connection =
            self.server.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        let watched = self.watcher.watch(connection);
        tokio::select! {
            ended = watched => if let Err(error) = ended {
                tracing::debug!(%error, "a connection broke");
            },
            () = silence(&has_asked, limits::IDLE_TIMEOUT) => {
                tracing::debug!("a connection asked for nothing");
            }
        }
    }
}

/// Ends when a connection has not asked for anything in time. Until its first bytes have told
/// HTTP/1 from HTTP/2, nobody else looks at the clock.
async fn silence(has_asked: &AtomicBool, after: Duration) {
    tokio::time::sleep(after).await;
    if has_asked.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Answers are small: they must not wait for more to send.
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(limits::PING_INTERVAL))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(limits::PEER_TIMEOUT))?;
    Ok(())
}

/// Errors that say something about a connection that is gone already.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_connection_that_has_asked_for_nothing_is_given_up() {
        let after = Duration::from_millis(1);
        silence(&AtomicBool::new(false), after).await;
        let has_asked = AtomicBool::new(true);
        let waiting = tokio::time::timeout(20 * after, silence(&has_asked, after));
        assert!(waiting.await.is_err());
    }
}
