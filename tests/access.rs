//! Who may connect and ask: TLS, logins, roles, tenants, tokens, pages of others.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::otlp::spans;
use harness::programs::{kymo, run};
use harness::{Answer, Server, eventually, holds};
use prost::Message;
use reqwest::blocking::Client;
use reqwest::{Certificate, Identity};
use serde_json::{Value, json};
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(30);

/// An authority with a server and a client, as `kymo certs` makes them.
struct Certs(TempDir);

impl Certs {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let certs = Self(place);
        let directory = certs.path("").display().to_string();
        run(kymo().args(["certs", "new", &directory, "--client", "runner", "--client", "other"]))
            .expect(0);
        certs
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("certs").join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Who trusts the authority, and shows a certificate if one is named.
    fn client(&self, name: Option<&str>) -> Client {
        let authority = fs::read(self.path("ca.pem")).unwrap();
        let mut builder = Client::builder()
            .no_proxy()
            .tls_built_in_root_certs(false)
            .add_root_certificate(Certificate::from_pem(&authority).unwrap())
            .timeout(Duration::from_secs(30));
        if let Some(name) = name {
            let mut pem = fs::read(self.path(&format!("client-{name}.pem"))).unwrap();
            pem.extend(fs::read(self.path(&format!("client-{name}.key"))).unwrap());
            builder = builder.identity(Identity::from_pem(&pem).unwrap());
        }
        builder.build().unwrap()
    }

    fn flags(&self) -> Vec<String> {
        let mut flags = vec!["--tls-certificate".to_owned(), self.text("server.pem")];
        flags.extend(["--tls-key".to_owned(), self.text("server.key")]);
        flags
    }
}

fn with(flags: &[String]) -> Server {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Server::with(&flags)
}

fn config(place: &Path, text: &str) -> Vec<String> {
    let path = place.join("kymo.yaml");
    fs::write(&path, text).unwrap();
    vec!["--config".to_owned(), path.display().to_string()]
}

fn request(name: &str) -> Vec<u8> {
    spans(name, 1, 1).encode_to_vec()
}

#[test]
fn tls_is_spoken_on_every_address_and_certificates_are_swapped_under_an_open_connection() {
    let certs = Certs::new();
    let server = with(&certs.flags());
    let client = certs.client(None);
    for (address, path) in [(server.http(), "/ready"), (server.otlp_http(), "/nothing")] {
        let answer = client.get(format!("https://{address}{path}")).send().unwrap();
        assert_eq!(answer.status().as_u16() == 200, path == "/ready");
    }
    assert!(
        server.client.get(server.url("/ready")).send().is_err(),
        "there is nothing without TLS"
    );
    let open = certs.client(None);
    let url = format!("https://{}/ready", server.http());
    assert!(open.get(&url).send().unwrap().status().is_success());
    run(kymo().args(["certs", "server", &certs.text("")])).expect(0);
    let log = || server.stderr().contains("loaded changed certificates");
    eventually(SOON, "the new certificate is loaded", log);
    for client in [&open, &certs.client(None)] {
        assert!(client.get(&url).send().unwrap().status().is_success());
    }
}

#[test]
fn a_client_without_a_good_certificate_does_not_get_in_and_a_revoked_one_no_more() {
    let (certs, others) = (Certs::new(), Certs::new());
    let mut flags = certs.flags();
    flags.extend(["--tls-client-ca".to_owned(), certs.text("ca.pem")]);
    flags.extend(["--tls-revoked".to_owned(), certs.text("crl.pem")]);
    let server = with(&flags);
    let url = format!("https://{}/ready", server.http());
    let runner = certs.client(Some("runner"));
    assert!(runner.get(&url).send().unwrap().status().is_success());
    assert!(certs.client(None).get(&url).send().is_err(), "a certificate is needed");
    let authority = fs::read(certs.path("ca.pem")).unwrap();
    let mut pem = fs::read(others.path("client-runner.pem")).unwrap();
    pem.extend(fs::read(others.path("client-runner.key")).unwrap());
    let foreign = Client::builder()
        .no_proxy()
        .add_root_certificate(Certificate::from_pem(&authority).unwrap())
        .identity(Identity::from_pem(&pem).unwrap())
        .build()
        .unwrap();
    assert!(foreign.get(&url).send().is_err(), "one of another authority is not good");
    run(kymo().args(["certs", "revoke", &certs.text(""), "runner"])).expect(0);
    eventually(SOON, "it is refused, on its open connection too", || {
        !runner.get(&url).send().is_ok_and(|answer| answer.status().is_success())
    });
    assert!(certs.client(Some("other")).get(&url).send().unwrap().status().is_success());
}

const USERS: &str = "
auth: [basic, bearer]
users:
  - {name: ada, password: analytical, roles: [admin]}
  - {name: reader, password: engine, roles: [read], tenants: [a, b]}
  - {name: sender, password: difference, roles: [write], tenants: [a]}
";

/// A question of somebody.
fn ask(server: &Server, user: Option<(&str, &str)>, tenant: Option<&str>) -> Answer {
    let mut request = server.client.post(server.url("/api/sql"));
    if let Some((name, password)) = user {
        request = request.basic_auth(name, Some(password));
    }
    if let Some(tenant) = tenant {
        request = request.header("x-scope-orgid", tenant);
    }
    Answer::of(request.body("SELECT count(*) FROM spans"))
}

#[test]
fn everybody_does_what_his_role_allows_for_his_tenants() {
    let place = tempfile::tempdir().unwrap();
    let server = with(&config(place.path(), USERS));
    let reader = Some(("reader", "engine"));
    let refused = ask(&server, None, None).expect(401);
    assert!(refused.header("www-authenticate").contains("Basic"));
    ask(&server, Some(("reader", "wrong")), None).expect(401);
    ask(&server, reader, Some("a")).expect(200);
    ask(&server, reader, Some("a|b")).expect(200);
    ask(&server, reader, Some("a|c")).expect(403);
    ask(&server, reader, None).expect(403);
    ask(&server, Some(("sender", "difference")), Some("a")).expect(403);
    let send = |user: &str, password: &str| {
        let url = format!("http://{}/v1/traces", server.otlp_http());
        let asked = server.client.post(url).basic_auth(user, Some(password));
        Answer::of(asked.header("content-type", "application/x-protobuf").body(request("sent")))
    };
    send("sender", "difference").expect(200);
    send("reader", "engine").expect(403);
    let mut asked = ask(&server, Some(("ada", "analytical")), Some("a")).expect(200).json();
    assert_eq!(asked["rows"][0][0].take(), json!(1), "who sends for one tenant sends for that one");
    server.get("/ready").expect(200);
}

#[test]
fn a_certificate_grants_what_its_name_is_for() {
    let (certs, place) = (Certs::new(), tempfile::tempdir().unwrap());
    let text = format!(
        "tls: {{certificate: '{}', key: '{}', client_ca: '{}'}}\nauth: client-certificate\n\
         client_certificates:\n  - {{subject: 'CN=runner', roles: [write], tenants: [ci]}}\n",
        certs.text("server.pem"),
        certs.text("server.key"),
        certs.text("ca.pem"),
    );
    let server = with(&config(place.path(), &text));
    let send = |name: &str, tenant: &str| {
        let url = format!("https://{}/v1/traces", server.otlp_http());
        let asked = certs.client(Some(name)).post(url).header("x-scope-orgid", tenant);
        Answer::of(asked.header("content-type", "application/x-protobuf").body(request("sent")))
    };
    send("runner", "").expect(200);
    send("runner", "ci").expect(200);
    send("runner", "prod").expect(403);
    send("other", "ci").expect(403);
    let asked = certs.client(Some("runner")).get(format!("https://{}/metrics", server.http()));
    Answer::of(asked).expect(403);
}

#[test]
fn logins_that_nobody_is_asked_for_are_an_error() {
    let place = tempfile::tempdir().unwrap();
    for (text, part) in [
        ("users: [{name: ada, password: x, roles: [admin]}]\n", "users: no address asks for"),
        (
            "auth: [bearer]\nclient_certificates: [{subject: CN=a, roles: [write]}]\n",
            "client_certificates: no address asks for",
        ),
    ] {
        let flags = config(place.path(), text);
        let told = run(kymo().args(["config", "check", "--config", &flags[1]]));
        let told = format!("{}{}", told.stdout, told.stderr);
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn an_alias_asks_for_the_role_of_the_whole_path() {
    let place = tempfile::tempdir().unwrap();
    let mut flags = config(place.path(), USERS);
    flags.extend(["--listen-aliases".to_owned(), "127.0.0.1:0=/prometheus".to_owned()]);
    let server = with(&flags);
    let line = server.start_lines.iter().find(|line| line.ends_with("for /prometheus")).unwrap();
    let alias = line.split_whitespace().nth(1).unwrap();
    let post = |user: &str, password: &str, path: &str| {
        let asked = server.client.post(format!("{alias}{path}")).header("x-scope-orgid", "a");
        Answer::of(asked.basic_auth(user, Some(password)))
    };
    post("reader", "engine", "/api/v1/write").expect(403);
    post("reader", "engine", "/-/reload").expect(403);
    let taken = post("sender", "difference", "/api/v1/write");
    assert!(![401, 403, 404].contains(&taken.status), "{}", taken.status);
    post("sender", "difference", "/api/v1/query?query=1").expect(403);
    post("reader", "engine", "/api/v1/query?query=1").expect(200);
}

#[test]
fn tokens_are_made_used_and_revoked_and_never_kept() {
    let mut server = Server::start();
    server.stop();
    let data = server.data().display().to_string();
    let made = run(kymo().args(["token", "new", "first", "--role", "admin", "--data", &data]));
    let admin = made.expect(0).stdout.trim().to_owned();
    server.add_flags(&["--auth", "bearer"]);
    server.start_again();
    let mut command = kymo();
    command.env("KYMO_URL", server.url("")).env("KYMO_TOKEN", &admin);
    command.args([
        "token",
        "new",
        "ci",
        "--role",
        "write",
        "--for-tenant",
        "ci",
        "--format",
        "json",
    ]);
    let made: Value = serde_json::from_str(&run(&mut command).expect(0).stdout).unwrap();
    let (token, id) = (made["token"].as_str().unwrap(), made["record"]["id"].as_str().unwrap());
    let send = |token: &str| {
        let url = format!("http://{}/v1/traces", server.otlp_http());
        let asked = server.client.post(url).bearer_auth(token);
        Answer::of(asked.header("content-type", "application/x-protobuf").body(request("sent")))
    };
    send(token).expect(200);
    send(&format!("{token}x")).expect(401);
    let list = Answer::of(server.client.get(server.url("/api/tokens")).bearer_auth(&admin));
    let list = list.expect(200).text();
    assert!(list.contains(id) && !list.contains(token), "{list}");
    Answer::of(server.client.get(server.url("/api/tokens")).bearer_auth(token)).expect(403);
    let mut revoke = kymo();
    revoke.env("KYMO_URL", server.url("")).env("KYMO_TOKEN", &admin);
    run(revoke.args(["token", "revoke", id])).expect(0);
    send(token).expect(401);
    for secret in [token, &admin] {
        assert!(!holds(Path::new(&data), secret.as_bytes()), "a token is on disk");
        assert!(!server.stderr().contains(secret), "a token is in the log");
    }
}

#[test]
fn a_token_in_the_url_is_refused() {
    let server = Server::start();
    let answer = server.get("/api/sessions?access_token=kymo_0123456789ab_secret").expect(400);
    assert!(answer.text().contains("Authorization"), "{}", answer.text());
    assert!(!answer.text().contains("0123456789ab"), "{}", answer.text());
    server.get("/tempo/api/search?q=%7B%20.token%20%3D%20%22x%22%20%7D").expect(200);
}

#[test]
fn failed_logins_are_slowed_down() {
    let place = tempfile::tempdir().unwrap();
    let server = with(&config(place.path(), USERS));
    let statuses: Vec<u16> = (0..40)
        .map(|nth| ask(&server, Some(("ada", &format!("guess-{nth}"))), None).status)
        .collect();
    assert_eq!(statuses[0], 401);
    assert_eq!(*statuses.last().unwrap(), 429, "{statuses:?}");
}

#[test]
fn pages_of_others_change_and_ask_nothing_but_may_send() {
    let server = Server::start();
    let post = |path: &str, headers: &[(&'static str, &str)], body: &str| {
        let mut request = server.client.post(server.url(path)).body(body.to_owned());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request)
    };
    let elsewhere = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
    post("/api/sql", &elsewhere, "SELECT 1").expect(403);
    post("/api/audience/flags", &elsewhere, r#"{"key":"x"}"#).expect(403);
    let own = format!("http://{}", server.http());
    post("/api/sql", &[("origin", &own), ("sec-fetch-site", "same-origin")], "SELECT 1")
        .expect(200);
    let rebound = [("host", "evil.example"), ("sec-fetch-site", "same-origin")];
    post("/api/sql", &rebound, "SELECT 1").expect(403);
    let json = [elsewhere[0], elsewhere[1], ("content-type", "application/json")];
    post("/v1/traces", &json, "{}").expect(200);
    let headers = server.get("/").expect(200);
    assert!(headers.header("content-security-policy").contains("default-src 'none'"));
    assert_eq!(headers.header("x-content-type-options"), "nosniff");
}

#[test]
fn an_address_for_others_needs_a_word() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data").display().to_string();
    let refused = run(kymo().args(["serve", "--data", &data, "--http", "0.0.0.0:0"])).expect(1);
    assert!(refused.stderr.contains("--insecure-listen"), "{}", refused.stderr);
    assert!(!Path::new(&data).exists(), "nothing was touched");
}

#[test]
fn rates_of_a_tenant_hold_for_it_alone() {
    let place = tempfile::tempdir().unwrap();
    let text = "
tenants:
  few: {limits: {max_records_per_second: 1}}
  small: {limits: {max_bytes_per_second: 1}}
";
    let server = with(&config(place.path(), text));
    let send = |tenant: &str, body: Vec<u8>| {
        let asked = server.client.post(format!("http://{}/v1/traces", server.otlp_http()));
        let asked = asked.header("x-scope-orgid", tenant);
        Answer::of(asked.header("content-type", "application/x-protobuf").body(body))
    };
    for tenant in ["few", "small", "other"] {
        send(tenant, spans("many", 1, 500).encode_to_vec()).expect(200);
    }
    for tenant in ["few", "small"] {
        let refused = send(tenant, request("late")).expect(429);
        assert!(!refused.header("retry-after").is_empty(), "{tenant}");
    }
    send("other", request("late")).expect(200);
}
