//! Requests: read from a file, or made.
//!
//! Files hold encoded export requests, each after its length as a varint: what
//! `loadgen … --out FILE --dry-run` writes. What is made here resembles a web
//! shop's traces and metrics closely enough to measure parts with.

use std::io::{self, BufRead, Read};
use std::path::Path;

use bytes::Bytes;
use kymo_wire::encode::{SpanFields, Writer};
use kymo_wire::{AnyValueView, MetricData, MetricsView, View, WireError};

/// Reads the requests of a file one by one.
#[derive(Debug)]
pub struct Requests {
    file: io::BufReader<std::fs::File>,
}

impl Requests {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: io::BufReader::with_capacity(1 << 20, std::fs::File::open(path)?) })
    }
}

impl Iterator for Requests {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.file.fill_buf() {
            Ok([]) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
        let mut read = || {
            let mut length = 0u64;
            for shift in (0..64).step_by(7) {
                let mut byte = [0];
                self.file.read_exact(&mut byte)?;
                length |= u64::from(byte[0] & 0x7f) << shift;
                if byte[0] < 0x80 {
                    let mut body = vec![0; length as usize];
                    self.file.read_exact(&mut body)?;
                    return Ok(Bytes::from(body));
                }
            }
            Err(io::Error::new(io::ErrorKind::InvalidData, "length of a request is too long"))
        };
        Some(read())
    }
}

/// Samples of a metrics request as Prometheus counts them: a histogram point is
/// one for each bucket and two more.
pub fn prometheus_samples(body: &[u8]) -> Result<u64, WireError> {
    let mut samples = 0;
    for resource in MetricsView::parse(body)?.resources {
        for scope in resource?.scopes {
            for metric in scope?.items {
                samples += match metric?.data {
                    MetricData::None => 0,
                    MetricData::Gauge(gauge) => gauge.data_points.count(),
                    MetricData::Sum(sum) => sum.data_points.count(),
                    MetricData::ExponentialHistogram(h) => h.data_points.count(),
                    MetricData::Histogram(histogram) => {
                        let points = histogram.data_points.iter().flatten();
                        points.map(|p| p.bucket_counts.count() + 2).sum()
                    }
                    MetricData::Summary(summary) => {
                        let points = summary.data_points.iter().flatten();
                        points.map(|p| p.quantile_values.count() + 2).sum()
                    }
                } as u64;
            }
        }
    }
    Ok(samples)
}

/// A small generator of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }
}

/// When made traces begin.
pub const START_NANOS: u64 = 1_700_000_000_000_000_000;

/// Trace requests of 500 spans, 20 to a trace, `count` of them.
pub fn traces(count: u64) -> Vec<Bytes> {
    let mut random = Random::new(1);
    (0..count).map(|request| trace_request(&mut random, request)).collect()
}

fn trace_request(random: &mut Random, request: u64) -> Bytes {
    let mut writer = Writer::new();
    for service in 0..5 {
        writer.resource_group(|w| {
            w.resource(|w| {
                let name = format!("service-{service}");
                w.resource_attribute(b"service.name", &AnyValueView::String(name.as_bytes()));
                w.resource_attribute(b"host.name", &AnyValueView::String(b"node-01"));
                w.resource_attribute(b"process.pid", &AnyValueView::Int(1000 + service));
            });
            w.scope_group(|w| {
                w.scope(b"bench", b"1.0", |_| {});
                for trace in 0..5 {
                    trace_spans(w, random, request * 25 + service as u64 * 5 + trace);
                }
            });
        });
    }
    Bytes::from(writer.into_bytes())
}

fn trace_spans(writer: &mut Writer, random: &mut Random, number: u64) {
    let mut trace_id = [0u8; 16];
    trace_id[..8].copy_from_slice(&random.next_u64().to_le_bytes());
    trace_id[8..].copy_from_slice(&number.to_le_bytes());
    let mut parent: Vec<u8> = Vec::new();
    for nth in 0..20u64 {
        let span_id = (random.next_u64() | 1).to_le_bytes();
        let start = START_NANOS + number * 1_000_000 + nth * 10_000 + random.below(5_000);
        let name = format!("GET /api/{}", nth % 7);
        let fields = SpanFields {
            trace_id: &trace_id,
            span_id: &span_id,
            parent_span_id: &parent,
            name: name.as_bytes(),
            kind: 2 + (nth % 2) as i32,
            start_time_unix_nano: start,
            end_time_unix_nano: start + random.below(2_000_000_000),
            ..SpanFields::default()
        };
        writer.span(&fields, |w| {
            let user = format!("user-{:06}", random.below(250_000));
            w.span_attribute(b"http.method", &AnyValueView::String(b"GET"));
            w.span_attribute(b"http.status_code", &AnyValueView::Int(200 + (nth % 4) as i64 * 100));
            w.span_attribute(b"app.user_id", &AnyValueView::String(user.as_bytes()));
            w.span_attribute(
                b"app.value",
                &AnyValueView::Double(random.below(100_000) as f64 / 100.0),
            );
            w.span_attribute(b"app.cache_hit", &AnyValueView::Bool(nth % 5 != 0));
        });
        if nth % 3 == 0 {
            parent = span_id.to_vec();
        }
    }
}
