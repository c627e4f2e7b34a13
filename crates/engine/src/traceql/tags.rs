//! Names of tags and their values: from catalogues, or, where a filter is set or a catalogue does
//! not list all, from the rows themselves.

use std::collections::BTreeMap;
use std::ops::Range;

use hashbrown::HashMap;
use kymo_store::block::listing;
use kymo_store::scan::{Scan, Scope as StoreScope, Walk, used_keys};
use kymo_store::schema::ValueType;
use kymo_store::tables::spans::{TABLE, field};
use kymo_traceql::ast::{
    Attribute, BinaryOp, Expr, Intrinsic, Literal, MetricsFunction, Name, Pipeline, Scope,
    Spansets, Stage,
};
use kymo_traceql::eval::{Expression, List, Slots, Trace};
use kymo_traceql::metrics::{Aggregation, Grid};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::{ScopeTags, SearchStats, TagKind, TagValue};
use super::evaluate::{Evaluation, each_matching, invalid};
use super::look::Look;
use super::measure::{Leaf, count_groups};
use super::plan::Candidates;
use super::request::TagQuery;
use crate::error::EngineError;

/// Scopes whose keys are listed.
const SCOPES: [(StoreScope, Scope); 5] = [
    (StoreScope::Resource, Scope::Resource),
    (StoreScope::Own, Scope::Span),
    (StoreScope::Event, Scope::Event),
    (StoreScope::Link, Scope::Link),
    (StoreScope::Scope, Scope::Instrumentation),
];

/// Keys of all attributes in blocks that reach into `time`.
pub(super) fn keys(
    look: &Look,
    time: Option<&Range<i64>>,
) -> Result<Vec<(StoreScope, String)>, EngineError> {
    let sources = sources(look, time)?;
    let keys = listing::keys(&sources).map_err(|error| look.failed(error))?;
    Ok(keys.into_iter().filter(|(scope, _)| *scope != StoreScope::Field).collect())
}

/// The sources that reach into `time` themselves.
fn sources(
    look: &Look,
    time: Option<&Range<i64>>,
) -> Result<Vec<kymo_store::block::source::Source>, EngineError> {
    let store = &look.core.reading.store;
    store.sources(&look.snapshot, time.cloned()).map_err(|error| look.failed(error))
}

/// Names of tags by scope.
pub(super) fn names(look: &Look, query: &TagQuery) -> Result<Vec<ScopeTags>, EngineError> {
    let mut keys = keys(look, query.time.as_ref())?;
    // Catalogues list what deleted rows had until their blocks are written again.
    let is_there = Expr::Literal(Literal::Bool(true));
    let visible = look.has_deleted_rows().then_some(&is_there);
    if let Some(filter) = query.filter.as_ref().or(visible) {
        keys = passing_keys(look, query, filter, keys)?;
    }
    let mut found: BTreeMap<StoreScope, Vec<String>> = BTreeMap::new();
    for (scope, key) in keys {
        found.entry(scope).or_default().push(key);
    }
    let tags = SCOPES.into_iter().filter_map(|(stored, scope)| {
        let mut names = found.remove(&stored)?;
        names.truncate(query.limit.unwrap_or(usize::MAX));
        Some(ScopeTags { scope, names })
    });
    Ok(tags.collect())
}

/// Those of the keys that a span has which passes.
fn passing_keys(
    look: &Look,
    query: &TagQuery,
    filter: &Expr,
    keys: Vec<(StoreScope, String)>,
) -> Result<Vec<(StoreScope, String)>, EngineError> {
    let pipeline = of_filter(filter);
    let candidates = Candidates::of(look, &pipeline).map_err(|error| look.failed(error))?;
    if candidates.tested.is_never() {
        return Ok(Vec::new());
    }
    if !candidates.is_answer {
        return used_in_traces(look, query, &pipeline, &candidates, keys);
    }
    let predicate = Some(candidates.tested.predicate.clone());
    let scan = Scan { predicate, time: query.time.clone(), ..Scan::default() };
    let used = used_keys(&look.sources, &scan, look.context());
    Ok(used.map_err(|error| look.failed(error))?.into_iter().collect())
}

/// Those of the keys that spans of matching traces have.
fn used_in_traces(
    look: &Look,
    query: &TagQuery,
    pipeline: &Pipeline,
    candidates: &Candidates,
    keys: Vec<(StoreScope, String)>,
) -> Result<Vec<(StoreScope, String)>, EngineError> {
    let mut slots = Slots::default();
    let mut wanted = Vec::with_capacity(keys.len());
    for (stored, key) in keys {
        let scope = SCOPES.iter().find(|(known, _)| *known == stored).map(|(_, scope)| *scope);
        let Some(scope) = scope else { continue };
        let slot = slots.slot_of(&Name::Keyed { scope, key: key.clone() });
        wanted.push((slot, stored, key));
    }
    let evaluation = Evaluation::new(look, pipeline, slots, false)?;
    let mut walk = walk_of(look, query, candidates)?;
    let make = || vec![false; wanted.len()];
    let parts = each_matching(&evaluation, &mut walk, make, |seen, trace, spans| {
        for (nth, (slot, stored, _)) in wanted.iter().enumerate() {
            if seen[nth] {
                continue;
            }
            let has_value = |span: &u32| match stored {
                StoreScope::Event | StoreScope::Link => trace.has_element(*span as usize, *slot),
                _ => trace.value(*span as usize, *slot) != Value::Nil,
            };
            seen[nth] = spans.iter().any(has_value);
        }
        Ok(seen.len())
    })?;
    let used = wanted.into_iter().enumerate().filter(|(nth, _)| parts.iter().any(|p| p[*nth]));
    Ok(used.map(|(_, (_, scope, key))| (scope, key)).collect())
}

fn walk_of(look: &Look, query: &TagQuery, candidates: &Candidates) -> Result<Walk, EngineError> {
    let scan = match &query.time {
        Some(time) => candidates.started(time),
        None => {
            let predicate = Some(candidates.tested.predicate.clone());
            Scan { predicate, ..Scan::default() }
        }
    };
    Walk::new(&look.sources, &scan, look.context()).map_err(|error| look.failed(error))
}

/// `{ filter }`.
fn of_filter(filter: &Expr) -> Pipeline {
    Pipeline { stages: vec![Stage::Spansets(Spansets::Filter(filter.clone()))] }
}

/// Values of a tag.
pub(super) fn values(
    look: &Look,
    attribute: &Attribute,
    query: &TagQuery,
) -> Result<Vec<TagValue>, EngineError> {
    if has_no_end(attribute) {
        return Ok(Vec::new());
    }
    let mut found = match (&query.filter, words(attribute)) {
        (None, Some(words)) => words,
        (None, None) => match listed(look, attribute, query)? {
            Some(found) => found,
            None => scanned(look, attribute, query, &Expr::Literal(Literal::Bool(true)))?,
        },
        (Some(filter), _) => scanned(look, attribute, query, filter)?,
    };
    found.sort();
    found.dedup();
    found.truncate(query.limit.unwrap_or(usize::MAX));
    Ok(found)
}

/// Whether values are different everywhere: durations and ids, which nobody chooses from a list.
fn has_no_end(attribute: &Attribute) -> bool {
    let Name::Intrinsic(intrinsic) = &attribute.name else { return false };
    !matches!(
        intrinsic,
        Intrinsic::Name
            | Intrinsic::Status
            | Intrinsic::StatusMessage
            | Intrinsic::Kind
            | Intrinsic::RootName
            | Intrinsic::RootServiceName
            | Intrinsic::EventName
            | Intrinsic::InstrumentationName
            | Intrinsic::InstrumentationVersion
    )
}

/// All words that a status or a kind can be.
fn words(attribute: &Attribute) -> Option<Vec<TagValue>> {
    let words: &[&str] = match &attribute.name {
        Name::Intrinsic(intrinsic) => match intrinsic {
            Intrinsic::Status => &["error", "ok", "unset"],
            Intrinsic::Kind => {
                &["client", "consumer", "internal", "producer", "server", "unspecified"]
            }
            _ => return None,
        },
        Name::Keyed { .. } => return None,
    };
    let value = |word: &&str| TagValue { kind: TagKind::Keyword, text: (*word).to_owned() };
    Some(words.iter().map(value).collect())
}

/// Values as catalogues list them; `None` if they do not list all.
fn listed(
    look: &Look,
    attribute: &Attribute,
    query: &TagQuery,
) -> Result<Option<Vec<TagValue>>, EngineError> {
    let of_field = |number: usize| vec![(StoreScope::Field, TABLE.fields[number].name)];
    let places: Vec<(StoreScope, &str)> = match &attribute.name {
        Name::Keyed { scope, key } => match scope {
            Scope::Any => SCOPES.iter().map(|(stored, _)| (*stored, &key[..])).collect(),
            scope => {
                let stored = SCOPES.iter().find(|(_, known)| known == scope);
                stored.map(|(stored, _)| (*stored, &key[..])).into_iter().collect()
            }
        },
        Name::Intrinsic(intrinsic) => match intrinsic {
            Intrinsic::Name => of_field(field::NAME),
            Intrinsic::StatusMessage => of_field(field::STATUS_MESSAGE),
            Intrinsic::EventName => vec![(StoreScope::Field, "events.name")],
            // Which root a trace has is only known where its parts come together.
            Intrinsic::RootName
            | Intrinsic::RootServiceName
            | Intrinsic::InstrumentationName
            | Intrinsic::InstrumentationVersion => return Ok(None),
            _ => return Ok(None),
        },
    };
    if look.has_deleted_rows() {
        return Ok(None);
    }
    let sources = sources(look, query.time.as_ref())?;
    let mut found = Vec::new();
    for (scope, key) in places {
        let listed = listing::values(&sources, scope, key).map_err(|error| look.failed(error))?;
        if listed.has_more {
            return Ok(None);
        }
        for (value_type, values) in listed.values {
            let kind = match value_type {
                ValueType::String => TagKind::String,
                ValueType::Bool => TagKind::Bool,
                ValueType::Int => TagKind::Int,
                ValueType::Double => TagKind::Float,
                // Members of arrays are looked for in rows.
                ValueType::Any => return Ok(None),
            };
            found.extend(values.into_iter().map(|text| TagValue { kind, text }));
        }
    }
    Ok(Some(found))
}

/// Values of spans that pass.
fn scanned(
    look: &Look,
    attribute: &Attribute,
    query: &TagQuery,
    filter: &Expr,
) -> Result<Vec<TagValue>, EngineError> {
    let attribute_itself = Expr::Attribute(attribute.clone());
    let is_there = Expr::compare(BinaryOp::NotEqual, attribute_itself, Expr::Literal(Literal::Nil));
    let both = Expr::all([filter.clone(), is_there]);
    let pipeline = of_filter(&both);
    let failed = |error| look.failed(error);
    let candidates = Candidates::of(look, &pipeline).map_err(failed)?;
    if candidates.tested.is_never() {
        return Ok(Vec::new());
    }
    let values = match attribute.name.list() {
        None => {
            let time = query.time.clone().unwrap_or(i64::MIN / 4..i64::MAX / 4);
            let grid = Grid::instant(time.start, time.end.saturating_sub(1))
                .map_err(|error| EngineError::Invalid(error.to_string().into()))?;
            let by = std::slice::from_ref(attribute);
            let leaf = Leaf { pipeline: &pipeline, function: &MetricsFunction::CountOverTime, by };
            let counted: Aggregation =
                count_groups(look, &leaf, &grid, candidates, &mut SearchStats::default())?;
            let series = counted.finish().into_iter();
            series.filter_map(|m| m.series.labels.into_iter().next()).map(|(_, v)| v).collect()
        }
        Some(list) => of_elements(look, attribute, query, &pipeline, &candidates, list)?,
    };
    Ok(values.into_iter().flat_map(tag_values).collect())
}

/// Values that events or links of spans have which pass.
fn of_elements(
    look: &Look,
    attribute: &Attribute,
    query: &TagQuery,
    pipeline: &Pipeline,
    candidates: &Candidates,
    list: List,
) -> Result<Vec<OwnedValue>, EngineError> {
    let mut slots = Slots::default();
    // Names it, whatever its spelling.
    Expression::new(&Expr::Attribute(attribute.clone()), &mut slots).map_err(invalid)?;
    let slot = slots.slot_of(&attribute.name);
    let evaluation = Evaluation::new(look, pipeline, slots, false)?;
    let mut walk = walk_of(look, query, candidates)?;
    // Values as text, which tells them apart, and the bytes that they take.
    type Seen = (HashMap<String, OwnedValue>, usize);
    let parts = each_matching(&evaluation, &mut walk, Seen::default, |seen, trace, spans| {
        for span in spans {
            let span = *span as usize;
            for nth in 0..trace.elements(span, list) {
                let value = trace.element_value(span, slot, nth);
                let text = value.to_string();
                if value != Value::Nil && !seen.0.contains_key(&text) {
                    seen.1 += 128 + 2 * text.len();
                    seen.0.insert(text, OwnedValue::from(value));
                }
            }
        }
        Ok(seen.1)
    })?;
    Ok(parts.into_iter().flat_map(|(values, _)| values.into_values()).collect())
}

/// A number that does not look like a whole one, as Tempo writes it: `42.0`.
fn float(value: f64) -> String {
    format!("{value:?}")
}

/// A value as tag values show it; of an array each member.
fn tag_values(value: OwnedValue) -> Vec<TagValue> {
    use kymo_traceql::value::Element;
    let one = |kind, text: String| vec![TagValue { kind, text }];
    match value {
        OwnedValue::Nil => Vec::new(),
        OwnedValue::Bool(value) => one(TagKind::Bool, value.to_string()),
        OwnedValue::Int(value) => one(TagKind::Int, value.to_string()),
        OwnedValue::Float(value) => one(TagKind::Float, float(value)),
        value @ OwnedValue::Duration(_) => one(TagKind::Duration, value.to_string()),
        OwnedValue::Text(text) => one(TagKind::String, text),
        OwnedValue::Status(status) => one(TagKind::Keyword, status.name().to_owned()),
        OwnedValue::Kind(kind) => one(TagKind::Keyword, kind.name().to_owned()),
        OwnedValue::Array(elements) => elements
            .into_iter()
            .map(|element| match element {
                Element::Bool(value) => (TagKind::Bool, value.to_string()),
                Element::Int(value) => (TagKind::Int, value.to_string()),
                Element::Float(value) => (TagKind::Float, float(value)),
                Element::Text(text) => (TagKind::String, text.into()),
            })
            .map(|(kind, text)| TagValue { kind, text })
            .collect(),
    }
}
