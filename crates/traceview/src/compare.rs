//! Two traces beside each other: a tree of both, operations, and single spans.
//!
//! The tree is a [flame](crate::flame) of two sides: paths of services and names, with the numbers of
//! each trace. Spans are also paired one by one ([`pairs`](crate::pairs)) by service, name and kind, so
//! that those which took longer, came or went can be named. Of the first spans and their resources
//! attributes are compared: where branch, version or host differ, the reason is often seen.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use kymo_wire::{KeyValueView, Repeated, ResourceView, View, text};
use serde::Serialize;
use serde_json::Value;

use crate::columns::cut;
use crate::error::TraceError;
use crate::flame::{Flame, Flames, Side, title};
use crate::limits::{
    COMPARE_MAX_ATTRIBUTES, COMPARE_MAX_OPERATIONS, COMPARE_MAX_SPANS, TEXT_MAX_BYTES,
};
use crate::pairs::{Member, pair};
use crate::tree::TraceTree;
use crate::value::{hex, json_of};

/// Two traces, compared.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    a: Summary,
    b: Summary,
    /// Paths of both, with numbers of each.
    flame: Flame,
    /// Operations, those whose time differs most first.
    operations: Vec<OperationDelta>,
    /// How many spans are in both.
    paired: usize,
    /// Spans in both, those whose duration differs most first.
    spans: Vec<SpanDelta>,
    only_in_a: OneSided,
    only_in_b: OneSided,
    /// Attributes of first spans and their resources that differ.
    attributes: Vec<AttributeDelta>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    trace_id: String,
    name: Option<String>,
    service: Option<String>,
    start: String,
    duration_nanos: i64,
    spans: usize,
    errors: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationDelta {
    service: String,
    name: String,
    a: OperationNumbers,
    b: OperationNumbers,
    /// How much longer B took, all together and without children.
    delta_total_nanos: i64,
    delta_self_nanos: i64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationNumbers {
    count: usize,
    errors: usize,
    total_nanos: i64,
    self_nanos: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanDelta {
    a_row: usize,
    b_row: usize,
    /// Ids, by which both can be opened whatever was added to their traces since.
    a_id: String,
    b_id: String,
    service: String,
    name: String,
    a_nanos: i64,
    b_nanos: i64,
    delta_nanos: i64,
}

/// Spans that one trace has and the other has not.
#[derive(Debug, Serialize)]
struct OneSided {
    total: usize,
    /// Ids of the longest of them, by which they are found whatever was added to their trace since.
    ids: Vec<String>,
}

#[derive(Debug, Serialize)]
struct AttributeDelta {
    key: String,
    a: Option<Value>,
    b: Option<Value>,
}

/// Compares two traces.
pub fn compare(a: &TraceTree, b: &TraceTree) -> Result<Comparison, TraceError> {
    let mut flames = Flames::default();
    flames.add(a, Side::A);
    flames.add(b, Side::B);
    let mut identities = HashMap::new();
    let of_a = members(a, &mut identities);
    let of_b = members(b, &mut identities);
    let paired = pair(&of_a, &of_b);
    let mut is_in_b = vec![false; a.len()];
    for row in paired.iter().flatten() {
        is_in_b[*row] = true;
    }
    let only_in_b = (0..b.len()).filter(|row| paired[*row].is_none()).collect();
    Ok(Comparison {
        a: summary(a),
        b: summary(b),
        flame: flames.finish(true),
        operations: operations(a, b),
        paired: paired.iter().flatten().count(),
        spans: span_deltas(a, b, &paired),
        only_in_a: one_sided(a, (0..a.len()).filter(|row| !is_in_b[*row]).collect()),
        only_in_b: one_sided(b, only_in_b),
        attributes: attribute_deltas(a, b)?,
    })
}

fn members<'t>(
    tree: &'t TraceTree,
    identities: &mut HashMap<(&'t [u8], &'t [u8], u8), usize>,
) -> Vec<Member<usize>> {
    let of_row = |(row, laid): (usize, &crate::tree::Laid)| {
        let next = identities.len();
        let key = (tree.service(row), tree.name(row), tree.spans[row].kind);
        let identity = *identities.entry(key).or_insert(next);
        Member { identity, parent: laid.parent.map(|parent| parent as usize) }
    };
    tree.laid.iter().enumerate().map(of_row).collect()
}

fn summary(tree: &TraceTree) -> Summary {
    let (name, service) = title(tree).unzip();
    Summary {
        trace_id: hex(&tree.trace_id),
        name: name.map(Into::into),
        service: service.map(Into::into),
        start: tree.start_nanos.to_string(),
        duration_nanos: tree.end_nanos - tree.start_nanos,
        spans: tree.len(),
        errors: (0..tree.len()).filter(|row| tree.is_error(*row)).count(),
    }
}

fn operations(a: &TraceTree, b: &TraceTree) -> Vec<OperationDelta> {
    let mut found: HashMap<(&[u8], &[u8]), [OperationNumbers; 2]> = HashMap::new();
    for (side, tree) in [a, b].into_iter().enumerate() {
        for row in 0..tree.len() {
            let of_both = found.entry((tree.service(row), tree.name(row))).or_default();
            let numbers = &mut of_both[side];
            numbers.count += 1;
            numbers.errors += usize::from(tree.is_error(row));
            numbers.total_nanos = numbers.total_nanos.saturating_add(tree.nanos(row));
            numbers.self_nanos = numbers.self_nanos.saturating_add(tree.laid[row].self_nanos);
        }
    }
    let shown = |bytes: &[u8]| cut(bytes, TEXT_MAX_BYTES).into_owned();
    let delta =
        |((service, name), [a, b]): ((&[u8], &[u8]), [OperationNumbers; 2])| OperationDelta {
            service: shown(service),
            name: shown(name),
            a,
            b,
            delta_total_nanos: b.total_nanos.saturating_sub(a.total_nanos),
            delta_self_nanos: b.self_nanos.saturating_sub(a.self_nanos),
        };
    let mut operations: Vec<OperationDelta> = found.into_iter().map(delta).collect();
    operations.sort_unstable_by(|one, other| {
        let by = |delta: &OperationDelta| std::cmp::Reverse(delta.delta_self_nanos.unsigned_abs());
        let order = by(one).cmp(&by(other));
        order.then_with(|| (&one.service, &one.name).cmp(&(&other.service, &other.name)))
    });
    operations.truncate(COMPARE_MAX_OPERATIONS);
    operations
}

fn span_deltas(a: &TraceTree, b: &TraceTree, paired: &[Option<usize>]) -> Vec<SpanDelta> {
    let delta = |(a_row, b_row): (usize, usize)| b.nanos(b_row) - a.nanos(a_row);
    let pairs = paired.iter().enumerate().filter_map(|(b_row, a_row)| Some(((*a_row)?, b_row)));
    let mut pairs: Vec<(usize, usize)> = pairs.collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(delta(*pair).unsigned_abs()));
    pairs.truncate(COMPARE_MAX_SPANS);
    let shown = |bytes: &[u8]| cut(bytes, TEXT_MAX_BYTES).into_owned();
    let of_pair = |(a_row, b_row): (usize, usize)| SpanDelta {
        a_row,
        b_row,
        a_id: hex(&a.spans[a_row].place.span_id),
        b_id: hex(&b.spans[b_row].place.span_id),
        service: shown(b.service(b_row)),
        name: shown(b.name(b_row)),
        a_nanos: a.nanos(a_row),
        b_nanos: b.nanos(b_row),
        delta_nanos: delta((a_row, b_row)),
    };
    pairs.into_iter().map(of_pair).collect()
}

fn one_sided(tree: &TraceTree, mut rows: Vec<usize>) -> OneSided {
    let total = rows.len();
    rows.sort_by_key(|row| std::cmp::Reverse(tree.nanos(*row)));
    rows.truncate(COMPARE_MAX_SPANS);
    let ids = rows.into_iter().map(|row| hex(&tree.spans[row].place.span_id)).collect();
    OneSided { total, ids }
}

fn attribute_deltas(a: &TraceTree, b: &TraceTree) -> Result<Vec<AttributeDelta>, TraceError> {
    let mut found: BTreeMap<String, [Option<Value>; 2]> = BTreeMap::new();
    for (side, tree) in [a, b].into_iter().enumerate() {
        let Some(row) = tree.main_row() else { continue };
        let resource = ResourceView::parse(tree.bytes(tree.resource(row).raw))?;
        add_attributes("resource.", resource.attributes, side, &mut found)?;
        add_attributes("span.", tree.view(row)?.attributes, side, &mut found)?;
    }
    let differing = found.into_iter().filter(|(_, [a, b])| a != b);
    let delta = |(key, [a, b]): (String, [Option<Value>; 2])| AttributeDelta { key, a, b };
    Ok(differing.map(delta).take(COMPARE_MAX_ATTRIBUTES).collect())
}

fn add_attributes(
    scope: &str,
    attributes: Repeated<'_, KeyValueView<'_>>,
    side: usize,
    found: &mut BTreeMap<String, [Option<Value>; 2]>,
) -> Result<(), TraceError> {
    for attribute in attributes {
        let attribute = attribute?;
        let key = format!("{scope}{}", text(attribute.key));
        found.entry(key).or_default()[side] = Some(json_of(&attribute.value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{sent, tree};
    use kymo_wire::AnyValueView;
    use serde_json::json;

    #[test]
    fn what_took_longer_came_and_went_is_told() {
        let mut a = vec![
            sent(1, 0, "shop", "GET", 1_000, 1_100),
            sent(2, 1, "shop", "auth", 1_010, 1_020),
            sent(3, 1, "db", "old", 1_030, 1_040),
        ];
        a[0].attributes = vec![("v", AnyValueView::Int(1)), ("same", AnyValueView::Int(5))];
        let mut b = vec![
            sent(11, 0, "shop", "GET", 5_000, 5_300),
            sent(12, 11, "shop", "auth", 5_010, 5_220),
            sent(13, 11, "db", "new", 5_230, 5_240),
            sent(14, 11, "db", "new", 5_250, 5_255),
        ];
        b[0].attributes = vec![("v", AnyValueView::Int(2)), ("same", AnyValueView::Int(5))];
        let found = serde_json::to_value(compare(&tree(&a), &tree(&b)).unwrap()).unwrap();
        assert_eq!(
            (&found["a"]["durationNanos"], &found["b"]["durationNanos"]),
            (&json!(100), &json!(300))
        );
        assert_eq!(found["paired"], 2);
        let shown: Vec<_> = found["spans"]
            .as_array()
            .unwrap()
            .iter()
            .map(|span| (&span["name"], &span["deltaNanos"]))
            .collect();
        assert_eq!(shown, [(&json!("GET"), &json!(200)), (&json!("auth"), &json!(200))]);
        let second = &found["spans"][1];
        assert_eq!(
            (&second["aId"], &second["bId"]),
            (&json!("0000000000000002"), &json!("000000000000000c"))
        );
        assert_eq!(found["onlyInA"], json!({"total": 1, "ids": ["0000000000000003"]}));
        let ids = ["000000000000000d", "000000000000000e"];
        assert_eq!(found["onlyInB"], json!({"total": 2, "ids": ids}));
        assert_eq!(found["attributes"], json!([{"key": "span.v", "a": 1, "b": 2}]));
        assert_eq!(found["operations"][0]["name"], "auth");
        assert_eq!(found["operations"][0]["deltaSelfNanos"], 200);
        assert_eq!(found["flame"]["nodes"][0]["b"]["totalNanos"], 300.0);
    }

    #[test]
    fn a_trace_without_spans_can_be_compared() {
        let found = compare(&tree(&[]), &tree(&[sent(1, 0, "s", "a", 1_000, 1_001)])).unwrap();
        assert_eq!((found.paired, found.only_in_b.total), (0, 1));
    }
}
