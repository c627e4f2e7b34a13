//! Who we are, and whom we trust.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::fixture::{Fixture, job, settings};
use crate::server::{Reply, Server};

/// A server that answers only to this `Authorization`.
fn guarded(expected: &'static str) -> Server {
    Server::start(move |request| {
        let is_let_in = request.headers.get("authorization").is_some_and(|given| given == expected);
        if is_let_in { Reply::text("a 1\n") } else { Reply::status(401) }
    })
}

async fn up(server: &Server, keys: &str) -> Option<f64> {
    let mut fixture = Fixture::start(&job(&server.address, keys)).await;
    fixture.next().await.value("up")
}

#[tokio::test]
async fn credentials_are_sent_as_they_are_configured() {
    let directory = tempfile::tempdir().unwrap();
    let password = directory.path().join("password");
    std::fs::write(&password, "s3cret\n").unwrap();
    // "user:s3cret" in base64.
    let server = guarded("Basic dXNlcjpzM2NyZXQ=");
    let keys = "    basic_auth: {username: user, password: s3cret}\n";
    assert_eq!(up(&server, keys).await, Some(1.0));
    let path = password.display();
    let keys = format!("    basic_auth: {{username: user, password_file: '{path}'}}\n");
    assert_eq!(up(&server, &keys).await, Some(1.0));
    assert_eq!(up(&server, "").await, Some(0.0));
    let server = guarded("Bearer s3cret");
    assert_eq!(up(&server, "    bearer_token: s3cret\n").await, Some(1.0));
    let keys = format!("    authorization: {{credentials_file: '{path}'}}\n");
    assert_eq!(up(&server, &keys).await, Some(1.0));
    std::fs::remove_file(&password).unwrap();
    let mut fixture = Fixture::start(&job(&server.address, &keys)).await;
    assert_eq!(fixture.next().await.value("up"), Some(0.0));
    let error = fixture.state().await.last_error;
    assert!(error.starts_with("cannot ask: unable to read file"), "{error}");
}

#[tokio::test]
async fn further_headers_are_sent() {
    let server = Server::start(|request| {
        let is_there = request.headers.get("x-scope-orgid").is_some_and(|given| given == "t1");
        if is_there { Reply::text("a 1\n") } else { Reply::status(403) }
    });
    let keys = "    http_headers: {X-Scope-OrgID: {values: [t1]}}\n";
    assert_eq!(up(&server, keys).await, Some(1.0));
}

/// A certificate for `kymo.test`, signed by itself, in `cert.pem` and `key.pem`. `None` where
/// there is no tool to make one.
fn certificate(directory: &Path) -> Option<Arc<ServerConfig>> {
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=kymo.test", "-addext", "subjectAltName=DNS:kymo.test"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(directory)
        .output();
    let output = status.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cert = CertificateDer::from_pem_file(directory.join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(directory.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .unwrap();
    Some(Arc::new(config))
}

#[tokio::test]
async fn a_server_is_trusted_by_its_authority_and_name_or_by_decree() {
    let directory = tempfile::tempdir().unwrap();
    let Some(tls) = certificate(directory.path()) else {
        eprintln!("left out: openssl is not installed");
        return;
    };
    let server = Server::start_with(Some(tls), |_| Reply::text("a 1\n"));
    let ca = directory.path().join("cert.pem").display().to_string();
    for (tls_config, expected) in [
        (format!("{{ca_file: '{ca}', server_name: kymo.test}}"), 1.0),
        (format!("{{ca_file: '{ca}', server_name: kymo.test, min_version: TLS13}}"), 1.0),
        ("{insecure_skip_verify: true}".to_owned(), 1.0),
        (format!("{{ca_file: '{ca}'}}"), 0.0),
        ("{server_name: kymo.test}".to_owned(), 0.0),
        ("{}".to_owned(), 0.0),
    ] {
        let keys = format!("    scheme: https\n    tls_config: {tls_config}\n");
        // A handshake takes its time on a busy machine.
        let yaml = job(&server.address, &keys).replace("400ms", "1s");
        let mut fixture = Fixture::start(&yaml).await;
        let up = fixture.next().await.value("up");
        let error = fixture.state().await.last_error;
        assert_eq!(up, Some(expected), "{tls_config}: {error}");
    }
}

#[tokio::test]
async fn certificates_that_are_not_there_are_told_before_anything_starts() {
    let settings = settings(&job("x:1", "    tls_config: {ca_file: /no/such.pem}\n"));
    let fixture = Fixture::start("").await;
    let error = fixture.scraper.reload(&settings).await.unwrap_err();
    assert!(error.to_string().starts_with("scrape job \"j\": unable to read file /no/such.pem"));
    assert!(fixture.scraper.scrape_pools().is_empty());
}

#[tokio::test]
async fn a_reload_of_the_same_settings_reads_certificates_again() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let made = directories.each_ref().map(|directory| certificate(directory.path()));
    let [Some(tls), Some(_)] = made else {
        eprintln!("left out: openssl is not installed");
        return;
    };
    let target = Server::start_with(Some(tls.clone()), |_| Reply::text("a 1\n"));
    let listed = target.address.clone();
    let discovery = Server::start_with(Some(tls), move |_| {
        Reply::typed("application/json", &format!(r#"[{{"targets": ["{listed}"]}}]"#))
    });
    let [right, wrong] = directories.each_ref().map(|directory| directory.path().join("cert.pem"));
    let ca = directories[0].path().join("ca.pem");
    std::fs::copy(&wrong, &ca).unwrap();
    let tls_config = format!("tls_config: {{ca_file: '{}', server_name: kymo.test}}", ca.display());
    let yaml = format!(
        "scrape_configs:\n  - job_name: j\n    scrape_interval: 1s\n    scheme: https\n    \
         {tls_config}\n    static_configs: [{{targets: ['{}']}}]\n    http_sd_configs:\n      - url: \
         https://u:s3cret@{}/sd\n        refresh_interval: 50ms\n        {tls_config}\n    \
         relabel_configs: [{{source_labels: [__meta_url], target_label: found_by}}]\n",
        target.address, discovery.address
    );
    let mut fixture = Fixture::start(&yaml).await;
    assert_eq!(fixture.next().await.value("up"), Some(0.0));
    std::fs::copy(&right, &ca).unwrap();
    fixture.scraper.reload(&settings(&yaml)).await.unwrap();
    fixture.until(|batch| batch.value("up") == Some(1.0)).await;
    let found_by = format!("https://{}/sd", discovery.address);
    fixture.until(|batch| batch.series("up").unwrap().labels.get("found_by") == found_by).await;
}
