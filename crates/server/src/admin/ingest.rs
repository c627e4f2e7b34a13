//! What came in, by which protocol; what was refused or changed, why, and what to do about it.
//!
//! Numbers are those of `/metrics`, counted since the server was started: who wants rates asks twice.

use axum::extract::State;
use axum::response::Response;
use kymo_wire::exposition::{Entry, Format, ParseOptions, Parser};
use serde_json::{Map, Value, json};

use super::document;
use crate::router::Shared;

/// What is told, and as what.
const FAMILIES: [(&str, &str); 9] = [
    ("kymo_received_requests_total", "requests"),
    ("kymo_received_bytes_total", "bytes"),
    ("kymo_received_records_total", "records"),
    ("kymo_duplicate_requests_total", "duplicates"),
    ("kymo_refused_requests_total", "refused_requests"),
    ("kymo_refused_records_total", "refused_records"),
    ("kymo_changed_records_total", "changed_records"),
    ("kymo_dropped_records_total", "dropped_records"),
    ("kymo_deduplicated_records_total", "deduplicated_records"),
];

pub(super) async fn show(State(shared): State<Shared>) -> Response {
    let text = shared.telemetry.text();
    let mut answer = Map::new();
    for (_, name) in FAMILIES {
        answer.insert(name.to_owned(), json!([]));
    }
    for (name, sample) in samples(&text) {
        if let Some(Value::Array(known)) = answer.get_mut(name) {
            known.push(sample);
        }
    }
    let status = shared.store.status();
    answer.insert("now_millis".to_owned(), super::now_millis().into());
    answer.insert("started_millis".to_owned(), shared.started_millis.into());
    answer.insert("recording".to_owned(), shared.about.is_recording.into());
    answer.insert(
        "lag".to_owned(),
        json!({ "unapplied_bytes": status.unapplied_bytes, "unflushed_bytes": status.lag_bytes }),
    );
    document(&Value::Object(answer))
}

/// Samples of the families, with their labels; reasons with what they mean.
fn samples(text: &str) -> Vec<(&'static str, Value)> {
    let mut parser = Parser::new(text.as_bytes(), Format::OpenMetrics, ParseOptions::default());
    let mut found = Vec::new();
    while let Ok(Some(entry)) = parser.next_entry() {
        let Entry::Series(series) = entry else { continue };
        let Some((_, name)) = FAMILIES.iter().find(|(family, _)| *family == series.name) else {
            continue;
        };
        let mut sample = Map::new();
        for label in series.labels {
            sample.insert(label.name.to_string(), label.value.to_string().into());
        }
        let reason = sample.get("reason").and_then(Value::as_str).map(str::to_owned);
        if let Some((means, advice)) = reason.as_deref().and_then(explained) {
            sample.insert("means".to_owned(), means.into());
            sample.insert("advice".to_owned(), advice.into());
        }
        sample.insert("count".to_owned(), (series.value as u64).into());
        found.push((*name, Value::Object(sample)));
    }
    found
}

/// What a reason means, and what to do; `docs/limits.md` has them all.
fn explained(reason: &str) -> Option<(&'static str, &'static str)> {
    Some(match reason {
        "too_large" => (
            "requests have more bytes than limits.max_request_bytes",
            "let the sender make smaller batches, or raise the limit (at most 64 MiB)",
        ),
        "too_large_decompressed" | "too_large_encoded" => (
            "requests unpack to more than limits.max_decompressed_bytes",
            "let the sender make smaller batches",
        ),
        "malformed" | "empty" => (
            "what was sent is not OTLP, remote-write or a push of Loki",
            "look at the sender's exporter: its path, content type and compression",
        ),
        "content_type" => (
            "the content type is none that is taken",
            "send application/x-protobuf or application/json, or gRPC",
        ),
        "unsupported_compression" => {
            ("the compression is none that is taken", "send gzip, deflate, zstd or none")
        }
        "content_encoding" => (
            "remote-write, or protobuf pushed as to Loki, is not compressed with snappy",
            "let the sender compress with snappy, as these protocols want it",
        ),
        "bad_payload" => (
            "what a webhook delivered cannot be read",
            "look at the webhook: its content type must be application/json, or a form",
        ),
        "bad_tenant" => (
            "the header X-Scope-OrgID is no name of a tenant",
            "1 to 64 printable ASCII characters, no bar, no space around it",
        ),
        "unauthorized" => (
            "the sender has no login, or not the role write for its tenant",
            "give it a token with the role write (Admin, Tokens)",
        ),
        "rate_limit" => (
            "a tenant sends more than limits.max_bytes_per_second or max_records_per_second",
            "raise the limit, or sample at the sender; it sends again by itself",
        ),
        "busy" => (
            "the store lags behind the journal",
            "senders try again by themselves; if it stays, the disk or the processor is too slow",
        ),
        "crowded" => (
            "bodies that are being received take max_receiving_bytes together",
            "senders try again by themselves; raise the limit if there is memory",
        ),
        "slow_body" | "broken_body" => (
            "a body did not come in time, or ended early",
            "look at the network between sender and server, and at proxies there",
        ),
        "disk_full" => ("the disk is full", "make room, or set a retention"),
        "disk_error" => ("the disk fails", "look at the server's log and at the disk"),
        "timeout" => (
            "a request was not on disk within request_timeout",
            "senders try again by themselves; if it stays, the disk is too slow",
        ),
        "stopping" => ("the server was stopping", "nothing: senders try again by themselves"),
        "time_too_late" | "time_out_of_range" | "invalid_time" => {
            ("times of records lie beyond 1970 to 2199", "look at the sender's clock and its units")
        }
        "too_old" => (
            "data points are older than limits.metrics_window",
            "set a larger window to take old points",
        ),
        "series_limit" => (
            "a tenant has more series than limits.max_series",
            "find labels with many values (Admin, Cardinality), or raise the limit",
        ),
        "too_many_point_items" => (
            "data points have more than 524288 buckets, quantiles or exemplars",
            "let the sender use fewer buckets",
        ),
        "invalid_labels" => (
            "labels of a push cannot be read, are there twice, or have values that are too long",
            "look at the sender's labels: letters, digits and _, no digit in front, each once",
        ),
        "missing_metric_name" | "missing_label_name" | "duplicate_label" | "invalid_reference" => (
            "series of remote-write have no name, labels without a name or twice, or symbols that \
             are not there",
            "look at what makes the series: Prometheus and its agents do it right",
        ),
        "invalid_histogram" => (
            "native histograms contradict themselves, as with counts that do not add up",
            "look at what makes the histograms: a client library does it right",
        ),
        "invalid_exemplar" => (
            "exemplars are dropped whose labels are too long or wrong, or whose time is",
            "give them fewer and shorter labels, as the trace id alone",
        ),
        "invalid_metadata" => {
            ("metadata of metrics that is not valid is dropped", "look at the sender's metadata")
        }
        "labels_out_of_order" | "empty_label" => (
            "labels of series are put in order, and those without a value are dropped",
            "nothing: the series are the same",
        ),
        "invalid_trace_id"
        | "invalid_span_id"
        | "invalid_parent_span_id"
        | "invalid_context_id"
        | "invalid_link" => (
            "ids are not of 16 and 8 bytes, or are all zero",
            "look at what makes the spans: an SDK does it right",
        ),
        "too_many_attributes" | "too_many_point_attributes" | "too_many_labels" => (
            "records have more attributes than limits.max_attributes",
            "send fewer, or raise the limit",
        ),
        "value_too_long" | "label_too_long" | "metadata_too_long" => (
            "values are longer than limits.max_value_bytes",
            "send shorter ones, or raise the limit",
        ),
        "invalid_utf8" => ("text is not UTF-8", "look at how the sender encodes it"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Telemetry;
    use kymo_admit::Signal;
    use kymo_wire::remote_write::inspect as remote_write;
    use kymo_wire::{RefusalReason, RepairReason};

    /// The reasons that the tables of a page have in their last column.
    fn documented(page: &str) -> Vec<&str> {
        let mut found = Vec::new();
        let mut has_reasons = false;
        for line in page.lines() {
            has_reasons = line.ends_with("| reason |") || (has_reasons && line.starts_with('|'));
            let last = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            if has_reasons {
                found.extend(last.split('`').skip(1).step_by(2));
            }
        }
        found
    }

    #[test]
    fn every_reason_is_explained() {
        let mut reasons = documented(include_str!("../../../../docs/limits.md"));
        assert!(reasons.contains(&"too_large") && reasons.contains(&"invalid_link"), "{reasons:?}");
        reasons.extend(RefusalReason::ALL.map(RefusalReason::name));
        reasons.extend(RepairReason::ALL.map(RepairReason::name));
        reasons.extend(remote_write::RefusalReason::ALL.map(remote_write::RefusalReason::name));
        reasons.extend(remote_write::RepairReason::ALL.map(remote_write::RepairReason::name));
        reasons.retain(|reason| explained(reason).is_none());
        assert!(reasons.is_empty(), "without meaning and advice: {reasons:?}");
    }

    #[test]
    fn what_was_refused_is_told_with_what_to_do() {
        let telemetry = Telemetry::new();
        telemetry.request_refused("default", Signal::Traces, "disk_full");
        telemetry.request_refused("default", Signal::Traces, "disk_full");
        let samples = samples(&telemetry.text());
        let (name, sample) = &samples[0];
        assert_eq!((*name, &sample["count"]), ("refused_requests", &json!(2)));
        assert_eq!((&sample["signal"], &sample["reason"]), (&json!("traces"), &json!("disk_full")));
        assert!(sample["advice"].as_str().unwrap().contains("retention"));
    }
}
