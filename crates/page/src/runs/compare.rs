//! Metrics of several runs on one axis.
//!
//! The axis is the time since a run's first value, or its step: the value, at that moment, of the run's
//! metric whose name is `step` or ends in `.step`. Where some runs have steps, those without are left
//! out. Many values become as many as can be drawn: each is the mean of its part of the axis.
//!
//! Beside what runs tell of themselves are, on the same axis, their hosts' [GPUs](super::gpus).

use std::collections::{BTreeMap, BTreeSet};

use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;
use serde_json::Value;

use super::gpus;
use super::parameters::{differing, parameters};
use crate::answer::Failed;
use crate::machines::host_of_resource;
use crate::sql::{list, quoted};
use crate::times::NANOS_PER_MILLI;

/// Values of a metric of all runs that are read.
const MAX_VALUES: usize = 500_000;
const USUAL_POINTS: usize = 400;
const MAX_POINTS: usize = 4_000;
/// Names that steps may have in runs that are overlaid: each is a query.
const MAX_STEPS: usize = 5;
/// Metrics that are shown if nobody chooses.
const USUAL_METRICS: usize = 6;
/// Hosts of a run whose GPUs are told of: they are asked about by names, in one query.
const MAX_HOSTS: usize = 200;

#[derive(Debug, Serialize)]
pub(super) struct Compared {
    runs: Vec<Parameters>,
    /// Parameters that are not the same in all runs.
    differing: Vec<String>,
    /// `step` or `time` (seconds since the first value).
    x: &'static str,
    metrics: Vec<Metric>,
    /// The same of GPUs of the hosts that the runs were on.
    gpus: Vec<Metric>,
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
    /// As dashboards name it; where it is not known, nothing.
    unit: &'static str,
    series: Vec<Series>,
}

#[derive(Debug, Serialize)]
struct Series {
    run: String,
    /// Places on the axis and values.
    points: Vec<(f64, f64)>,
    /// When each of them was, in milliseconds since 1970.
    times: Vec<i64>,
}

/// Moments in nanoseconds and values.
pub(super) type Values = Vec<(i64, f64)>;

/// A place on the axis, a value, and its moment in nanoseconds.
type Placed = (f64, f64, i64);

/// When a run told of itself, in nanoseconds, and from which hosts.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) hosts: BTreeSet<String>,
}

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
        let (mut steps, mut truncated) = (BTreeMap::new(), false);
        // Each run has one, though not all call it the same.
        for name in known.iter().filter(|name| by_step && is_step(name)).take(MAX_STEPS) {
            let (values, is_cut) = self.values(name).await?;
            truncated |= is_cut;
            for (run, values) in values {
                steps.entry(run).or_insert(values);
            }
        }
        let by_step = !steps.is_empty();
        let chosen = match metrics {
            [] => usual(&known),
            metrics => metrics.to_vec(),
        };
        let (seen, is_cut) = self.seen().await?;
        truncated |= is_cut;
        let place = |run: &str, values: &Values| match steps.get(run) {
            Some(steps) => by_steps(values, steps),
            // Seconds are no steps: a run without has no place among those that have some.
            None if by_step => Vec::new(),
            None => by_time(values, seen.get(run).map_or(0, |seen| seen.first)),
        };
        let drawn = |values: &BTreeMap<String, Values>| -> Vec<Series> {
            let of_run = |(run, values): (&String, &Values)| {
                let placed = thinned(&place(run, values), points);
                let times = placed.iter().map(|(_, _, nanos)| nanos / NANOS_PER_MILLI).collect();
                let points = placed.iter().map(|(x, value, _)| (*x, *value)).collect();
                Series { run: run.clone(), points, times }
            };
            values.iter().map(of_run).filter(|series| !series.points.is_empty()).collect()
        };
        let mut shown = Vec::new();
        for name in chosen {
            let (values, is_cut) = self.values(&name).await?;
            truncated |= is_cut;
            shown.push(Metric { name, unit: "", series: drawn(&values) });
        }
        let mut of_gpus = Vec::new();
        for told in gpus::of_runs(self.engine, self.tenants, &seen, points).await? {
            let series = drawn(&told.values);
            if !series.is_empty() {
                of_gpus.push(Metric { name: told.name.to_owned(), unit: told.unit, series });
            }
        }
        let mut of_run = parameters(self.engine, self.tenants, self.ids, None).await?;
        let runs: Vec<Parameters> = self
            .ids
            .iter()
            .map(|id| {
                let parameters = of_run.remove(id).unwrap_or_default();
                Parameters { id: id.clone(), parameters }
            })
            .collect();
        let differing = differing(&runs.iter().map(|run| &run.parameters).collect::<Vec<_>>());
        let x = if by_step { "step" } else { "time" };
        Ok(Compared { runs, differing, x, metrics: shown, gpus: of_gpus, truncated })
    }

    /// When each run told of itself, and from where; and whether one has more hosts.
    async fn seen(&self) -> Result<(BTreeMap<String, Seen>, bool), Failed> {
        let id = "CAST(\"resource.session_id\" AS VARCHAR)";
        let of = self.of_runs();
        let query = format!(
            "SELECT {id} AS id, min(time) AS first, max(time) AS last FROM points \
             WHERE {of} AND value IS NOT NULL GROUP BY 1"
        );
        let table = Table::ask(self.engine, self.tenants, &query).await?;
        let (ids, first) = (table.texts("id")?, table.integers("first")?);
        let mut found: BTreeMap<String, Seen> = BTreeMap::new();
        for ((id, first), last) in ids.into_iter().zip(first).zip(table.integers("last")?) {
            let (Some(id), Some(first), Some(last)) = (id, first, last) else { continue };
            found.insert(id, Seen { first, last, hosts: BTreeSet::new() });
        }
        // Of each run by itself: one on many hosts takes none from the others.
        let host = host_of_resource();
        let query = format!(
            "SELECT id, host FROM (\
             SELECT id, host, row_number() OVER (PARTITION BY id ORDER BY host) AS nth FROM (\
             SELECT DISTINCT {id} AS id, {host} AS host FROM points \
             WHERE {of} AND {host} <> '')) WHERE nth <= {}",
            MAX_HOSTS + 1
        );
        let table = Table::ask(self.engine, self.tenants, &query).await?;
        let mut is_cut = false;
        for (id, host) in table.texts("id")?.into_iter().zip(table.texts("host")?) {
            let (Some(id), Some(host)) = (id, host) else { continue };
            let Some(seen) = found.get_mut(&id) else { continue };
            if seen.hosts.len() < MAX_HOSTS {
                seen.hosts.insert(host);
            } else {
                is_cut = true;
            }
        }
        Ok((found, is_cut))
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

/// Whether a metric says at which step a run is.
fn is_step(name: &str) -> bool {
    name == "step" || name.ends_with(".step")
}

/// What people look at first: losses, then speeds, then whatever there is.
fn usual(known: &[String]) -> Vec<String> {
    let rank = |name: &String| {
        let words = ["loss", "per_second", "accuracy", "duration", "learning_rate", "norm"];
        words.iter().position(|word| name.contains(word)).unwrap_or(words.len())
    };
    let mut names: Vec<&String> = known.iter().filter(|name| !is_step(name)).collect();
    names.sort_by_key(|name| rank(name));
    names.into_iter().take(USUAL_METRICS).cloned().collect()
}

/// Values over seconds since the run's first.
fn by_time(values: &Values, first: i64) -> Vec<Placed> {
    let place = |(time, value): &(i64, f64)| ((time - first) as f64 / 1e9, *value, *time);
    values.iter().map(place).collect()
}

/// Values over the step that held at their moment; what came before the first step is left out.
fn by_steps(values: &Values, steps: &Values) -> Vec<Placed> {
    let mut at = 0;
    let mut placed = Vec::with_capacity(values.len());
    for (time, value) in values {
        while steps.get(at + 1).is_some_and(|(next, _)| next <= time) {
            at += 1;
        }
        if let Some((_, step)) = steps.get(at).filter(|(began, _)| began <= time) {
            placed.push((*step, *value, *time));
        }
    }
    placed
}

/// At most so many points, each the mean of its part of the axis, at the moment of its middle.
fn thinned(placed: &[Placed], most: usize) -> Vec<Placed> {
    if placed.len() <= most {
        return placed.to_vec();
    }
    let size = placed.len().div_ceil(most);
    let mean = |part: &[Placed]| {
        let count = part.len() as f64;
        let (x, y) = part.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        (x / count, y / count, part[part.len() / 2].2)
    };
    placed.chunks(size).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use kymo_journal::Signal;
    use serde_json::json;

    use super::*;
    use crate::tested::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn each_run_is_placed_by_its_own_steps() {
        let place = Place::new();
        let gauge = |name: &str, values: [f64; 2]| {
            let point = |(nth, value): (usize, f64)| {
                let nanos = (1_700_000_000 + nth as u64) * 1_000_000_000;
                json!({"timeUnixNano": nanos.to_string(), "asDouble": value})
            };
            let points: Vec<Value> = values.into_iter().enumerate().map(point).collect();
            json!({"name": name, "gauge": {"dataPoints": points}})
        };
        for (run, step) in [("a", Some("step")), ("b", Some("train.step")), ("c", None)] {
            let mut metrics = vec![gauge("loss", [0.5, 0.25])];
            metrics.extend(step.map(|name| gauge(name, [10.0, 20.0])));
            let id = json!({"key": "session_id", "value": {"stringValue": run}});
            let request = json!({"resourceMetrics": [{
                "resource": {"attributes": [id]}, "scopeMetrics": [{"metrics": metrics}],
            }]});
            place.send_json(Signal::Metrics, &request);
        }
        let told = place.get("/api/runs/compare?ids=a,b,c&metrics=loss").await;
        assert_eq!(told["x"], "step");
        let series = told["metrics"][0]["series"].as_array().unwrap();
        assert_eq!(series.len(), 2, "{told}");
        for of_run in series {
            assert_eq!(of_run["points"], json!([[10.0, 0.5], [20.0, 0.25]]));
        }
        let by_time = place.get("/api/runs/compare?ids=a,b,c&metrics=loss&x=time").await;
        assert_eq!(by_time["metrics"][0]["series"].as_array().map(Vec::len), Some(3));
        let listed = place.get("/api/runs?start=1699999000&end=1700001000").await;
        assert_eq!(listed["runs"].as_array().map(Vec::len), Some(3), "{listed}");
        assert_eq!(listed["truncated"], false);
        // One that began before is told from its beginning.
        let later = place.get("/api/runs?start=1700000001&end=1700001000").await;
        assert_eq!(later["runs"][0]["first"], "1700000000000000000", "{later}");
        assert_eq!(later["runs"][0]["last"], "1700000001000000000");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn gpus_of_the_hosts_of_a_run_lie_on_its_axis() {
        let place = Place::new();
        let at = |nth: u64| ((1_700_000_000 + nth) * 1_000_000_000).to_string();
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let gauge =
            |name: &str, points: Vec<Value>| json!({"name": name, "gauge": {"dataPoints": points}});
        let values = |of: fn(u64) -> f64| -> Vec<Value> {
            let point = |nth| json!({"timeUnixNano": at(nth), "asDouble": of(nth)});
            (0..10).map(point).collect()
        };
        // A name with a comma is named as a whole.
        let resource = [text("session_id", "a,b"), text("host.name", "gpu-7")];
        let metrics = [
            gauge("loss", values(|nth| 1.0 / (nth + 1) as f64)),
            gauge("step", values(|nth| nth as f64)),
        ];
        place.send_json(
            Signal::Metrics,
            &json!({"resourceMetrics": [{
                "resource": {"attributes": resource}, "scopeMetrics": [{"metrics": metrics}],
            }]}),
        );
        let of_gpu = |gpu: &str, host: &str, value: f64| -> Vec<Value> {
            let attributes = [text("gpu", gpu), text("Hostname", host)];
            let point =
                |nth| json!({"timeUnixNano": at(nth), "asDouble": value, "attributes": attributes});
            (0..10).map(point).collect()
        };
        let all = |values: [f64; 3]| -> Vec<Value> {
            let gpus = [("0", "gpu-7"), ("1", "gpu-7"), ("0", "gpu-8")].into_iter().zip(values);
            gpus.flat_map(|((gpu, host), value)| of_gpu(gpu, host, value)).collect()
        };
        let metrics = [
            gauge("DCGM_FI_DEV_GPU_UTIL", all([90.0, 70.0, 5.0])),
            gauge("DCGM_FI_DEV_POWER_USAGE", all([300.0, 200.0, 60.0])),
        ];
        place.send_json(
            Signal::Metrics,
            &json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}),
        );
        let told = place.get("/api/runs/compare?id=a%2Cb&metrics=loss").await;
        assert_eq!(told["runs"][0]["id"], "a,b");
        let loss = &told["metrics"][0]["series"][0];
        assert_eq!(
            (&loss["points"][1], &loss["times"][1]),
            (&json!([1.0, 0.5]), &json!(1_700_000_001_000_i64))
        );
        let gpus = &told["gpus"];
        assert_eq!(
            (&gpus[0]["name"], &gpus[0]["unit"]),
            (&json!("GPU use"), &json!("percent")),
            "{told}"
        );
        assert_eq!(gpus[0]["series"][0]["run"], "a,b");
        assert_eq!(gpus[0]["series"][0]["points"][2], json!([2.0, 80.0]));
        assert_eq!(
            (&gpus[1]["unit"], &gpus[1]["series"][0]["points"][2]),
            (&json!("watt"), &json!([2.0, 500.0]))
        );
        let (status, _) = place.ask("/api/runs/compare?id=a&points=many").await;
        assert_eq!(status, http::StatusCode::BAD_REQUEST);
        // Two other runs, of which nothing is known.
        let none = place.get("/api/runs/compare?ids=a,b&metrics=loss").await;
        assert_eq!(none["gpus"], json!([]));
    }

    /// Values of GPUs at ten seconds: the labels of each, and its value.
    fn of_gpus(metric: &str, gpus: &[(&[(&str, &str)], f64)]) -> Value {
        let point = |labels: &[(&str, &str)], value: f64, nth: u64| {
            let nanos = (1_700_000_000 + nth) * 1_000_000_000;
            let attributes: Vec<Value> = labels
                .iter()
                .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
                .collect();
            json!({"timeUnixNano": nanos.to_string(), "asDouble": value, "attributes": attributes})
        };
        let of_gpu = |(labels, value): &(&[(&str, &str)], f64)| -> Vec<Value> {
            (0..10).map(|nth| point(labels, *value, nth)).collect()
        };
        let points: Vec<Value> = gpus.iter().flat_map(of_gpu).collect();
        let metric = json!({"name": metric, "gauge": {"dataPoints": points}});
        json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]})
    }

    /// A run that told its loss at ten seconds, from each of some hosts.
    fn run(id: &str, hosts: &[String]) -> Value {
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let points: Vec<Value> = (0..10_u64)
            .map(|nth| {
                let nanos = (1_700_000_000 + nth) * 1_000_000_000;
                json!({"timeUnixNano": nanos.to_string(), "asDouble": 0.5})
            })
            .collect();
        let of_host = |host: &String| {
            json!({
                "resource": {"attributes": [text("session_id", id), text("host.name", host)]},
                "scopeMetrics": [{"metrics": [{"name": "loss", "gauge": {"dataPoints": points}}]}],
            })
        };
        json!({"resourceMetrics": hosts.iter().map(of_host).collect::<Vec<Value>>()})
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_gpu_counts_once_however_many_exporters_look_at_it() {
        let place = Place::new();
        place.send_json(Signal::Metrics, &run("a", &["gpu-7".to_owned()]));
        let gpus: [(&[(&str, &str)], f64); 6] = [
            // The probe and DCGM's exporter.
            (&[("gpu", "0"), ("UUID", "GPU-0"), ("hostname", "gpu-7")], 300.0),
            (
                &[("gpu", "0"), ("UUID", "GPU-0"), ("Hostname", "gpu-7"), ("device", "nvidia0")],
                300.0,
            ),
            (&[("gpu", "1"), ("UUID", "GPU-1"), ("hostname", "gpu-7")], 200.0),
            // Without a UUID, by the host and the number.
            (&[("gpu", "2"), ("hostname", "gpu-7"), ("instance", "10.0.0.1:9400")], 50.0),
            (&[("gpu", "2"), ("instance", "gpu-7:9400")], 50.0),
            (&[("gpu", "3"), ("Hostname", "gpu-7")], 10.0),
        ];
        place.send_json(Signal::Metrics, &of_gpus("DCGM_FI_DEV_POWER_USAGE", &gpus));
        place.send_json(Signal::Metrics, &of_gpus("DCGM_FI_DEV_GPU_UTIL", &gpus));
        let told = place.get("/api/runs/compare?id=a&metrics=loss&x=time").await;
        let (of_use, power) = (&told["gpus"][0]["series"][0], &told["gpus"][1]["series"][0]);
        assert_eq!(power["points"][2], json!([2.0, 560.0]), "{told}");
        assert_eq!(of_use["points"][2], json!([2.0, 140.0]), "{told}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_on_many_hosts_takes_none_from_others_and_it_is_said_that_some_are_left_out() {
        let place = Place::new();
        let hosts: Vec<String> = (0..=MAX_HOSTS).map(|nth| format!("node-{nth:03}")).collect();
        place.send_json(Signal::Metrics, &run("many", &hosts));
        place.send_json(Signal::Metrics, &run("most", &hosts[1..]));
        place.send_json(Signal::Metrics, &run("z", &["z-1".to_owned()]));
        let gpus: [(&[(&str, &str)], f64); 2] = [
            (&[("gpu", "0"), ("Hostname", "z-1")], 300.0),
            (&[("gpu", "0"), ("Hostname", "node-200")], 70.0),
        ];
        place.send_json(Signal::Metrics, &of_gpus("DCGM_FI_DEV_POWER_USAGE", &gpus));
        let told = place.get("/api/runs/compare?ids=many,most,z&metrics=loss&x=time").await;
        assert_eq!(told["truncated"], true);
        let power = told["gpus"][0]["series"].as_array().unwrap();
        let of_runs: Vec<&Value> = power.iter().map(|series| &series["run"]).collect();
        assert_eq!(of_runs, ["most", "z"], "{power:?}");
        let told = place.get("/api/runs/compare?ids=most,z&metrics=loss&x=time").await;
        assert_eq!(told["truncated"], false);
    }

    #[test]
    fn values_lie_at_the_step_of_their_moment() {
        let steps = vec![(10, 0.0), (20, 1.0), (30, 2.0)];
        let values = vec![(5, 9.0), (10, 8.0), (25, 7.0), (40, 6.0)];
        assert_eq!(by_steps(&values, &steps), [(0.0, 8.0, 10), (1.0, 7.0, 25), (2.0, 6.0, 40)]);
        assert!(by_steps(&values, &Vec::new()).is_empty());
        let second = 1_000_000_000;
        let values = vec![(second, 1.0), (3 * second, 2.0)];
        assert_eq!(by_time(&values, second), [(0.0, 1.0, second), (2.0, 2.0, 3 * second)]);
    }

    #[test]
    fn many_values_become_as_many_as_can_be_drawn() {
        let placed: Vec<Placed> =
            (0..10).map(|at| (f64::from(at), 1.0, i64::from(at) * 10)).collect();
        assert_eq!(
            thinned(&placed, 5),
            [(0.5, 1.0, 10), (2.5, 1.0, 30), (4.5, 1.0, 50), (6.5, 1.0, 70), (8.5, 1.0, 90)]
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
