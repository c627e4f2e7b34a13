//! A server that takes requests, in order, and answers as a test wants.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A request, as it came; of gRPC without the five bytes in front.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) is_packed: bool,
    pub(super) body: Bytes,
    pub(super) at: Instant,
}

/// How a request is answered.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// It is taken.
    Taken,
    /// A status of HTTP, and `retry-after`.
    Http(u16, Option<u64>),
    /// A status of HTTP, and a text.
    Said(u16, String),
    /// A code of gRPC.
    Grpc(u16),
    /// 200, and nothing that one could understand.
    Garbage,
    /// Nothing at all.
    Never,
    /// It is taken, and nothing is said.
    TakenInSilence,
    /// 200, and a body that never ends.
    Stalled,
}

/// A body of which nothing comes.
struct Stalling;

impl http_body::Body for Stalling {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

type Answering = Box<dyn FnMut(&Received) -> Reply + Send>;

/// A server, and what it got: `taken` is what it said yes to.
pub(super) struct Sink {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Shared {
    answering: Mutex<Answering>,
    all: Mutex<Vec<Received>>,
    taken: Mutex<Vec<Received>>,
    changed: watch::Sender<usize>,
}

impl Sink {
    pub(super) async fn new(answering: impl FnMut(&Received) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, None, answering)
    }

    pub(super) async fn taking() -> Self {
        Self::new(|_| Reply::Taken).await
    }

    pub(super) fn on(
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        answering: impl FnMut(&Received) -> Reply + Send + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            answering: Mutex::new(Box::new(answering)),
            all: Mutex::default(),
            taken: Mutex::default(),
            changed: watch::Sender::new(0),
        });
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, tls, Arc::clone(&shared)));
        Self { address, shared, serving }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn all(&self) -> Vec<Received> {
        self.shared.all.lock().unwrap().clone()
    }

    pub(super) fn taken(&self) -> Vec<Received> {
        self.shared.taken.lock().unwrap().clone()
    }

    /// Waits until what it has got meets a condition.
    pub(super) async fn until(&self, mut is_met: impl FnMut(&Self) -> bool) {
        let mut changed = self.shared.changed.subscribe();
        let waiting = async {
            while !is_met(self) {
                changed.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "got {} requests, took {}", self.all().len(), self.taken().len());
    }

    /// The names of all spans that it took, in order.
    pub(super) fn spans(&self) -> Vec<String> {
        let taken = self.taken();
        taken.iter().flat_map(|received| super::super::testing::spans(&received.body)).collect()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    let handler = move |request: Request| answer(Arc::clone(&shared), request);
    let service = TowerToHyperService::new(Router::new().fallback(handler));
    // Connections end with the server.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (service, tls) = (service.clone(), tls.clone());
        connections.spawn(async move {
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            match tls {
                None => drop(server.serve_connection(TokioIo::new(stream), service).await),
                Some(tls) => {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    drop(server.serve_connection(TokioIo::new(stream), service).await);
                }
            }
        });
    }
}

async fn answer(shared: Arc<Shared>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Response::new(Body::empty()) };
    let body = body.to_bytes();
    let is_grpc = head.headers.get("content-type").is_some_and(|kind| kind == "application/grpc");
    let received = Received {
        path: head.uri.path().to_owned(),
        is_packed: is_grpc && body[0] == 1,
        body: if is_grpc { body.slice(5..) } else { body },
        headers: head.headers,
        at: Instant::now(),
    };
    let reply = (shared.answering.lock().unwrap())(&received);
    shared.all.lock().unwrap().push(received.clone());
    if matches!(reply, Reply::Taken | Reply::TakenInSilence | Reply::Stalled) {
        shared.taken.lock().unwrap().push(received);
    }
    shared.changed.send_modify(|count| *count += 1);
    let mut response = Response::builder();
    match reply {
        Reply::Never | Reply::TakenInSilence => std::future::pending().await,
        Reply::Taken if is_grpc => response = response.header("grpc-status", "0"),
        Reply::Taken => {}
        Reply::Garbage => return Response::new(Body::from("<html>hello</html>")),
        Reply::Stalled => return Response::new(Body::new(Stalling)),
        Reply::Said(status, text) => {
            return response.status(status).body(Body::from(text)).unwrap();
        }
        Reply::Grpc(code) => response = response.header("grpc-status", code),
        Reply::Http(status, retry_after) => {
            response = response.status(status);
            if let Some(seconds) = retry_after {
                response = response.header("retry-after", seconds);
            }
        }
    }
    response.body(Body::empty()).unwrap()
}
