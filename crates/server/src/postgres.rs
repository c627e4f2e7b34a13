//! Who may ask by PostgreSQL's protocol: the users, tokens and certificates of the other listeners.
//!
//! | what a client says | what that is |
//! |---|---|
//! | user and password | a user and his password, or any name and a token in place of the password |
//! | a certificate | what `client_certificates` grants to it |
//! | database | the tenant; several joined by bars |
//!
//! Databases `kymo` and `postgres`, and the one that is named like the user, are what clients say where
//! nobody told them any: without such a tenant they mean the one of the login, else `default`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use kymo_edge::tls::ServerTls;
use kymo_engine::Engine;
use kymo_identity::{Denied, Grant, Method, Methods, PeerInfo, Role};
use kymo_postgres::{Admitted, Door, Login, Postgres, Refused};
use kymo_yaml::Secret;

use crate::access::{Doors, Entrance};
use crate::router::Shared;
use crate::telemetry::Telemetry;
use crate::tenant::joined_tenants;

/// Databases that clients name where nobody told them any.
const UNTOLD: [&str; 2] = ["kymo", "postgres"];
/// What tokens of ours begin with.
const TOKEN_PREFIX: &str = "kymo_";
/// What tokens of identity providers begin with.
const JWT_PREFIX: &str = "eyJ";

/// The protocol over what handlers share.
pub(crate) fn over(
    shared: &Shared,
    doors: &Doors,
    entrance: &Arc<Entrance>,
    has_store: bool,
) -> Arc<Postgres> {
    let door = doors.of("postgres");
    let gate = Gate {
        entrance: entrance.clone(),
        methods: door.methods,
        tls: door.tls,
        engine: shared.engine.clone(),
        telemetry: shared.telemetry.clone(),
        has_store,
    };
    Postgres::new(shared.engine.clone(), Arc::new(gate))
}

struct Gate {
    entrance: Arc<Entrance>,
    methods: Methods,
    tls: Option<Arc<ServerTls>>,
    engine: Engine,
    telemetry: Arc<Telemetry>,
    has_store: bool,
}

#[async_trait]
impl Door for Gate {
    fn tls(&self) -> Option<Arc<ServerTls>> {
        self.tls.clone()
    }

    async fn login(&self, login: &Login) -> Result<Admitted, Refused> {
        if !self.has_store {
            let message = "there is nothing to ask here: store.enabled is false";
            return Err(Refused::No(message.to_owned()));
        }
        let grant = match self.grant(login).await {
            Ok(grant) => grant,
            Err(Denied::Missing { .. }) if self.takes_password() && login.password.is_none() => {
                return Err(Refused::NeedsPassword);
            }
            Err(denied) => return Err(self.refused(&denied, None, login)),
        };
        let tenants =
            self.engine.tenants().await.map_err(|error| Refused::Later(error.to_string()))?;
        let asked = asked_tenant(login, &tenants);
        let name = match asked.map_or_else(|| grant.tenant(None), Ok) {
            Ok(name) => name.to_owned(),
            Err(denied) => return Err(self.refused(&denied, Some(&grant), login)),
        };
        let read = joined_tenants(&name).map_err(Refused::NoDatabase)?;
        let names: Vec<&str> = read.names().collect();
        if let Err(denied) = grant.require_read_all(&names) {
            return Err(self.refused(&denied, Some(&grant), login));
        }
        let databases = tenants.into_iter().filter(|tenant| grant.may(Role::Read, tenant));
        let databases = databases.collect();
        Ok(Admitted { database: read.to_string(), tenants: read, databases })
    }

    fn asked(&self, outcome: &'static str, took: Duration) {
        self.telemetry.query("postgres", outcome, took);
    }
}

impl Gate {
    /// Whether any way to log in can be said as a password.
    fn takes_password(&self) -> bool {
        self.methods.iter().any(|method| *method != Method::ClientCertificate)
    }

    /// Who it is.
    async fn grant(&self, login: &Login) -> Result<Grant, Denied> {
        let certificate = login.certificate.as_ref();
        // A connection outlives what its certificate is good for.
        if certificate.is_some_and(|certificate| !certificate.is_still_accepted()) {
            let accepted = self.methods.as_slice().to_vec();
            let why = "the certificate of the connection is not accepted any more";
            return Err(Denied::Wrong { accepted, claimed: None, why });
        }
        if self.methods.is_open() {
            return Ok(Grant::open());
        }
        let headers = presented(&self.methods, login);
        let peer = PeerInfo {
            address: login.address.ip(),
            certificate: certificate.map(|certificate| certificate.der()),
        };
        self.entrance.identity.check(&self.methods, &headers, peer).await
    }

    fn refused(&self, denied: &Denied, grant: Option<&Grant>, login: &Login) -> Refused {
        self.entrance.failures.note(denied, grant, login.address.ip(), "postgres");
        let message = denied.to_string();
        match denied {
            Denied::TooMany { .. } | Denied::Unavailable { .. } => Refused::Later(message),
            Denied::Wrong { .. } if login.password.is_some() => Refused::Wrong(message),
            _ => Refused::No(message),
        }
    }
}

/// What a login presents, as the header that says the same.
fn presented(methods: &Methods, login: &Login) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(password) = login.password.as_ref().map(Secret::reveal) else { return headers };
    let is_token = (methods.contains(&Method::Bearer) && password.starts_with(TOKEN_PREFIX))
        || (methods.contains(&Method::Oidc) && password.starts_with(JWT_PREFIX));
    let text = match is_token {
        true => format!("Bearer {password}"),
        false => format!("Basic {}", STANDARD.encode(format!("{}:{password}", login.user))),
    };
    // A token that cannot stand in a header is none of ours; nobody gets in without.
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(AUTHORIZATION, value);
    }
    headers
}

/// The tenant that a client names; none if it names a database because it has to.
fn asked_tenant<'a>(login: &'a Login, tenants: &[String]) -> Option<&'a str> {
    let database = login.database.as_deref()?;
    let is_untold = UNTOLD.contains(&database) || database == login.user;
    let is_there = tenants.iter().any(|tenant| tenant == database);
    (!is_untold || is_there).then_some(database)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(user: &str, database: Option<&str>, password: Option<&str>) -> Login {
        Login {
            user: user.to_owned(),
            database: database.map(str::to_owned),
            password: password.map(Secret::new),
            address: ([127, 0, 0, 1], 1).into(),
            certificate: None,
        }
    }

    #[test]
    fn a_database_is_a_tenant_unless_it_was_only_made_up() {
        let tenants = ["default".to_owned(), "ada".to_owned()];
        let asked = |user: &str, database: Option<&str>| {
            asked_tenant(&login(user, database, None), &tenants).map(str::to_owned)
        };
        assert_eq!(asked("bob", Some("team-a")).as_deref(), Some("team-a"));
        assert_eq!(asked("bob", Some("bob")), None);
        assert_eq!(asked("ada", Some("ada")).as_deref(), Some("ada"));
        assert_eq!(asked("bob", Some("postgres")), None);
        assert_eq!(asked("bob", Some("kymo")), None);
        assert_eq!(asked("bob", None), None);
    }

    #[test]
    fn a_password_may_be_a_token() {
        let said = |methods: &[Method], password: &str| {
            let methods = Methods::new(methods.iter().copied());
            let headers = presented(&methods, &login("ada", None, Some(password)));
            headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned())
        };
        let both = [Method::Basic, Method::Bearer];
        assert_eq!(said(&both, "kymo_x").as_deref(), Some("Bearer kymo_x"));
        assert_eq!(said(&both, "secret").as_deref(), Some("Basic YWRhOnNlY3JldA=="));
        assert_eq!(said(&[Method::Basic], "kymo_x").unwrap().split(' ').next(), Some("Basic"));
        assert_eq!(said(&[Method::Oidc], "eyJx").as_deref(), Some("Bearer eyJx"));
    }
}
