//! What all connections share, and where they begin.

use std::net::SocketAddr;
use std::sync::Arc;

use kymo_engine::Engine;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::cancel::Cancels;
use crate::door::Door;
use crate::settings::SERVER_VERSION;
use crate::startup;

/// PostgreSQL's protocol over an engine. Whoever listens hands over connections.
pub struct Postgres {
    pub(crate) engine: Engine,
    pub(crate) door: Arc<dyn Door>,
    pub(crate) cancels: Arc<Cancels>,
    /// Whether the server stops: who asks for nothing is let go then.
    pub(crate) stopping: watch::Sender<bool>,
    /// The version, for people.
    pub(crate) version: String,
}

impl Postgres {
    /// Over an engine, for those whom a door lets in.
    #[must_use]
    pub fn new(engine: Engine, door: Arc<dyn Door>) -> Arc<Self> {
        let version = format!(
            "PostgreSQL {SERVER_VERSION} (Kymograph {}), read only",
            env!("CARGO_PKG_VERSION")
        );
        let (cancels, stopping) = (Arc::default(), watch::Sender::new(false));
        Arc::new(Self { engine, door, cancels, stopping, version })
    }

    /// Serves a connection until its end.
    pub async fn serve(self: Arc<Self>, stream: TcpStream, address: SocketAddr) {
        startup::serve(self, stream, address).await;
    }

    /// Lets those go who ask for nothing; queries under way go on.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("engine", &self.engine).finish_non_exhaustive()
    }
}
