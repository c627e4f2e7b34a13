//! What a server speaks, and whether it takes each signal.
//!
//! A request that is not taken is tried again the other way round: gRPC sent to a port of HTTP, HTTP
//! sent to one of gRPC and plain text sent to TLS look alike to a program ("connection reset") and
//! are the most frequent reasons why nothing arrives.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use kymo_forward::{Answer, Client, OtlpSettings, Protocol, Signal, signals};
use reqwest::Url;

use super::PATIENCE;
use super::check::Checks;
use super::record::TestRecord;

/// Whether the endpoint takes a request of a signal.
pub(super) fn look(
    checks: &mut Checks,
    signal: Signal,
    otlp: &OtlpSettings,
    record: Option<&TestRecord>,
) -> bool {
    let request = record.map(|record| record.request(signal)).unwrap_or_default();
    let what = if record.is_some() { "a test record" } else { "an empty request" };
    let (server, items) = (otlp.authority(), signals::items(signal));
    match send(signal, otlp, otlp.protocol, &request) {
        Answer::Accepted(None) => {
            checks.ok("accepted", format!("{items}: {server} took {what}"));
            true
        }
        Answer::Accepted(Some(partial)) => {
            checks.warning("accepted", format!("{items}: {partial}"), "the server says why");
            false
        }
        Answer::Later(why, _) | Answer::Refused(why) => {
            let advice = diagnose(signal, otlp, &why);
            checks.failed("accepted", format!("{items}: {server}: {why}"), advice);
            false
        }
    }
}

/// Sends a request once, in a protocol that may be another than the configured one.
fn send(signal: Signal, otlp: &OtlpSettings, protocol: Protocol, request: &[u8]) -> Answer {
    let settings = OtlpSettings { protocol, ..otlp.clone() };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Answer::Refused(format!("cannot begin to send: {error}")),
    };
    let answer = runtime.block_on(async {
        match Client::new(&settings, signal) {
            Ok(client) => client.send(request, PATIENCE.min(otlp.timeout)).await,
            Err(error) => Answer::Refused(error.to_string()),
        }
    });
    // A name that nobody resolves is not waited for.
    runtime.shutdown_background();
    answer
}

/// What to do about a request that was not taken.
fn diagnose(signal: Signal, otlp: &OtlpSettings, why: &str) -> String {
    let lower = why.to_lowercase();
    let is_status = |codes: &[&str]| codes.iter().any(|code| lower.contains(code));
    if is_status(&["answered 401", "answered 403", "grpc code 16", "grpc code 7 "]) {
        return "the server wants to know who sends: set OTEL_EXPORTER_OTLP_HEADERS, such as \
                authorization=Bearer%20TOKEN"
            .to_owned();
    }
    if lower.contains("certificate") {
        return "name the authority that signed the server's certificate in \
                OTEL_EXPORTER_OTLP_CERTIFICATE, and the server as its certificate does"
            .to_owned();
    }
    let other = match otlp.protocol {
        Protocol::Grpc => Protocol::HttpProtobuf,
        Protocol::HttpProtobuf | Protocol::HttpJson => Protocol::Grpc,
    };
    let mut other_way = otlp.clone();
    if other == Protocol::HttpProtobuf {
        let base = otlp.endpoint.trim_end_matches('/');
        other_way.endpoint = format!("{base}{}", signal.http_path());
    }
    if matches!(send(signal, &other_way, other, &[]), Answer::Accepted(_)) {
        return match other {
            Protocol::Grpc => "this port speaks gRPC, and HTTP was sent: set \
                               OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or use the port for HTTP (4318)"
                .to_owned(),
            _ => "this port speaks HTTP, and gRPC was sent: set \
                  OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or use the port for gRPC (4317)"
                .to_owned(),
        };
    }
    match (heard(&otlp.endpoint), otlp.endpoint.starts_with("https:")) {
        (Heard::Tls, false) => "this port wants TLS: write https:// in the endpoint".to_owned(),
        (Heard::Plain, true) => {
            "this port speaks without TLS: write http:// in the endpoint".to_owned()
        }
        (Heard::Plain, false) => {
            "a server is there that does not take OTLP at this address: look at port and path"
                .to_owned()
        }
        _ if lower.contains("no answer") => {
            "it takes connections and says nothing: is it a server of OTLP, and is it well?"
                .to_owned()
        }
        _ => "look at port and protocol; the server's log may say more".to_owned(),
    }
}

/// What a server says to a line of HTTP.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Plain,
    Tls,
    Nothing,
}

fn heard(endpoint: &str) -> Heard {
    let listen = || -> Option<Vec<u8>> {
        let url = Url::parse(endpoint).ok()?;
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
        let address = (host, url.port_or_known_default()?).to_socket_addrs().ok()?.next()?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: doctor\r\nConnection: close\r\n\r\n").ok()?;
        let mut start = [0; 64];
        let count = stream.read(&mut start).ok()?;
        Some(start[..count].to_vec())
    };
    match listen().as_deref() {
        // An alert of TLS; or a server that explains it in plain text.
        Some([0x15, 0x03, ..]) => Heard::Tls,
        Some(start) if start.starts_with(b"HTTP/1") => Heard::Plain,
        _ => Heard::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that answers one connection after another with the same bytes.
    fn saying(bytes: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = stream;
                let mut start = [0; 1024];
                let _ = stream.read(&mut start);
                let _ = stream.write_all(bytes);
            }
        });
        format!("http://{address}")
    }

    fn advice(endpoint: String, protocol: Protocol, why: &str) -> String {
        diagnose(Signal::Traces, &OtlpSettings::new(endpoint, protocol), why)
    }

    #[test]
    fn a_server_with_tls_is_known_by_its_alert() {
        let endpoint = saying(&[0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x16]);
        assert_eq!(heard(&endpoint), Heard::Tls);
        assert!(advice(endpoint, Protocol::HttpProtobuf, "reset").contains("https://"));
    }

    #[test]
    fn a_server_of_something_else_is_told_as_one() {
        let page = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let endpoint = saying(page);
        let plain = advice(endpoint.clone(), Protocol::HttpProtobuf, "it answered 404");
        assert!(plain.contains("port and path"), "{plain}");
        let secure = endpoint.replace("http:", "https:");
        assert!(advice(secure, Protocol::HttpProtobuf, "reset").contains("http://"));
    }

    #[test]
    fn refusals_of_who_sends_are_told_apart() {
        for why in ["it answered 401 no", "it answered gRPC code 16 no token", "it answered 403"] {
            let said = advice("http://127.0.0.1:9".to_owned(), Protocol::Grpc, why);
            assert!(said.contains("OTEL_EXPORTER_OTLP_HEADERS"), "{why}: {said}");
        }
        let said = advice(
            "https://127.0.0.1:9".to_owned(),
            Protocol::Grpc,
            "invalid peer certificate: UnknownIssuer",
        );
        assert!(said.contains("OTEL_EXPORTER_OTLP_CERTIFICATE"), "{said}");
    }
}
