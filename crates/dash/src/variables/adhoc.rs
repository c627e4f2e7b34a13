//! Conditions that are added to every query of a language: by its parser, into each selector.

use kymo_logql::ast::{LogExpr, MetricExpr};
use kymo_pattern::matcher::{LabelMatcher, MatchOp};
use kymo_promql::ast::{Expr as PromExpr, Node, Selector};
use kymo_traceql::ast::{Body, Expr as TraceExpr, Metrics, Pipeline, Spansets, Stage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::read;
use crate::model::{Language, Variable};

/// What stands within a part of a condition in a link for what would end it.
const ESCAPED: [(&str, &str); 3] = [("__gfp__", "|"), ("__gfc__", ","), ("__gfh__", "#")];

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The label or attribute.
    pub key: String,
    /// `=`, `!=`, `=~`, `!~`, `<`, `>`, and `=|`, `!=|` for one of several.
    pub operator: String,
    /// The value; of several, the first.
    pub value: String,
    /// All values, for one of several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// The conditions of a variable: those of a link (`key|operator|value`), else those that are stored.
pub fn filters(variable: &Variable, asked: Option<&[String]>) -> Vec<Filter> {
    if let Some(asked) = asked {
        return asked.iter().filter_map(|text| of_link(text)).collect();
    }
    let stored = read::list(&variable.raw, "filters").iter();
    let based = read::list(&variable.raw, "baseFilters").iter();
    stored.chain(based).filter_map(of_json).collect()
}

fn of_link(text: &str) -> Option<Filter> {
    // `=|` has a bar of its own, which links write as it is.
    let text = text.replace("|!=||", "|!=__or__|").replace("|=||", "|=__or__|");
    let mut parts = text.split('|');
    // Grafana writes `key,label` where a key has a label for people.
    let key = parts.next()?.split(',').next().map(unescaped)?;
    let mut parts = parts.map(|part| unescaped(&part.replace("__or__", "|")));
    let operator = parts.next()?;
    let values: Vec<String> = parts.collect();
    let value = values.first()?.clone();
    let values = if operator.ends_with('|') { values } else { Vec::new() };
    (!key.is_empty()).then_some(Filter { key, operator, value, values })
}

fn unescaped(part: &str) -> String {
    ESCAPED.iter().fold(part.to_owned(), |part, (escaped, plain)| part.replace(escaped, plain))
}

fn of_json(value: &Value) -> Option<Filter> {
    let of = value.as_object()?;
    let values = read::list(of, "values").iter().filter_map(read::text_of).collect();
    Some(Filter {
        key: read::text(of, "key")?.to_owned(),
        operator: read::text(of, "operator").unwrap_or("=").to_owned(),
        value: of.get("value").and_then(read::text_of).unwrap_or_default(),
        values,
    })
}

/// A query with conditions added to everything that it selects.
pub fn add(query: &str, language: Language, filters: &[Filter]) -> Result<String, String> {
    if filters.is_empty() {
        return Ok(query.to_owned());
    }
    match language {
        Language::Promql => promql(query, &matchers(filters)?),
        Language::Logql => logql(query, &matchers(filters)?),
        Language::Traceql => traceql(query, filters),
        Language::Sql | Language::Jaeger => {
            Err(format!("conditions cannot be added to {}", language.name()))
        }
    }
}

fn matchers(filters: &[Filter]) -> Result<Vec<LabelMatcher>, String> {
    let one = |filter: &Filter| {
        let any = || filter.values.iter().map(|v| regex::escape(v)).collect::<Vec<_>>().join("|");
        let (op, value) = match filter.operator.as_str() {
            "=" => (MatchOp::Equal, filter.value.clone()),
            "!=" => (MatchOp::NotEqual, filter.value.clone()),
            "=~" => (MatchOp::Matches, filter.value.clone()),
            "!~" => (MatchOp::NotMatches, filter.value.clone()),
            "=|" => (MatchOp::Matches, any()),
            "!=|" => (MatchOp::NotMatches, any()),
            other => return Err(format!("labels are not compared with `{other}`")),
        };
        LabelMatcher::new(&filter.key, op, &value)
            .map_err(|error| kymo_pattern::complaint(&value, &error))
    };
    filters.iter().map(one).collect()
}

fn promql(query: &str, matchers: &[LabelMatcher]) -> Result<String, String> {
    let mut expr = kymo_promql::parser::parse(query).map_err(|error| error.to_string())?;
    // The parser bounds the depth.
    in_promql(&mut expr, &mut |selector| selector.matchers.extend(matchers.iter().cloned()));
    Ok(expr.to_string())
}

fn in_promql(expr: &mut PromExpr, change: &mut dyn FnMut(&mut Selector)) {
    match &mut expr.node {
        Node::Number(_) | Node::Text(_) => {}
        Node::Selector(selector) => change(selector),
        Node::Range(range) => change(&mut range.selector),
        Node::Subquery(subquery) => in_promql(&mut subquery.expr, change),
        Node::Aggregate(aggregate) => {
            if let Some(param) = &mut aggregate.param {
                in_promql(param, change);
            }
            in_promql(&mut aggregate.expr, change);
        }
        Node::Call(call) => call.args.iter_mut().for_each(|arg| in_promql(arg, change)),
        Node::Binary(binary) => {
            in_promql(&mut binary.left, change);
            in_promql(&mut binary.right, change);
        }
        Node::Unary(unary) => in_promql(&mut unary.expr, change),
        Node::Paren(inner) => in_promql(inner, change),
    }
}

fn logql(query: &str, matchers: &[LabelMatcher]) -> Result<String, String> {
    let mut expr = kymo_logql::parser::parse(query).map_err(|error| error.to_string())?;
    let mut change = |log: &mut LogExpr| log.matchers.extend(matchers.iter().cloned());
    match &mut expr {
        kymo_logql::ast::Expr::Log(log) => change(log),
        kymo_logql::ast::Expr::Metric(metric) => in_logql(metric, &mut change),
    }
    Ok(expr.to_string())
}

fn in_logql(expr: &mut MetricExpr, change: &mut dyn FnMut(&mut LogExpr)) {
    match expr {
        MetricExpr::Range(range) => change(&mut range.range.log),
        MetricExpr::Vector(vector) => in_logql(&mut vector.inner, change),
        MetricExpr::Binary(binary) => {
            in_logql(&mut binary.left, change);
            in_logql(&mut binary.right, change);
        }
        MetricExpr::Literal(_) | MetricExpr::VectorOf(_) => {}
        MetricExpr::LabelReplace(replace) => in_logql(&mut replace.inner, change),
    }
}

fn traceql(query: &str, filters: &[Filter]) -> Result<String, String> {
    let mut parsed = kymo_traceql::parse(query).map_err(|error| error.to_string())?;
    let conditions: Vec<TraceExpr> = filters.iter().map(condition).collect::<Result<_, _>>()?;
    let condition = TraceExpr::all(conditions);
    match &mut parsed.body {
        Body::Spans(pipeline) => in_pipeline(pipeline, &condition),
        Body::Metrics(metrics) => in_metrics(metrics, &condition),
    }
    Ok(parsed.to_string())
}

/// A condition as TraceQL has it: a number is compared as one where it must be.
fn condition(filter: &Filter) -> Result<TraceExpr, String> {
    let key = match kymo_traceql::parse_attribute(&filter.key) {
        Ok(attribute) => attribute.to_string(),
        Err(_) => format!(".{}", filter.key),
    };
    let quoted = |text: &str| kymo_pattern::names::quoted(text);
    let any = || filter.values.iter().map(|v| regex::escape(v)).collect::<Vec<_>>().join("|");
    let text = match filter.operator.as_str() {
        "=|" => format!("{{ {key} =~ {} }}", quoted(&any())),
        "!=|" => format!("{{ {key} !~ {} }}", quoted(&any())),
        operator @ ("<" | ">" | "<=" | ">=") => format!("{{ {key} {operator} {} }}", filter.value),
        operator @ ("=" | "!=" | "=~" | "!~") => {
            format!("{{ {key} {operator} {} }}", quoted(&filter.value))
        }
        other => return Err(format!("attributes are not compared with `{other}`")),
    };
    let parsed = kymo_traceql::parse(&text).or_else(|error| {
        // An intrinsic such as `status` is compared with a word, not with a text.
        kymo_traceql::parse(&format!("{{ {key} {} {} }}", filter.operator, filter.value))
            .map_err(|_| error)
    });
    let query = parsed.map_err(|error| error.to_string())?;
    match query.body {
        Body::Spans(pipeline) => match pipeline.stages.into_iter().next() {
            Some(Stage::Spansets(Spansets::Filter(expr))) => Ok(expr),
            _ => Err("the condition is none".to_owned()),
        },
        Body::Metrics(_) => Err("the condition is none".to_owned()),
    }
}

fn in_metrics(metrics: &mut Metrics, condition: &TraceExpr) {
    match metrics {
        Metrics::Query { pipeline, .. } => in_pipeline(pipeline, condition),
        Metrics::Literal(_) => {}
        Metrics::Binary { left, right, .. } => {
            in_metrics(left, condition);
            in_metrics(right, condition);
        }
    }
}

fn in_pipeline(pipeline: &mut Pipeline, condition: &TraceExpr) {
    for stage in &mut pipeline.stages {
        if let Stage::Spansets(spansets) = stage {
            in_spansets(spansets, condition);
        }
    }
}

fn in_spansets(spansets: &mut Spansets, condition: &TraceExpr) {
    match spansets {
        Spansets::Filter(expr) => {
            let is_all = matches!(expr, TraceExpr::Literal(kymo_traceql::ast::Literal::Bool(true)));
            *expr = match is_all {
                true => condition.clone(),
                false => TraceExpr::all([expr.clone(), condition.clone()]),
            };
        }
        Spansets::Pipeline(pipeline) => in_pipeline(pipeline, condition),
        Spansets::Binary { left, right, .. } => {
            in_spansets(left, condition);
            in_spansets(right, condition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(key: &str, operator: &str, value: &str) -> Filter {
        let (key, operator, value) = (key.to_owned(), operator.to_owned(), value.to_owned());
        Filter { key, operator, value, values: Vec::new() }
    }

    #[test]
    fn conditions_go_into_every_selector() {
        let one = [filter("host", "=", "a\"b")];
        let added = |query, language| add(query, language, &one).unwrap();
        assert_eq!(
            added("sum(rate(a[5m])) / on() b{x=\"y\"} offset 1h", Language::Promql),
            r#"sum(rate(a{host="a\"b"}[5m])) / on () b{host="a\"b",x="y"} offset 1h"#
        );
        assert_eq!(
            added(r#"sum(rate({app="x"} |= "e" [5m]))"#, Language::Logql),
            r#"sum(rate({app="x", host="a\"b"} |= "e"[5m]))"#
        );
        assert_eq!(
            added(r#"{ name = "x" } && { } | rate()"#, Language::Traceql),
            r#"{ name = "x" && .host = "a\"b" } && { .host = "a\"b" } | rate()"#
        );
        assert!(add("SELECT 1", Language::Sql, &one).is_err());
        assert_eq!(add("not parsed (", Language::Promql, &[]).unwrap(), "not parsed (");
    }

    #[test]
    fn words_numbers_and_lists_are_conditions_of_traceql() {
        let mut any = filter("resource.a", "=|", "x");
        any.values = vec!["x".to_owned(), "y.z".to_owned()];
        let all = [filter("status", "=", "error"), filter("duration", ">", "1s"), any];
        assert_eq!(
            add("{ }", Language::Traceql, &all).unwrap(),
            r#"{ status = error && (duration > 1s && resource.a =~ "x|y\\.z") }"#
        );
    }

    #[test]
    fn a_link_says_conditions_with_bars() {
        assert_eq!(of_link("a|=|b"), Some(filter("a", "=", "b")));
        assert_eq!(of_link("a|=~|b__gfp__c"), Some(filter("a", "=~", "b|c")));
        assert_eq!(of_link("a,The A|=|b__gfc__c__gfh__"), Some(filter("a", "=", "b,c#")));
        assert_eq!(of_link("a__gfc__b|=|c,d"), Some(filter("a,b", "=", "c,d")));
        assert_eq!(of_link("a|=__gfp__|b|c").unwrap().values, ["b", "c"]);
        let several = of_link("a|=||b|c").unwrap();
        assert_eq!((several.operator.as_str(), several.values.len()), ("=|", 2));
        assert_eq!(of_link("a"), None);
        assert_eq!(of_link("|=|b"), None);
    }
}
