//! Metrics of several runs on one axis.
//!
//! The axis is the time since a run's first value, or its step: the value, at that moment, of the run's
//! metric whose name is `step` or ends in `.step`. Many values become as many as can be drawn: each is
//! the mean of its part of the axis.

use std::collections::BTreeMap;

use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;
use serde_json::Value;

use super::parameters::{differing, parameters};
use crate::answer::Failed;
use crate::sql::{list, quoted};

/// Values of a metric of all runs that are read.
const MAX_VALUES: usize = 500_000;
const USUAL_POINTS: usize = 400;
const MAX_POINTS: usize = 4_000;
/// Metrics that are shown if nobody chooses.
const USUAL_METRICS: usize = 6;

#[derive(Debug, Serialize)]
pub(super) struct Compared {
    runs: Vec<Parameters>,
    /// Parameters that are not the same in all runs.
    differing: Vec<String>,
    /// `step` or `time` (seconds since the first value).
    x: &'static str,
    metrics: Vec<Metric>,
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Parameters {
    id: String,
    parameters: BTreeMap<String, Value>,
}

#[derive(Debug, Serialize)]
struct Metric {
    name: String,
    series: Vec<Series>,
}

#[derive(Debug, Serialize)]
struct Series {
    run: String,
    /// Places on the axis and values.
    points: Vec<(f64, f64)>,
}

/// Moments in nanoseconds and values.
type Values = Vec<(i64, f64)>;

/// Whom, about whose data, and about which runs.
pub(super) struct Asking<'a> {
    pub(super) engine: &'a Engine,
    pub(super) tenants: &'a Tenants,
    pub(super) ids: &'a [String],
}

impl Asking<'_> {
    pub(super) async fn compare(
        &self,
        metrics: &[String],
        by_step: bool,
        points: Option<usize>,
    ) -> Result<Compared, Failed> {
        let points = points.unwrap_or(USUAL_POINTS).clamp(2, MAX_POINTS);
        let known = self.names().await?;
        let step = known.iter().find(|name| *name == "step" || name.ends_with(".step"));
        let step = step.filter(|_| by_step);
        let (steps, mut truncated) = match step {
            Some(name) => self.values(name).await?,
            None => (BTreeMap::new(), false),
        };
        let chosen = match metrics {
            [] => usual(&known),
            metrics => metrics.to_vec(),
        };
        let mut shown = Vec::new();
        for name in chosen {
            let (values, is_cut) = self.values(&name).await?;
            truncated |= is_cut;
            let series = values.iter().map(|(run, values)| {
                let placed = match steps.get(run) {
                    Some(steps) => by_steps(values, steps),
                    None => by_time(values),
                };
                Series { run: run.clone(), points: thinned(&placed, points) }
            });
            let series = series.filter(|series| !series.points.is_empty()).collect();
            shown.push(Metric { name, series });
        }
        let mut of_run = parameters(self.engine, self.tenants, self.ids).await?;
        let runs: Vec<Parameters> = self
            .ids
            .iter()
            .map(|id| {
                let parameters = of_run.remove(id).unwrap_or_default();
                Parameters { id: id.clone(), parameters }
            })
            .collect();
        let differing = differing(&runs.iter().map(|run| &run.parameters).collect::<Vec<_>>());
        let x = if step.is_some() { "step" } else { "time" };
        Ok(Compared { runs, differing, x, metrics: shown, truncated })
    }

    fn of_runs(&self) -> String {
        format!("CAST(\"resource.session_id\" AS VARCHAR) IN ({})", list(self.ids))
    }

    async fn names(&self) -> Result<Vec<String>, Failed> {
        let query = format!(
            "SELECT name FROM points WHERE {} AND value IS NOT NULL GROUP BY 1 \
             HAVING count(*) > 1 ORDER BY 1 LIMIT 1000",
            self.of_runs()
        );
        let table = Table::ask(self.engine, self.tenants, &query).await?;
        Ok(table.texts("name")?.into_iter().flatten().collect())
    }

    /// Values of a metric by run, in the order of time; and whether there are more. Series of one run
    /// that differ in their labels, such as those of ranks, are one, by their mean.
    async fn values(&self, name: &str) -> Result<(BTreeMap<String, Values>, bool), Failed> {
        let query = format!(
            "SELECT CAST(\"resource.session_id\" AS VARCHAR) AS id, time, avg(value) AS value \
             FROM points WHERE {} AND name = {} AND value IS NOT NULL \
             GROUP BY 1, 2 ORDER BY 1, 2 LIMIT {}",
            self.of_runs(),
            quoted(name),
            MAX_VALUES + 1
        );
        let table = Table::ask(self.engine, self.tenants, &query).await?;
        let (ids, times) = (table.texts("id")?, table.integers("time")?);
        let mut found: BTreeMap<String, Values> = BTreeMap::new();
        for ((id, time), value) in ids.into_iter().zip(times).zip(table.numbers("value")?) {
            let (Some(id), Some(time), Some(value)) = (id, time, value) else { continue };
            if value.is_finite() {
                found.entry(id).or_default().push((time, value));
            }
        }
        Ok((found, table.len() > MAX_VALUES))
    }
}

/// What people look at first: losses, then speeds, then whatever there is.
fn usual(known: &[String]) -> Vec<String> {
    let rank = |name: &String| {
        let words = ["loss", "per_second", "accuracy", "duration", "learning_rate", "norm"];
        words.iter().position(|word| name.contains(word)).unwrap_or(words.len())
    };
    let is_step = |name: &&String| *name == "step" || name.ends_with(".step");
    let mut names: Vec<&String> = known.iter().filter(|name| !is_step(name)).collect();
    names.sort_by_key(|name| rank(name));
    names.into_iter().take(USUAL_METRICS).cloned().collect()
}

/// Values over seconds since the first.
fn by_time(values: &Values) -> Vec<(f64, f64)> {
    let first = values.first().map_or(0, |(time, _)| *time);
    values.iter().map(|(time, value)| ((time - first) as f64 / 1e9, *value)).collect()
}

/// Values over the step that held at their moment; what came before the first step is left out.
fn by_steps(values: &Values, steps: &Values) -> Vec<(f64, f64)> {
    let mut at = 0;
    let mut placed = Vec::with_capacity(values.len());
    for (time, value) in values {
        while steps.get(at + 1).is_some_and(|(next, _)| next <= time) {
            at += 1;
        }
        if let Some((_, step)) = steps.get(at).filter(|(began, _)| began <= time) {
            placed.push((*step, *value));
        }
    }
    placed
}

/// At most so many points, each the mean of its part of the axis.
fn thinned(placed: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if placed.len() <= most {
        return placed.to_vec();
    }
    let size = placed.len().div_ceil(most);
    let mean = |part: &[(f64, f64)]| {
        let count = part.len() as f64;
        let (x, y) = part.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        (x / count, y / count)
    };
    placed.chunks(size).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_at_the_step_of_their_moment() {
        let steps = vec![(10, 0.0), (20, 1.0), (30, 2.0)];
        let values = vec![(5, 9.0), (10, 8.0), (25, 7.0), (40, 6.0)];
        assert_eq!(by_steps(&values, &steps), [(0.0, 8.0), (1.0, 7.0), (2.0, 6.0)]);
        assert!(by_steps(&values, &Vec::new()).is_empty());
        let second = 1_000_000_000;
        assert_eq!(by_time(&vec![(second, 1.0), (3 * second, 2.0)]), [(0.0, 1.0), (2.0, 2.0)]);
    }

    #[test]
    fn many_values_become_as_many_as_can_be_drawn() {
        let placed: Vec<(f64, f64)> = (0..10).map(|at| (f64::from(at), 1.0)).collect();
        assert_eq!(
            thinned(&placed, 5),
            [(0.5, 1.0), (2.5, 1.0), (4.5, 1.0), (6.5, 1.0), (8.5, 1.0)]
        );
        assert_eq!(thinned(&placed, 10).len(), 10);
    }

    #[test]
    fn losses_are_looked_at_first() {
        let known = ["a.norm", "b.loss", "step", "z", "t.tokens_per_second"];
        let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(usual(&known), ["b.loss", "t.tokens_per_second", "a.norm", "z"]);
    }
}
