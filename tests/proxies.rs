//! Behind a proxy, and where other systems had their addresses. The proxies themselves, Caddy and
//! nginx with the files in `deploy`, are tried by `scripts/deploy lint`. And names that are answered to.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::time::Duration;

use harness::h2::exchange;
use harness::{Answer, Server, Signal};
use http::Request;
use http_body_util::Full;
use reqwest::blocking::{Client, RequestBuilder};
use reqwest::redirect::Policy;

/// One that does not go where it is sent.
fn client() -> Client {
    Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap()
}

fn location(request: RequestBuilder) -> String {
    Answer::of(request).expect(302).header("location").to_owned()
}

#[test]
fn links_of_jaeger_prometheus_and_grafana_lead_to_pages() {
    let (server, client) = (Server::start(), client());
    let id = "0123456789abcdef0123456789abcdef";
    for (link, page) in [
        (format!("/jaeger/trace/{id}"), format!("/trace/{id}")),
        ("/jaeger/".to_owned(), "/traces".to_owned()),
        ("/prometheus/graph?g0.expr=up".to_owned(), "/explore/metrics?q=up".to_owned()),
        ("/grafana/d/abc/name".to_owned(), "/d/abc".to_owned()),
    ] {
        let at = location(client.get(server.url(&link)));
        assert!(at.starts_with(&page), "{link} leads to {at}");
        let landed = Answer::of(client.get(server.url(&at))).expect(200);
        assert!(landed.header("content-type").starts_with("text/html"), "{link}");
    }
    server.get("/jaeger/api/services").expect(200);
}

#[test]
fn a_base_path_works_whether_the_proxy_strips_it_or_not() {
    let server = Server::with(&["--base-path", "/kymo", "--trusted-proxies", "127.0.0.1"]);
    let client = client();
    let main = format!("http://{}", server.http());
    for (path, prefix) in [("/kymo/jaeger/api/services", ""), ("/jaeger/api/services", "/kymo")] {
        let mut request = client.get(format!("{main}{path}"));
        if !prefix.is_empty() {
            request = request.header("x-forwarded-prefix", prefix);
        }
        Answer::of(request).expect(200);
    }
    Answer::of(client.get(format!("{main}/jaeger/api/services"))).expect(404);
    let link = client.get(format!("{main}/jaeger/trace/1f")).header("x-forwarded-prefix", "/kymo");
    assert!(location(link).starts_with("/kymo/trace/"));
    let link = client.get(format!("{main}/kymo/jaeger/trace/1f"));
    assert!(location(link).starts_with("/kymo/trace/"));
}

#[test]
fn nobody_but_a_trusted_proxy_is_believed() {
    let server = Server::with(&["--base-path", "/kymo"]);
    let request = client().get(format!("http://{}/jaeger/api/services", server.http()));
    Answer::of(request.header("x-forwarded-prefix", "/kymo")).expect(404);
}

#[test]
fn further_addresses_are_those_that_other_systems_had() {
    let aliases = "127.0.0.1:0=/jaeger,127.0.0.1:0=/prometheus,127.0.0.1:0=/metrics";
    let server = Server::with(&["--listen-aliases", aliases]);
    let address = |prefix: &str| {
        let line = server.start_lines.iter().find(|line| line.ends_with(&format!("for {prefix}")));
        line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    server.store(Signal::Traces, Signal::Traces.small(1));
    server.store(Signal::Metrics, Signal::Metrics.small(1));
    let client = client();
    let get =
        |prefix: &str, path: &str| Answer::of(client.get(format!("{}{path}", address(prefix))));
    get("/jaeger", "/api/services").expect(200);
    get("/jaeger", "/jaeger/api/services").expect(200);
    get("/prometheus", "/api/v1/status/buildinfo").expect(200);
    get("/prometheus", "/-/ready").expect(200);
    get("/metrics", "/metrics").expect(200);
    let at = location(client.get(format!("{}/search?service=a", address("/jaeger"))));
    assert!(at.starts_with("/traces"), "{at}");
    get("/jaeger", &at).expect(200);
}

fn by_name(server: &Server, host: &str, path: &str) -> Answer {
    Answer::of(client().get(server.url(path)).header("host", host))
}

#[test]
fn a_name_that_was_made_to_point_here_is_told_nothing() {
    let server = Server::start();
    for path in ["/", "/metrics", "/api/sessions", "/jaeger/api/services", "/jaeger/search"] {
        // Browsers say nothing else of a page that was loaded from there without TLS.
        let refused = by_name(&server, "evil.example:3200", path).expect(403);
        assert!(refused.text().contains("allowed_hosts"), "{path}: {}", refused.text());
        assert_eq!(refused.header("x-content-type-options"), "nosniff");
        let expected = if path == "/jaeger/search" { 302 } else { 200 };
        for host in ["localhost:3200", "kymo:3200", "[::1]:3200", "kymo.tools.svc"] {
            by_name(&server, host, path).expect(expected);
        }
    }
    by_name(&server, "evil.example", "/ready").expect(200);
    let send = client().post(format!("http://{}/v1/traces", server.otlp_http()));
    let send = send.header("host", "hub.example").header("content-type", "application/x-protobuf");
    Answer::of(send.body(Signal::Traces.small(1))).expect(200);
    // Without TLS no browser speaks HTTP/2, and gRPC has any name.
    let named = Request::get("http://hub.example/tempo/api/echo").body(Full::default()).unwrap();
    assert_eq!(exchange(server.http(), vec![named])[0].status, 200);
}

#[test]
fn names_that_are_configured_and_those_that_trusted_proxies_pass_on_are_answered_to() {
    let server = Server::with(&["--allowed-hosts", "hub.example,*.hub.example"]);
    by_name(&server, "hub.example", "/").expect(200);
    by_name(&server, "a.hub.example:3200", "/").expect(200);
    by_name(&server, "evil.example", "/").expect(403);
    let server = Server::with(&["--external-url", "https://hub.example/kymo"]);
    by_name(&server, "hub.example", "/").expect(200);
    by_name(&server, "evil.example", "/").expect(403);
    let trusted = ["--trusted-proxies", "127.0.0.1"];
    by_name(&Server::with(&trusted), "hub.example", "/").expect(200);
    // Where names are configured, a proxy on this machine is no way round them.
    let server = Server::with(&[&trusted[..], &["--allowed-hosts", "hub.example"]].concat());
    by_name(&server, "hub.example", "/").expect(200);
    let evil = client().get(server.url("/")).header("host", "evil.example");
    Answer::of(evil.header("x-forwarded-host", "hub.example")).expect(403);
}

#[test]
fn an_address_that_is_open_to_others_is_warned_of_at_each_start() {
    let server = Server::with(&["--insecure-listen", "--expose-metrics", "0.0.0.0:0"]);
    let log = server.stderr();
    let warned: Vec<&str> = log.lines().filter(|line| line.contains("insecure_listen")).collect();
    assert_eq!(warned.len(), 1, "{log}");
    assert!(warned[0].contains("expose_metrics at 0.0.0.0:0 without TLS"), "{}", warned[0]);
    assert!(!Server::start().stderr().contains("insecure_listen"));
}
