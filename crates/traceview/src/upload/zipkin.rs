//! Zipkin's JSON, version 2: a list of spans, to OTLP.
//!
//! Tags become attributes, which are all text there; annotations become events; the tag `error` makes
//! the status. Endpoints become the resource's service and the attributes `server.address` or
//! `client.address`.
//!
//! Client and server of a call may share one id. The server's half then gets an id of its own, with
//! another first bit; it is the child of the client's half, and has the children of its service.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use kymo_wire::AnyValueView;
use kymo_wire::encode::{EventFields, SpanFields, Writer};
use serde::Deserialize;

use super::jaeger::{Micros, id};
use super::parts;
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
    /// Whether the client, too, has a span with this id.
    #[serde(default)]
    shared: Option<bool>,
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
    parts::check(file)?;
    let spans: Vec<Span> = serde_json::from_slice(file)
        .map_err(|error| TraceError::Format(format!("it looks like Zipkin's JSON, but {error}")))?;
    let servers = Servers::of(&spans);
    let mut writer = Writer::new();
    for span in &spans {
        writer.resource_group(|w| {
            if let Some(service) = span.service() {
                let service = AnyValueView::String(service.as_bytes());
                w.resource(|w| w.resource_attribute(b"service.name", &service));
            }
            w.scope_group(|w| write(w, span, &servers));
        });
    }
    Ok(writer.into_bytes())
}

/// Trace and id of a span.
type Key = ([u8; 16], [u8; 8]);

/// The server's halves of calls of which the client's halves are there, too, with their services.
struct Servers<'s>(HashMap<Key, Option<&'s str>>);

impl<'s> Servers<'s> {
    fn of(spans: &'s [Span]) -> Self {
        let halves = spans.iter().filter(|span| span.is_shared());
        let mut halves: HashMap<Key, (Option<&str>, bool)> =
            halves.map(|span| (span.key(), (span.service(), false))).collect();
        if !halves.is_empty() {
            for span in spans.iter().filter(|span| !span.is_shared()) {
                if let Some((_, has_client)) = halves.get_mut(&span.key()) {
                    *has_client = true;
                }
            }
        }
        let whole = halves.into_iter().filter(|(_, (_, has_client))| *has_client);
        Self(whole.map(|(key, (service, _))| (key, service)).collect())
    }

    /// The id of a span and its parent's.
    fn ids(&self, span: &Span) -> ([u8; 8], Option<[u8; 8]>) {
        let (trace_id, own_id) = span.key();
        if span.is_shared() && self.0.contains_key(&(trace_id, own_id)) {
            return (server_id(own_id), Some(own_id));
        }
        let parent_id = span.parent_id.as_deref().map(|parent| {
            let parent_id = id::<8>(parent);
            let server = self.0.get(&(trace_id, parent_id));
            let is_of_server = server.is_some_and(|service| *service == span.service());
            if is_of_server { server_id(parent_id) } else { parent_id }
        });
        (own_id, parent_id)
    }
}

/// The id of the server's half of a call.
fn server_id(mut shared_id: [u8; 8]) -> [u8; 8] {
    shared_id[0] ^= 0x80;
    shared_id
}

fn write(writer: &mut Writer, span: &Span, servers: &Servers<'_>) {
    let (span_id, parent_id) = servers.ids(span);
    let fields = SpanFields {
        trace_id: &id::<16>(&span.trace_id),
        span_id: &span_id,
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
    fn key(&self) -> Key {
        (id(&self.trace_id), id(&self.id))
    }

    fn is_shared(&self) -> bool {
        self.shared == Some(true)
    }

    fn service(&self) -> Option<&str> {
        self.local_endpoint.as_ref().and_then(|end| end.service_name.as_deref())
    }

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
    fn halves_of_a_call_that_share_an_id_are_parent_and_child() {
        let span = |(id, parent): (&str, Option<&str>), shared: bool, service: &str, at: u64| {
            json!({"traceId": "1", "id": id, "parentId": parent, "shared": shared.then_some(true),
                   "timestamp": 1_700_000_000_000_000 + at, "duration": 50 - 2 * at,
                   "localEndpoint": {"serviceName": service}})
        };
        let file = json!([
            span(("a", None), false, "web", 0),
            span(("b", Some("a")), false, "web", 1),
            span(("b", Some("a")), true, "shop", 2),
            span(("c", Some("b")), false, "shop", 3),
            // The client did not send its half of this one.
            span(("d", Some("c")), true, "db", 4),
            span(("e", Some("d")), false, "db", 5),
        ]);
        let tree = TraceTree::read(read(file.to_string().as_bytes()).unwrap()).unwrap();
        let parents: Vec<_> = tree.laid.iter().map(|laid| laid.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(3), Some(4)]);
        let details = serde_json::to_value(Details::of(&tree, &[2]).unwrap()).unwrap();
        assert_eq!(details["spans"][0]["id"], "800000000000000b");
        assert_eq!(details["resources"][0]["attributes"][0]["value"], "shop");
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
