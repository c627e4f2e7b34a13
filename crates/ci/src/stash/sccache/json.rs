//! sccache's JSON, as `--show-stats --stats-format=json` prints it.
//!
//! Since 0.7 each outcome has two tables, `counts` by language and `adv_counts` by language and
//! compiler. Both count the same compilations, so only one is read. Before 0.2.9 an outcome was a
//! number.

use serde_json::Value;

use super::{Outcome, Stats};

const OUTCOMES: [(&str, Outcome); 3] = [
    ("cache_hits", Outcome::Hit),
    ("cache_misses", Outcome::Miss),
    ("cache_errors", Outcome::Error),
];

/// What a text tells; none if it is no JSON, or not sccache's.
pub(super) fn parse(text: &str) -> Option<Stats> {
    let value = first_object(text)?;
    let stats = value.get("stats")?;
    let number = |name: &str| stats.get(name).and_then(Value::as_u64);

    let mut parsed = Stats {
        requests: Some(number("compile_requests")?),
        non_cacheable_calls: number("requests_not_cacheable"),
        compile_failures: number("compile_fails"),
        cache_size_bytes: value.get("cache_size").and_then(Value::as_u64),
        version: value.get("version").and_then(Value::as_str).map(super::super::text::bounded_name),
        ..Stats::default()
    };
    let is_advanced = OUTCOMES.iter().any(|(name, _)| table(stats, name, "adv_counts").is_some());
    for (name, outcome) in OUTCOMES {
        if let Some(count) = number(name) {
            parsed.add_plain(outcome, count);
        }
        let which = if is_advanced { "adv_counts" } else { "counts" };
        for (label, count) in table(stats, name, which).into_iter().flatten() {
            parsed.add_labelled(outcome, label, count.as_u64().unwrap_or(0));
        }
    }
    let total = parsed.total();
    // Compilations are counted since 0.9; before, sccache itself divided by the misses.
    let compilations = number("compilations").unwrap_or(total.misses);
    parsed.average_compiler_seconds = average(stats.get("compiler_write_duration"), compilations);
    parsed.average_cache_read_hit_seconds =
        average(stats.get("cache_read_hit_duration"), total.hits);
    Some(parsed)
}

/// The object that begins a line. Messages of the tool may stand before and after it, when both of
/// its outputs go into one file.
fn first_object(text: &str) -> Option<Value> {
    let begins_line =
        |start: &usize| matches!(text.get(..*start), Some(t) if t.is_empty() || t.ends_with('\n'));
    let start = text.match_indices('{').map(|(start, _)| start).find(begins_line)?;
    serde_json::Deserializer::from_str(text.get(start..)?).into_iter().next()?.ok()
}

/// A table of an outcome, unless it is empty.
fn table<'a>(
    stats: &'a Value,
    outcome: &str,
    which: &str,
) -> Option<&'a serde_json::Map<String, Value>> {
    stats.get(outcome)?.get(which)?.as_object().filter(|counts| !counts.is_empty())
}

/// A sum of time by how many it is of.
fn average(duration: Option<&Value>, count: u64) -> Option<f64> {
    let duration = duration?;
    let seconds = duration.get("secs")?.as_f64()? + duration.get("nanos")?.as_f64()? / 1e9;
    (count > 0).then(|| seconds / count as f64)
}
