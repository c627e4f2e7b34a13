//! Answers for language models: JSON with nothing to unwrap.
//!
//! Attributes are one object of plain values, ids are hexadecimal, a service's name stands beside
//! its resource, durations are milliseconds, and what is empty is left out. Names of fields are
//! those of Tempo's form of the same media type.
//!
//! | value of an attribute | here |
//! |---|---|
//! | text, boolean, number | itself |
//! | bytes | hexadecimal text |
//! | array, key-value list | list, object |
//! | none | `null` |

use std::collections::BTreeMap;

use kymo_wire::{
    AnyValueView, EventView, KeyValueView, LinkView, Repeated, ResourceSpansView, ScopeSpansView,
    SpanView, StatusView, TracesView, View, WireError, array_values, kvlist_entries, text,
};

use crate::jsonpb::Json;

/// What asks for this form.
pub(super) const ACCEPTED: &str = "application/vnd.grafana.llm";
/// What an answer in it is.
pub(super) const CONTENT_TYPE: &str = "application/vnd.grafana.llm+json";

type Written = Result<(), WireError>;

/// A trace (an encoded `TracesData`), and in words what it lacks. One without spans is `{}`.
pub(super) fn trace(trace: &[u8], missing: &str) -> Result<Vec<u8>, WireError> {
    let view = TracesView::parse(trace)?;
    if view.resources.is_empty() {
        return Ok(b"{}".to_vec());
    }
    let mut json = Json::with_capacity(trace.len() * 2);
    object(&mut json, |json| {
        json.name("trace");
        object(json, |json| {
            json.name("traceId");
            json.hex(trace_id(&view)?, true);
            json.name("services");
            list(json, view.resources, service)
        })?;
        json.text_field("status", if missing.is_empty() { "COMPLETE" } else { "PARTIAL" });
        json.text_field("message", missing);
        Ok(())
    })?;
    Ok(json.into_bytes())
}

/// Values of a tag, each with the name of its type, by these names.
pub(super) fn tag_values<'a>(values: impl Iterator<Item = (&'static str, &'a str)>) -> Vec<u8> {
    let mut by_type: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (type_name, value) in values {
        by_type.entry(type_name).or_default().push(value);
    }
    let mut json = Json::default();
    json.object(|json| {
        json.name("tagValues");
        json.object(|json| {
            for (type_name, values) in by_type {
                json.name(type_name);
                json.list(values, Json::text);
            }
        });
    });
    json.into_bytes()
}

/// The id that all spans have.
fn trace_id<'a>(view: &TracesView<'a>) -> Result<&'a [u8], WireError> {
    for resource in view.resources {
        for scope in resource?.scopes {
            if let Some(span) = scope?.items.iter().next() {
                return Ok(span?.trace_id);
            }
        }
    }
    Ok(&[])
}

fn service(json: &mut Json, group: ResourceSpansView<'_>) -> Written {
    let mut resource = match &group.resource {
        Some(resource) => by_key(resource.attributes)?,
        None => Attributes::new(),
    };
    object(json, |json| {
        let name = b"service.name".as_slice();
        if let Some(AnyValueView::String(service)) = resource.get(name) {
            json.text_field("serviceName", &text(service));
            resource.remove(name);
        }
        attributes(json, "resource", resource)?;
        list_field(json, "scopes", group.scopes, scope)
    })
}

fn scope(json: &mut Json, group: ScopeSpansView<'_>) -> Written {
    object(json, |json| {
        if let Some(scope) = &group.scope {
            json.text_field("name", &text(scope.name));
            json.text_field("version", &text(scope.version));
        }
        list_field(json, "spans", group.items, span)
    })
}

fn span(json: &mut Json, span: SpanView<'_>) -> Written {
    object(json, |json| {
        json.name("spanId");
        json.hex(span.span_id, true);
        json.name("name");
        json.text(&text(span.name));
        if !span.parent_span_id.is_empty() {
            json.name("parentSpanId");
            json.hex(span.parent_span_id, true);
        }
        if span.kind != 0 {
            json.text_field("kind", &kind_name(span.kind));
        }
        let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
        time_field(json, "startTimeUnixNano", start);
        time_field(json, "endTimeUnixNano", end);
        if start > 0 {
            // A clock that was set back leaves no duration.
            json.double_field("durationMs", end.saturating_sub(start) as f64 / 1e6);
        }
        attributes(json, "attributes", by_key(span.attributes)?)?;
        list_field(json, "events", span.events, event)?;
        list_field(json, "links", span.links, link)?;
        status(json, span.status);
        Ok(())
    })
}

fn event(json: &mut Json, event: EventView<'_>) -> Written {
    object(json, |json| {
        json.name("name");
        json.text(&text(event.name));
        time_field(json, "timeUnixNano", event.time_unix_nano);
        attributes(json, "attributes", by_key(event.attributes)?)
    })
}

fn link(json: &mut Json, link: LinkView<'_>) -> Written {
    object(json, |json| {
        json.name("traceId");
        json.hex(link.trace_id, true);
        json.name("spanId");
        json.hex(link.span_id, true);
        attributes(json, "attributes", by_key(link.attributes)?)
    })
}

/// Always there; a message belongs to a code that was set.
fn status(json: &mut Json, status: Option<StatusView<'_>>) {
    let set = status.filter(|status| status.code != 0);
    json.name("status");
    json.object(|json| {
        json.name("code");
        json.text(&status_name(set.map_or(0, |status| status.code)));
        json.name("message");
        json.text(&text(set.map_or(&[], |status| status.message)));
    });
}

fn kind_name(kind: i32) -> String {
    match kind {
        1 => "SPAN_KIND_INTERNAL".to_owned(),
        2 => "SPAN_KIND_SERVER".to_owned(),
        3 => "SPAN_KIND_CLIENT".to_owned(),
        4 => "SPAN_KIND_PRODUCER".to_owned(),
        5 => "SPAN_KIND_CONSUMER".to_owned(),
        other => other.to_string(),
    }
}

fn status_name(code: i32) -> String {
    match code {
        0 => "STATUS_CODE_UNSET".to_owned(),
        1 => "STATUS_CODE_OK".to_owned(),
        2 => "STATUS_CODE_ERROR".to_owned(),
        other => other.to_string(),
    }
}

/// A moment as text: it has more digits than JSON's numbers keep. Zero is none.
fn time_field(json: &mut Json, name: &str, unix_nanos: u64) {
    if unix_nanos > 0 {
        json.name(name);
        json.display(unix_nanos);
    }
}

/// By key, since an object has each key once: the last value counts.
type Attributes<'a> = BTreeMap<&'a [u8], AnyValueView<'a>>;

fn by_key<'a>(
    entries: impl IntoIterator<Item = Result<KeyValueView<'a>, WireError>>,
) -> Result<Attributes<'a>, WireError> {
    entries.into_iter().map(|entry| entry.map(|entry| (entry.key, entry.value))).collect()
}

/// A field with attributes, if there are any.
fn attributes(json: &mut Json, name: &str, attributes: Attributes<'_>) -> Written {
    if attributes.is_empty() {
        return Ok(());
    }
    json.name(name);
    entries(json, attributes)
}

fn entries(json: &mut Json, attributes: Attributes<'_>) -> Written {
    object(json, |json| {
        for (key, entry) in attributes {
            json.comma();
            json.text(&text(key));
            json.raw(b":");
            value(json, entry)?;
        }
        Ok(())
    })
}

/// Lists in lists are as deep as admission lets them be.
fn value(json: &mut Json, value_of: AnyValueView<'_>) -> Written {
    match value_of {
        AnyValueView::String(bytes) => json.text(&text(bytes)),
        AnyValueView::Bool(flag) => json.boolean(flag),
        AnyValueView::Int(number) => json.raw(number.to_string().as_bytes()),
        AnyValueView::Double(number) => json.double(number),
        AnyValueView::Bytes(bytes) => json.hex(bytes, true),
        AnyValueView::Array(raw) => list(json, array_values(raw), value)?,
        AnyValueView::KvList(raw) => entries(json, by_key(kvlist_entries(raw))?)?,
        AnyValueView::Empty | AnyValueView::StringIndex(_) => json.raw(b"null"),
    }
    Ok(())
}

/// Fields between braces, which may turn out to be unreadable.
fn object(json: &mut Json, fields: impl FnOnce(&mut Json) -> Written) -> Written {
    json.raw(b"{");
    fields(json)?;
    json.raw(b"}");
    Ok(())
}

/// Items between brackets, which may turn out to be unreadable.
fn list<T>(
    json: &mut Json,
    items: impl IntoIterator<Item = Result<T, WireError>>,
    mut write: impl FnMut(&mut Json, T) -> Written,
) -> Written {
    json.raw(b"[");
    for item in items {
        json.comma();
        write(json, item?)?;
    }
    json.raw(b"]");
    Ok(())
}

/// A field with a list, if that has items.
fn list_field<'a, T: View<'a>>(
    json: &mut Json,
    name: &str,
    items: Repeated<'a, T>,
    write: impl FnMut(&mut Json, T) -> Written,
) -> Written {
    if items.is_empty() {
        return Ok(());
    }
    json.name(name);
    list(json, items, write)
}

#[cfg(test)]
mod tests;
