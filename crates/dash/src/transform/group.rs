//! `groupBy` and `groupToNestedTable`: one row for all rows with the same keys.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::Outcome;
use super::options::Options;
use crate::fields::{FieldMatcher, Names, Place};
use crate::frame::{Config, Field, Frame, Key, Kind, Value};
use crate::reduce::{Nulls, Reducer, reduce_values};

/// What is done with a field.
struct Rule {
    groups: bool,
    aggregates: bool,
    reducers: Vec<Reducer>,
    /// Whether an aggregated field is also kept among the nested rows.
    kept: bool,
}

pub(super) fn group_by(options: Options<'_>, frames: &[Frame]) -> Outcome {
    options.expect("fields", "an object", Json::is_object)?;
    let Some(fields) = options.map("fields") else { return Ok(frames.to_vec()) };
    let rules = fields.iter().map(|(name, rule)| Ok((name.as_str(), read(rule)?)));
    let rules: HashMap<&str, Rule> = rules.collect::<Result<_, String>>()?;
    if !rules.values().any(|rule| rule.groups) {
        return Ok(frames.to_vec());
    }
    let names = Names::new(frames);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let local = |field: usize| names.within(frames, index, field);
        let rule = |field: usize| {
            let seen = names.of(index, field).to_owned();
            let candidates = [local(field), seen, frame.fields[field].name.clone()];
            candidates.iter().find_map(|name| rules.get(name.as_str()))
        };
        let places: Vec<usize> = (0..frame.fields.len()).collect();
        let grouping = |field: &usize| rule(*field).is_some_and(|rule| rule.groups);
        let keys: Vec<usize> = places.iter().copied().filter(grouping).collect();
        if keys.is_empty() {
            continue;
        }
        let groups = Groups::of(frame, &keys);
        let mut fields = groups.keys(frame, &keys);
        for field in places {
            let Some(rule) = rule(field) else { continue };
            // A key may count the rows of its group, and nothing else.
            if rule.aggregates || rule.groups && rule.reducers == [Reducer::Count] {
                fields.extend(groups.reduced(&frame.fields[field], &local(field), &rule.reducers));
            }
        }
        made.push(Frame { name: String::new(), ..frame.with_fields(fields) });
    }
    Ok(made)
}

pub(super) fn nested(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let rules = nested_rules(options)?;
    if !rules.iter().any(|(_, rule)| rule.groups) {
        return Ok(frames.to_vec());
    }
    let names = Names::new(frames);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let rule = |field: usize| {
            let place = Place { frames, names: &names, frame: index, field };
            rules.iter().find(|(matcher, _)| matcher.matches(&place)).map(|(_, rule)| rule)
        };
        let places = 0..frame.fields.len();
        let grouping = |field: &usize| rule(*field).is_some_and(|rule| rule.groups);
        let keys: Vec<usize> = places.clone().filter(grouping).collect();
        if keys.is_empty() {
            continue;
        }
        let groups = Groups::of(frame, &keys);
        let mut fields = groups.keys(frame, &keys);
        let mut inner = Vec::new();
        for field in places {
            let column = &frame.fields[field];
            match rule(field) {
                Some(rule) if rule.groups => {}
                Some(rule) if rule.aggregates => {
                    let name = names.within(frames, index, field);
                    fields.extend(groups.reduced(column, &name, &rule.reducers));
                    if rule.kept {
                        inner.push(field);
                    }
                }
                _ => inner.push(field),
            }
        }
        let header = options.get("showSubframeHeaders").as_bool().unwrap_or(true);
        fields.push(groups.nested(frame, &inner, header));
        let mut outer = Frame { name: String::new(), ..frame.with_fields(fields) };
        if options.truth("expandAllRows") {
            outer.meta.insert("custom".to_owned(), json!({"expandAllRows": true}));
        }
        made.push(outer);
    }
    Ok(made)
}

/// Rules by matcher, or in older dashboards by name.
fn nested_rules(options: Options<'_>) -> Result<Vec<(FieldMatcher, Rule)>, String> {
    let by_matcher = options.list("rules").iter().map(|rule| {
        let matcher = FieldMatcher::read(rule.get("matcher").unwrap_or(&Json::Null))?;
        Ok((matcher, read(rule)?))
    });
    let by_name = options.map("fields").into_iter().flatten();
    let by_name =
        by_name.map(|(name, rule)| Ok((FieldMatcher::Names(vec![name.clone()]), read(rule)?)));
    by_matcher.chain(by_name).collect()
}

fn read(rule: &Json) -> Result<Rule, String> {
    let rule = Options(rule);
    let reducer =
        |id: &&str| Reducer::from_id(id).ok_or(format!("the reducer \"{id}\" is not known"));
    let reducers: Vec<Reducer> =
        rule.texts("aggregations").iter().map(reducer).collect::<Result<_, String>>()?;
    let operation = rule.text("operation");
    Ok(Rule {
        groups: operation == Some("groupby"),
        aggregates: operation == Some("aggregate") && !reducers.is_empty(),
        reducers,
        kept: rule.truth("keepNestedField"),
    })
}

/// The rows of each group, in the order in which the groups appear.
pub(super) struct Groups {
    pub(super) rows: Vec<Vec<usize>>,
}

impl Groups {
    pub(super) fn of(frame: &Frame, keys: &[usize]) -> Self {
        let mut places: HashMap<Vec<Key>, usize> = HashMap::new();
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for row in 0..frame.rows() {
            let key = keys.iter().map(|&field| frame.fields[field].at(row).key()).collect();
            let place = *places.entry(key).or_insert(rows.len());
            match rows.get_mut(place) {
                Some(group) => group.push(row),
                None => rows.push(vec![row]),
            }
        }
        Self { rows }
    }

    /// The key fields, with one value for each group.
    fn keys(&self, frame: &Frame, keys: &[usize]) -> Vec<Field> {
        let first = |field: &Field| {
            let rows = self.rows.iter().filter_map(|rows| rows.first());
            rows.map(|&row| field.at(row).clone()).collect()
        };
        let key = |&field: &usize| {
            let field = &frame.fields[field];
            let mut key = field.with_values(first(field));
            key.labels.clear();
            key
        };
        keys.iter().map(key).collect()
    }

    /// A field's values in each group, reduced.
    fn reduced(&self, field: &Field, name: &str, reducers: &[Reducer]) -> Vec<Field> {
        let nulls = Nulls::of(field);
        let mut columns = vec![Vec::with_capacity(self.rows.len()); reducers.len()];
        for rows in &self.rows {
            let values: Vec<Value> = rows.iter().map(|&row| field.at(row).clone()).collect();
            let results = reduce_values(&values, field.kind, nulls, reducers);
            for (column, result) in columns.iter_mut().zip(results) {
                column.push(result);
            }
        }
        let made = |(reducer, values): (&Reducer, Vec<Value>)| {
            let name = format!("{name} ({})", reducer.id());
            let mut made = Field::new(name, reducer.kind(field.kind), values);
            made.config = kept_config(field, *reducer);
            made
        };
        reducers.iter().zip(columns).map(made).collect()
    }

    fn nested(&self, frame: &Frame, fields: &[usize], header: bool) -> Field {
        let group = |rows: &Vec<usize>| {
            // Only the group's rows: all of them, for each group, would be rows times groups.
            let pick = |&field: &usize| {
                let field = &frame.fields[field];
                field.with_values(rows.iter().map(|&row| field.at(row).clone()).collect())
            };
            let mut part = frame.with_fields(fields.iter().map(pick).collect());
            part.meta.insert("custom".to_owned(), json!({"noHeader": !header}));
            Value::List(Arc::from([Value::Frame(Arc::new(part))]))
        };
        Field::new("__nestedFrames", Kind::Frame, self.rows.iter().map(group).collect())
    }
}

/// What stays of a field's configuration when a reducer made another field of it.
pub(super) fn kept_config(field: &Field, reducer: Reducer) -> Config {
    let kept = ["unit", "decimals", "mappings", "type"];
    let entries =
        kept.iter().filter_map(|key| Some(((*key).to_owned(), field.config.get(*key)?.clone())));
    if reducer.keeps_unit() { entries.collect() } else { Config::new() }
}
