//! What the machines did meanwhile that spans ran on: hosts and their GPUs.
//!
//! Series of a machine are those of node-exporter's and dcgm-exporter's names, which this server's own
//! probe has as well. Their label `instance` is the host's name, or that with a port; DCGM's exporter
//! has it as `Hostname`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use kymo_engine::EngineError;
use kymo_engine::prometheus::PromQuery;
use kymo_promql::eval::{Outcome, Times};
use kymo_promql::names::quoted;

use super::answer::{Measure, Points};
use super::question::{Part, Subject};
use super::traces::{Asked, listed};
use crate::limits::{CORRELATE_MAX_HOSTS, CORRELATE_POINTS};
use kymo_engine::table::Table;

const NANOS_PER_MILLI: i64 = 1_000_000;
/// Steps are no finer than machines are looked at.
const LEAST_STEP_MILLIS: i64 = 1_000;
/// Attributes of resources that name a host, the first that there is.
const HOST_KEYS: [&str; 3] = ["host.name", "k8s.node.name", "node_id"];

/// A measure: of what, its name, its unit, and an expression in which `$host` stands for conditions.
struct Asking {
    of: &'static str,
    name: &'static str,
    unit: &'static str,
    expression: &'static str,
}

const fn asking(
    of: &'static str,
    name: &'static str,
    unit: &'static str,
    expression: &'static str,
) -> Asking {
    Asking { of, name, unit, expression }
}

const MEASURES: [Asking; 9] = [
    asking(
        "host",
        "cpu",
        "ratio",
        "1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\", instance=~$host}[1m]))",
    ),
    asking(
        "host",
        "memory",
        "ratio",
        "1 - node_memory_MemAvailable_bytes{instance=~$host} \
         / node_memory_MemTotal_bytes{instance=~$host}",
    ),
    asking("host", "load", "processes", "node_load1{instance=~$host}"),
    asking(
        "host",
        "disk",
        "bytes/s",
        "sum by (instance) (rate(node_disk_read_bytes_total{instance=~$host}[1m])) \
         + sum by (instance) (rate(node_disk_written_bytes_total{instance=~$host}[1m]))",
    ),
    asking(
        "host",
        "network",
        "bytes/s",
        "sum by (instance) (rate(node_network_receive_bytes_total{device!=\"lo\", instance=~$host}[1m])) \
         + sum by (instance) (rate(node_network_transmit_bytes_total{device!=\"lo\", instance=~$host}[1m]))",
    ),
    asking(
        "gpu",
        "utilisation",
        "percent",
        "DCGM_FI_DEV_GPU_UTIL{instance=~$host} or DCGM_FI_DEV_GPU_UTIL{Hostname=~$host}",
    ),
    asking(
        "gpu",
        "memory",
        "MiB",
        "DCGM_FI_DEV_FB_USED{instance=~$host} or DCGM_FI_DEV_FB_USED{Hostname=~$host}",
    ),
    asking(
        "gpu",
        "power",
        "watts",
        "DCGM_FI_DEV_POWER_USAGE{instance=~$host} or DCGM_FI_DEV_POWER_USAGE{Hostname=~$host}",
    ),
    asking(
        "gpu",
        "temperature",
        "celsius",
        "DCGM_FI_DEV_GPU_TEMP{instance=~$host} or DCGM_FI_DEV_GPU_TEMP{Hostname=~$host}",
    ),
];

impl Asked<'_> {
    /// Hosts that spans of some traces ran on, or the span that is asked about.
    pub(super) async fn hosts(&self, ids: &[String]) -> Result<Vec<String>, EngineError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let of_span = match &self.question.subject {
            Subject::Span { span, .. } => format!(" AND span_id = '{span}'"),
            _ => String::new(),
        };
        let columns: Vec<String> =
            HOST_KEYS.iter().map(|key| format!("CAST(\"resource.{key}\" AS VARCHAR)")).collect();
        let host = format!("coalesce({})", columns.join(", "));
        let query = format!(
            "SELECT DISTINCT {host} AS host FROM spans \
             WHERE {host} IS NOT NULL AND trace_id IN ({}){of_span} LIMIT {CORRELATE_MAX_HOSTS}",
            listed(ids)
        );
        let table = Table::ask(self.engine, self.tenants, &query).await?;
        let hosts: BTreeSet<String> = table.texts("host")?.into_iter().flatten().collect();
        Ok(hosts.into_iter().collect())
    }

    /// What hosts and GPUs did within a time; measures without any series are left out.
    pub(super) async fn machines(
        &self,
        hosts: &[String],
        window: &Range<i64>,
    ) -> Result<Vec<Measure>, EngineError> {
        let mut measures = Vec::new();
        if hosts.is_empty() {
            return Ok(measures);
        }
        let names: Vec<String> = hosts.iter().map(|host| escaped(host)).collect();
        let host = quoted(&format!("({})(:[0-9]+)?", names.join("|")));
        for asking in MEASURES {
            let part = if asking.of == "gpu" { Part::Gpu } else { Part::Host };
            if !self.question.wants(part) {
                continue;
            }
            let query = asking.expression.replace("$host", &host);
            let series = self.series(&query, window).await?;
            if !series.is_empty() {
                let Asking { of, name, unit, .. } = asking;
                measures.push(Measure { of, name, unit, query, series });
            }
        }
        Ok(measures)
    }

    async fn series(&self, query: &str, window: &Range<i64>) -> Result<Vec<Points>, EngineError> {
        let expr = kymo_promql::parser::parse(query)
            .map_err(|error| EngineError::Internal(format!("{query}: {error}")))?;
        let (start, end) = (window.start / NANOS_PER_MILLI, window.end / NANOS_PER_MILLI + 1);
        let step = ((end - start) / CORRELATE_POINTS).max(LEAST_STEP_MILLIS);
        let query =
            PromQuery { expr, times: Times { start, end, step }, lookback: None, timeout: None };
        let found = self.engine.promql(self.tenants, query).await?;
        let Outcome::Matrix(series) = found.outcome else { return Ok(Vec::new()) };
        Ok(series
            .iter()
            .map(|series| Points {
                labels: series
                    .labels
                    .iter()
                    .map(|label| (label.name.to_string(), label.value.to_string()))
                    .collect::<BTreeMap<_, _>>(),
                // What is no number, such as a part of nothing, is none in JSON either.
                points: series
                    .floats
                    .iter()
                    .filter(|(_, value)| value.is_finite())
                    .map(|(time, value)| (*time as f64 / 1e3, *value))
                    .collect(),
            })
            .filter(|series| !series.points.is_empty())
            .collect())
    }
}

/// A text that a regular expression matches as it is.
fn escaped(text: &str) -> String {
    const SPECIAL: &str = "\\.+*?()|[]{}^$";
    text.chars().flat_map(|c| SPECIAL.contains(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use kymo_promql::matcher::{LabelMatcher, MatchOp};

    use super::*;

    #[test]
    fn a_host_of_any_name_is_found_with_and_without_a_port() {
        for host in ["gpu-7", "a.b", "größe", "x<y>", "a|b", "a\"b\\c", "line\nend", "(["] {
            let pattern = format!("({})(:[0-9]+)?", escaped(host));
            let matcher = LabelMatcher::new("instance", MatchOp::Matches, &pattern).unwrap();
            assert!(matcher.matches(host), "{host:?}");
            assert!(matcher.matches(&format!("{host}:9100")), "{host:?}");
            assert!(!matcher.matches(&format!("{host}x")), "{host:?}");
            for asking in MEASURES {
                let query = asking.expression.replace("$host", &quoted(&pattern));
                kymo_promql::parser::parse(&query).unwrap();
            }
        }
    }
}
