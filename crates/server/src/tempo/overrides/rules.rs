//! Which values make sense.

use std::collections::BTreeMap;

use kymo_traceql::ast::{Intrinsic, Name, Scope};
use serde_json::Value;

use super::document::{Document, Duration, FilterPolicy, PolicyMatch, SpanMetrics};
use crate::limits::OVERRIDES_MAX_FILTERED;
use crate::parameters::quoted;

const PROCESSORS: [&str; 9] = [
    "service-graphs",
    "service-graphs-request",
    "service-graphs-latency",
    "service-graphs-connection-info",
    "span-metrics",
    "span-metrics-count",
    "span-metrics-latency",
    "span-metrics-size",
    "host-info",
];
const HISTOGRAMS: [&str; 3] = ["classic", "native", "both"];
const SANITIZATIONS: [&str; 3] = ["", "dry_run", "enabled"];
const INTRINSIC_DIMENSIONS: [&str; 5] =
    ["service", "span_name", "span_kind", "status_code", "status_message"];

const SECOND_NANOS: i64 = 1_000_000_000;
const COLLECTION_INTERVALS: (&str, [i64; 2]) =
    ("15s to 5m", [15 * SECOND_NANOS, 300 * SECOND_NANOS]);
const SLACKS: (&str, [i64; 2]) = ("0s to 12h", [0, 12 * 3600 * SECOND_NANOS]);
const RESETS: (&str, [i64; 2]) = ("0s to 24h", [0, 24 * 3600 * SECOND_NANOS]);

/// What is wrong with a document, if anything is.
pub(super) fn check(document: &Document) -> Result<(), String> {
    if let Some(forwarder) = document.forwarders.iter().flatten().next() {
        let forwarder = quoted(forwarder);
        return Err(format!("forwarders: {forwarder} is not known, none is configured here"));
    }
    if let Some(dimensions) = &document.cost_attribution.dimensions {
        check_cost_dimensions(dimensions)?;
    }
    let generator = &document.metrics_generator;
    let at = |name: &str| format!("metrics_generator.{name}");
    for processor in generator.processors.iter().flatten() {
        check_choice(&at("processors"), processor, &PROCESSORS)?;
    }
    check_time(&at("collection_interval"), generator.collection_interval, COLLECTION_INTERVALS)?;
    check_time(&at("ingestion_time_range_slack"), generator.ingestion_time_range_slack, SLACKS)?;
    let reset = generator.native_histogram_min_reset_duration;
    check_time(&at("native_histogram_min_reset_duration"), reset, RESETS)?;
    if let Some(name) = generator.trace_id_label_name.as_deref().filter(|name| *name != label(name))
    {
        let place = at("trace_id_label_name");
        let name = quoted(name);
        return Err(format!("{place}: {name} is no label: letters, digits and _ are"));
    }
    if let Some(histograms) = &generator.generate_native_histograms {
        check_choice(&at("generate_native_histograms"), histograms, &HISTOGRAMS)?;
    }
    if let Some(factor) = generator.native_histogram_bucket_factor.filter(|factor| *factor <= 1.0) {
        let place = at("native_histogram_bucket_factor");
        return Err(format!("{place}: {factor} is not greater than 1"));
    }
    if let Some(mode) = &generator.span_name_sanitization {
        check_choice(&at("span_name_sanitization"), mode, &SANITIZATIONS)?;
    }
    let graphs = &generator.processor.service_graphs;
    let policies = [&graphs.filter_policies, &generator.processor.span_metrics.filter_policies];
    let filtered = filtered(policies.into_iter().flatten().flatten());
    if filtered > OVERRIDES_MAX_FILTERED {
        return Err(format!(
            "filter_policies: {filtered} attributes are filtered by, at most \
             {OVERRIDES_MAX_FILTERED} can be"
        ));
    }
    let at = |name: &str| format!("metrics_generator.processor.service_graphs.{name}");
    check_buckets(&at("histogram_buckets"), graphs.histogram_buckets.as_deref())?;
    check_policies(&at("filter_policies"), graphs.filter_policies.as_deref())?;
    check_span_metrics(&generator.processor.span_metrics)?;
    if generator.processor.host_info.metric_name.as_deref() == Some("") {
        return Err("metrics_generator.processor.host_info.metric_name is empty".to_owned());
    }
    Ok(())
}

fn check_span_metrics(metrics: &SpanMetrics) -> Result<(), String> {
    let at = |name: &str| format!("metrics_generator.processor.span_metrics.{name}");
    check_buckets(&at("histogram_buckets"), metrics.histogram_buckets.as_deref())?;
    check_policies(&at("filter_policies"), metrics.filter_policies.as_deref())?;
    for dimension in metrics.intrinsic_dimensions.iter().flatten().map(|(name, _)| name) {
        check_choice(&at("intrinsic_dimensions"), dimension, &INTRINSIC_DIMENSIONS)?;
    }
    // Two attributes may give one label: senders may name one thing in two ways.
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    for (name, is_on) in metrics.intrinsic_dimensions.iter().flatten() {
        if *is_on {
            labels.insert(name.clone(), format!("the intrinsic dimension {name:?}"));
        }
    }
    for name in metrics.dimensions.iter().flatten() {
        labels.insert(dimension_label(name), format!("the dimension {}", quoted(name)));
    }
    for mapping in metrics.dimension_mappings.iter().flatten() {
        let (place, name) = (at("dimension_mappings"), quoted(&mapping.name));
        if mapping.name.is_empty() {
            return Err(format!("{place}: a mapping has no name"));
        }
        if mapping.source_labels.is_empty() {
            return Err(format!("{place}: {name} has no source_labels"));
        }
        let label = dimension_label(&mapping.name);
        if let Some(other) = labels.get(&label) {
            let label = quoted(&label);
            return Err(format!("{place}: {name} gives the label {label}, as does {other}"));
        }
        labels.insert(label, format!("the mapping {name}"));
    }
    Ok(())
}

fn check_choice(place: &str, value: &str, choices: &[&str]) -> Result<(), String> {
    match choices.contains(&value) {
        true => Ok(()),
        false => Err(format!("{place}: {} is none of {choices:?}", quoted(value))),
    }
}

fn check_time(
    place: &str,
    time: Option<Duration>,
    (range, [least, most]): (&str, [i64; 2]),
) -> Result<(), String> {
    match time {
        Some(time) if !(least..=most).contains(&time.0) => {
            Err(format!("{place}: {time} is outside of {range}"))
        }
        _ => Ok(()),
    }
}

fn check_buckets(place: &str, buckets: Option<&[f64]>) -> Result<(), String> {
    let falling = buckets.unwrap_or_default().windows(2).find(|pair| pair[1] <= pair[0]);
    match falling {
        Some(pair) => Err(format!("{place}: {} does not lie above {}", pair[1], pair[0])),
        None => Ok(()),
    }
}

/// How many attributes policies name.
fn filtered<'p>(policies: impl Iterator<Item = &'p FilterPolicy>) -> usize {
    let matches = policies.flat_map(|FilterPolicy { include, include_any, exclude }| {
        [include, include_any, exclude].into_iter().flatten()
    });
    matches.map(|part| part.attributes.len()).sum()
}

fn check_policies(place: &str, policies: Option<&[FilterPolicy]>) -> Result<(), String> {
    for FilterPolicy { include, include_any, exclude } in policies.unwrap_or_default() {
        let parts = [("include", include), ("include_any", include_any), ("exclude", exclude)];
        if parts.iter().all(|(_, part)| part.is_none()) {
            return Err(format!("{place}: a policy has no include, include_any or exclude"));
        }
        for (name, part) in parts {
            if let Some(part) = part {
                check_match(part).map_err(|why| format!("{place}: {name}: {why}"))?;
            }
        }
    }
    Ok(())
}

fn check_match(part: &PolicyMatch) -> Result<(), String> {
    check_choice("match_type", &part.match_type, &["strict", "regex"])?;
    for attribute in &part.attributes {
        let key = quoted(&attribute.key);
        let parsed = kymo_traceql::parse_attribute(&attribute.key)
            .map_err(|error| format!("{key} is no attribute: {error}"))?;
        let is_known = match &parsed.name {
            Name::Keyed { scope, .. } => matches!(scope, Scope::Span | Scope::Resource),
            Name::Intrinsic(intrinsic) => {
                matches!(intrinsic, Intrinsic::Kind | Intrinsic::Name | Intrinsic::Status)
            }
        };
        if parsed.of_parent || !is_known {
            return Err(format!("{key} is none of span.…, resource.…, name, kind and status"));
        }
        match (&attribute.value, part.match_type.as_str()) {
            (Value::String(pattern), "regex") => {
                let valid = kymo_traceql::validate_pattern(pattern);
                valid.map_err(|why| format!("{key}: {why}"))?;
            }
            (_, "regex") => return Err(format!("{key}: the value is no regular expression")),
            (Value::String(_) | Value::Number(_) | Value::Bool(_), _) => {}
            _ => return Err(format!("{key}: the value is no text, number or boolean")),
        }
    }
    Ok(())
}

fn check_cost_dimensions(dimensions: &BTreeMap<String, String>) -> Result<(), String> {
    let mut labels: BTreeMap<String, &str> = BTreeMap::new();
    for (attribute, name) in dimensions {
        let own = ["resource.", "span."].iter().find_map(|scope| attribute.strip_prefix(scope));
        let name = if name.is_empty() { own.unwrap_or(attribute) } else { name };
        let label = label(name);
        if label.is_empty() {
            let attribute = quoted(attribute);
            return Err(format!("cost_attribution.dimensions: {attribute} has no label"));
        }
        if let Some(other) = labels.insert(label.clone(), attribute) {
            let both = format!("{} and {}", quoted(other), quoted(attribute));
            let label = quoted(&label);
            return Err(format!("cost_attribution.dimensions: {both} give the label {label}"));
        }
    }
    Ok(())
}

/// The label of a dimension: those that every series has are not taken.
fn dimension_label(name: &str) -> String {
    let label = label(name);
    if INTRINSIC_DIMENSIONS.contains(&label.as_str()) { format!("__{label}") } else { label }
}

/// A name with all that a label of Prometheus cannot have replaced by `_`.
fn label(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        check(&Document::read(text.as_bytes()).unwrap()).err()
    }

    fn generator(inner: &str) -> String {
        format!(r#"{{"metrics_generator":{inner}}}"#)
    }

    fn span_metrics(inner: &str) -> String {
        generator(&format!(r#"{{"processor":{{"span_metrics":{inner}}}}}"#))
    }

    #[test]
    fn what_makes_sense_is_taken() {
        for text in [
            "{}".to_owned(),
            r#"{"forwarders":[],"cost_attribution":{"dimensions":{"span.a":"","b":"c d"}}}"#
                .to_owned(),
            generator(
                r#"{"processors":["span-metrics","host-info"],"collection_interval":"15s",
                "ingestion_time_range_slack":"12h","native_histogram_bucket_factor":1.01,
                "generate_native_histograms":"both","span_name_sanitization":"dry_run",
                "trace_id_label_name":"trace_id"}"#,
            ),
            span_metrics(
                r#"{"histogram_buckets":[0.1,1,10],"intrinsic_dimensions":{"service":true},
                "dimensions":["a.b","a_b","service"],
                "dimension_mappings":[{"name":"c","source_labels":["d","e"],"join":"/"}],
                "filter_policies":[{"include":{"match_type":"regex","attributes":[
                    {"key":"span.foo","value":"a|b"},{"key":"kind","value":"SPAN_KIND_.*"}]},
                    "exclude":{"match_type":"strict","attributes":[{"key":"resource.x","value":1}]}}]}"#,
            ),
        ] {
            assert_eq!(told(&text), None, "{text}");
        }
    }

    #[test]
    fn what_makes_none_is_told() {
        let policy = |inner: &str| span_metrics(&format!(r#"{{"filter_policies":[{inner}]}}"#));
        let strict = |key: &str, value: &str| {
            policy(&format!(
                r#"{{"include":{{"match_type":"strict","attributes":[{{"key":"{key}","value":{value}}}]}}}}"#
            ))
        };
        for (text, what) in [
            (r#"{"forwarders":["x"]}"#.to_owned(), "\"x\" is not known"),
            (
                r#"{"cost_attribution":{"dimensions":{"span.a":"","a":""}}}"#.to_owned(),
                "label \"a\"",
            ),
            (r#"{"cost_attribution":{"dimensions":{"span.":""}}}"#.to_owned(), "no label"),
            (generator(r#"{"processors":["bad"]}"#), "\"bad\" is none of"),
            (generator(r#"{"collection_interval":"14.9s"}"#), "14.9s is outside of 15s to 5m"),
            (generator(r#"{"collection_interval":"5m1s"}"#), "5m1s is outside"),
            (generator(r#"{"ingestion_time_range_slack":"-1s"}"#), "-1s is outside of 0s to 12h"),
            (
                generator(r#"{"native_histogram_min_reset_duration":-9223372036854775808}"#),
                "outside of 0s to 24h",
            ),
            (generator(r#"{"native_histogram_min_reset_duration":1e300}"#), "outside of"),
            (generator(r#"{"trace_id_label_name":"a-b"}"#), "\"a-b\" is no label"),
            (generator(r#"{"native_histogram_bucket_factor":1}"#), "greater than 1"),
            (generator(r#"{"generate_native_histograms":"x"}"#), "classic"),
            (generator(r#"{"span_name_sanitization":"x"}"#), "dry_run"),
            (generator(r#"{"processor":{"service_graphs":{"histogram_buckets":[1,1]}}}"#), "above"),
            (
                generator(r#"{"processor":{"service_graphs":{"filter_policies":[{}]}}}"#),
                "no include",
            ),
            (generator(r#"{"processor":{"host_info":{"metric_name":""}}}"#), "is empty"),
            (span_metrics(r#"{"histogram_buckets":[2,1]}"#), "1 does not lie above 2"),
            (span_metrics(r#"{"intrinsic_dimensions":{"x":true}}"#), "\"x\" is none of"),
            (span_metrics(r#"{"dimension_mappings":[{"name":""}]}"#), "no name"),
            (span_metrics(r#"{"dimension_mappings":[{"name":"a"}]}"#), "no source_labels"),
            (
                span_metrics(
                    r#"{"dimensions":["a.b"],"dimension_mappings":[{"name":"a_b","source_labels":["c"]}]}"#,
                ),
                "as does the dimension \"a.b\"",
            ),
            (policy("{}"), "no include"),
            (policy(r#"{"exclude":{"match_type":"x"}}"#), "exclude: match_type"),
            (strict("foo", "1"), "\"foo\" is no attribute"),
            (strict("duration", "1"), "none of span"),
            (strict("event.a", "1"), "none of span"),
            (strict("parent.span.a", "1"), "none of span"),
            (strict("span.a", "[]"), "no text, number or boolean"),
            (strict("span.a", "1").replace("strict", "regex"), "no regular expression"),
            (strict("span.a", "\"(\"").replace("strict", "regex"), "not valid"),
        ] {
            let error = told(&text).unwrap_or_else(|| panic!("{text} is taken"));
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
