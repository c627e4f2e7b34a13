use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Instant;

use super::*;
use crate::until;

/// Requests that a server got: head and body of each.
type Requests = Vec<(String, Vec<u8>)>;

/// A server of HTTP/1 that gives each request the next of some answers, and what it was asked.
fn server(answers: &'static [&'static str]) -> (SocketAddr, JoinHandle<Requests>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line.to_lowercase());
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            asked.push((head, body));
            let head = format!("HTTP/1.1 {answer}\r\nconnection: close\r\n");
            write!(stream, "{head}content-length: 0\r\n\r\n").unwrap();
        }
        asked
    });
    (address, serving)
}

fn client(address: SocketAddr, protocol: Protocol, signal: Signal) -> Client {
    let path = if protocol.is_http() { signal.http_path() } else { "" };
    let mut settings = OtlpSettings::new(format!("http://{address}{path}"), protocol);
    settings.headers.push(("x-key".to_owned(), "a b".to_owned()));
    settings.is_gzipped = signal == Signal::Logs;
    Client::new(&settings, signal).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

#[test]
fn each_signal_goes_to_its_path_in_its_protocol() {
    let metrics =
        kymo_wire::json::decode(Signal::Metrics, br#"{"resourceMetrics":[{"schemaUrl":"u"}]}"#);
    let metrics = metrics.unwrap();
    for (signal, protocol, body, line) in [
        (
            Signal::Traces,
            Protocol::HttpProtobuf,
            &metrics[..],
            "content-type: application/x-protobuf",
        ),
        (Signal::Metrics, Protocol::HttpJson, &metrics, "content-type: application/json"),
        (Signal::Logs, Protocol::HttpProtobuf, &metrics, "content-encoding: gzip"),
    ] {
        let (address, serving) = server(&["200 OK"]);
        let client = client(address, protocol, signal);
        let answer = block_on(client.send(body, Duration::from_secs(10)));
        assert_eq!(answer, Answer::Accepted(None));
        let (head, sent) = serving.join().unwrap().remove(0);
        assert!(head.starts_with(&format!("post /v1/{signal} ")), "{head}");
        assert!(head.contains(line) && head.contains("x-key: a b"), "{head}");
        assert_eq!(sent == body, signal == Signal::Traces);
        if protocol == Protocol::HttpJson {
            assert_eq!(sent, br#"{"resourceMetrics":[{"schemaUrl":"u"}]}"#);
        }
    }
}

#[test]
fn a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let (address, serving) = server(&["503 Busy", "200 OK", "400 No"]);
    let client = client(address, Protocol::HttpProtobuf, Signal::Traces);
    let deadline = Instant::now() + Duration::from_secs(30);
    assert!(matches!(block_on(until(&client, b"", deadline)), Ok(None)));
    let refused = block_on(until(&client, b"", deadline)).unwrap_err();
    assert!(matches!(refused, ForwardError::Refused { .. }), "{refused}");
    assert_eq!(serving.join().unwrap().len(), 3);
    // Nobody listens any more, and there is no time left: one try.
    let unreached = block_on(until(&client, b"", Instant::now())).unwrap_err();
    assert!(matches!(unreached, ForwardError::Unreached { .. }), "{unreached}");
}

#[test]
fn what_is_not_otlp_is_refused_before_it_is_sent_as_json() {
    let client = client("127.0.0.1:1".parse().unwrap(), Protocol::HttpJson, Signal::Traces);
    let answer = block_on(client.send(&[0xff; 9], Duration::from_secs(10)));
    assert!(matches!(answer, Answer::Refused(why) if why.contains("not OTLP")));
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_sent() {
    for endpoint in ["http://", "ftp://a", "::"] {
        let settings = OtlpSettings::new(endpoint, Protocol::Grpc);
        let error = Client::new(&settings, Signal::Logs).unwrap_err().to_string();
        assert!(error.contains("expected a URL such as"), "{error}");
    }
    for (name, value) in [("a b", "c"), ("a", "hunter2\n")] {
        let mut settings = OtlpSettings::new("http://a.test", Protocol::Grpc);
        settings.headers.push((name.to_owned(), value.to_owned()));
        let error = Client::new(&settings, Signal::Logs).unwrap_err().to_string();
        assert!(error.contains(&format!("{name:?}")) && !error.contains("hunter2"), "{error}");
    }
    let mut settings = OtlpSettings::new("https://a.test", Protocol::Grpc);
    settings.certificate = Some("/no/such/file.pem".into());
    let error = Client::new(&settings, Signal::Logs).unwrap_err().to_string();
    assert!(error.contains("OTEL_EXPORTER_OTLP_CERTIFICATE"), "{error}");
}

#[test]
fn a_password_of_an_endpoint_is_a_header_unless_there_is_one() {
    for (header, expected) in [
        // `me:p@ss`.
        (None, "authorization: basic bwu6cebzcw==\r\n"),
        (Some("Bearer x"), "authorization: bearer x\r\n"),
    ] {
        let (address, serving) = server(&["200 OK"]);
        let endpoint = format!("http://me:p%40ss@{address}/v1/traces");
        let mut settings = OtlpSettings::new(endpoint, Protocol::HttpProtobuf);
        settings.headers.extend(header.map(|value| ("Authorization".into(), value.into())));
        let client = Client::new(&settings, Signal::Traces).unwrap();
        let answer = block_on(client.send(b"", Duration::from_secs(10)));
        assert_eq!(answer, Answer::Accepted(None));
        let (head, _) = serving.join().unwrap().remove(0);
        assert!(head.contains(expected), "{head}");
        assert_eq!(head.matches("authorization").count(), 1, "{head}");
    }
}
