//! The decision on a request: where it comes from, who sent it, whether he may.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use kymo_edge::csrf::{csrf_refused, is_loopback_host};
use kymo_edge::headers::{Asked, SecurityHeaders};
use kymo_edge::{ClientOrigin, TrustedProxies, paths};
use kymo_identity::{Denied, Grant, Identity, Methods, PeerInfo, Role, token_in_query};

use super::needs::{Need, need};
use crate::answer::Code;
use crate::grpc::{self, Status};
use crate::listen::Peer;
use crate::mcp;
use crate::reply::json_error;
use crate::tenant;

/// What is the same for all listeners.
pub(crate) struct Entrance {
    pub(crate) identity: Arc<Identity>,
    pub(crate) trusted: TrustedProxies,
    pub(crate) headers: SecurityHeaders,
    /// Pages that may ask for more than a look.
    pub(crate) allowed_origins: Vec<String>,
}

/// A listener's gate.
struct Gate {
    entrance: Arc<Entrance>,
    methods: Methods,
    base_path: String,
    /// Whether only this machine can reach it.
    is_local: bool,
}

/// A router behind a gate.
pub(crate) fn guarded(
    entrance: &Arc<Entrance>,
    router: Router,
    methods: Methods,
    base_path: &str,
    is_local: bool,
) -> Router {
    let (entrance, base_path) = (entrance.clone(), base_path.to_owned());
    let gate = Arc::new(Gate { entrance, methods, base_path, is_local });
    // The gate may change the path, so it stands before the router and not around its routes.
    Router::new().fallback_service(router).layer(from_fn_with_state(gate, pass))
}

async fn pass(State(gate): State<Arc<Gate>>, mut request: Request<Body>, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().cloned();
    let address = peer.as_ref().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |p| p.address.ip());
    let is_secure = peer.as_ref().is_some_and(|peer| peer.is_secure);
    let (uri, headers) = (request.uri(), request.headers());
    let origin = ClientOrigin::of(address, is_secure, uri, headers, &gate.entrance.trusted);
    request.extensions_mut().insert(origin.clone());
    let asked = Asked::of(&request);
    let mut response = match gate.allow(&mut request, peer.as_ref(), &origin).await {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    };
    gate.entrance.headers.apply(asked, response.headers_mut());
    response
}

impl Gate {
    /// Lets a request pass, or says what is answered instead.
    async fn allow(
        &self,
        request: &mut Request<Body>,
        peer: Option<&Peer>,
        origin: &ClientOrigin,
    ) -> Result<(), Box<Response>> {
        let is_grpc = grpc::is_grpc(request.headers());
        let inner = paths::strip_base(&self.base_path, &origin.prefix, request.uri());
        match inner {
            Some(uri) => *request.uri_mut() = uri,
            // Clients of gRPC cannot prefix their paths.
            None if is_grpc => {}
            None => {
                let path = request.uri().path();
                let message =
                    format!("there is nothing at {path}; this server is at {}", self.base_path);
                return Err(Box::new(json_error(StatusCode::NOT_FOUND, &message)));
            }
        }
        if let Some(name) = request.uri().query().and_then(token_in_query) {
            let message = format!(
                "the parameter {name} looks like a secret: URLs end up in logs and histories, send it \
                 in the header Authorization, and make a new one"
            );
            return Err(Box::new(json_error(StatusCode::BAD_REQUEST, &message)));
        }
        let need = need(request.method(), request.uri().path());
        let trusted = &self.entrance.trusted;
        let is_proxied = peer.is_some_and(|peer| trusted.contains(peer.address.ip()));
        self.check_page(request, origin, need, is_proxied)?;
        let grant = self.grant(request.headers(), peer, origin, need).await;
        let granted = grant.and_then(|grant| self.authorize(request, &grant, need).map(|()| grant));
        match granted {
            Ok(grant) => {
                request.extensions_mut().insert(grant);
                Ok(())
            }
            Err(denied) => {
                log(&denied, origin, request.uri().path());
                Err(Box::new(denial(&denied, is_grpc)))
            }
        }
    }

    /// Refuses what pages of others send, and pages whose name was made to point here.
    fn check_page(
        &self,
        request: &Request<Body>,
        origin: &ClientOrigin,
        need: Need,
        is_proxied: bool,
    ) -> Result<(), Box<Response>> {
        let headers = request.headers();
        let forbidden = |message: &str| Box::new(json_error(StatusCode::FORBIDDEN, message));
        let authorization = headers.get(header::AUTHORIZATION);
        let has_token = authorization.is_some_and(|value| {
            value.as_bytes().get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"bearer "))
        });
        // Pages of every origin may send OTLP; what browsers add by themselves must not open that.
        let is_open_to_pages = need == Need::Role(Role::Write) || need == Need::WriteOrRead;
        // Those who speak MCP are told in its own words, and no less strictly.
        let is_checked_behind = request.uri().path() == mcp::PATH;
        let is_let_in = is_open_to_pages && (self.methods.is_open() || has_token);
        if !is_let_in && !is_checked_behind {
            let allowed = &self.entrance.allowed_origins;
            let host = origin.host.as_deref();
            if let Some(why) = csrf_refused(request.method(), headers, host, allowed) {
                return Err(forbidden(&why.to_string()));
            }
        }
        let is_browser = headers.contains_key("sec-fetch-site") || headers.contains_key("origin");
        let is_named = origin.host.as_deref().is_some_and(|host| !is_loopback_host(host));
        let is_meant_for_this_machine = self.is_local && self.methods.is_open() && !is_proxied;
        if is_meant_for_this_machine && is_browser && is_named && !is_open_to_pages {
            return Err(forbidden(
                "this address is for this machine and has no login: open it as http://127.0.0.1. For \
                 other names set auth, or trusted_proxies if a reverse proxy asks for them",
            ));
        }
        Ok(())
    }

    /// Who it is.
    async fn grant(
        &self,
        headers: &HeaderMap,
        peer: Option<&Peer>,
        origin: &ClientOrigin,
        need: Need,
    ) -> Result<Grant, Denied> {
        let certificate = peer.and_then(|peer| peer.certificate.as_ref());
        // A connection outlives what its certificate is good for.
        if certificate.is_some_and(|certificate| !certificate.is_still_accepted()) {
            let accepted = self.methods.as_slice().to_vec();
            let why = "the certificate of the connection is not accepted any more";
            return Err(Denied::Wrong { accepted, claimed: None, why });
        }
        if self.methods.is_open() || need == Need::Nothing {
            return Ok(Grant::open());
        }
        let peer = PeerInfo {
            address: origin.address,
            certificate: certificate.map(|certificate| certificate.der()),
        };
        self.entrance.identity.check(&self.methods, headers, peer).await
    }

    /// Whether he may, and for whom: a request that names no tenant gets his.
    fn authorize(
        &self,
        request: &mut Request<Body>,
        grant: &Grant,
        need: Need,
    ) -> Result<(), Denied> {
        let role = match need {
            Need::Nothing => return Ok(()),
            Need::Server if grant.may_administer_server() => return Ok(()),
            Need::Server => return Err(Denied::Role { role: Role::Admin }),
            Need::Role(role) => role,
            Need::WriteOrRead if grant.has(Role::Write) => Role::Write,
            Need::WriteOrRead => Role::Read,
        };
        let named = request.headers().get(tenant::HEADER).and_then(|value| value.to_str().ok());
        match named.map(str::trim).filter(|name| !name.is_empty()) {
            Some(names) => names.split('|').try_for_each(|name| grant.require(role, name.trim())),
            None => {
                let own = grant.tenant(None)?;
                grant.require(role, own)?;
                if let Ok(value) = HeaderValue::from_str(own) {
                    request.headers_mut().insert(tenant::HEADER, value);
                }
                Ok(())
            }
        }
    }
}

/// Says in the log who was not let in. Names that nobody has are not repeated, nor are secrets.
fn log(denied: &Denied, origin: &ClientOrigin, path: &str) {
    let (address, reason) = (origin.address, denied.reason());
    match denied {
        Denied::Wrong { claimed, why, .. } => {
            let name = claimed.as_deref().unwrap_or("unknown");
            tracing::warn!(%address, name, why, "a login failed");
        }
        _ => tracing::debug!(%address, reason, path, "not allowed"),
    }
}

fn denial(denied: &Denied, is_grpc: bool) -> Response {
    let mut response = if is_grpc {
        let code = match denied.grpc_code() {
            7 => Code::PermissionDenied,
            8 => Code::ResourceExhausted,
            14 => Code::Unavailable,
            _ => Code::Unauthenticated,
        };
        let mut status = Status::new(code, denied.to_string());
        status.retry_after = denied.retry_after();
        grpc::fail(&status)
    } else {
        json_error(denied.status(), &denied.to_string())
    };
    for (name, value) in &denied.headers() {
        response.headers_mut().append(name, value.clone());
    }
    response
}
