//! What runs were started with.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde_json::{Map, Value};

use crate::answer::Failed;
use crate::sql::{list, moment};

/// Resource attributes that differ from run to run, or tell nothing about how it was started.
const NO_PARAMETERS: [&str; 6] =
    ["session_id", "process.pid", "service.instance.id", "telemetry.sdk.", "kymo.", "process."];

/// Parameters of runs by their ids: attributes of what they began with, and of their resources. If a
/// time is known in which they began, nothing else is looked through.
pub(super) async fn parameters(
    engine: &Engine,
    tenants: &Tenants,
    ids: &[String],
    began: Option<Range<i64>>,
) -> Result<BTreeMap<String, BTreeMap<String, Value>>, Failed> {
    let ids = list(ids);
    let id = "CAST(\"resource.session_id\" AS VARCHAR)";
    let mut found: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for (table, time, condition) in [
        ("logs", "time", "event_name = 'SessionStarted'"),
        ("spans", "start_time", "name = 'session'"),
    ] {
        let within = began.as_ref().map(|Range { start, end }| {
            format!(" AND {time} >= '{}' AND {time} < '{}'", moment(*start), moment(*end))
        });
        let within = within.unwrap_or_default();
        let query = format!(
            "SELECT {id} AS id, min(resource) AS resource, min(attributes) AS attributes \
             FROM {table} WHERE {condition} AND {id} IN ({ids}){within} GROUP BY 1"
        );
        let table = Table::ask(engine, tenants, &query).await?;
        let (ids, resources) = (table.texts("id")?, table.texts("resource")?);
        let attributes = table.texts("attributes")?;
        for ((id, resource), attributes) in ids.into_iter().zip(resources).zip(attributes) {
            let Some(id) = id else { continue };
            let of_run = found.entry(id).or_default();
            for text in [resource, attributes].into_iter().flatten() {
                let Ok(members) = serde_json::from_str::<Map<String, Value>>(&text) else {
                    continue;
                };
                let told = members
                    .into_iter()
                    .filter(|(key, _)| !NO_PARAMETERS.iter().any(|prefix| key.starts_with(prefix)));
                of_run.extend(told);
            }
        }
    }
    Ok(found)
}

/// Names of parameters that are not the same in all runs.
pub(super) fn differing(runs: &[&BTreeMap<String, Value>]) -> Vec<String> {
    let mut names: Vec<&String> = runs.iter().flat_map(|run| run.keys()).collect();
    names.sort();
    names.dedup();
    let differs = |name: &&String| {
        let first = runs.first().and_then(|run| run.get(*name));
        runs.iter().any(|run| run.get(*name) != first)
    };
    names.into_iter().filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_differ_if_a_run_has_another_value_or_none() {
        let run = |pairs: &[(&str, Value)]| -> BTreeMap<String, Value> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let a = run(&[("lr", json!(0.1)), ("model", json!("x")), ("only", json!(1))]);
        let b = run(&[("lr", json!(0.3)), ("model", json!("x"))]);
        assert_eq!(differing(&[&a, &b]), ["lr", "only"]);
        assert!(differing(&[&a]).is_empty());
        assert!(differing(&[]).is_empty());
    }
}
