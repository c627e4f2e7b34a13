//! Values of templates, and how they are shown: as Go's `%v`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use kymo_promql::histogram::Histogram;
use kymo_promql::number::format_g;

use super::printf::go_duration;
use crate::limits::MAX_TEMPLATE_OUTPUT_BYTES;
use crate::time::go_time;

/// Labels by name.
pub(super) type LabelMap = Arc<BTreeMap<String, String>>;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// Nothing: `nil`, or what a map does not have.
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    Labels(LabelMap),
    /// What `args` gives.
    Map(Arc<Arguments>),
    List(Arc<[Value]>),
    /// One of what `query` gives.
    Sample(Arc<Sample>),
    /// What `.` is at the beginning.
    Alert(Arc<AlertData>),
    Histogram(Arc<Histogram>),
    /// A time in nanoseconds since 1970.
    Time(i64),
    /// A duration in nanoseconds.
    Duration(i64),
}

/// What `args` gives.
#[derive(Debug, Clone)]
pub(super) struct Arguments {
    pub(super) by_name: BTreeMap<String, Value>,
    /// How many of its kind are within each other.
    pub(super) depth: usize,
}

/// A sample of a query.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) labels: LabelMap,
    pub(super) value: Value,
}

/// What a template is about.
#[derive(Debug, Clone)]
pub(super) struct AlertData {
    pub(super) labels: LabelMap,
    pub(super) external_labels: LabelMap,
    pub(super) external_url: Arc<str>,
    pub(super) value: Value,
}

impl Value {
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Self::Text(text.as_ref().into())
    }

    /// Whether `if` takes it for true: what is neither zero nor empty.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(is_true) => *is_true,
            Self::Int(number) | Self::Duration(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Labels(labels) => !labels.is_empty(),
            Self::Map(map) => !map.by_name.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Sample(_) | Self::Alert(_) | Self::Histogram(_) | Self::Time(_) => true,
        }
    }

    /// The type as Go calls it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::Labels(_) => "map[string]string",
            Self::Map(_) => "map[string]interface {}",
            Self::List(_) => "template.queryResult",
            Self::Sample(_) => "*template.sample",
            Self::Alert(_) => {
                "struct { Labels map[string]string; ExternalLabels map[string]string; \
                 ExternalURL string; Value interface {} }"
            }
            Self::Histogram(_) => "*histogram.FloatHistogram",
            Self::Time(_) => "*time.Time",
            Self::Duration(_) => "time.Duration",
        }
    }

    /// The value as text.
    pub(super) fn show(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        // What shares parts can be much longer than the memory it takes.
        if out.len() > MAX_TEMPLATE_OUTPUT_BYTES {
            return;
        }
        match self {
            Self::Nil => out.push_str("<no value>"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(value) => out.push_str(&value.to_string()),
            Self::Float(value) => out.push_str(&format_g(*value)),
            Self::Text(value) => out.push_str(value),
            Self::Labels(labels) => {
                let texts = labels.iter().map(|(name, value)| format!("{name}:{value}"));
                // Writing to a string cannot fail.
                let _ = write!(out, "map[{}]", texts.collect::<Vec<_>>().join(" "));
            }
            Self::Map(map) => {
                out.push_str("map[");
                for (nth, (name, value)) in map.by_name.iter().enumerate() {
                    out.push_str(if nth == 0 { "" } else { " " });
                    out.push_str(name);
                    out.push(':');
                    value.write(out);
                }
                out.push(']');
            }
            Self::List(list) => {
                out.push('[');
                for (nth, value) in list.iter().enumerate() {
                    out.push_str(if nth == 0 { "" } else { " " });
                    value.write(out);
                }
                out.push(']');
            }
            Self::Sample(sample) => {
                out.push_str("&{");
                Self::Labels(sample.labels.clone()).write(out);
                out.push(' ');
                sample.value.write(out);
                out.push('}');
            }
            Self::Alert(alert) => {
                out.push('{');
                Self::Labels(alert.labels.clone()).write(out);
                out.push(' ');
                Self::Labels(alert.external_labels.clone()).write(out);
                let _ = write!(out, " {} ", alert.external_url);
                alert.value.write(out);
                out.push('}');
            }
            Self::Histogram(histogram) => out.push_str(&histogram.to_string()),
            Self::Time(nanos) => out.push_str(&go_time(*nanos)),
            Self::Duration(nanos) => out.push_str(&go_duration(*nanos)),
        }
    }

    /// `.name` of the value. What a map does not have is empty; what a structure does not have is
    /// an error.
    pub(super) fn field(&self, name: &str) -> Result<Value, String> {
        let unknown = || Err(format!("can't evaluate field {name} in type {}", self.type_name()));
        match self {
            Self::Labels(labels) => {
                Ok(Self::text(labels.get(name).map_or("", |value| value.as_str())))
            }
            Self::Map(map) => Ok(map.by_name.get(name).cloned().unwrap_or(Self::Nil)),
            Self::Sample(sample) => match name {
                "Labels" => Ok(Self::Labels(sample.labels.clone())),
                "Value" => Ok(sample.value.clone()),
                _ => unknown(),
            },
            Self::Alert(alert) => match name {
                "Labels" => Ok(Self::Labels(alert.labels.clone())),
                "ExternalLabels" => Ok(Self::Labels(alert.external_labels.clone())),
                "ExternalURL" => Ok(Self::Text(alert.external_url.clone())),
                "Value" => Ok(alert.value.clone()),
                _ => unknown(),
            },
            Self::Nil => Err(format!("nil data; no entry for key {name:?}")),
            _ => unknown(),
        }
    }
}
