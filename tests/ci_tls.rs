//! `kymo ci` to a server that wants certificates of its clients.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use harness::actions::Job;
use harness::programs::{clients, left_out, python, repository, run};

/// An authority, and certificates for a server and a client; false where there is no openssl.
fn certificates(place: &Path) -> bool {
    let openssl = |arguments: &[&str]| {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(place).stdin(Stdio::null());
        command.output().is_ok_and(|output| output.status.success())
    };
    std::fs::write(
        place.join("extensions"),
        "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n",
    )
    .unwrap();
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    let authority =
        ["req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority"];
    openssl(&[&authority[..], &key].concat())
        && ["server", "client"].into_iter().all(|name| {
            let [key_file, request, certificate] =
                ["key", "csr", "pem"].map(|extension| format!("{name}.{extension}"));
            let asked = ["req", "-keyout", &key_file, "-out", &request, "-subj", "/CN=localhost"];
            let signed = [
                "x509",
                "-req",
                "-in",
                &request,
                "-CA",
                "ca.pem",
                "-CAkey",
                "ca.key",
                "-CAcreateserial",
                "-out",
                &certificate,
                "-days",
                "2",
                "-extfile",
                "extensions",
            ];
            openssl(&[&asked[..], &key].concat()) && openssl(&signed)
        })
}

#[test]
fn a_server_that_wants_certificates_gets_them() {
    let Some(clients) = clients("sending with client certificates") else { return };
    let place = tempfile::tempdir().unwrap();
    if !certificates(place.path()) {
        return left_out("sending with client certificates (install openssl)");
    }
    let mut sink = python(&clients)
        .arg(repository("tests/clients/tls_sink.py"))
        .arg(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(sink.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ports = lines.next().unwrap();
    let (grpc, http) = ports.split_once(' ').unwrap();
    let job = Job::new();
    std::fs::write(job.workspace().join("all_jobs.json"), r#"[{"name": "a", "id": 1}]"#).unwrap();
    let file = |name: &str| place.path().join(name).display().to_string();
    for (protocol, port, shown) in [("grpc", grpc, "grpc"), ("http/protobuf", http, "http")] {
        let endpoint = format!("https://localhost:{port}");
        let arguments =
            ["ci", "summarize", "--strict", "--endpoint", &endpoint, "--protocol", protocol];
        let known = |command: &mut Command| {
            command
                .env("OTEL_EXPORTER_OTLP_CERTIFICATE", file("ca.pem"))
                .env("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", file("client.pem"))
                .env("OTEL_EXPORTER_OTLP_CLIENT_KEY", file("client.key"));
        };
        let mut command = job.kymo(&arguments);
        known(&mut command);
        let ran = run(&mut command).expect(0);
        assert!(ran.stdout.contains("in 1 request"), "{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(lines.next().unwrap(), format!("{shown} 2"));
        for missing in ["OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"] {
            let mut command = job.kymo(&[&arguments[..], &["--timeout", "300ms"]].concat());
            known(&mut command);
            command.env_remove(missing);
            run(&mut command).expect(1);
        }
    }
    drop(sink.stdin.take());
    sink.wait().unwrap();
}
