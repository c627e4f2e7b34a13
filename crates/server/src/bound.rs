//! All ports of a server: bound first, served when everything else is there.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use kymo_postgres::Postgres;
use tokio::net::TcpListener;

use crate::access::{Behind, Doors, Entrance, guarded, is_local};
use crate::alias::{Alias, METRICS};
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
    postgres: Option<Port>,
    aliases: Vec<(Port, Alias)>,
    is_secure: [bool; 3],
}

/// What is served on them.
pub(crate) struct Serving {
    pub(crate) shared: Shared,
    pub(crate) main: Router,
    pub(crate) doors: Doors,
    pub(crate) entrance: Arc<Entrance>,
    pub(crate) base_path: String,
    pub(crate) postgres: Arc<Postgres>,
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
        let postgres = match &options.postgres {
            Some(asked) => Some(Port::new("--postgres", asked).await?),
            None => None,
        };
        let mut aliases = Vec::new();
        for text in &options.aliases {
            let alias = Alias::parse(text).map_err(ServerError::Setting)?;
            aliases.push((Port::new("--listen-aliases", &alias.address).await?, alias));
        }
        let is_secure = ["http", "otlp_grpc", "otlp_http"].map(|name| doors.of(name).tls.is_some());
        Ok(Self { http, grpc, otlp, exposed, postgres, aliases, is_secure })
    }

    /// Where they are.
    pub(crate) fn addresses(&self) -> Result<Addresses, ServerError> {
        let aliases = self.aliases.iter();
        let aliases: Result<Vec<_>, ServerError> =
            aliases.map(|(port, alias)| Ok((port.address()?, alias.prefix))).collect();
        Ok(Addresses {
            http: self.http.address()?,
            otlp_grpc: self.grpc.address()?,
            otlp_http: self.otlp.address()?,
            expose_metrics: self.exposed.as_ref().map(Port::address).transpose()?,
            postgres: self.postgres.as_ref().map(Port::address).transpose()?,
            aliases: aliases?,
            is_secure: self.is_secure,
        })
    }

    /// Begins to serve.
    pub(crate) fn serve(self, listeners: &mut Listeners, serving: &Serving) {
        let Serving { shared, main, doors, entrance, base_path, .. } = serving;
        let serve =
            |listeners: &mut Listeners, port: Port, name: &str, router: Router, behind: Behind| {
                let door = doors.of(name);
                let base_path = if name == "http" { base_path.as_str() } else { "" };
                let router = guarded(entrance, router, door.methods, base_path, behind);
                listeners.serve(port.listener, router, door.tls);
            };
        let otlp_only = router::otlp(shared);
        let exposition = prometheus::exposition(shared);
        serve(listeners, self.http, "http", main.clone(), Behind::Main);
        serve(listeners, self.grpc, "otlp_grpc", otlp_only.clone(), Behind::Main);
        serve(listeners, self.otlp, "otlp_http", otlp_only, Behind::Main);
        if let Some(port) = self.exposed {
            serve(listeners, port, "expose_metrics", exposition.clone(), Behind::Exposition);
        }
        if let Some(port) = self.postgres {
            listeners.serve_postgres(port.listener, serving.postgres.clone());
        }
        for (port, alias) in self.aliases {
            let (router, behind) = match alias.prefix {
                METRICS => (&exposition, Behind::Exposition),
                prefix => (main, Behind::Alias(prefix)),
            };
            serve(listeners, port, alias.listener(), router.clone(), behind);
        }
    }
}

/// What whoever starts a server should see each time: addresses that others can reach without TLS or
/// a login, because `insecure_listen` allows it.
pub(crate) fn open_addresses(options: &ServerOptions) -> Option<String> {
    let listening = options.listening();
    let reachable = listening.iter().filter(|(_, address)| !is_local(address));
    let open: Vec<String> = reachable
        .filter_map(|(name, address)| {
            let lacks = options.access.lacks(name).unwrap_or_default();
            (!lacks.is_empty())
                .then(|| format!("{name} at {address} without {}", lacks.join(" and ")))
        })
        .collect();
    (!open.is_empty()).then(|| {
        format!(
            "others can reach this server, since insecure_listen is set: {}; whoever gets there \
             reads and writes what the listener has",
            open.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_open_to_others_are_named_with_what_they_lack() {
        let mut options = ServerOptions::default();
        options.access.insecure_listen = true;
        assert_eq!(open_addresses(&options), None, "nobody else reaches loopback");
        options.http = "0.0.0.0:3200".to_owned();
        options.aliases = vec!["[::]:16686=/jaeger".to_owned()];
        let warning = open_addresses(&options).unwrap();
        for part in ["http at 0.0.0.0:3200 without TLS", "a login (auth)", "[::]:16686"] {
            assert!(warning.contains(part), "{warning}");
        }
        assert!(!warning.contains("4317") && !warning.contains('\n'), "{warning}");
        options.access.auth = vec!["bearer".to_owned()];
        let warning = open_addresses(&options).unwrap();
        assert!(warning.contains("TLS") && !warning.contains("a login"), "{warning}");
    }
}
