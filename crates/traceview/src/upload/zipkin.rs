//! Zipkin's JSON, version 2: a list of spans, to OTLP.
//!
//! Tags become attributes, which are all text there; annotations become events; the tag `error` makes
//! the status. Endpoints become the resource's service and the attributes `server.address` or
//! `client.address`.

use std::collections::BTreeMap;

use kymo_wire::AnyValueView;
use kymo_wire::encode::{EventFields, SpanFields, Writer};
use serde::Deserialize;

use super::jaeger::{Micros, id};
use crate::error::TraceError;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: String,
    id: String,
    #[serde(default)]
    parent_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    /// Since 1970.
    #[serde(default)]
    timestamp: Micros,
    #[serde(default)]
    duration: Micros,
    #[serde(default)]
    local_endpoint: Option<Endpoint>,
    #[serde(default)]
    remote_endpoint: Option<Endpoint>,
    #[serde(default)]
    annotations: Vec<Annotation>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    #[serde(default)]
    service_name: Option<String>,
    #[serde(default)]
    ipv4: Option<String>,
    #[serde(default)]
    ipv6: Option<String>,
}

#[derive(Deserialize)]
struct Annotation {
    /// Since 1970.
    #[serde(default)]
    timestamp: Micros,
    #[serde(default)]
    value: String,
}

pub(super) fn read(file: &[u8]) -> Result<Vec<u8>, TraceError> {
    let spans: Vec<Span> = serde_json::from_slice(file)
        .map_err(|error| TraceError::Format(format!("it looks like Zipkin's JSON, but {error}")))?;
    let mut writer = Writer::new();
    for span in &spans {
        writer.resource_group(|w| {
            let service = span.local_endpoint.as_ref().and_then(|end| end.service_name.as_deref());
            if let Some(service) = service {
                let service = AnyValueView::String(service.as_bytes());
                w.resource(|w| w.resource_attribute(b"service.name", &service));
            }
            w.scope_group(|w| write(w, span));
        });
    }
    Ok(writer.into_bytes())
}

fn write(writer: &mut Writer, span: &Span) {
    let parent_id = span.parent_id.as_deref().map(id::<8>);
    let fields = SpanFields {
        trace_id: &id::<16>(&span.trace_id),
        span_id: &id::<8>(&span.id),
        parent_span_id: parent_id.as_ref().map_or(&[], |id| &id[..]),
        name: span.name.as_deref().unwrap_or_default().as_bytes(),
        kind: span.kind_number(),
        start_time_unix_nano: span.timestamp.nanos(),
        end_time_unix_nano: span.timestamp.nanos().saturating_add(span.duration.nanos()),
        ..SpanFields::default()
    };
    writer.span(&fields, |w| {
        for (key, value) in &span.tags {
            w.span_attribute(key.as_bytes(), &AnyValueView::String(value.as_bytes()));
        }
        if let Some(address) = span.remote_endpoint.as_ref().and_then(Endpoint::address) {
            let key: &[u8] =
                if span.kind_number() == SERVER { b"client.address" } else { b"server.address" };
            w.span_attribute(key, &AnyValueView::String(address.as_bytes()));
        }
        for annotation in &span.annotations {
            let fields = EventFields {
                time_unix_nano: annotation.timestamp.nanos(),
                name: annotation.value.as_bytes(),
                ..EventFields::default()
            };
            w.event(&fields, |_| ());
        }
        if let Some(message) = span.tags.get("error") {
            w.status(STATUS_ERROR, message.as_bytes());
        }
    });
}

/// `SPAN_KIND_SERVER`.
const SERVER: i32 = 2;
/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: i32 = 2;

impl Span {
    fn kind_number(&self) -> i32 {
        match self.kind.as_deref() {
            Some("SERVER") => SERVER,
            Some("CLIENT") => 3,
            Some("PRODUCER") => 4,
            Some("CONSUMER") => 5,
            _ => 1,
        }
    }
}

impl Endpoint {
    fn address(&self) -> Option<&str> {
        [&self.service_name, &self.ipv4, &self.ipv6].into_iter().find_map(|name| name.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::Details;
    use crate::tree::TraceTree;
    use serde_json::json;

    #[test]
    fn tags_annotations_and_endpoints_become_what_otlp_has_for_them() {
        let file = json!([
            {"traceId": "5af7183fb1d4cf5f", "id": "6b221d5bc9e6496c", "name": "get /", "kind": "SERVER",
             "timestamp": 1_700_000_000_000_000u64, "duration": 207,
             "localEndpoint": {"serviceName": "frontend"}, "remoteEndpoint": {"ipv4": "10.0.0.9"},
             "tags": {"http.method": "GET", "error": "refused"}},
            {"traceId": "5af7183fb1d4cf5f", "parentId": "6b221d5bc9e6496c", "id": "1",
             "timestamp": 1_700_000_000_000_050u64, "duration": 100,
             "annotations": [{"timestamp": 1_700_000_000_000_060u64, "value": "retry"}]},
        ]);
        let tree = TraceTree::read(read(file.to_string().as_bytes()).unwrap()).unwrap();
        let details = serde_json::to_value(Details::of(&tree, &[0, 1]).unwrap()).unwrap();
        let [root, child] = [0, 1].map(|row| &details["spans"][row]);
        assert_eq!((&root["name"], &root["kind"]), (&json!("get /"), &json!("server")));
        assert_eq!(root["durationNanos"], 207_000);
        assert_eq!(root["status"], json!({"code": "error", "message": "refused"}));
        assert_eq!(root["attributes"][2]["key"], "client.address");
        assert_eq!(details["resources"][0]["attributes"][0]["value"], "frontend");
        assert_eq!(
            (&child["parentId"], &child["events"][0]["name"]),
            (&root["id"], &json!("retry"))
        );
    }

    #[test]
    fn times_may_have_fractions_and_null_is_none() {
        let file = json!([
            {"traceId": "1", "id": "1", "timestamp": 1_700_000_000_000_000.5, "duration": 7.25,
             "annotations": [{"timestamp": 1_700_000_000_000_001.5, "value": "retry"}]},
            {"traceId": "1", "id": "2", "timestamp": 1_700_000_000_000_002u64, "duration": null},
        ]);
        let tree = TraceTree::read(read(file.to_string().as_bytes()).unwrap()).unwrap();
        let details = serde_json::to_value(Details::of(&tree, &[0, 1]).unwrap()).unwrap();
        let [first, second] = [0, 1].map(|row| &details["spans"][row]);
        assert_eq!(first["start"], "1700000000000000500");
        assert_eq!(first["durationNanos"], 7_250);
        assert_eq!(first["events"][0]["time"], "1700000000000001500");
        assert_eq!(second["start"], "1700000000000002000");
        assert_eq!(second["durationNanos"], 0);
    }
}
