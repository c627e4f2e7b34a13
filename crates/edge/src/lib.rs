//! What stands around a router: TLS, proxies in front, headers of answers, links of other systems.
//!
//! ```text
//!  socket ── tls ──> connection ── forwarded ──> who asks, and by which address
//!                                      │
//!                                    paths ──> router ──> headers ──> answer
//!                                                └─ links: other systems' addresses become ours
//! ```
//!
//! Nothing here knows what is asked for: a server takes the parts it needs and decides where they
//! stand. Every part is a plain function or a small type, and none has threads of its own.
//!
//! | module | what is there |
//! |---|---|
//! | [`tls`] | certificates of a listener, loaded again when they change; handshakes; clients' certificates |
//! | [`certs`] | a small authority of one's own: `kymo certs` |
//! | [`forwarded`] | who asks, where proxies that are trusted say so |
//! | [`paths`] | prefixes of paths, stripped by a proxy or not |
//! | [`headers`] | headers that make browsers careful |
//! | [`csrf`] | which requests of web pages are refused |
//! | [`hosts`] | which names are answered to where there is no login |
//! | [`links`] | addresses of Jaeger, Prometheus, Grafana and Tempo, and what they are here |
//! | [`limits`] | bounds, each with its reason |

pub mod certs;
pub mod csrf;
pub mod forwarded;
pub mod headers;
pub mod hosts;
pub mod limits;
pub mod links;
pub mod paths;
pub mod tls;

pub use csrf::csrf_refused;
pub use forwarded::{ClientOrigin, Scheme, TrustedProxies};
pub use headers::SecurityHeaders;
pub use hosts::AllowedHosts;
pub use tls::{PeerCertificate, ServerTls, TlsError, TlsSettings};
