//! Nanoseconds per span of admission, for each format and compression.
//!
//! `cargo run --release -p kymo-admit --example admit_speed`

use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kymo_admit::{Admission, Compression, Format, Signal};
use kymo_wire::json;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

/// What an SDK sends at once.
const SPANS: u64 = 512;
const ROUNDS: u32 = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let request = request();
    let mut text = Vec::new();
    json::encode(Signal::Traces, &request, &mut text)?;
    let spans = SPANS as f64;
    println!("{SPANS} spans of {:.0} bytes", request.len() as f64 / spans);
    for (format, plain) in [(Format::Protobuf, &request), (Format::Json, &text)] {
        for compression in Compression::ALL {
            let body = Bytes::from(compress(compression, plain)?);
            let best = best(format, compression, &body)?;
            println!(
                "{format:?}, {compression}: {:.0} ns per span, {:.0} bytes per span",
                best.as_nanos() as f64 / spans,
                body.len() as f64 / spans,
            );
        }
    }
    Ok(())
}

/// The shortest of several runs, which is the one least disturbed.
fn best(
    format: Format,
    compression: Compression,
    body: &Bytes,
) -> Result<Duration, Box<dyn Error>> {
    let admission = Admission::default();
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let body = body.clone();
        let start = Instant::now();
        let admitted =
            black_box(admission.admit("default", Signal::Traces, format, compression, body)?);
        best = best.min(start.elapsed());
        if admitted.items != SPANS {
            return Err("the fixture is not admitted whole".into());
        }
    }
    Ok(best)
}

fn compress(compression: Compression, plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let level = flate2::Compression::default();
    match compression {
        Compression::None => Ok(plain.to_vec()),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(plain)?;
            encoder.finish()
        }
        Compression::Deflate => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(plain)?;
            encoder.finish()
        }
        Compression::Zstd => zstd::encode_all(plain, 3),
        Compression::Snappy => Ok(snap::raw::Encoder::new().compress_vec(plain)?),
    }
}

/// Spans of an HTTP service, about 350 bytes each.
fn request() -> Vec<u8> {
    let spans = (0..SPANS).map(span).collect();
    let resource = Resource {
        attributes: vec![
            text("service.name", "checkout".to_owned()),
            text("service.instance.id", "checkout-7d9f4c5b8-x2x4z".to_owned()),
            text("telemetry.sdk.language", "python".to_owned()),
        ],
        ..Resource::default()
    };
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let group = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![group] }.encode_to_vec()
}

fn span(number: u64) -> Span {
    // Ids as random as real ones, since they are what does not compress.
    let mix = |salt: u64| (number + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let start_nanos = 1_700_000_000_000_000_000 + number * 1_234_567;
    Span {
        trace_id: [mix(1 << 40).to_be_bytes(), mix(2 << 40).to_be_bytes()].concat(),
        span_id: mix(3 << 40).to_be_bytes().to_vec(),
        parent_span_id: mix(4 << 40).to_be_bytes().to_vec(),
        name: "GET /cart/{id}/items".to_owned(),
        kind: 2,
        start_time_unix_nano: start_nanos,
        end_time_unix_nano: start_nanos + mix(5) % 50_000_000,
        attributes: vec![
            text("http.request.method", "GET".to_owned()),
            text("url.path", format!("/cart/{}/items", mix(6) % 100_000)),
            text("http.route", "/cart/{id}/items".to_owned()),
            int("http.response.status_code", 200),
            text("client.address", format!("10.0.{}.{}", mix(7) % 256, mix(8) % 256)),
            text("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64)".to_owned()),
            int("server.port", 8080),
        ],
        ..Span::default()
    }
}

fn text(key: &str, value: String) -> KeyValue {
    attribute(key, Value::StringValue(value))
}

fn int(key: &str, value: i64) -> KeyValue {
    attribute(key, Value::IntValue(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}
