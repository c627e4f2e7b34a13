//! Who is let in: decided by whoever listens, who knows users, tokens and certificates.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kymo_edge::tls::{PeerCertificate, ServerTls};
use kymo_engine::Tenants;
use kymo_yaml::Secret;

/// Somebody who wants to be let in.
#[derive(Debug, Clone)]
pub struct Login {
    /// The name that he says.
    pub user: String,
    /// The database that he asks for; none if he does not say.
    pub database: Option<String>,
    /// The password, or a token in its place; none if he was not asked.
    pub password: Option<Secret>,
    /// Where he is.
    pub address: SocketAddr,
    /// What he has shown.
    pub certificate: Option<Arc<PeerCertificate>>,
}

/// Somebody who is let in.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Whose data he asks for.
    pub tenants: Tenants,
    /// The name of it, as a database.
    pub database: String,
    /// Databases that he could ask for.
    pub databases: Vec<String>,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// He has to say a password first.
    NeedsPassword,
    /// What he says of himself is not right.
    Wrong(String),
    /// It cannot be told now; he may try again.
    Later(String),
    /// He is known, or need not be, and may not.
    No(String),
    /// There is no such database for him.
    NoDatabase(String),
}

/// What decides.
#[async_trait]
pub trait Door: Send + Sync + 'static {
    /// Certificates of the server. Where there are any, a connection has to use TLS.
    fn tls(&self) -> Option<Arc<ServerTls>>;

    /// Whether somebody may come in. Asked again now and then while he is there.
    async fn login(&self, login: &Login) -> Result<Admitted, Refused>;

    /// A query has ended, in this way and after that time.
    fn asked(&self, outcome: &'static str, took: Duration);
}
