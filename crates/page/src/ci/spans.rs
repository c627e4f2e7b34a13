//! The spans of one run: the run, its jobs, their waiting, their steps, and what failed below.

use std::collections::HashMap;

use futures::try_join;
use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;
use serde_json::{Map, Value};

use super::figures::{Cached, is_failure, seconds, shortened};
use super::limits::{MAX_BELOW, MAX_MESSAGE_BYTES, MAX_RUN_SPANS};
use crate::answer::Failed;
use crate::sql::quoted;
use crate::times::millis;

/// Attributes as the store tells them.
pub(super) type Attributes = Map<String, Value>;

/// A span of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Span {
    pub(super) span_id: String,
    pub(super) parent_span_id: Option<String>,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) start_nanos: i64,
    pub(super) end_nanos: i64,
    pub(super) is_error: bool,
    pub(super) message: Option<String>,
    pub(super) attributes: Attributes,
    pub(super) resource: Attributes,
}

impl Span {
    pub(super) fn text(&self, name: &str) -> Option<String> {
        text(&self.attributes, name)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.attributes.get(name)?.as_f64()
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.attributes.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn conclusion(&self) -> Option<String> {
        self.text("ci.conclusion")
    }

    pub(super) fn is_failure(&self) -> bool {
        self.is_error || self.conclusion().as_deref().is_some_and(is_failure)
    }

    /// The whole name of the job that it is of.
    pub(super) fn job(&self) -> String {
        self.text("ci.job").unwrap_or_else(|| self.name.clone())
    }

    pub(super) fn seconds(&self) -> f64 {
        seconds(self.end_nanos.saturating_sub(self.start_nanos).max(0))
    }

    /// What caches did, by file and language.
    pub(super) fn cached(&self) -> HashMap<&str, Cached> {
        let mut found: HashMap<&str, Cached> = HashMap::new();
        for (name, value) in &self.attributes {
            let Some(rest) = name.strip_prefix("sccache.") else { continue };
            let Some((cache, what)) = rest.rsplit_once('.') else { continue };
            let Some(number) = value.as_f64() else { continue };
            // Files and languages; compilers are told in the trace.
            if cache.matches('.').count() > 1 {
                continue;
            }
            match what {
                "hits" => found.entry(cache).or_default().hits += number,
                "misses" => found.entry(cache).or_default().misses += number,
                "errors" => found.entry(cache).or_default().errors += number,
                _ => {}
            }
        }
        found.retain(|_, cached| *cached != Cached::default());
        found
    }
}

/// An attribute as text.
pub(super) fn text(attributes: &Attributes, name: &str) -> Option<String> {
    match attributes.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// All of a run that is drawn at first.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// By time.
    pub(super) all: Vec<Span>,
    /// How many spans lie below a step or a job, by its id and their kind.
    pub(super) below: HashMap<String, HashMap<String, i64>>,
    pub(super) is_truncated: bool,
}

impl Spans {
    /// Those of a run; an error if there is nothing of it.
    pub(super) async fn ask(
        engine: &Engine,
        tenants: &Tenants,
        trace_id: &str,
    ) -> Result<Self, Failed> {
        let of_trace = format!("trace_id = {}", quoted(trace_id));
        let spans = query(
            &format!(
                "{of_trace} AND (\"span.ci.kind\" IN ('run', 'job', 'queue', 'step') \
                 OR (\"span.ci.kind\" IN ('test', 'command') AND status = 'error'))"
            ),
            MAX_RUN_SPANS + 1,
        );
        let below = format!(
            "SELECT parent_span_id AS parent, \"span.ci.kind\" AS kind, count(*) AS spans \
             FROM spans WHERE {of_trace} AND \"span.ci.kind\" IN ('target', 'test', 'command') \
             GROUP BY 1, 2 LIMIT {}",
            MAX_RUN_SPANS + 1
        );
        let (spans, below) =
            try_join!(Table::ask(engine, tenants, &spans), Table::ask(engine, tenants, &below))?;
        let mut all = read(&spans)?;
        if all.is_empty() {
            return Err(Failed::Unknown(format!(
                "trace {trace_id} has no spans of a CI run: was it sent by kymo ci?"
            )));
        }
        let is_truncated = all.len() > MAX_RUN_SPANS || below.len() > MAX_RUN_SPANS;
        all.truncate(MAX_RUN_SPANS);
        let mut seen = std::collections::HashSet::new();
        all.retain(|span| seen.insert(span.span_id.clone()));
        Ok(Self { all, below: counted(&below)?, is_truncated })
    }

    pub(super) fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Span> {
        self.all.iter().filter(move |span| span.kind == kind)
    }

    /// The run's own span; there is none while it goes on.
    pub(super) fn run(&self) -> Option<&Span> {
        self.of_kind("run").next()
    }
}

fn counted(table: &Table) -> Result<HashMap<String, HashMap<String, i64>>, Failed> {
    let (parents, kinds) = (table.texts("parent")?, table.texts("kind")?);
    let mut counted: HashMap<String, HashMap<String, i64>> = HashMap::new();
    for (nth, count) in table.integers("spans")?.into_iter().enumerate() {
        let (Some(parent), Some(kind)) = (parents[nth].clone(), kinds[nth].clone()) else {
            continue;
        };
        *counted.entry(parent).or_default().entry(kind).or_default() += count.unwrap_or(0);
    }
    Ok(counted)
}

fn query(condition: &str, limit: usize) -> String {
    format!(
        "SELECT span_id, parent_span_id, name, start_time, end_time, status, status_message, \
         \"span.ci.kind\" AS kind, attributes, resource FROM spans WHERE {condition} \
         ORDER BY start_time LIMIT {limit}"
    )
}

fn read(table: &Table) -> Result<Vec<Span>, Failed> {
    let (ids, parents) = (table.texts("span_id")?, table.texts("parent_span_id")?);
    let (names, kinds) = (table.texts("name")?, table.texts("kind")?);
    let (starts, ends) = (table.integers("start_time")?, table.integers("end_time")?);
    let (statuses, messages) = (table.texts("status")?, table.texts("status_message")?);
    let (attributes, resources) = (table.texts("attributes")?, table.texts("resource")?);
    let object = |text: &Option<String>| -> Attributes {
        text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    };
    let spans = (0..table.len()).map(|nth| {
        let start_nanos = starts[nth].unwrap_or(0);
        Span {
            span_id: ids[nth].clone().unwrap_or_default(),
            parent_span_id: parents[nth].clone(),
            kind: kinds[nth].clone().unwrap_or_default(),
            name: names[nth].clone().unwrap_or_default(),
            start_nanos,
            // By two clocks, an end may come before its beginning.
            end_nanos: ends[nth].unwrap_or(start_nanos).max(start_nanos),
            is_error: statuses[nth].as_deref() == Some("error"),
            message: messages[nth]
                .clone()
                .filter(|message| !message.is_empty())
                .map(|message| shortened(message, MAX_MESSAGE_BYTES)),
            attributes: object(&attributes[nth]),
            resource: object(&resources[nth]),
        }
    });
    Ok(spans.collect())
}

/// Something below a step: a target, a test, a command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Leaf {
    span_id: String,
    kind: String,
    name: String,
    start_ms: f64,
    seconds: f64,
    is_error: bool,
    message: Option<String>,
}

/// What lies below a span.
#[derive(Debug, Serialize)]
pub(super) struct Below {
    /// Failures first, then the longest.
    spans: Vec<Leaf>,
    is_truncated: bool,
}

/// What lies below a step or a job.
pub(super) async fn below(
    engine: &Engine,
    tenants: &Tenants,
    trace_id: &str,
    span_id: &str,
) -> Result<Below, Failed> {
    let query = format!(
        "SELECT span_id, parent_span_id, name, start_time, end_time, status, status_message, \
         \"span.ci.kind\" AS kind, NULL AS attributes, NULL AS resource FROM spans \
         WHERE trace_id = {} AND parent_span_id = {} \
         AND \"span.ci.kind\" IN ('target', 'test', 'command') \
         ORDER BY (status = 'error') DESC, duration_nanos DESC LIMIT {}",
        quoted(trace_id),
        quoted(span_id),
        MAX_BELOW + 1
    );
    let mut spans = read(&Table::ask(engine, tenants, &query).await?)?;
    let is_truncated = spans.len() > MAX_BELOW;
    spans.truncate(MAX_BELOW);
    let leaf = |span: Span| Leaf {
        start_ms: millis(span.start_nanos),
        seconds: span.seconds(),
        span_id: span.span_id,
        kind: span.kind,
        name: span.name,
        is_error: span.is_error,
        message: span.message,
    };
    Ok(Below { spans: spans.into_iter().map(leaf).collect(), is_truncated })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_told_by_file_and_language() {
        let attributes = serde_json::json!({
            "sccache.main_process.hits": 8, "sccache.main_process.misses": 2,
            "sccache.main_process.cuda.hits": 3, "sccache.main_process.cuda.nvcc.hits": 3,
            "sccache.main_process.hit_rate": 0.8, "sccache.main_process.version": "0.8",
            "ci.kind": "step",
        });
        let Value::Object(attributes) = attributes else { return };
        let span = Span { attributes, ..Span::default() };
        let cached = span.cached();
        assert_eq!(cached.len(), 2);
        assert_eq!(cached["main_process"].rate(), Some(0.8));
        assert_eq!(cached["main_process.cuda"].hits, 3.0);
    }
}
