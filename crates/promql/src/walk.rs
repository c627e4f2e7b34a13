//! Walking over the tree of a query.

use crate::ast::{Expr, Node, Selector};

/// Calls `visit` with an expression and all within it, outer ones first.
pub fn for_each<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    match &expr.node {
        Node::Number(_) | Node::Text(_) | Node::Selector(_) | Node::Range(_) => {}
        Node::Subquery(subquery) => for_each(&subquery.expr, visit),
        Node::Aggregate(aggregate) => {
            aggregate.param.iter().for_each(|param| for_each(param, visit));
            for_each(&aggregate.expr, visit);
        }
        Node::Call(call) => call.args.iter().for_each(|arg| for_each(arg, visit)),
        Node::Binary(binary) => {
            for_each(&binary.left, visit);
            for_each(&binary.right, visit);
        }
        Node::Unary(unary) => for_each(&unary.expr, visit),
        Node::Paren(inner) => for_each(inner, visit),
    }
}

/// All selectors of an expression, those of ranges too, in the order of the text.
pub fn selectors(expr: &Expr) -> Vec<&Selector> {
    let mut found = Vec::new();
    for_each(expr, &mut |expr| match &expr.node {
        Node::Selector(selector) => found.push(&**selector),
        Node::Range(range) => found.push(&range.selector),
        _ => {}
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse;

    #[test]
    fn every_selector_is_found() {
        let expr = parse(
            "topk(scalar(k), -(a + sum_over_time(b[5m])) * max_over_time(rate(c[1m])[1h:1m]))",
        );
        let expr = expr.unwrap();
        let names: Vec<_> = selectors(&expr).iter().filter_map(|s| s.name.as_deref()).collect();
        assert_eq!(names, ["k", "a", "b", "c"]);
    }
}
