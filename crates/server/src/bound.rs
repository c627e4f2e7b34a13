//! All ports of a server: bound first, served when everything else is there.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;

use crate::access::{Doors, Entrance, guarded, is_local};
use crate::alias::{self, Alias};
use crate::error::ServerError;
use crate::listen::{Listeners, bind};
use crate::options::ServerOptions;
use crate::router::{self, Shared};
use crate::{prometheus, server::Addresses};

/// A port that is bound, and how it was asked for.
struct Port {
    listener: TcpListener,
    flag: &'static str,
    asked: String,
}

impl Port {
    async fn new(flag: &'static str, asked: &str) -> Result<Self, ServerError> {
        Ok(Self { listener: bind(flag, asked).await?, flag, asked: asked.to_owned() })
    }

    fn address(&self) -> Result<SocketAddr, ServerError> {
        self.listener.local_addr().map_err(|source| ServerError::Listen {
            flag: self.flag,
            address: self.asked.clone(),
            source,
        })
    }
}

/// All ports.
pub(crate) struct Bound {
    http: Port,
    grpc: Port,
    otlp: Port,
    exposed: Option<Port>,
    aliases: Vec<(Port, &'static str)>,
    is_secure: [bool; 3],
}

/// What is served on them.
pub(crate) struct Serving {
    pub(crate) shared: Shared,
    pub(crate) main: Router,
    pub(crate) doors: Doors,
    pub(crate) entrance: Arc<Entrance>,
    pub(crate) base_path: String,
}

impl Bound {
    /// Binds them all, or none.
    pub(crate) async fn new(options: &ServerOptions, doors: &Doors) -> Result<Self, ServerError> {
        let http = Port::new("--http", &options.http).await?;
        let grpc = Port::new("--otlp-grpc", &options.otlp_grpc).await?;
        let otlp = Port::new("--otlp-http", &options.otlp_http).await?;
        let exposed = match &options.expose_metrics {
            Some(asked) if options.expose => Some(Port::new("--expose-metrics", asked).await?),
            _ => None,
        };
        let mut aliases = Vec::new();
        for text in &options.aliases {
            let alias = Alias::parse(text).map_err(ServerError::Setting)?;
            aliases.push((Port::new("--listen-aliases", &alias.address).await?, alias.prefix));
        }
        let is_secure = ["http", "otlp_grpc", "otlp_http"].map(|name| doors.of(name).tls.is_some());
        Ok(Self { http, grpc, otlp, exposed, aliases, is_secure })
    }

    /// Where they are.
    pub(crate) fn addresses(&self) -> Result<Addresses, ServerError> {
        let aliases = self.aliases.iter();
        let aliases: Result<Vec<_>, ServerError> =
            aliases.map(|(port, prefix)| Ok((port.address()?, *prefix))).collect();
        Ok(Addresses {
            http: self.http.address()?,
            otlp_grpc: self.grpc.address()?,
            otlp_http: self.otlp.address()?,
            expose_metrics: self.exposed.as_ref().map(Port::address).transpose()?,
            aliases: aliases?,
            is_secure: self.is_secure,
        })
    }

    /// Begins to serve.
    pub(crate) fn serve(self, listeners: &mut Listeners, serving: &Serving) {
        let Serving { shared, main, doors, entrance, base_path } = serving;
        let mut serve = |port: Port, name: &str, router: Router, base_path: &str| {
            let door = doors.of(name);
            let is_local = is_local(&port.asked);
            let router = guarded(entrance, router, door.methods, base_path, is_local);
            listeners.serve(port.listener, router, door.tls);
        };
        let otlp_only = router::otlp(shared);
        let exposition = prometheus::exposition(shared);
        serve(self.http, "http", main.clone(), base_path);
        serve(self.grpc, "otlp_grpc", otlp_only.clone(), "");
        serve(self.otlp, "otlp_http", otlp_only, "");
        if let Some(port) = self.exposed {
            serve(port, "expose_metrics", exposition.clone(), "");
        }
        for (port, prefix) in self.aliases {
            match prefix {
                alias::METRICS => serve(port, "expose_metrics", exposition.clone(), ""),
                prefix => serve(port, "http", alias::router(main.clone(), prefix), base_path),
            }
        }
    }
}
