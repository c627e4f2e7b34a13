//! What can be set, in the words of Tempo's API.

use std::collections::BTreeMap;
use std::fmt;

use kymo_traceql::Nanos;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::patch;
use crate::times;

/// All of it. What is absent is not set; a group that is `null` has nothing set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Document {
    pub(super) forwarders: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub(super) cost_attribution: CostAttribution,
    #[serde(deserialize_with = "or_default")]
    pub(super) metrics_generator: MetricsGenerator,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CostAttribution {
    /// Labels by attribute; an empty one is named as the attribute is.
    pub(super) dimensions: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MetricsGenerator {
    pub(super) processors: Option<Vec<String>>,
    pub(super) disable_collection: Option<bool>,
    pub(super) collection_interval: Option<Duration>,
    pub(super) trace_id_label_name: Option<String>,
    pub(super) ingestion_time_range_slack: Option<Duration>,
    pub(super) generate_native_histograms: Option<String>,
    pub(super) native_histogram_max_bucket_number: Option<u32>,
    pub(super) native_histogram_bucket_factor: Option<f64>,
    pub(super) native_histogram_min_reset_duration: Option<Duration>,
    pub(super) span_name_sanitization: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) processor: Processor,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Processor {
    #[serde(deserialize_with = "or_default")]
    pub(super) service_graphs: ServiceGraphs,
    #[serde(deserialize_with = "or_default")]
    pub(super) span_metrics: SpanMetrics,
    #[serde(deserialize_with = "or_default")]
    pub(super) host_info: HostInfo,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ServiceGraphs {
    pub(super) dimensions: Option<Vec<String>>,
    pub(super) enable_client_server_prefix: Option<bool>,
    pub(super) enable_messaging_system_latency_histogram: Option<bool>,
    pub(super) enable_virtual_node_label: Option<bool>,
    pub(super) peer_attributes: Option<Vec<String>>,
    pub(super) filter_policies: Option<Vec<FilterPolicy>>,
    pub(super) histogram_buckets: Option<Vec<f64>>,
    pub(super) span_multiplier_key: Option<String>,
    pub(super) enable_tracestate_span_multiplier: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SpanMetrics {
    pub(super) dimensions: Option<Vec<String>>,
    pub(super) intrinsic_dimensions: Option<BTreeMap<String, bool>>,
    pub(super) dimension_mappings: Option<Vec<DimensionMapping>>,
    pub(super) enable_target_info: Option<bool>,
    pub(super) filter_policies: Option<Vec<FilterPolicy>>,
    pub(super) histogram_buckets: Option<Vec<f64>>,
    pub(super) target_info_excluded_dimensions: Option<Vec<String>>,
    pub(super) enable_instance_label: Option<bool>,
    pub(super) span_multiplier_key: Option<String>,
    pub(super) enable_tracestate_span_multiplier: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HostInfo {
    pub(super) host_identifiers: Option<Vec<String>>,
    pub(super) metric_name: Option<String>,
}

/// A label that is put together from attributes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DimensionMapping {
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) source_labels: Vec<String>,
    pub(super) join: String,
}

/// Which spans count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FilterPolicy {
    pub(super) include: Option<PolicyMatch>,
    pub(super) include_any: Option<PolicyMatch>,
    pub(super) exclude: Option<PolicyMatch>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PolicyMatch {
    pub(super) match_type: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) attributes: Vec<PolicyAttribute>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PolicyAttribute {
    pub(super) key: String,
    pub(super) value: Value,
}

/// Nanoseconds, written as Go does. They are read as a number too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Duration(pub(super) i64);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Nanos(self.0).fmt(f)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Duration;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or nanoseconds", times::DURATION)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
                times::duration(text).map(Duration).ok_or_else(|| {
                    E::custom(format!("{text:?} is not {}, or nanoseconds", times::DURATION))
                })
            }
            fn visit_i64<E: Error>(self, nanos: i64) -> Result<Duration, E> {
                Ok(Duration(nanos))
            }
            fn visit_u64<E: Error>(self, nanos: u64) -> Result<Duration, E> {
                Ok(Duration(i64::try_from(nanos).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E: Error>(self, nanos: f64) -> Result<Duration, E> {
                // Beyond that it is the least or the greatest number, which no rule lets pass.
                Ok(Duration(nanos as i64))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// `null` as nothing set.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Document {
    /// Reads it, and says where it is wrong.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let wrong = |error: serde_json::Error| format!("overrides: {error}");
        let read: Option<Self> = serde_json::from_slice(text).map_err(wrong)?;
        let document = read.unwrap_or_default();
        let given: Value = serde_json::from_slice(text).map_err(wrong)?;
        check_objects("overrides", &given, &document.json())?;
        Ok(document)
    }

    /// This one, changed as `patch` says. That is a document itself, where `null` takes something
    /// away.
    pub(super) fn changed(&self, patch: &[u8]) -> Result<Self, String> {
        // What is wrong is told by its place in what was sent.
        Self::read(patch)?;
        let wrong = |error: serde_json::Error| format!("overrides: {error}");
        let mut changed = self.json();
        patch::merge(&mut changed, serde_json::from_slice(patch).map_err(wrong)?);
        serde_json::from_value(changed).map_err(wrong)
    }

    /// As it is kept and shown: without what is not set.
    pub(super) fn json(&self) -> Value {
        let mut all = serde_json::to_value(self).unwrap_or_default();
        drop_nulls(&mut all);
        all
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(drop_nulls),
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        _ => {}
    }
}

/// Refuses lists in the place of objects, which would else be read as their members in order.
fn check_objects(place: &str, given: &Value, read: &Value) -> Result<(), String> {
    match (given, read) {
        (Value::Array(_), Value::Object(_)) => Err(format!("{place}: a list is not an object")),
        (Value::Array(given), Value::Array(read)) => {
            given.iter().zip(read).try_for_each(|(given, read)| check_objects(place, given, read))
        }
        (Value::Object(given), Value::Object(read)) => read.iter().try_for_each(|(name, read)| {
            given.get(name).map_or(Ok(()), |given| check_objects(name, given, read))
        }),
        _ => Ok(()),
    }
}

/// What holds where nothing is set.
pub(super) fn defaults() -> Value {
    json!({
        "forwarders": null,
        "cost_attribution": {},
        "metrics_generator": {
            "processors": [],
            "disable_collection": false,
            "collection_interval": "0s",
            "trace_id_label_name": "",
            "ingestion_time_range_slack": "0s",
            "generate_native_histograms": "classic",
            "native_histogram_max_bucket_number": 100,
            "native_histogram_bucket_factor": 1.1,
            "native_histogram_min_reset_duration": "15m0s",
            "processor": {
                "service_graphs": {
                    "dimensions": null,
                    "enable_client_server_prefix": false,
                    "peer_attributes": null,
                    "filter_policies": null,
                    "histogram_buckets": null,
                },
                "span_metrics": {
                    "dimensions": null,
                    "intrinsic_dimensions": null,
                    "enable_target_info": false,
                    "filter_policies": null,
                    "histogram_buckets": null,
                    "target_info_excluded_dimensions": null,
                    "enable_instance_label": true,
                },
                "host_info": {"host_identifiers": null, "metric_name": ""},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_comes_back_and_the_rest_stays_absent() {
        let text = r#"{"forwarders":[],"metrics_generator":{"collection_interval":"90s",
            "ingestion_time_range_slack":1500000000,"processor":{"span_metrics":{"filter_policies":
            [{"include":{"match_type":"strict","attributes":[{"key":"span.a","value":1}]}}]},
            "service_graphs":null}}}"#;
        let document = Document::read(text.as_bytes()).unwrap();
        let shown = document.json().to_string();
        assert_eq!(
            shown,
            concat!(
                r#"{"cost_attribution":{},"forwarders":[],"metrics_generator":{"collection_interval":"1m30s","#,
                r#""ingestion_time_range_slack":"1.5s","processor":{"host_info":{},"service_graphs":{},"#,
                r#""span_metrics":{"filter_policies":[{"include":{"attributes":[{"key":"span.a","value":1}],"#,
                r#""match_type":"strict"}}]}}}}"#
            )
        );
        assert_eq!(Document::read(shown.as_bytes()).unwrap(), document);
        assert_eq!(Document::read(b"null").unwrap(), Document::default());
    }

    #[test]
    fn what_is_not_known_or_of_another_type_is_told() {
        for (text, told) in [
            (r#"{"a":1}"#, "unknown field `a`, expected one of `forwarders`"),
            (r#"{"metrics_generator":{"disable_collection":"yes"}}"#, "expected a boolean"),
            (
                r#"{"metrics_generator":{"collection_interval":"soon"}}"#,
                "\"soon\" is not a duration",
            ),
            (r#"{"metrics_generator":{"collection_interval":true}}"#, "expected a duration"),
            (r#"{"metrics_generator":{"native_histogram_max_bucket_number":-1}}"#, "u32"),
            ("[]", "overrides: a list is not an object"),
            (r#"{"metrics_generator":[["span-metrics"]]}"#, "metrics_generator: a list"),
            (
                r#"{"metrics_generator":{"processor":{"span_metrics":{"dimension_mappings":[["a",["b"],""]]}}}}"#,
                "dimension_mappings: a list",
            ),
            ("{", "EOF"),
            ("", "EOF"),
            ("{} {}", "trailing"),
        ] {
            let error = Document::read(text.as_bytes()).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
