//! What is asked of machines: expressions of PromQL over the names of node-exporter and dcgm-exporter,
//! which the server's own probe has as well. In an expression `$host` stands for the condition on the
//! host.
//!
//! A host is named by `instance`, with or without a port. Of a GPU, dcgm-exporter names it by
//! `Hostname`, or by `hostname` where it is newer.

use std::collections::BTreeMap;

use kymo_promql::names::quoted;
use kymo_traceview::HOST_KEYS;

use crate::sql;

pub use crate::fleet::ask::{Asking, Found};

/// Steps are no finer than machines are looked at.
pub const LEAST_STEP_MILLIS: i64 = 1_000;

/// A figure of hosts or of GPUs.
#[derive(Debug)]
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// A unit as dashboards name it.
    pub unit: &'static str,
    expression: &'static str,
    /// Labels of which any may name the host.
    labels: &'static [&'static str],
}

/// Labels that name a host, and the host of a GPU: what is said comes before where it was asked.
const OF_HOST: [&str; 1] = ["instance"];
const OF_GPU: [&str; 3] = ["Hostname", "hostname", "instance"];

const fn measure(name: &'static str, unit: &'static str, expression: &'static str) -> Measure {
    Measure { name, unit, expression, labels: &OF_HOST }
}

const fn of_gpu(name: &'static str, unit: &'static str, expression: &'static str) -> Measure {
    Measure { name, unit, expression, labels: &OF_GPU }
}

/// Figures of a host, one for each `instance`.
pub static OF_HOSTS: [Measure; 9] = [
    measure(
        "cpu",
        "percentunit",
        "1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\"$host}[2m]))",
    ),
    measure(
        "memory",
        "percentunit",
        "1 - node_memory_MemAvailable_bytes{instance!=\"\"$host} \
         / node_memory_MemTotal_bytes{instance!=\"\"$host}",
    ),
    measure("memory_total", "bytes", "node_memory_MemTotal_bytes{instance!=\"\"$host}"),
    measure("load", "short", "node_load1{instance!=\"\"$host}"),
    measure("cores", "short", "count by (instance) (node_cpu_seconds_total{mode=\"idle\"$host})"),
    measure(
        "filesystem",
        "percentunit",
        "max by (instance) (1 - node_filesystem_avail_bytes{fstype!~\"tmpfs|ramfs|overlay|squashfs\"$host} \
         / node_filesystem_size_bytes{fstype!~\"tmpfs|ramfs|overlay|squashfs\"$host})",
    ),
    measure(
        "disk",
        "Bps",
        "sum by (instance) (rate(node_disk_read_bytes_total{instance!=\"\"$host}[2m])) \
         + sum by (instance) (rate(node_disk_written_bytes_total{instance!=\"\"$host}[2m]))",
    ),
    measure(
        "network",
        "Bps",
        "sum by (instance) (rate(node_network_receive_bytes_total{device!=\"lo\"$host}[2m])) \
         + sum by (instance) (rate(node_network_transmit_bytes_total{device!=\"lo\"$host}[2m]))",
    ),
    measure("booted", "dateTimeAsIso", "node_boot_time_seconds{instance!=\"\"$host}"),
];

/// Figures of GPUs.
///
/// Errors of memory are those that DCGM counts, or rows that had to be replaced because of them, which
/// the probe tells. Reasons for throttling are bits, as NVIDIA's driver has them; an exporter that only
/// counts how long a GPU was too hot tells one of them.
pub static OF_GPUS: [Measure; 11] = [
    of_gpu("utilisation", "percent", "DCGM_FI_DEV_GPU_UTIL{gpu!=\"\"$host}"),
    of_gpu("memory_used", "decmbytes", "DCGM_FI_DEV_FB_USED{gpu!=\"\"$host}"),
    of_gpu("memory_free", "decmbytes", "DCGM_FI_DEV_FB_FREE{gpu!=\"\"$host}"),
    of_gpu("power", "watt", "DCGM_FI_DEV_POWER_USAGE{gpu!=\"\"$host}"),
    of_gpu("temperature", "celsius", "DCGM_FI_DEV_GPU_TEMP{gpu!=\"\"$host}"),
    of_gpu("clock", "hertz", "DCGM_FI_DEV_SM_CLOCK{gpu!=\"\"$host} * 1000000"),
    of_gpu("tensor", "percentunit", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu!=\"\"$host}"),
    of_gpu("xid", "short", "DCGM_FI_DEV_XID_ERRORS{gpu!=\"\"$host}"),
    of_gpu(
        "ecc_uncorrected",
        "short",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu!=\"\"$host} \
         or DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{gpu!=\"\"$host}",
    ),
    of_gpu(
        "ecc_corrected",
        "short",
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu!=\"\"$host} \
         or DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS{gpu!=\"\"$host}",
    ),
    of_gpu(
        "throttling",
        "short",
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu!=\"\"$host} \
         or DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu!=\"\"$host} \
         or (rate(DCGM_FI_DEV_THERMAL_VIOLATION{gpu!=\"\"$host}[2m]) > bool 0) * 32",
    ),
];

/// The name of the host of a row, by its resource, in SQL.
#[must_use]
pub fn host_of_resource() -> String {
    let text = |key: &str| format!("CAST({} AS VARCHAR)", sql::column(&format!("resource.{key}")));
    format!("coalesce({})", HOST_KEYS.map(text).join(", "))
}

/// How busy a GPU is, in percent.
pub(crate) fn use_of_gpus() -> &'static Measure {
    &OF_GPUS[0]
}

impl Measure {
    /// What is asked of all hosts.
    #[must_use]
    pub fn of_all(&self) -> String {
        self.with("")
    }

    /// What is asked of some hosts, by their names.
    #[must_use]
    pub fn of_hosts(&self, hosts: &[impl AsRef<str>]) -> String {
        let pattern = quoted(&pattern(hosts));
        let by = |label: &&str| self.with(&format!(", {label}=~{pattern}"));
        self.labels.iter().map(by).collect::<Vec<_>>().join(" or ")
    }

    /// What is asked of the GPUs of some hosts, each of them once: several exporters may look at one,
    /// and name its host by other labels. One that does not say its UUID is known by its host and number.
    pub(crate) fn of_each_gpu(&self, hosts: &[impl AsRef<str>]) -> String {
        let pattern = quoted(&pattern(hosts));
        let of = |condition: &str| {
            let by = |label: &&str| self.with(&format!(", {label}=~{pattern}, {condition}"));
            self.labels.iter().map(by).collect::<Vec<_>>().join(" or ")
        };
        // The label that counts first is written last, over the others.
        let named = self.labels.iter().rev().fold(of("UUID=\"\""), |expression, label| {
            format!(
                "label_replace({expression}, \"its_host\", \"$1\", \"{label}\", \"(.+?)(:[0-9]+)?\")"
            )
        });
        format!("max by (UUID) ({}) or max by (its_host, gpu) ({named})", of("UUID!=\"\""))
    }

    fn with(&self, condition: &str) -> String {
        self.expression.replace("$host", condition)
    }
}

/// What a label has that names one of these hosts: its name, or that with a port.
fn pattern(hosts: &[impl AsRef<str>]) -> String {
    let names: Vec<String> = hosts.iter().map(|host| escaped(host.as_ref())).collect();
    format!("({})(:[0-9]+)?", names.join("|"))
}

/// A text that a regular expression matches as it is.
fn escaped(text: &str) -> String {
    const SPECIAL: &str = "\\.+*?()|[]{}^$";
    text.chars().flat_map(|c| SPECIAL.contains(c).then_some('\\').into_iter().chain([c])).collect()
}

/// The names that a GPU's host may have by the labels of its series, those that are said first.
pub(crate) fn hosts_of_gpu(labels: &BTreeMap<String, String>) -> Vec<&str> {
    let label = |name: &str| labels.get(name).map(|value| without_port(value));
    OF_GPU.into_iter().filter_map(label).filter(|host| !host.is_empty()).collect()
}

/// `gpu-7` of `gpu-7:9400`.
pub(crate) fn without_port(instance: &str) -> &str {
    match instance.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => instance,
    }
}

#[cfg(test)]
mod tests {
    use kymo_journal::Signal;
    use kymo_promql::matcher::{LabelMatcher, MatchOp};
    use serde_json::{Value, json};

    use super::*;
    use crate::tested::Place;

    #[test]
    fn a_host_is_named_by_the_first_attribute_that_there_is() {
        let expected = "coalesce(CAST(\"resource.host.name\" AS VARCHAR), \
                        CAST(\"resource.k8s.node.name\" AS VARCHAR), \
                        CAST(\"resource.node_id\" AS VARCHAR))";
        assert_eq!(host_of_resource(), expected);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn errors_of_memory_and_throttling_are_told_by_whatever_exporters_call_them() {
        let place = Place::new();
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let metric = |name: &str, gpu: &str, values: [f64; 2]| {
            let attributes = [text("gpu", gpu), text("Hostname", "gpu-7")];
            let point = |(nth, value): (usize, f64)| {
                let nanos = (1_700_000_000 + 15 * nth as u64) * 1_000_000_000;
                json!({
                    "timeUnixNano": nanos.to_string(), "asDouble": value, "attributes": attributes,
                })
            };
            let points: Vec<Value> = values.into_iter().enumerate().map(point).collect();
            json!({"name": name, "gauge": {"dataPoints": points}})
        };
        let metrics = [
            metric("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "0", [0.0, 2.0]),
            metric("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "0", [7.0, 7.0]),
            metric("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "0", [0.0, 36.0]),
            metric("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "1", [1.0, 1.0]),
            metric("DCGM_FI_DEV_THERMAL_VIOLATION", "1", [0.0, 5e6]),
            metric("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "2", [1.0, 1.0]),
            metric("DCGM_FI_DEV_THERMAL_VIOLATION", "3", [5e6, 5e6]),
        ];
        place.send_json(
            Signal::Metrics,
            &json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}),
        );
        let told = place.get("/api/fleet?start=1699999900&end=1700000016").await;
        let figures = |nth: usize| &told["hosts"][0]["gpus"][nth]["figures"];
        assert_eq!(
            *figures(0),
            json!({"ecc_uncorrected": 2.0, "ecc_corrected": 7.0, "throttling": 36.0})
        );
        assert_eq!(*figures(1), json!({"ecc_uncorrected": 1.0, "throttling": 32.0}));
        assert_eq!(*figures(2), json!({"throttling": 1.0}));
        assert_eq!(*figures(3), json!({"throttling": 0.0}), "{told}");
    }

    #[test]
    fn a_host_of_any_name_is_found_with_and_without_a_port() {
        for host in ["gpu-7", "a.b", "größe", "x<y>", "a|b", "a\"b\\c", "line\nend", "(["] {
            let hosts = ["other", host];
            let matcher =
                LabelMatcher::new("instance", MatchOp::Matches, &pattern(&hosts)).unwrap();
            assert!(matcher.matches(host), "{host:?}");
            assert!(matcher.matches(&format!("{host}:9100")), "{host:?}");
            assert!(!matcher.matches(&format!("{host}x")), "{host:?}");
            for measure in OF_HOSTS.iter().chain(&OF_GPUS) {
                let all = [measure.of_all(), measure.of_hosts(&hosts), measure.of_each_gpu(&hosts)];
                for query in all {
                    let parsed = kymo_promql::parser::parse(&query);
                    parsed.unwrap_or_else(|why| panic!("{query}: {why}"));
                }
            }
        }
    }

    #[test]
    fn a_gpu_belongs_to_the_host_that_is_said_before_the_one_that_was_asked() {
        let of = |said: &str| {
            let pairs = [("hostname", said), ("instance", "10.0.0.1:9400"), ("gpu", "0")];
            BTreeMap::from(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        assert_eq!(hosts_of_gpu(&of("gpu-7")), ["gpu-7", "10.0.0.1"]);
        assert_eq!(hosts_of_gpu(&of("")), ["10.0.0.1"]);
        assert_eq!(without_port("[::1]:9100"), "[::1]");
        assert_eq!(without_port("a:b"), "a:b");
        assert_eq!(use_of_gpus().name, "utilisation");
    }
}
