//! Tests of exporters: against sockets of this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kymo_forward::{OtlpSettings, Protocol, Signal};
use opentelemetry::InstrumentationScope;
use opentelemetry::logs::{LogRecord as _, Logger as _, LoggerProvider as _};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{Tracer as _, TracerProvider as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLoggerProvider};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::super::{ExportSettings, Notice, Outlet, OutletOptions, ScopedLogRecord};
use super::*;

const PATIENCE: Duration = Duration::from_secs(30);
const PROTOCOLS: [Protocol; 3] = [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson];

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
    let quiet = OutletOptions { notice: Some(Arc::new(|_| {})), ..Default::default() };
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

/// A server of all protocols that takes every request without one of its records.
fn refusing_one() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async {
                    let service = hyper::service::service_fn(partly);
                    let server = auto::Builder::new(TokioExecutor::new());
                    // It ends when the client does.
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
    });
    address
}

/// An answer that says "too old" of one record.
async fn partly(
    request: Request<Incoming>,
) -> Result<Response<impl Body<Data = Bytes, Error = std::convert::Infallible>>, hyper::Error> {
    let content_type = request.headers()[CONTENT_TYPE].clone();
    let path = request.uri().path().to_owned();
    assert!(!request.into_body().collect().await?.to_bytes().is_empty());
    let protobuf = b"\x0a\x0b\x08\x01\x12\x07too old";
    let (body, trailers) = match content_type.to_str().unwrap() {
        "application/grpc" => {
            let status = [("grpc-status".parse().unwrap(), HeaderValue::from_static("0"))];
            ([&[0, 0, 0, 0, 13], &protobuf[..]].concat(), Some(HeaderMap::from_iter(status)))
        }
        "application/x-protobuf" => (protobuf.to_vec(), None),
        "application/json" => {
            let count = match path.as_str() {
                "/v1/traces" => "rejectedSpans",
                "/v1/metrics" => "rejectedDataPoints",
                _ => "rejectedLogRecords",
            };
            let said = format!(r#"{{"{count}": "1", "errorMessage": "too old"}}"#);
            (format!(r#"{{"partialSuccess": {said}}}"#).into_bytes(), None)
        }
        other => panic!("a request of {other}"),
    };
    let body = Full::new(Bytes::from(body)).with_trailers(async { trailers.map(Ok) });
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(response)
}

#[test]
fn what_is_refused_of_a_request_is_counted_and_its_reason_told_once() {
    let address = refusing_one();
    for protocol in PROTOCOLS {
        let destination = |signal: Signal| {
            let path = if protocol.is_http() { signal.http_path() } else { "" };
            Destination::Otlp(OtlpSettings::new(format!("http://{address}{path}"), protocol))
        };
        let settings = ExportSettings {
            traces: destination(Signal::Traces),
            metrics: destination(Signal::Metrics),
            logs: destination(Signal::Logs),
        };
        let told = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&told);
        let notice = move |notice: &Notice| keep.lock().unwrap().push(notice.message.clone());
        let options = OutletOptions { notice: Some(Arc::new(notice)), ..Default::default() };
        let resource = Resource::builder_empty().build();
        let outlet = Outlet::start(&settings, &resource, options).unwrap();
        let tracers =
            SdkTracerProvider::builder().with_span_processor(outlet.span_processor()).build();
        let reader = PeriodicReader::builder(outlet.metric_exporter(&settings).unwrap());
        let meters = SdkMeterProvider::builder().with_reader(reader.build()).build();
        let counter = meters.meter("test").u64_counter("calls").build();
        for _ in 0..2 {
            (0..3).for_each(|_| drop(tracers.tracer("test").start("a span")));
            outlet.logs([record(), record()]);
            counter.add(1, &[]);
            assert!(!outlet.flush(PATIENCE), "{protocol:?}: {:?}", outlet.counts());
            assert!(meters.force_flush().is_err(), "{protocol:?}");
        }
        let counts = outlet.counts();
        let numbers = |counts: super::super::SignalCounts| (counts.sent, counts.failed);
        assert_eq!(numbers(counts.spans), (4, 2), "{protocol:?}: {counts:?}");
        assert_eq!(numbers(counts.logs), (2, 2), "{protocol:?}: {counts:?}");
        assert_eq!(numbers(counts.metrics), (0, 2), "{protocol:?}: {counts:?}");
        assert!(counts.last_error.unwrap().contains("too old"));
        let told = std::mem::take(&mut *told.lock().unwrap());
        for words in ["1 spans were not kept", "1 points were", "1 log records were"] {
            let about = told.iter().filter(|message| message.contains(words)).count();
            assert_eq!(about, 1, "{protocol:?}: {told:?}");
        }
        assert_eq!(told.len(), 3, "{protocol:?}: {told:?}");
    }
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
    assert!(outlet.shutdown(PATIENCE), "{:?}", outlet.counts());
    let head = served.join().unwrap();
    // `me:hunter2`.
    assert!(head.contains("authorization: Basic bWU6aHVudGVyMg==\r\n"), "{head}");
}

#[test]
fn no_error_shows_a_password() {
    // A port that is held, so that no other test gets it, and where nobody listens.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = held.local_addr().unwrap();
    for protocol in PROTOCOLS {
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
    for protocol in PROTOCOLS {
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
