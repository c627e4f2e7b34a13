use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Instant;

use super::*;
use crate::{Asked, until};

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
    let endpoint = format!("http://{address}");
    let asked = Asked { endpoint: Some(endpoint), protocol: Some(protocol) };
    let variable = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("x-key=a b".to_owned()),
        "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION" => Some("gzip".to_owned()),
        _ => None,
    };
    let settings = Settings::resolve(signal, &asked, variable, |warning| panic!("{warning}"));
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
fn an_endpoint_that_is_none_is_refused_with_an_example() {
    for endpoint in ["http://", "ftp://a", "::"] {
        let asked = Asked { endpoint: Some(endpoint.to_owned()), protocol: None };
        let settings = Settings::resolve(Signal::Logs, &asked, |_| None, |_| ());
        let error = Client::new(&settings, Signal::Logs).unwrap_err().to_string();
        assert!(error.contains("expected a URL such as"), "{error}");
    }
}
