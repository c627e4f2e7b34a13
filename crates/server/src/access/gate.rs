//! The decision on a request: where it comes from, who sent it, whether he may.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Request, StatusCode, Version, header};
use kymo_edge::csrf::csrf_refused;
use kymo_edge::headers::{Asked, SecurityHeaders};
use kymo_edge::{AllowedHosts, ClientOrigin, TrustedProxies, paths};
use kymo_identity::{
    Denied, Grant, Identity, Method, Methods, PeerInfo, Role, TOKEN_IN_QUERY, token_in_query,
};

use super::needs::{Need, need};
use super::record::Failures;
use super::request_id;
use crate::alias;
use crate::answer::Code;
use crate::body;
use crate::grpc::{self, Status};
use crate::listen::Peer;
use crate::mcp;
use crate::reply::json_error;
use crate::tenant;

/// What is the same for all listeners.
pub(crate) struct Entrance {
    pub(crate) identity: Arc<Identity>,
    pub(crate) trusted: TrustedProxies,
    /// Names that are answered to without a login.
    pub(crate) hosts: AllowedHosts,
    pub(crate) headers: SecurityHeaders,
    /// Pages that may ask for more than a look.
    pub(crate) allowed_origins: Vec<String>,
    /// Who was not let in.
    pub(crate) failures: Failures,
}

/// What is behind a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Everything, or what of it is for OTLP.
    Main,
    /// Everything, by the paths of the system that had the address.
    Alias(&'static str),
    /// Metrics that were received, of the tenants that a request names.
    Exposition,
}

/// A listener's gate.
struct Gate {
    entrance: Arc<Entrance>,
    methods: Methods,
    base_path: String,
    behind: Behind,
}

/// A router behind a gate.
pub(crate) fn guarded(
    entrance: &Arc<Entrance>,
    router: Router,
    methods: Methods,
    base_path: &str,
    behind: Behind,
) -> Router {
    let (entrance, base_path) = (entrance.clone(), base_path.to_owned());
    let gate = Arc::new(Gate { entrance, methods, base_path, behind });
    // The gate may change the path, so it stands before the router and not around its routes.
    Router::new().fallback_service(router).layer(from_fn_with_state(gate, pass))
}

async fn pass(State(gate): State<Arc<Gate>>, mut request: Request<Body>, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().cloned();
    let address = peer.as_ref().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |p| p.address.ip());
    let is_secure = peer.as_ref().is_some_and(|peer| peer.is_secure);
    let (uri, headers) = (request.uri(), request.headers());
    let request_id = request_id::of(headers);
    let (method, asked_uri) = (request.method().clone(), uri.clone());
    let origin = ClientOrigin::of(address, is_secure, uri, headers, &gate.entrance.trusted);
    request.extensions_mut().insert(origin.clone());
    let asked = Asked::of(&request);
    let mut response = match gate.allow(&mut request, peer.as_ref(), &origin).await {
        Ok(()) => next.run(request).await,
        Err(response) => {
            // Who waits to be told to go on has sent nothing yet.
            if !request.headers().contains_key(header::EXPECT) {
                body::drain(request.into_body()).await;
            }
            *response
        }
    };
    gate.entrance.headers.apply(asked, response.headers_mut());
    request_id::note(&request_id, &method, asked_uri.path(), response.status());
    response.headers_mut().insert(request_id::HEADER, request_id);
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
        self.find(request, origin, is_grpc)?;
        if let Some(name) = request.uri().query().and_then(token_in_query) {
            let message = format!("the parameter {name} is refused: {TOKEN_IN_QUERY}");
            return Err(Box::new(json_error(StatusCode::BAD_REQUEST, &message)));
        }
        let need = match self.behind {
            Behind::Exposition => Need::Role(Role::Read),
            Behind::Main | Behind::Alias(_) => need(request.method(), request.uri().path()),
        };
        self.check_host(request, peer, need)?;
        self.check_page(request, origin, need)?;
        let refused = |denied: Denied, grant: Option<&Grant>, request: &Request<Body>| {
            let (failures, path) = (&self.entrance.failures, request.uri().path());
            failures.note(&denied, grant, origin.address, path);
            Box::new(denial(&denied, is_grpc, has_token(request.headers())))
        };
        let grant = match self.grant(request.headers(), peer, origin, need).await {
            Ok(grant) => grant,
            Err(denied) => return Err(refused(denied, None, request)),
        };
        if let Err(denied) = authorize(request, &grant, need) {
            return Err(refused(denied, Some(&grant), request));
        }
        request.extensions_mut().insert(grant);
        Ok(())
    }

    /// Gives a request the path that the router has, or says that there is none. What is decided
    /// about it is decided by that path.
    fn find(
        &self,
        request: &mut Request<Body>,
        origin: &ClientOrigin,
        is_grpc: bool,
    ) -> Result<(), Box<Response>> {
        let inner = paths::strip_base(&self.base_path, &origin.prefix, request.uri());
        match (inner, self.behind) {
            (Some(uri), _) => *request.uri_mut() = uri,
            // Who had the address had no such prefix.
            (None, Behind::Alias(_)) => {}
            // Clients of gRPC cannot prefix their paths.
            (None, _) if is_grpc => {}
            (None, _) => {
                let path = request.uri().path();
                let message =
                    format!("there is nothing at {path}; this server is at {}", self.base_path);
                return Err(Box::new(json_error(StatusCode::NOT_FOUND, &message)));
            }
        }
        if let Behind::Alias(prefix) = self.behind
            && !is_grpc
            && let Some(uri) = alias::shifted(request.uri(), prefix)
        {
            *request.uri_mut() = uri;
        }
        Ok(())
    }

    /// Refuses what pages of others send.
    fn check_page(
        &self,
        request: &Request<Body>,
        origin: &ClientOrigin,
        need: Need,
    ) -> Result<(), Box<Response>> {
        let headers = request.headers();
        let forbidden = |message: &str| Box::new(json_error(StatusCode::FORBIDDEN, message));
        // Pages of every origin may send OTLP; what browsers add by themselves must not open that.
        let is_open_to_pages = matches!(need, Need::Send | Need::WriteOrRead);
        // Those who speak MCP are told in its own words, and no less strictly.
        let is_checked_behind = request.uri().path() == mcp::PATH;
        let is_by_token = has_token(headers) && takes_tokens(&self.methods);
        let is_let_in = is_open_to_pages && (self.methods.is_open() || is_by_token);
        if !is_let_in && !is_checked_behind {
            let allowed = &self.entrance.allowed_origins;
            let host = origin.host.as_deref();
            if let Some(why) = csrf_refused(request.method(), headers, host, allowed) {
                return Err(forbidden(&why.to_string()));
            }
        }
        Ok(())
    }

    /// Refuses pages whose name was made to point here: without TLS, browsers do not say that a
    /// request is a page's, and it is told by the name alone. Browsers speak HTTP/2 by TLS only, and by
    /// TLS they go nowhere with a name that the certificate does not have.
    fn check_host(
        &self,
        request: &Request<Body>,
        peer: Option<&Peer>,
        need: Need,
    ) -> Result<(), Box<Response>> {
        let (hosts, trusted) = (&self.entrance.hosts, &self.entrance.trusted);
        let is_secure = peer.is_some_and(|peer| peer.is_secure);
        let can_be_page = !is_secure && request.version() < Version::HTTP_2;
        // Who may send from anywhere is told nothing.
        let tells_something = !matches!(need, Need::Nothing | Need::Send);
        let is_proxied = peer.is_some_and(|peer| trusted.contains(peer.address.ip()));
        let is_checked = !is_proxied || hosts.is_configured();
        if !self.methods.is_open() || !can_be_page || !tells_something || !is_checked {
            return Ok(());
        }
        match hosts.refused(request.uri(), request.headers()) {
            Some(why) => Err(Box::new(json_error(StatusCode::FORBIDDEN, &why.to_string()))),
            None => Ok(()),
        }
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
        if self.methods.is_open() || matches!(need, Need::Nothing | Need::Page) {
            return Ok(Grant::open());
        }
        let peer = PeerInfo {
            address: origin.address,
            certificate: certificate.map(|certificate| certificate.der()),
        };
        self.entrance.identity.check(&self.methods, headers, peer).await
    }
}

/// Whether he may, and for whom: a request that names no tenant gets his.
fn authorize(request: &mut Request<Body>, grant: &Grant, need: Need) -> Result<(), Denied> {
    let lacks = |role| Err(Denied::Role { role });
    let role = match need {
        Need::Nothing | Need::Page => return Ok(()),
        Need::WriteOrRead if grant.has(Role::Write) => return Ok(()),
        Need::WriteOrRead if grant.has(Role::Read) => return Ok(()),
        Need::WriteOrRead => return lacks(Role::Read),
        Need::Held(role) if !grant.has(role) => return lacks(role),
        Need::Held(_) => return Ok(()),
        Need::Server(role) => return grant.require_all(role),
        Need::Role(role) => role,
        Need::Send => Role::Write,
    };
    // A name that is no text is nobody's; who may everything is told so by whoever reads it.
    let named = request.headers().get(tenant::HEADER);
    let named = named.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned());
    match named.filter(|names| !names.is_empty()) {
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

/// Whether a request brings a token along, which browsers never do by themselves.
fn has_token(headers: &HeaderMap) -> bool {
    headers.get(header::AUTHORIZATION).is_some_and(|value| {
        value.as_bytes().get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"bearer "))
    })
}

/// Whether a token that is brought along decides, be it right or wrong. Where it counts as nothing, what
/// the browser adds by itself decides: any page could make a token up to get past the check of pages.
fn takes_tokens(methods: &Methods) -> bool {
    methods.contains(&Method::Bearer) || methods.contains(&Method::Oidc)
}

fn denial(denied: &Denied, is_grpc: bool, has_token: bool) -> Response {
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
        // Browsers would ask for a password, over the page that asks for another token.
        let is_for_passwords = value.as_bytes().starts_with(b"Basic");
        if has_token && name == header::WWW_AUTHENTICATE && is_for_passwords {
            continue;
        }
        response.headers_mut().append(name, value.clone());
    }
    response
}
