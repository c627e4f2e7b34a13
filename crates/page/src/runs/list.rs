//! Runs of some time, with their last values.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;
use serde_json::Value;

use super::MAX_RUNS;
use super::parameters::parameters;
use crate::answer::Failed;
use crate::sql::{list, moment};

/// Names of metrics of an answer.
const MAX_NAMES: usize = 500;
/// Last values of an answer: a hundred metrics of each of as many runs as are listed.
const MAX_LAST_VALUES: usize = 20_000;
/// How far before the time that is looked at a run may have begun, and said with what: longer than
/// anything runs.
const REACH_NANOS: i64 = 30 * 24 * 3_600_000_000_000;

#[derive(Debug, Serialize)]
pub(super) struct Runs {
    runs: Vec<Run>,
    /// Names of metrics that more than one moment is known of, those of most runs first.
    metrics: Vec<Named>,
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Run {
    id: String,
    /// Nanoseconds since 1970, as text. The first may be before the time that is looked at.
    first: String,
    last: String,
    /// The last value of each metric.
    values: BTreeMap<String, f64>,
    parameters: BTreeMap<String, Value>,
}

#[derive(Debug, Serialize)]
struct Named {
    name: String,
    unit: String,
    runs: i64,
}

pub(super) async fn runs(
    engine: &Engine,
    tenants: &Tenants,
    range: &Range<i64>,
) -> Result<Runs, Failed> {
    let within = format!(
        "time >= '{}' AND time < '{}' AND value IS NOT NULL",
        moment(range.start),
        moment(range.end)
    );
    let query = format!(
        "SELECT \"resource.session_id\" AS id, min(time) AS first, max(time) AS last FROM points \
         WHERE \"resource.session_id\" IS NOT NULL AND {within} \
         GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT {}",
        MAX_RUNS + 1
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let (ids, first, last) = (table.ids("id")?, table.integers("first")?, table.integers("last")?);
    let mut runs: Vec<Run> = ids
        .into_iter()
        .zip(first.into_iter().zip(last))
        .filter_map(|(id, (first, last))| {
            Some(Run {
                id: id?,
                first: first?.to_string(),
                last: last?.to_string(),
                values: BTreeMap::new(),
                parameters: BTreeMap::new(),
            })
        })
        .collect();
    let truncated = runs.len() > MAX_RUNS;
    runs.truncate(MAX_RUNS);
    if runs.is_empty() {
        return Ok(Runs { runs, metrics: Vec::new(), truncated });
    }
    let ids: Vec<String> = runs.iter().map(|run| run.id.clone()).collect();
    let begun = begun(engine, tenants, &ids, range.start).await?;
    for run in &mut runs {
        if let Some(first) = begun.get(&run.id) {
            run.first = first.to_string();
        }
    }
    let of = format!("CAST(\"resource.session_id\" AS VARCHAR) IN ({}) AND {within}", list(&ids));
    let began = Some(range.start.saturating_sub(REACH_NANOS).max(0)..range.end);
    let mut of_run = parameters(engine, tenants, &ids, began).await?;
    let (mut values, has_more) = last_values(engine, tenants, &of).await?;
    for run in &mut runs {
        run.parameters = of_run.remove(&run.id).unwrap_or_default();
        run.values = values.remove(&run.id).unwrap_or_default();
    }
    let metrics = names(engine, tenants, &of).await?;
    let truncated = truncated || has_more || metrics.len() >= MAX_NAMES;
    Ok(Runs { runs, metrics, truncated })
}

/// The first moments of runs that began before a time.
async fn begun(
    engine: &Engine,
    tenants: &Tenants,
    ids: &[String],
    before: i64,
) -> Result<BTreeMap<String, i64>, Failed> {
    let query = format!(
        "SELECT CAST(\"resource.session_id\" AS VARCHAR) AS id, min(time) AS first FROM points \
         WHERE CAST(\"resource.session_id\" AS VARCHAR) IN ({}) AND value IS NOT NULL \
         AND time >= '{}' AND time < '{}' GROUP BY 1",
        list(ids),
        moment(before.saturating_sub(REACH_NANOS).max(0)),
        moment(before)
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let firsts = table.texts("id")?.into_iter().zip(table.integers("first")?);
    Ok(firsts.filter_map(|(id, first)| Some((id?, first?))).collect())
}

/// The last value of each metric of each run, and whether there are more.
async fn last_values(
    engine: &Engine,
    tenants: &Tenants,
    of: &str,
) -> Result<(BTreeMap<String, BTreeMap<String, f64>>, bool), Failed> {
    let query = format!(
        "SELECT CAST(\"resource.session_id\" AS VARCHAR) AS id, name, \
         last_value(value ORDER BY time) AS value \
         FROM points WHERE {of} GROUP BY 1, 2 LIMIT {MAX_LAST_VALUES}"
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let (ids, names, values) = (table.texts("id")?, table.texts("name")?, table.numbers("value")?);
    let mut found: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for ((id, name), value) in ids.into_iter().zip(names).zip(values) {
        if let (Some(id), Some(name), Some(value)) = (id, name, value) {
            found.entry(id).or_default().insert(name, value);
        }
    }
    Ok((found, table.len() >= MAX_LAST_VALUES))
}

async fn names(engine: &Engine, tenants: &Tenants, of: &str) -> Result<Vec<Named>, Failed> {
    let query = format!(
        "SELECT name, min(unit) AS unit, count(DISTINCT \"resource.session_id\") AS runs \
         FROM points WHERE {of} GROUP BY 1 HAVING count(*) > 1 ORDER BY 3 DESC, 1 LIMIT {MAX_NAMES}"
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let (names, units, runs) =
        (table.texts("name")?, table.texts("unit")?, table.integers("runs")?);
    let rows = names.into_iter().zip(units).zip(runs);
    let named = rows.filter_map(|((name, unit), runs)| {
        Some(Named { name: name?, unit: unit.unwrap_or_default(), runs: runs? })
    });
    Ok(named.collect())
}
