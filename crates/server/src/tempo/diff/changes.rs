//! What changed between two spans that are one operation: duration, status, attributes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use kymo_wire::{KeyValueView, WireError, text};
use serde::Serialize;

use super::spans::Span;
use super::values::{Tolerance, Value};

#[derive(Debug, Serialize, PartialEq)]
pub(super) struct Change<'a> {
    op: Operation,
    pub(super) target: Target<'a>,
    before: Value<'a>,
    after: Value<'a>,
}

#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Add,
    Remove,
    Modify,
}

#[derive(Debug, Serialize, PartialEq)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Target<'a> {
    Field { name: &'static str },
    Attribute { scope: &'static str, key: Cow<'a, str> },
}

/// All changes: fields first, then attributes by key.
pub(super) fn changes<'a>(
    before: &Span<'a>,
    after: &Span<'a>,
) -> Result<Vec<Change<'a>>, WireError> {
    let fields = [duration_change(before, after), status_change(before, after)];
    let mut changes: Vec<Change<'a>> = fields.into_iter().flatten().collect();
    // As it is for most: attributes need not be read to see that none changed.
    if !before.attributes.raws().eq(after.attributes.raws()) {
        let (before, after) = (by_key(before)?, by_key(after)?);
        let keys: BTreeSet<&[u8]> = before.keys().chain(after.keys()).copied().collect();
        for key in keys {
            changes.extend(attribute_change(key, before.get(key), after.get(key))?);
        }
    }
    Ok(changes)
}

/// A duration that cannot be believed is null.
fn duration_change<'a>(before: &Span<'a>, after: &Span<'a>) -> Option<Change<'a>> {
    let (before, after) = (before.duration_nanos(), after.duration_nanos());
    let is_kept = match (before, after) {
        (Some(before), Some(after)) => Tolerance::DURATION.covers(before as f64, after as f64),
        _ => before == after,
    };
    let value = |nanos: Option<i64>| nanos.map_or(Value::Null, Value::Int);
    (!is_kept).then(|| field("duration_nanos", value(before), value(after)))
}

fn status_change<'a>(before: &Span<'a>, after: &Span<'a>) -> Option<Change<'a>> {
    let (before, after) = (before.status.word(), after.status.word());
    let value = |word: &'static str| Value::Text(Cow::Borrowed(word));
    (before != after).then(|| field("status", value(before), value(after)))
}

fn field<'a>(name: &'static str, before: Value<'a>, after: Value<'a>) -> Change<'a> {
    Change { op: Operation::Modify, target: Target::Field { name }, before, after }
}

type Attributes<'a> = BTreeMap<&'a [u8], KeyValueView<'a>>;

/// Of a key that comes twice, the last.
fn by_key<'a>(span: &Span<'a>) -> Result<Attributes<'a>, WireError> {
    let attributes = span.attributes.iter();
    attributes.map(|attribute| attribute.map(|attribute| (attribute.key, attribute))).collect()
}

fn attribute_change<'a>(
    key: &'a [u8],
    before: Option<&KeyValueView<'a>>,
    after: Option<&KeyValueView<'a>>,
) -> Result<Option<Change<'a>>, WireError> {
    if before.map(|view| view.value_raw) == after.map(|view| view.value_raw) {
        return Ok(None);
    }
    let key = text(key);
    let read = |view: Option<&KeyValueView<'a>>| {
        view.map_or(Ok(Value::Null), |view| Value::read(view.value))
    };
    let op = match (before, after) {
        (None, _) => Operation::Add,
        (_, None) => Operation::Remove,
        _ => Operation::Modify,
    };
    let (before, after) = (read(before)?, read(after)?);
    if op == Operation::Modify && before.is_kept(&key, &after) {
        return Ok(None);
    }
    let target = Target::Attribute { scope: "span", key };
    Ok(Some(Change { op, target, before, after }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{attribute, encoded, failed, span, string, with};
    use crate::tempo::diff::spans::{Flat, Identities};
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;
    use serde_json::json;

    fn changed(before: Sent, after: Sent) -> serde_json::Value {
        let (before, after) = (encoded(vec![before]), encoded(vec![after]));
        let mut identities = Identities::default();
        let mut read = |bytes| Flat::read(bytes, &mut identities).unwrap().spans[0];
        let (before, after) = (read(&before), read(&after));
        serde_json::to_value(changes(&before, &after).unwrap()).unwrap()
    }

    fn plain() -> Sent {
        span(1, 0, "shop", "GET", 0, 100)
    }

    #[test]
    fn fields_change_beyond_their_tolerance() {
        let slow = failed(span(1, 0, "shop", "GET", 0, 250));
        let expected = json!([
            {"op": "modify", "target": {"type": "field", "name": "duration_nanos"},
             "before": 100_000_000, "after": 250_000_000},
            {"op": "modify", "target": {"type": "field", "name": "status"},
             "before": "ok", "after": "error"},
        ]);
        assert_eq!(changed(plain(), slow), expected);
        assert_eq!(changed(plain(), span(1, 0, "shop", "GET", 5, 115)), json!([]));
    }

    #[test]
    fn a_duration_that_cannot_be_believed_is_null() {
        let mut unset = plain();
        unset.start_time_unix_nano = 0;
        let expected = json!([
            {"op": "modify", "target": {"type": "field", "name": "duration_nanos"},
             "before": 100_000_000, "after": null},
        ]);
        assert_eq!(changed(plain(), unset.clone()), expected);
        assert_eq!(changed(unset.clone(), unset), json!([]));
    }

    #[test]
    fn attributes_come_go_and_change() {
        let before = with(with(plain(), "removed", string("gone")), "version", string("v1"));
        let after = with(with(plain(), "version", string("v2")), "added", Any::BoolValue(true));
        let target = |key: &str| json!({"type": "attribute", "scope": "span", "key": key});
        let expected = json!([
            {"op": "add", "target": target("added"), "before": null, "after": true},
            {"op": "remove", "target": target("removed"), "before": "gone", "after": null},
            {"op": "modify", "target": target("version"), "before": "v1", "after": "v2"},
        ]);
        assert_eq!(changed(before, after), expected);
    }

    #[test]
    fn order_and_repetition_of_attributes_change_nothing() {
        let mut before = plain();
        before.attributes.extend([attribute("a", string("1")), attribute("b", string("2"))]);
        let mut after = plain();
        let keys = [("b", "0"), ("b", "2"), ("a", "1")];
        after.attributes.extend(keys.map(|(key, value)| attribute(key, string(value))));
        assert_eq!(changed(before, after), json!([]));
    }

    #[test]
    fn attributes_that_say_the_same_otherwise_are_kept() {
        let sized = |size| with(plain(), "file.size", Any::IntValue(size));
        assert_eq!(changed(sized(1000), sized(1001)), json!([]));
        assert_eq!(changed(sized(1000), sized(2000))[0]["after"], 2000);
        let whole = with(plain(), "ratio", Any::IntValue(1));
        assert_eq!(changed(whole, with(plain(), "ratio", Any::DoubleValue(1.0))), json!([]));
    }

    #[test]
    fn an_attribute_without_a_value_is_there() {
        let mut empty = plain();
        empty.attributes.push(attribute("k", string("x")));
        let mut after = empty.clone();
        after.attributes[1].value = None;
        let expected = json!([
            {"op": "modify", "target": {"type": "attribute", "scope": "span", "key": "k"},
             "before": "x", "after": null},
        ]);
        assert_eq!(changed(empty, after.clone()), expected);
        let expected = json!([
            {"op": "add", "target": {"type": "attribute", "scope": "span", "key": "k"},
             "before": null, "after": null},
        ]);
        assert_eq!(changed(plain(), after), expected);
    }
}
