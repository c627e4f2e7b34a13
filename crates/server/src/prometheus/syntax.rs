//! Expressions in a tidy form, and as trees.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use kymo_promql::ast::{
    At, Cardinality, Duration, DurationNode, Edges, Expr, Matching, Node, Selector, TimeShift,
    ValueType,
};
use kymo_promql::number::format_float;
use kymo_promql::print::pretty;
use serde_json::{Value, json};

use super::asked::{ask, success};
use crate::router::Shared;

/// `/api/v1/format_query`
pub(super) async fn format(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_format_query", async |shared, asked| {
        let (_, expr) = asked.expression(&shared)?;
        Ok(success(&json!(pretty(&expr)).to_string()))
    })
    .await
}

/// `/api/v1/parse_query`
pub(super) async fn parse(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_parse_query", async |shared, asked| {
        let (_, expr) = asked.expression(&shared)?;
        Ok(success(&tree(&expr).to_string()))
    })
    .await
}

fn tree(expr: &Expr) -> Value {
    match &expr.node {
        Node::Number(number) => {
            json!({ "type": "numberLiteral", "val": format_float(number.value) })
        }
        Node::Text(text) => json!({ "type": "stringLiteral", "val": text }),
        Node::Paren(inner) => json!({ "type": "parenExpr", "expr": tree(inner) }),
        Node::Unary(unary) => json!({
            "type": "unaryExpr",
            "op": if unary.is_negative { "-" } else { "+" },
            "expr": tree(&unary.expr),
        }),
        Node::Selector(selector) => selector_tree(selector, "vectorSelector"),
        Node::Range(range) => {
            let mut node = selector_tree(&range.selector, "matrixSelector");
            node["range"] = millis(&range.range);
            node
        }
        Node::Subquery(subquery) => {
            let mut node = json!({
                "type": "subquery",
                "expr": tree(&subquery.expr),
                "range": millis(&subquery.range),
                "step": subquery.step.as_ref().map_or(json!(0), millis),
            });
            add_shift(&mut node, &subquery.shift);
            node
        }
        Node::Aggregate(aggregate) => json!({
            "type": "aggregation",
            "op": aggregate.op.name(),
            "expr": tree(&aggregate.expr),
            "param": aggregate.param.as_ref().map(tree),
            "grouping": aggregate.grouping.labels,
            "without": aggregate.grouping.is_without,
        }),
        Node::Call(call) => json!({
            "type": "call",
            "func": {
                "name": call.function.name,
                "argTypes": call.function.args.iter().map(|arg| type_name(*arg)).collect::<Vec<_>>(),
                "variadic": call.function.variadic,
                "returnType": type_name(call.function.returns),
            },
            "args": call.args.iter().map(tree).collect::<Vec<_>>(),
        }),
        Node::Binary(binary) => json!({
            "type": "binaryExpr",
            "op": binary.op.symbol(),
            "lhs": tree(&binary.left),
            "rhs": tree(&binary.right),
            "matching": binary.matching.as_ref().map(matching_tree),
            "bool": binary.returns_bool,
        }),
    }
}

fn matching_tree(matching: &Matching) -> Value {
    let card = match matching.cardinality {
        Cardinality::OneToOne => "one-to-one",
        Cardinality::ManyToOne => "many-to-one",
        Cardinality::OneToMany => "one-to-many",
        Cardinality::ManyToMany => "many-to-many",
    };
    json!({
        "card": card,
        "labels": matching.labels,
        "on": matching.is_on,
        "include": matching.include,
        "fillValues": { "lhs": matching.fill_left, "rhs": matching.fill_right },
    })
}

fn selector_tree(selector: &Selector, kind: &str) -> Value {
    let matchers = selector.matchers.iter().map(|matcher| {
        json!({ "name": matcher.name, "type": matcher.op.symbol(), "value": matcher.value })
    });
    let mut node = json!({
        "type": kind,
        "name": selector.name.as_deref().unwrap_or_default(),
        "matchers": matchers.collect::<Vec<_>>(),
    });
    match selector.edges {
        Edges::Plain => {}
        Edges::Anchored => node["anchored"] = json!(true),
        Edges::Smoothed => node["smoothed"] = json!(true),
    }
    add_shift(&mut node, &selector.shift);
    node
}

fn add_shift(node: &mut Value, shift: &TimeShift) {
    let (timestamp, start_or_end) = match shift.at {
        None => (Value::Null, Value::Null),
        Some(At::Time(millis)) => (json!(millis), Value::Null),
        Some(At::Start) => (Value::Null, json!("start")),
        Some(At::End) => (Value::Null, json!("end")),
    };
    node["offset"] = shift.offset.as_ref().map_or(json!(0), millis);
    node["timestamp"] = timestamp;
    node["startOrEnd"] = start_or_end;
}

/// A duration in milliseconds; one that depends on the query as 0, as Prometheus has it.
fn millis(duration: &Duration) -> Value {
    match &duration.node {
        DurationNode::Number(number) => json!((number.value * 1000.0).round() as i64),
        DurationNode::Negative(inner) => match &inner.node {
            DurationNode::Number(number) => json!(-(number.value * 1000.0).round() as i64),
            _ => json!(0),
        },
        _ => json!(0),
    }
}

fn type_name(value_type: ValueType) -> &'static str {
    value_type.name()
}
