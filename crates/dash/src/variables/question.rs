//! What a variable of the kind `query` asks: Prometheus' functions, Tempo's and Loki's forms, SQL.

use crate::interpolate::{Context, Style};
use crate::model::read::{self, Object};
use crate::model::{Language, Variable};

/// What is to be asked of the engine. Variables are put in, but not into SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Values of a label of metrics; of those that a selector selects.
    MetricLabelValues {
        /// The selector.
        selector: Option<String>,
        /// The label.
        label: String,
    },
    /// Names of labels of metrics.
    MetricLabelNames {
        /// The selector.
        selector: Option<String>,
    },
    /// Names of metrics that a regular expression finds.
    MetricNames {
        /// The expression, which may match anywhere.
        pattern: String,
    },
    /// Samples of an expression at the end of the time, as text.
    MetricSamples {
        /// The expression.
        expr: String,
    },
    /// Series that a selector selects, as text.
    MetricSeries {
        /// The selector.
        selector: String,
    },
    /// Names of attributes of spans.
    TagNames,
    /// Values of an attribute of spans.
    TagValues {
        /// The attribute, as TraceQL names it.
        attribute: String,
        /// Of spans that these conditions hold for, in TraceQL.
        filter: Option<String>,
    },
    /// Names of labels of logs.
    LogLabelNames,
    /// Values of a label of logs.
    LogLabelValues {
        /// The selector.
        selector: Option<String>,
        /// The label.
        label: String,
    },
    /// The first column of an answer, or its columns `__text` and `__value`.
    Sql {
        /// The query as it is written: who asks it puts in its macros, and variables after them.
        query: String,
    },
}

/// What a variable asks in a language.
pub fn question(
    variable: &Variable,
    language: Language,
    context: &Context,
) -> Result<Question, String> {
    let empty = Object::new();
    let object = variable.query.as_object().unwrap_or(&empty);
    match language {
        Language::Promql => prometheus(&context.fill(variable.query_text(), Style::Promql)),
        Language::Traceql | Language::Jaeger => tempo(variable, object, context),
        Language::Logql => loki(variable, object, context),
        Language::Sql => {
            let text = read::text(object, "rawSql").unwrap_or(variable.query_text());
            if text.trim().is_empty() {
                return Err("its query is empty".to_owned());
            }
            Ok(Question::Sql { query: text.to_owned() })
        }
    }
}

fn prometheus(text: &str) -> Result<Question, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("its query is empty".to_owned());
    }
    if let Some(inner) = call(text, "label_names") {
        return Ok(Question::MetricLabelNames { selector: some(inner) });
    }
    if let Some(inner) = call(text, "label_values") {
        // A selector may hold commas: the label is behind the last.
        let (selector, label) = match inner.rsplit_once(',') {
            Some((selector, label)) if is_label(label.trim()) => (some(selector), label),
            _ => (None, inner),
        };
        let label = label.trim().trim_matches('"');
        if label.is_empty() || label.contains(['{', '(', ' ']) {
            return Err(format!("expected label_values(metric, label), not {text}"));
        }
        return Ok(Question::MetricLabelValues { selector, label: label.to_owned() });
    }
    if let Some(inner) = call(text, "metrics") {
        return Ok(Question::MetricNames { pattern: inner.trim().to_owned() });
    }
    if let Some(inner) = call(text, "query_result") {
        return Ok(Question::MetricSamples { expr: inner.trim().to_owned() });
    }
    Ok(Question::MetricSeries { selector: text.to_owned() })
}

/// What stands in the parentheses of a function that is all of the text.
fn call<'a>(text: &'a str, function: &str) -> Option<&'a str> {
    text.strip_prefix(function)?.trim_start().strip_prefix('(')?.strip_suffix(')')
}

fn some(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && !text.contains(['}', ')', '=', '{', '('])
}

/// `{type: 0 names | 1 values, label, stream}`, or `label_values(resource.service.name)`.
fn tempo(variable: &Variable, query: &Object, context: &Context) -> Result<Question, String> {
    let kind = read::integer(query, "type");
    let label = read::text(query, "label").unwrap_or_default();
    let text = context.fill(variable.query_text(), Style::Traceql);
    let filter =
        read::text(query, "stream").and_then(|filter| some(&context.fill(filter, Style::Traceql)));
    match kind {
        Some(0) => return Ok(Question::TagNames),
        Some(1) if label.is_empty() => return Err("it names no label".to_owned()),
        Some(1) => {
            let attribute = attribute_of(&context.fill(label, Style::Traceql));
            return Ok(Question::TagValues { attribute, filter });
        }
        _ => {}
    }
    let text = text.trim();
    if call(text, "label_names").is_some() || call(text, "tag_names").is_some() {
        return Ok(Question::TagNames);
    }
    match call(text, "label_values").or_else(|| call(text, "tag_values")) {
        Some(inner) => {
            Ok(Question::TagValues { attribute: attribute_of(inner.trim()), filter: None })
        }
        None if text.is_empty() => Err("its query is empty".to_owned()),
        None => Ok(Question::TagValues { attribute: attribute_of(text), filter: None }),
    }
}

/// A tag as TraceQL names it: Tempo's API takes bare keys too.
fn attribute_of(tag: &str) -> String {
    let is_plain = kymo_traceql::parse_attribute(tag).is_ok();
    if is_plain { tag.to_owned() } else { format!(".{tag}") }
}

/// `{type: 0 names | 1 values, label, stream}`, or Prometheus' functions.
fn loki(variable: &Variable, query: &Object, context: &Context) -> Result<Question, String> {
    let filled = |text: &str| context.fill(text, Style::Logql);
    match (read::integer(query, "type"), read::text(query, "label")) {
        (Some(0), _) => return Ok(Question::LogLabelNames),
        (Some(_), Some(label)) => {
            let selector = read::text(query, "stream").and_then(|stream| some(&filled(stream)));
            return Ok(Question::LogLabelValues { selector, label: filled(label) });
        }
        _ => {}
    }
    match prometheus(&filled(variable.query_text()))? {
        Question::MetricLabelNames { .. } => Ok(Question::LogLabelNames),
        Question::MetricLabelValues { selector, label } => {
            Ok(Question::LogLabelValues { selector, label })
        }
        _ => Err("expected label_names() or label_values({selector}, label)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::interpolate::Held;

    fn asked(query: Value, language: Language) -> Result<Question, String> {
        let of = json!({"name": "v", "query": query});
        let variable = Variable::read(of.as_object().unwrap()).unwrap();
        let mut context = Context::default();
        context.variables.insert("job".to_owned(), Held::one("node"));
        question(&variable, language, &context)
    }

    #[test]
    fn prometheus_functions_are_understood() {
        let ask = |text: &str| asked(json!(text), Language::Promql).unwrap();
        let values = |selector: Option<&str>, label: &str| Question::MetricLabelValues {
            selector: selector.map(str::to_owned),
            label: label.to_owned(),
        };
        assert_eq!(ask("label_values(DCGM_X, gpu)"), values(Some("DCGM_X"), "gpu"));
        assert_eq!(ask("label_values(job)"), values(None, "job"));
        let nested = r#"label_values(up{job="$job", a=~"b,c"},instance)"#;
        assert_eq!(ask(nested), values(Some(r#"up{job="node", a=~"b,c"}"#), "instance"));
        assert_eq!(ask("label_names()"), Question::MetricLabelNames { selector: None });
        assert_eq!(ask("metrics(node_.*)"), Question::MetricNames { pattern: "node_.*".into() });
        let samples = Question::MetricSamples { expr: "topk(5, rate(x[5m]))".into() };
        assert_eq!(ask("query_result(topk(5, rate(x[5m])))"), samples);
        assert_eq!(ask("up{a=\"b\"}"), Question::MetricSeries { selector: "up{a=\"b\"}".into() });
        assert!(asked(json!("label_values(a{b=\"c\"})"), Language::Promql).is_err());
        assert!(asked(json!(""), Language::Promql).is_err());
        let object = json!({"query": "label_values(a, b)", "refId": "x", "qryType": 1});
        assert_eq!(asked(object, Language::Promql).unwrap(), values(Some("a"), "b"));
    }

    #[test]
    fn tempo_loki_and_sql_are_understood() {
        let tag =
            |attribute: &str| Question::TagValues { attribute: attribute.into(), filter: None };
        let ask = |query: Value| asked(query, Language::Traceql).unwrap();
        assert_eq!(ask(json!({"type": 0, "refId": "x"})), Question::TagNames);
        assert_eq!(ask(json!({"type": 1, "label": "resource.a"})), tag("resource.a"));
        assert_eq!(ask(json!({"type": 1, "label": "rapids.labels"})), tag(".rapids.labels"));
        assert_eq!(ask(json!("label_values(span.b)")), tag("span.b"));
        let values =
            Question::LogLabelValues { selector: Some("{a=\"node\"}".into()), label: "b".into() };
        let query = json!({"type": 1, "label": "b", "stream": "{a=\"$job\"}"});
        assert_eq!(asked(query, Language::Logql).unwrap(), values);
        assert_eq!(
            asked(json!("label_names()"), Language::Logql).unwrap(),
            Question::LogLabelNames
        );
        // What it holds is put in after macros are.
        let sql = Question::Sql { query: "SELECT '$job'".into() };
        assert_eq!(asked(json!("SELECT '$job'"), Language::Sql).unwrap(), sql);
    }
}
