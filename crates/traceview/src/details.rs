//! All there is to say about some spans: attributes with types, resource, scope, events, links.
//!
//! ```json
//! {"revision":"…","t0":"1700000000000000000","spans":[{"row":3,"id":"00f0…","parentId":"…","name":"GET",
//!  "kind":"server","start":"1700…","durationNanos":12,"selfNanos":3,"criticalNanos":0,"slackNanos":0,
//!  "savingNanos":0,"status":{"code":"error","message":"…"},"traceState":"","flags":257,
//!  "attributes":[{"key":"http.route","type":"string","value":"/"}],"droppedAttributes":0,
//!  "events":[{"time":"1700…","name":"exception","attributes":[…],"droppedAttributes":0}],
//!  "droppedEvents":0,"links":[{"traceId":"…","spanId":"…","traceState":"","attributes":[…]}],
//!  "droppedLinks":0,"resource":0,"scope":0}],
//!  "resources":[{"attributes":[…],"droppedAttributes":0}],
//!  "scopes":[{"name":"…","version":"…","attributes":[…],"droppedAttributes":0}]}
//! ```
//!
//! `resource` and `scope` are places in the lists beside, which have those of the chosen spans only.

use hashbrown::{HashMap, HashSet};
use kymo_wire::{KeyValueView, Repeated, ResourceView, ScopeView, SpanView, View, text};
use serde::Serialize;
use serde_json::Value;

use crate::error::TraceError;
use crate::limits::DETAILS_MAX_BYTES;
use crate::tree::TraceTree;
use crate::value::{hex, json_of, type_name};

/// Details of some spans.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// See [`TraceTree::revision`].
    pub revision: String,
    /// The first start of the trace.
    pub t0: String,
    spans: Vec<SpanDetails>,
    resources: Vec<OwnerDetails>,
    scopes: Vec<OwnerDetails>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanDetails {
    row: usize,
    id: String,
    parent_id: Option<String>,
    name: String,
    kind: &'static str,
    start: String,
    duration_nanos: i64,
    self_nanos: i64,
    critical_nanos: i64,
    slack_nanos: i64,
    saving_nanos: i64,
    status: Status,
    trace_state: String,
    flags: u32,
    attributes: Vec<Attribute>,
    dropped_attributes: u32,
    events: Vec<Event>,
    dropped_events: u32,
    links: Vec<Link>,
    dropped_links: u32,
    resource: usize,
    scope: usize,
}

#[derive(Debug, Serialize)]
struct Status {
    code: &'static str,
    message: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Attribute {
    key: String,
    r#type: &'static str,
    value: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    time: String,
    name: String,
    attributes: Vec<Attribute>,
    dropped_attributes: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    trace_id: String,
    span_id: String,
    trace_state: String,
    attributes: Vec<Attribute>,
    dropped_attributes: u32,
}

/// A resource, or a scope, which has a name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnerDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    attributes: Vec<Attribute>,
    dropped_attributes: u32,
}

impl Details {
    /// Details of rows, in the order they are asked for, each once; those that do not exist are left
    /// out.
    pub fn of(tree: &TraceTree, rows: &[usize]) -> Result<Self, TraceError> {
        Self::within(tree, rows, DETAILS_MAX_BYTES)
    }

    fn within(tree: &TraceTree, rows: &[usize], most_bytes: usize) -> Result<Self, TraceError> {
        let mut details = Self {
            revision: tree.revision(),
            t0: tree.start_nanos.to_string(),
            spans: Vec::with_capacity(rows.len()),
            resources: Vec::new(),
            scopes: Vec::new(),
        };
        let (mut known_resources, mut known_scopes) = (HashMap::new(), HashMap::new());
        let (mut told, mut bytes) = (HashSet::new(), 0);
        for row in rows.iter().copied().filter(|row| *row < tree.len()) {
            if !told.insert(row) {
                continue;
            }
            let span = &tree.spans[row];
            bytes += tree.bytes(span.raw).len();
            if !known_resources.contains_key(&span.resource) {
                bytes += tree.bytes(tree.resources[span.resource as usize].raw).len();
            }
            if !known_scopes.contains_key(&span.scope) {
                bytes += tree.bytes(tree.scopes[span.scope as usize].raw).len();
            }
            if bytes > most_bytes && !details.spans.is_empty() {
                return Err(TraceError::TooMuchAtOnce(most_bytes));
            }
            let resource = match known_resources.get(&span.resource) {
                Some(known) => *known,
                None => {
                    details.resources.push(resource_of(tree, span.resource)?);
                    known_resources.insert(span.resource, details.resources.len() - 1);
                    details.resources.len() - 1
                }
            };
            let scope = match known_scopes.get(&span.scope) {
                Some(known) => *known,
                None => {
                    details.scopes.push(scope_of(tree, span.scope)?);
                    known_scopes.insert(span.scope, details.scopes.len() - 1);
                    details.scopes.len() - 1
                }
            };
            details.spans.push(span_of(tree, row, resource, scope)?);
        }
        Ok(details)
    }
}

fn resource_of(tree: &TraceTree, resource: u32) -> Result<OwnerDetails, TraceError> {
    let view = ResourceView::parse(tree.bytes(tree.resources[resource as usize].raw))?;
    Ok(OwnerDetails {
        name: None,
        version: None,
        attributes: attributes_of(view.attributes)?,
        dropped_attributes: view.dropped_attributes_count,
    })
}

fn scope_of(tree: &TraceTree, scope: u32) -> Result<OwnerDetails, TraceError> {
    let view = ScopeView::parse(tree.bytes(tree.scopes[scope as usize].raw))?;
    Ok(OwnerDetails {
        name: Some(text(view.name).into_owned()),
        version: Some(text(view.version).into_owned()),
        attributes: attributes_of(view.attributes)?,
        dropped_attributes: view.dropped_attributes_count,
    })
}

fn span_of(
    tree: &TraceTree,
    row: usize,
    resource: usize,
    scope: usize,
) -> Result<SpanDetails, TraceError> {
    let (span, laid, view) = (&tree.spans[row], &tree.laid[row], tree.view(row)?);
    let message = view.status.map_or(&[][..], |status| status.message);
    Ok(SpanDetails {
        row,
        id: hex(&span.place.span_id),
        parent_id: span.place.parent_span_id.map(|id| hex(&id)),
        name: text(view.name).into_owned(),
        kind: kind_name(span.kind),
        start: span.place.start_nanos.to_string(),
        duration_nanos: span.duration_nanos,
        self_nanos: laid.self_nanos,
        critical_nanos: laid.critical_nanos,
        slack_nanos: laid.slack_nanos,
        saving_nanos: laid.saving_nanos,
        status: Status { code: status_name(span.status), message: text(message).into_owned() },
        trace_state: text(view.trace_state).into_owned(),
        flags: view.flags,
        attributes: attributes_of(view.attributes)?,
        dropped_attributes: view.dropped_attributes_count,
        events: events_of(&view)?,
        dropped_events: view.dropped_events_count,
        links: links_of(&view)?,
        dropped_links: view.dropped_links_count,
        resource,
        scope,
    })
}

fn events_of(view: &SpanView<'_>) -> Result<Vec<Event>, TraceError> {
    let mut events = Vec::new();
    for event in view.events {
        let event = event?;
        events.push(Event {
            time: event.time_unix_nano.to_string(),
            name: text(event.name).into_owned(),
            attributes: attributes_of(event.attributes)?,
            dropped_attributes: event.dropped_attributes_count,
        });
    }
    Ok(events)
}

fn links_of(view: &SpanView<'_>) -> Result<Vec<Link>, TraceError> {
    let mut links = Vec::new();
    for link in view.links {
        let link = link?;
        links.push(Link {
            trace_id: hex(link.trace_id),
            span_id: hex(link.span_id),
            trace_state: text(link.trace_state).into_owned(),
            attributes: attributes_of(link.attributes)?,
            dropped_attributes: link.dropped_attributes_count,
        });
    }
    Ok(links)
}

/// Attributes in the order they were sent.
pub(crate) fn attributes_of(
    attributes: Repeated<'_, KeyValueView<'_>>,
) -> Result<Vec<Attribute>, TraceError> {
    let mut found = Vec::with_capacity(attributes.count());
    for attribute in attributes {
        let attribute = attribute?;
        found.push(Attribute {
            key: text(attribute.key).into_owned(),
            r#type: type_name(&attribute.value),
            value: json_of(&attribute.value),
        });
    }
    Ok(found)
}

/// A span's kind in a word, as TraceQL has it.
pub(crate) fn kind_name(kind: u8) -> &'static str {
    match kind {
        1 => "internal",
        2 => "server",
        3 => "client",
        4 => "producer",
        5 => "consumer",
        _ => "unspecified",
    }
}

/// A status in a word, as TraceQL has it.
pub(crate) fn status_name(status: u8) -> &'static str {
    match status {
        1 => "ok",
        2 => "error",
        _ => "unset",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{sent, tree};
    use kymo_wire::AnyValueView;
    use serde_json::json;

    #[test]
    fn details_have_types_and_share_resources() {
        let mut spans = vec![
            sent(1, 0, "shop", "a", 1_000, 1_090),
            sent(2, 1, "shop", "b", 1_020, 1_030),
            sent(3, 1, "db", "c", 1_040, 1_050),
        ];
        spans[1].attributes =
            vec![("zero", AnyValueView::Int(0)), ("no", AnyValueView::Bool(false))];
        spans[1].events = vec![(1_025, "note")];
        spans[1].is_error = true;
        let details = Details::of(&tree(&spans), &[1, 0, 2, 99]).unwrap();
        let details = serde_json::to_value(details).unwrap();
        let first = &details["spans"][0];
        assert_eq!((&first["row"], &first["name"]), (&json!(1), &json!("b")));
        assert_eq!(first["parentId"], "0000000000000001");
        assert_eq!(first["status"], json!({"code": "error", "message": "it broke"}));
        let attributes = json!([
            {"key": "zero", "type": "int", "value": 0},
            {"key": "no", "type": "bool", "value": false},
        ]);
        assert_eq!(first["attributes"], attributes);
        assert_eq!(first["events"][0]["time"], "1025");
        assert_eq!(details["spans"].as_array().unwrap().len(), 3);
        assert_eq!(details["resources"].as_array().unwrap().len(), 2);
        assert_eq!(details["spans"][2]["resource"], 1);
        assert_eq!(details["scopes"][0]["name"], "");
    }

    #[test]
    fn a_span_is_told_of_once_and_many_large_ones_are_refused() {
        let mut spans =
            vec![sent(1, 0, "shop", "a", 1_000, 1_090), sent(2, 1, "shop", "b", 1_020, 1_030)];
        spans[0].attributes = vec![("long", AnyValueView::String(&[b'x'; 10_000]))];
        let tree = tree(&spans);
        assert_eq!(Details::of(&tree, &[0, 0, 1, 0]).unwrap().spans.len(), 2);
        assert_eq!(Details::within(&tree, &[0], 1_000).unwrap().spans.len(), 1);
        let refused = Details::within(&tree, &[0, 1], 1_000).unwrap_err();
        assert!(matches!(refused, TraceError::TooMuchAtOnce(1_000)));
    }
}
