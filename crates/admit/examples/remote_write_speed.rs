//! Nanoseconds per sample of remote-write: admission, and what the store does with what was
//! admitted until it is in the head.
//!
//! `cargo run --release -p kymo-admit --example remote_write_speed`

use std::error::Error;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kymo_admit::{Admission, Compression, Version};
use kymo_store::series::head::SeriesHead;
use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{RequestWriter, write_label};

const SERIES: usize = 10_000;
const SERIES_PER_REQUEST: usize = 2_000;
const SAMPLES: usize = 360;
const START_MILLIS: i64 = 1_700_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    for version in [Version::One, Version::Two] {
        let mut head = SeriesHead::new();
        let admission = Admission::default();
        let (mut admitting, mut unpacking, mut appending) =
            (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let (mut sent_bytes, mut plain_bytes) = (0, 0);
        for nth in 0..SAMPLES {
            for first in (0..SERIES).step_by(SERIES_PER_REQUEST) {
                let body = request(version, first..first + SERIES_PER_REQUEST, nth);
                plain_bytes += body.len();
                let body = Bytes::from(snap::raw::Encoder::new().compress_vec(&body)?);
                sent_bytes += body.len();
                let start = Instant::now();
                let admitted =
                    admission.admit_remote_write("a", version, Compression::Snappy, body)?;
                admitting += start.elapsed();
                let start = Instant::now();
                let plain = snap::raw::Decoder::new().decompress_vec(&admitted.body)?;
                unpacking += start.elapsed();
                let start = Instant::now();
                let sequence = (nth * SERIES + first) as u64;
                let stats = head.append_remote_write(version, &plain, sequence)?;
                appending += start.elapsed();
                if stats.points != SERIES_PER_REQUEST {
                    return Err("the fixture is not stored whole".into());
                }
            }
        }
        let samples = (SERIES * SAMPLES) as f64;
        let start = Instant::now();
        let chunks = head.drain()?;
        let drained = start.elapsed();
        let each = |time: Duration| time.as_nanos() as f64 / samples;
        println!(
            "{version:?}: {:.0} ns admission, {:.0} ns decompression, {:.0} ns head, then {:.0} ns \
             to encode the rest; {:.0} bytes per sample, {:.1} compressed; {} chunks",
            each(admitting),
            each(unpacking),
            each(appending),
            each(drained),
            plain_bytes as f64 / samples,
            sent_bytes as f64 / samples,
            chunks.len(),
        );
    }
    Ok(())
}

fn labels(series: usize) -> [(&'static str, String); 7] {
    [
        ("__name__", format!("http_requests_{}_total", series % 50)),
        ("code", ["200", "404", "500"][series % 3].to_owned()),
        ("handler", format!("/api/v1/handler/{}", series % 20)),
        ("instance", format!("10.0.{}.{}:9100", series / 256 % 256, series % 256)),
        ("job", "kubernetes-pods".to_owned()),
        ("namespace", format!("team-{}", series % 11)),
        ("pod", format!("checkout-7d9f4c5b8-{series:05}")),
    ]
}

fn request(version: Version, series: std::ops::Range<usize>, nth: usize) -> Vec<u8> {
    let time_millis = START_MILLIS + nth as i64 * 10_000;
    let value = |series: usize| (nth * (series % 17 + 1)) as f64;
    match version {
        Version::One => {
            let mut w = Writer::new();
            for series in series {
                w.message(1, |w| {
                    for (name, value) in labels(series) {
                        write_label(name.as_bytes(), value.as_bytes(), w);
                    }
                    w.message(2, |w| {
                        w.double_field(1, value(series));
                        w.varint_field(2, time_millis as u64);
                    });
                });
            }
            w.into_bytes()
        }
        Version::Two => {
            let mut request = RequestWriter::new();
            for series in series {
                let labels = labels(series);
                let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
                request.series(labels, None, |s| s.sample(value(series), time_millis, 0));
            }
            request.finish()
        }
    }
}
