//! Metrics to ask about, sent by remote-write.

use kymo_wire::remote_write::{Metadata, MetadataType, RequestWriter};

use super::{Answer, Server};

/// When the samples begin, in seconds.
pub const START: i64 = 1_700_000_000;

/// A request of remote-write 2.0: a counter of two jobs, each minute for ten minutes.
pub fn counters() -> Vec<u8> {
    let mut writer = RequestWriter::new();
    for (job, step) in [("build", 60.0), ("test", 30.0)] {
        let labels = [("__name__", "jobs_total"), ("job", job), ("runner", "gpu-a100")];
        let metadata =
            Metadata { metric_type: MetadataType::Counter, help: "Jobs that ended.", unit: "" };
        writer.series(labels, Some(metadata), |series| {
            for minute in 0..=10 {
                let value = step * f64::from(minute);
                series.sample(value, (START + i64::from(minute) * 60) * 1000, 0);
            }
            let trace = "5b8efff798038103d269b633813fc60c";
            series.exemplar([("trace_id", trace)], 7.0, (START + 600) * 1000);
        });
    }
    writer.finish()
}

/// Sends a request of remote-write.
pub fn write(server: &Server, version: u8, body: &[u8]) -> Answer {
    let content_type = match version {
        1 => "application/x-protobuf",
        _ => "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    };
    let packed = snap::raw::Encoder::new().compress_vec(body).unwrap();
    let request = reqwest::blocking::Client::new()
        .post(server.url("/prometheus/api/v1/write"))
        .header("content-type", content_type)
        .header("content-encoding", "snappy")
        .body(packed);
    Answer::of(request)
}
