//! Where a panel's data comes from: data sources as dashboards name them, and which language of ours
//! answers.

use serde::Serialize;
use serde_json::Value;

use super::read::{self, Object};

/// The data source that stands for several: each query names its own.
pub const MIXED: &str = "-- Mixed --";
/// The data source that stands for another panel of the same dashboard.
pub const DASHBOARD: &str = "-- Dashboard --";
/// Grafana's own data: annotations, random numbers.
pub const GRAFANA: &str = "-- Grafana --";

/// A data source as a dashboard names it. Variables in it are not put in yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SourceRef {
    /// The kind of data source, as `prometheus`; empty if it is not said.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which one: its id, its name, or a variable.
    pub uid: String,
}

impl SourceRef {
    /// From what Grafana of any age writes: null, a name, or an object.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(uid) if !uid.is_empty() => {
                Some(Self { kind: String::new(), uid: uid.clone() })
            }
            Value::Object(members) => {
                let part = |key| read::text(members, key).unwrap_or_default().to_owned();
                let source = Self { kind: part("type"), uid: part("uid") };
                (source != Self::default()).then_some(source)
            }
            _ => None,
        }
    }

    /// Whether each query names its own.
    pub fn is_mixed(&self) -> bool {
        self.uid == MIXED || self.kind == "mixed"
    }

    /// Whether the data is that of another panel.
    pub fn is_dashboard(&self) -> bool {
        self.uid == DASHBOARD || self.kind == "dashboard"
    }
}

/// A language in which we answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Metrics.
    Promql,
    /// Traces.
    Traceql,
    /// Logs.
    Logql,
    /// Anything.
    Sql,
    /// Traces as Jaeger finds them.
    Jaeger,
}

/// A data source of ours, as variables of the kind `datasource` offer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OurSource {
    /// Its id.
    pub uid: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Grafana's name of its kind.
    pub kind: &'static str,
    /// Its language.
    pub language: Language,
}

/// All data sources there are.
pub const OURS: [OurSource; 5] = [
    OurSource {
        uid: "kymo-prometheus",
        name: "Kymograph metrics",
        kind: "prometheus",
        language: Language::Promql,
    },
    OurSource {
        uid: "kymo-tempo",
        name: "Kymograph traces",
        kind: "tempo",
        language: Language::Traceql,
    },
    OurSource { uid: "kymo-loki", name: "Kymograph logs", kind: "loki", language: Language::Logql },
    OurSource { uid: "kymo-sql", name: "Kymograph SQL", kind: "postgres", language: Language::Sql },
    OurSource {
        uid: "kymo-jaeger",
        name: "Kymograph traces (Jaeger)",
        kind: "jaeger",
        language: Language::Jaeger,
    },
];

impl Language {
    /// The language that a kind of data source speaks, if we do.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Some(match kind {
            "prometheus"
            | "grafana-amazonprometheus-datasource"
            | "grafana-azureprometheus-datasource"
            | "victoriametrics-metrics-datasource"
            | "victoriametrics-datasource"
            | "mimir"
            | "thanos"
            | "cortex" => Self::Promql,
            "tempo" => Self::Traceql,
            "loki" => Self::Logql,
            "postgres" | "grafana-postgresql-datasource" | "kymo" | "kymograph" => Self::Sql,
            "jaeger" => Self::Jaeger,
            _ => return None,
        })
    }

    /// The data source of ours that speaks it.
    pub fn source(self) -> &'static OurSource {
        match self {
            Self::Promql => &OURS[0],
            Self::Traceql => &OURS[1],
            Self::Logql => &OURS[2],
            Self::Sql => &OURS[3],
            Self::Jaeger => &OURS[4],
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Promql => "PromQL",
            Self::Traceql => "TraceQL",
            Self::Logql => "LogQL",
            Self::Sql => "SQL",
            Self::Jaeger => "Jaeger",
        }
    }
}

/// The data source of ours that an id or a name means.
pub fn ours(uid_or_name: &str) -> Option<&'static OurSource> {
    OURS.iter().find(|ours| ours.uid == uid_or_name || ours.name == uid_or_name)
}

/// Who answers a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answerer {
    /// We do, in a language.
    Ours(Language),
    /// Another panel of the dashboard has the data.
    Panel(i64),
    /// Nobody here, for this reason.
    Nobody(String),
}

/// Finds who answers a query. `source` has its variables put in; what the query looks like helps where
/// a dashboard only names its data source, or relies on a default.
pub fn answerer(source: Option<&SourceRef>, query: &Object) -> Answerer {
    let source = source.cloned().unwrap_or_default();
    if source.is_dashboard() {
        return match read::integer(query, "panelId") {
            Some(panel) => Answerer::Panel(panel),
            None => Answerer::Nobody("it does not say which panel's data it shows".to_owned()),
        };
    }
    if source.uid == "__expr__" || source.kind == "__expr__" {
        return Answerer::Nobody("expressions of Grafana's server are not supported".to_owned());
    }
    if source.uid == GRAFANA || source.kind == "grafana" || source.kind == "datasource" {
        return Answerer::Nobody("Grafana's own data source is not supported".to_owned());
    }
    if let Some(ours) = ours(&source.uid) {
        return Answerer::Ours(ours.language);
    }
    if !source.kind.is_empty() {
        return match Language::of_kind(&source.kind) {
            Some(language) => Answerer::Ours(language),
            None => {
                let kind = &source.kind;
                Answerer::Nobody(format!("the data source type `{kind}` is not supported"))
            }
        };
    }
    let language = looks_like(query).or_else(|| named_after(&source.uid));
    // Metrics and logs are asked by the same member, mostly metrics.
    match language.or_else(|| read::text(query, "expr").map(|_| Language::Promql)) {
        Some(language) => Answerer::Ours(language),
        None if source.uid.is_empty() => {
            Answerer::Nobody("it is not known which data source is meant".to_owned())
        }
        None => {
            let uid = &source.uid;
            Answerer::Nobody(format!("it is not known what kind of data source `{uid}` is"))
        }
    }
}

/// The language that a query is written in, where its members leave no doubt.
fn looks_like(query: &Object) -> Option<Language> {
    let kind = read::text(query, "queryType").unwrap_or_default();
    if read::text(query, "rawSql").is_some() {
        return Some(Language::Sql);
    }
    if ["traceql", "traceqlSearch", "traceId", "nativeSearch"].contains(&kind)
        || query.contains_key("tableType")
    {
        return Some(Language::Traceql);
    }
    let expr = read::text(query, "expr")?;
    let begins_as_logs = expr.trim_start().starts_with('{') && expr.contains("} |");
    begins_as_logs.then_some(Language::Logql)
}

/// The language that the name of a data source hints at.
fn named_after(name: &str) -> Option<Language> {
    let name = name.to_ascii_lowercase();
    [
        ("prom", Language::Promql),
        ("mimir", Language::Promql),
        ("thanos", Language::Promql),
        ("tempo", Language::Traceql),
        ("loki", Language::Logql),
        ("postgres", Language::Sql),
        ("jaeger", Language::Jaeger),
    ]
    .into_iter()
    .find(|(part, _)| name.contains(part))
    .map(|(_, language)| language)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(source: Value, query: Value) -> Answerer {
        let query = query.as_object().cloned().unwrap_or_default();
        answerer(SourceRef::read(&source).as_ref(), &query)
    }

    #[test]
    fn a_data_source_is_read_from_null_name_and_object() {
        assert_eq!(SourceRef::read(&Value::Null), None);
        assert_eq!(SourceRef::read(&json!({})), None);
        assert_eq!(SourceRef::read(&json!("$ds")).unwrap().uid, "$ds");
        let both = SourceRef::read(&json!({"type": "loki", "uid": "x"})).unwrap();
        assert_eq!((both.kind.as_str(), both.uid.as_str()), ("loki", "x"));
    }

    #[test]
    fn kinds_names_and_looks_choose_the_language() {
        use Language::{Logql, Promql, Sql, Traceql};
        for (source, query, language) in [
            (json!({"type": "prometheus", "uid": "abc"}), json!({}), Promql),
            (json!({"type": "tempo"}), json!({}), Traceql),
            (json!({"type": "grafana-postgresql-datasource"}), json!({}), Sql),
            (json!("kymo-loki"), json!({}), Logql),
            (json!("Prometheus"), json!({}), Promql),
            (Value::Null, json!({"expr": "up"}), Promql),
            (Value::Null, json!({"expr": "{a=\"b\"} |= \"x\""}), Logql),
            (Value::Null, json!({"queryType": "traceql"}), Traceql),
            (json!("main"), json!({"rawSql": "SELECT 1"}), Sql),
            (json!("Loki"), json!({"expr": "{a=\"b\"}"}), Logql),
            (json!("Loki"), json!({"expr": "sum(rate({a=\"b\"} |= \"x\" [5m]))"}), Logql),
            (json!("house"), json!({"expr": "up"}), Promql),
        ] {
            assert_eq!(asked(source.clone(), query), Answerer::Ours(language), "{source}");
        }
    }

    #[test]
    fn what_nobody_answers_is_said_in_words() {
        for (source, query, reason) in [
            (json!({"type": "influxdb", "uid": "x"}), json!({}), "`influxdb`"),
            (json!({"type": "__expr__", "uid": "__expr__"}), json!({}), "expressions"),
            (json!("-- Grafana --"), json!({}), "Grafana's own"),
            (json!("-- Dashboard --"), json!({}), "which panel"),
            (json!("house"), json!({}), "`house`"),
            (Value::Null, json!({}), "which data source"),
        ] {
            let Answerer::Nobody(why) = asked(source.clone(), query) else { panic!("{source}") };
            assert!(why.contains(reason), "{why}");
        }
        assert_eq!(asked(json!("-- Dashboard --"), json!({"panelId": 4})), Answerer::Panel(4));
    }
}
