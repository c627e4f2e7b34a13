//! Tests of exporters: against sockets of this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::SystemTime;

use opentelemetry::InstrumentationScope;
use opentelemetry::logs::{LogRecord as _, Logger as _, LoggerProvider as _};
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLoggerProvider};

use super::super::{ExportSettings, Outlet, OutletOptions, ScopedLogRecord};
use super::*;

fn record() -> ScopedLogRecord {
    let logger = SdkLoggerProvider::builder().build().logger("test");
    let mut record: SdkLogRecord = logger.create_log_record();
    record.set_observed_timestamp(SystemTime::now());
    record.set_body("a line".into());
    (record, InstrumentationScope::builder("test").build())
}

fn outlet(endpoint: String, protocol: Protocol) -> Outlet {
    let settings = ExportSettings {
        traces: Destination::Nowhere,
        metrics: Destination::Nowhere,
        logs: Destination::Otlp(OtlpSettings::new(endpoint, protocol)),
    };
    let quiet = OutletOptions { notice: Some(std::sync::Arc::new(|_| {})), ..Default::default() };
    Outlet::start(&settings, &Resource::builder_empty().build(), quiet).unwrap()
}

/// The head of a request, which is read whole.
fn head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    // Who closes before all was read resets the connection.
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap_or_default().trim().parse().unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    head
}

#[test]
fn a_password_of_an_endpoint_is_sent_as_a_header() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        head
    });
    let outlet = outlet(format!("http://me:hunter2@{address}/v1/logs"), Protocol::HttpProtobuf);
    outlet.logs([record()]);
    assert!(outlet.shutdown(Duration::from_secs(30)), "{:?}", outlet.counts());
    let head = served.join().unwrap();
    // `me:hunter2`.
    assert!(head.contains("authorization: Basic bWU6aHVudGVyMg==\r\n"), "{head}");
}

#[test]
fn no_error_shows_a_password() {
    // Nobody listens where somebody did.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for protocol in [Protocol::HttpProtobuf, Protocol::Grpc] {
        let outlet = outlet(format!("http://me:hunter2@{address}/v1/logs"), protocol);
        outlet.logs([record()]);
        assert!(!outlet.shutdown(Duration::from_millis(200)));
        let error = outlet.counts().last_error.unwrap();
        assert!(error.contains("127.0.0.1"), "{error}");
        assert!(!error.contains("hunter2") && !error.contains("aHVudGVy"), "{error}");
    }
}

#[test]
fn what_an_endpoint_that_hangs_did_not_take_is_counted_when_the_end_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for protocol in [Protocol::HttpProtobuf, Protocol::Grpc] {
        let outlet = outlet(format!("http://{address}/v1/logs"), protocol);
        outlet.logs([record(), record()]);
        // Its first request is on its way when the end comes.
        assert!(!outlet.flush(Duration::from_millis(1)));
        let (_hanging, _) = listener.accept().unwrap();
        outlet.logs([record()]);
        assert!(!outlet.shutdown(Duration::from_millis(100)));
        let counts = outlet.counts();
        assert_eq!((counts.lost(), counts.logs.waiting), (3, 0), "{counts:?}");
        assert_eq!(counts.logs.sent, 0);
    }
}
