//! The gate before a router that tells which path it was asked for, and for whom.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use kymo_edge::{AllowedHosts, SecurityHeaders, TrustedProxies};
use kymo_identity::{Identity, IdentitySettings, Methods};
use tower::ServiceExt;

use super::gate::{Behind, Entrance, guarded};
use super::record::Failures;
use super::request_id;
use crate::tenant;

const USERS: &str = "
users:
  - {name: admin, password: x, roles: [admin]}
  - {name: lead, password: x, roles: [admin], tenants: [a, b]}
  - {name: reader, password: x, roles: [read]}
  - {name: of-two, password: x, roles: [read], tenants: [a, b]}
  - {name: sender, password: x, roles: [write], tenants: [a]}
";

/// A gate before a router that answers with the path and the tenant.
fn gate(base_path: &str, behind: Behind, is_open: bool) -> Router {
    let methods = (!is_open).then_some(kymo_identity::Method::Basic);
    gate_of(base_path, behind, Methods::new(methods))
}

/// The same for those who say who they are by one of these.
fn gate_of(base_path: &str, behind: Behind, methods: Methods) -> Router {
    let settings: IdentitySettings = kymo_yaml::from_str(USERS).unwrap();
    let entrance = Arc::new(Entrance {
        identity: Arc::new(Identity::new(&settings, Arc::default(), None).unwrap()),
        trusted: TrustedProxies::new(Vec::new()),
        hosts: AllowedHosts::new(&[]).unwrap(),
        headers: SecurityHeaders::new(&Default::default()).unwrap(),
        allowed_origins: Vec::new(),
        failures: Failures::default(),
    });
    let told = async |request: Request<Body>| {
        let tenant = request.headers().get(tenant::HEADER).cloned();
        let mut response = Response::new(Body::from(request.uri().to_string()));
        let tenant = tenant.unwrap_or(HeaderValue::from_static("-"));
        response.headers_mut().insert(tenant::HEADER, tenant);
        response
    };
    guarded(&entrance, Router::new().fallback(told), methods, base_path, behind)
}

/// A request of a user who has the password of all.
fn asked(user: &str, method: Method, path: &str) -> Request<Body> {
    use base64::Engine as _;
    let login = base64::engine::general_purpose::STANDARD.encode(format!("{user}:x"));
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    request.header("authorization", format!("Basic {login}")).body(Body::empty()).unwrap()
}

async fn status(gate: &Router, request: Request<Body>) -> StatusCode {
    gate.clone().oneshot(request).await.unwrap().status()
}

async fn path(gate: &Router, request: Request<Body>) -> String {
    let response = gate.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn a_short_path_of_an_alias_needs_what_the_whole_one_does() {
    let alias = gate("", Behind::Alias("/prometheus"), false);
    for (user, method, path, expected) in [
        ("reader", Method::POST, "/api/v1/write", 403),
        ("sender", Method::POST, "/api/v1/write", 200),
        ("sender", Method::POST, "/prometheus/api/v1/write", 200),
        ("sender", Method::POST, "/api/v1/query", 403),
        ("reader", Method::POST, "/api/v1/query", 200),
        ("reader", Method::POST, "/-/reload", 403),
        ("lead", Method::POST, "/-/reload", 403),
        ("admin", Method::POST, "/-/reload", 200),
        ("reader", Method::POST, "/api/v1/admin/tsdb/delete_series", 403),
        ("nobody", Method::GET, "/-/ready", 200),
        ("nobody", Method::GET, "/api/v1/query", 401),
    ] {
        let found = status(&alias, asked(user, method, path)).await;
        assert_eq!(found, expected, "{user} {path}");
    }
    let alias = gate("", Behind::Alias("/jaeger"), false);
    let archive = || asked("reader", Method::DELETE, "/api/archive/1");
    assert_eq!(status(&alias, archive()).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_alias_is_where_the_other_system_was_with_a_base_path_too() {
    for base_path in ["", "/kymo"] {
        let alias = gate(base_path, Behind::Alias("/jaeger"), true);
        let to = |path: &str| asked("x", Method::GET, path);
        let whole = "/jaeger/api/services?a=b";
        assert_eq!(path(&alias, to("/api/services?a=b")).await, whole);
        assert_eq!(path(&alias, to(&format!("{base_path}/jaeger/api/services?a=b"))).await, whole);
        assert_eq!(path(&alias, to("/ready")).await, "/ready");
        let mut grpc = asked("x", Method::POST, "/jaeger.api_v3.QueryService/GetTrace");
        let content_type = HeaderValue::from_static("application/grpc");
        grpc.headers_mut().insert("content-type", content_type);
        assert_eq!(path(&alias, grpc).await, "/jaeger.api_v3.QueryService/GetTrace");
    }
}

#[tokio::test]
async fn what_is_of_no_tenant_or_of_all_does_not_depend_on_the_one_that_is_named() {
    let main = gate("", Behind::Main, false);
    for (user, method, path, expected) in [
        ("of-two", Method::GET, "/", 200),
        ("of-two", Method::GET, "/jaeger/api/services", 403),
        ("of-two", Method::POST, "/ofrep/v1/evaluate/flags", 200),
        ("lead", Method::GET, "/api/tokens", 200),
        ("reader", Method::GET, "/api/tokens", 403),
        ("lead", Method::GET, "/api/audience/flags", 403),
        ("of-two", Method::GET, "/metrics", 403),
        ("reader", Method::GET, "/metrics", 200),
        ("sender", Method::GET, "/metrics", 403),
    ] {
        let found = status(&main, asked(user, method, path)).await;
        assert_eq!(found, expected, "{user} {path}");
    }
    let exposition = gate("", Behind::Exposition, false);
    let mut of_a = asked("of-two", Method::GET, "/metrics");
    of_a.headers_mut().insert(tenant::HEADER, HeaderValue::from_static("a"));
    assert_eq!(status(&exposition, of_a).await, StatusCode::OK);
}

#[tokio::test]
async fn tenants_are_those_of_the_credentials_and_a_name_that_is_no_text_is_not_overlooked() {
    let main = gate("", Behind::Main, false);
    let send = |user: &str, tenant: Option<&[u8]>| {
        let mut request = asked(user, Method::POST, "/v1/traces");
        if let Some(tenant) = tenant {
            let value = HeaderValue::from_bytes(tenant).unwrap();
            request.headers_mut().insert(tenant::HEADER, value);
        }
        main.clone().oneshot(request)
    };
    let own = send("sender", None).await.unwrap();
    assert_eq!(own.headers()[tenant::HEADER], "a");
    for other in [&b"b"[..], b"a|b", b"\xff", b"a|\xff"] {
        let refused = send("sender", Some(other)).await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{other:?}");
    }
    // Who may everything is told by whoever reads the name: it must not become another one.
    let kept = send("admin", Some(b"\xff")).await.unwrap();
    assert_eq!(kept.headers()[tenant::HEADER].as_bytes(), b"\xff");
}

#[tokio::test]
async fn pages_of_others_send_and_change_nothing_else() {
    let main = gate("", Behind::Main, true);
    let foreign = |path: &str| {
        let request = Request::post(path).header("host", "localhost");
        let request = request.header("origin", "https://evil.example");
        request.header("sec-fetch-site", "cross-site").body(Body::empty()).unwrap()
    };
    assert_eq!(status(&main, foreign("/v1/traces")).await, StatusCode::OK);
    for path in ["/jaeger/api/archive/1", "/api/tokens", "/api/sql", "/prometheus/-/reload"] {
        assert_eq!(status(&main, foreign(path)).await, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn a_token_that_counts_for_nothing_lets_no_page_send() {
    use kymo_identity::Method::{Basic, Bearer, ClientCertificate, Oidc};
    let by_page = || {
        let request = Request::builder().method(Method::POST).uri("/v1/traces");
        let request = request.header("host", "localhost").header("sec-fetch-site", "cross-site");
        request.header("authorization", "Bearer made-up").body(Body::empty()).unwrap()
    };
    for (methods, expected) in [
        (&[ClientCertificate][..], StatusCode::FORBIDDEN),
        (&[Basic, ClientCertificate], StatusCode::FORBIDDEN),
        // It is wrong, and no certificate helps it.
        (&[Bearer, ClientCertificate], StatusCode::UNAUTHORIZED),
        (&[Oidc, ClientCertificate], StatusCode::UNAUTHORIZED),
    ] {
        let gate = gate_of("", Behind::Main, Methods::new(methods.iter().copied()));
        assert_eq!(status(&gate, by_page()).await, expected, "{methods:?}");
    }
}

#[tokio::test]
async fn grpc_is_told_in_its_own_words() {
    let main = gate("", Behind::Main, false);
    for (user, code) in [("nobody", "16"), ("sender", "7")] {
        let mut call = asked(user, Method::POST, "/tempopb.StreamingQuerier/Search");
        let content_type = HeaderValue::from_static("application/grpc");
        call.headers_mut().insert("content-type", content_type);
        let answer = main.clone().oneshot(call).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["grpc-status"], code, "{user}");
    }
    let refused = main.clone().oneshot(asked("nobody", Method::POST, "/api/sql")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert!(refused.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic "));
}

#[tokio::test]
async fn every_answer_names_its_request() {
    let main = gate("/kymo", Behind::Main, false);
    let sent = |user: &str, path: &str, name: Option<&'static str>| {
        let mut request = asked(user, Method::GET, path);
        if let Some(name) = name {
            request.headers_mut().insert(request_id::HEADER, HeaderValue::from_static(name));
        }
        main.clone().oneshot(request)
    };
    for (user, path, expected) in [
        ("reader", "/kymo/tempo/api/echo", 200),
        ("nobody", "/kymo/tempo/api/echo", 401),
        ("sender", "/kymo/api/tokens", 403),
        ("reader", "/elsewhere", 404),
    ] {
        let answer = sent(user, path, Some("of-a.proxy_1")).await.unwrap();
        assert_eq!(answer.status(), expected, "{path}");
        assert_eq!(answer.headers()[request_id::HEADER], "of-a.proxy_1", "{path}");
        let made = sent(user, path, Some("not <harmless>")).await.unwrap();
        let other = sent(user, path, None).await.unwrap();
        assert_ne!(made.headers()[request_id::HEADER], "not <harmless>");
        assert_ne!(made.headers()[request_id::HEADER], other.headers()[request_id::HEADER]);
    }
}
