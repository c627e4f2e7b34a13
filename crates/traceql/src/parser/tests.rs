//! How operators bind, what a tree looks like, and what unfinished queries give.

use super::*;
use crate::ast::{BinaryOp, Expr, Metrics, SeriesStage, Spansets, Stage};
use crate::limits::MAX_QUANTILES;

/// The filter of a query.
fn filter(text: &str) -> Expr {
    let query = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    match query.body {
        Body::Spans(mut pipeline) => match pipeline.stages.remove(0) {
            Stage::Spansets(Spansets::Filter(expr)) => expr,
            other => panic!("{text}: {other:?}"),
        },
        other => panic!("{text}: {other:?}"),
    }
}

/// An expression with all its parentheses.
fn shape(expr: &Expr) -> String {
    match expr {
        Expr::Literal(literal) => literal.to_string(),
        Expr::Attribute(attribute) => attribute.to_string(),
        Expr::Not(of) => format!("!({})", shape(of)),
        Expr::Negate(of) => format!("-({})", shape(of)),
        Expr::Binary { op, left, right } => format!("({} {op} {})", shape(left), shape(right)),
    }
}

fn spansets_shape(spansets: &Spansets) -> String {
    match spansets {
        Spansets::Filter(expr) => expr.to_string(),
        Spansets::Pipeline(pipeline) => format!("<{pipeline}>"),
        Spansets::Binary { op, left, right } => {
            format!("({} {op} {})", spansets_shape(left), spansets_shape(right))
        }
    }
}

fn error(text: &str) -> String {
    match parse(text) {
        Ok(query) => panic!("{text} is {query}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn operators_bind_as_documented() {
    for (text, expected) in [
        ("{ .a || .b && .c }", "((.a || .b) && .c)"),
        ("{ .a && .b || .c }", "((.a && .b) || .c)"),
        ("{ .a || (.b && .c) }", "(.a || (.b && .c))"),
        ("{ .a = 1 && .b = 2 }", "((.a = 1) && (.b = 2))"),
        ("{ .a = .b = true }", "((.a = .b) = true)"),
        ("{ .a + .b * .c ^ .d = 1 }", "((.a + (.b * (.c ^ .d))) = 1)"),
        ("{ .a - .b - .c = 1 }", "(((.a - .b) - .c) = 1)"),
        ("{ .a ^ .b ^ .c = 1 }", "((.a ^ (.b ^ .c)) = 1)"),
        ("{ .a % .b / .c = 1 }", "(((.a % .b) / .c) = 1)"),
        ("{ -.a ^ .b = 1 }", "(-((.a ^ .b)) = 1)"),
        ("{ .a - -.b = 1 }", "((.a - -(.b)) = 1)"),
        ("{ !.a = .b }", "(!(.a) = .b)"),
        ("{ !.a && .b }", "(!(.a) && .b)"),
        ("{ !(.a = .b) }", "!((.a = .b))"),
        ("{ !!.a }", "!(!(.a))"),
        ("{ .a = !.b && .c }", "((.a = !(.b)) && .c)"),
        ("{ .a = -5 }", "(.a = -5)"),
        ("{ .a = --5s }", "(.a = 5s)"),
        ("{ -5 ^ 2 = .a }", "(-((5 ^ 2)) = .a)"),
        ("{ -minInt = .a }", "(-(minInt) = .a)"),
        ("{ }", "true"),
    ] {
        assert_eq!(shape(&filter(text)), expected, "{text}");
        let printed = format!("{{ {} }}", filter(text));
        assert_eq!(shape(&filter(&printed)), expected, "{text} is printed as {printed}");
    }
}

#[test]
fn spansets_bind_as_documented() {
    for (text, expected) in [
        ("{ .a } || { .b } && { .c }", "((.a || .b) && .c)"),
        ("{ .a } > { .b } || { .c } !>> { .d }", "((.a > .b) || (.c !>> .d))"),
        ("{ .a } > { .b } > { .c }", "((.a > .b) > .c)"),
        ("{ .a } > ({ .b } > { .c })", "(.a > (.b > .c))"),
        ("{ .a } &~ { .b } !~ { .c } ~ { .d }", "(((.a &~ .b) !~ .c) ~ .d)"),
        ("({ .a }) >> ({ .b } | count() = 2)", "(.a >> <{ .b } | count() = 2>)"),
        ("(({ .a } && { .b })) || (by(.c))", "((.a && .b) || <by(.c)>)"),
    ] {
        let shape = |text: &str| match parse(text).map(|query| query.body) {
            Ok(Body::Spans(pipeline)) => match &pipeline.stages[..] {
                [Stage::Spansets(spansets)] => (spansets_shape(spansets), spansets.to_string()),
                other => panic!("{text}: {other:?}"),
            },
            other => panic!("{text}: {other:?}"),
        };
        let (found, printed) = shape(text);
        assert_eq!(found, expected, "{text}");
        assert_eq!(shape(&printed).0, expected, "{text} is printed as {printed}");
    }
}

#[test]
fn constants_of_series_and_scalars_are_computed() {
    for (text, expected) in [
        ("3 - 2 + ({ } | rate())", "1 + ({ true } | rate())"),
        ("(1 / 2) + ({ } | rate())", "0 + ({ true } | rate())"),
        ("({ } | rate()) - 2 * 20", "({ true } | rate()) - 40"),
        ("({ } | rate()) + 3 - 2", "({ true } | rate()) + 3 - 2"),
        ("({ } | rate()) < 1 + 2", "{ true } | rate() < 3"),
        (
            "(60 * ({ } | rate())) / ({ } | rate())",
            "60 * ({ true } | rate()) / ({ true } | rate())",
        ),
        ("60 / (({ } | rate()) / 2)", "60 / (({ true } | rate()) / 2)"),
        ("(({ } | rate()) + 1 > 5) * 2", "(({ true } | rate()) + 1 > 5) * 2"),
        ("min(span:childCount) < 2 / 6", "min(span:childCount) < 0"),
        ("avg(duration) > 2 * 1s", "avg(duration) > 2 * 1s"),
        ("{ } | count() * -(1 + 2) > -(5)", "{ true } | count() * -3 > -5"),
        ("((({ .a } | count()))) = 1", "({ .a } | count()) = 1"),
    ] {
        let query = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(query.to_string(), expected);
        assert_eq!(parse(expected).as_ref(), Ok(&query), "{text}");
    }
}

#[test]
fn stages_of_series_are_kept_in_order() {
    let text = "({ } | rate() by (.a) > 5 | topk(3)) != 7 | bottomk (2) < 1s";
    let Body::Metrics(Metrics::Query { by, stages, .. }) = parse(text).unwrap().body else {
        panic!()
    };
    assert_eq!(by.len(), 1);
    assert_eq!(
        stages,
        [
            SeriesStage::Filter(BinaryOp::Greater, Literal::Int(5)),
            SeriesStage::TopK(3),
            SeriesStage::Filter(BinaryOp::NotEqual, Literal::Int(7)),
            SeriesStage::BottomK(2),
            SeriesStage::Filter(BinaryOp::Less, Literal::Duration(1_000_000_000)),
        ]
    );
}

#[test]
fn quantiles_are_few() {
    let quantiles = |count| format!("{{ }} | quantile_over_time(duration{})", ", .5".repeat(count));
    assert!(parse(&quantiles(MAX_QUANTILES)).is_ok());
    assert_eq!(
        error(&quantiles(MAX_QUANTILES + 1)),
        "line 1, col 116: at most 20 quantiles are possible at once"
    );
}

#[test]
fn every_resource_has_a_service_name() {
    assert_eq!(filter("{ resource.service.name != nil }"), Expr::Literal(Literal::Bool(true)));
    assert_eq!(shape(&filter("{ nil != resource.service.name && .a }")), "(true && .a)");
    assert_eq!(shape(&filter("{ .service.name != nil }")), "(.service.name != nil)");
    assert_eq!(
        error("{ nil = resource.service.name }"),
        "line 1, col 3: resource.service.name is never nil"
    );
}

#[test]
fn long_runs_are_not_deep() {
    for (operand, op, braces) in [(".a", "&&", true), (".a", "||", true), ("{ }", "||", false)] {
        let run = vec![operand; 5_000].join(op);
        let query = parse(&if braces { format!("{{{run}}}") } else { run }).unwrap();
        let printed = query.to_string();
        assert!(parse(&printed).unwrap() == query, "{operand} {op}");
    }
    // A short one is as it always was.
    let run = vec![".a"; LONG_RUN].join(" || ");
    assert_eq!(filter(&format!("{{ {run} }}")).to_string(), run);
}

#[test]
fn attributes_alone() {
    for (text, expected) in [
        ("resource.service.name", "resource.service.name"),
        (".foo", ".foo"),
        ("span.\"a b\"", "span.\"a b\""),
        ("name", "name"),
        ("event:name", "event:name"),
        (" status ", "status"),
        ("span:kind", "kind"),
        ("trace:rootService", "rootServiceName"),
        ("parent.duration", "parent.duration"),
    ] {
        assert_eq!(parse_attribute(text).unwrap().to_string(), expected);
    }
    let message = parse_attribute("service.name").unwrap_err().to_string();
    assert!(message.contains("expected .service.name"), "{message}");
    for text in [
        "foo",
        "5xx",
        "\"a b\"",
        "true",
        "http-status",
        "",
        "span.",
        "trace:foo",
        "a b",
        "{ .a }",
        ".a = 1",
        "span.a span.b",
        "\"a",
    ] {
        assert!(parse_attribute(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_complete_of_an_unfinished_query_is_kept() {
    for (text, expected) in [
        ("{ resource.service.name = \"x\" && span. }", Some("resource.service.name = \"x\"")),
        ("{ .a = 1 && .b = }", Some(".a = 1")),
        ("{ .b = && .a = 1 }", Some(".a = 1")),
        (
            "{ .a = 1 || .b = || .c =~ \"x.*\" && .d > 2 }",
            Some(".a = 1 || .c =~ \"x.*\" && .d > 2"),
        ),
        ("{ .a = 1", Some(".a = 1")),
        ("{ .a = 1 && \"", Some(".a = 1")),
        ("{ .a = 1 && (.b = 2 || .c = ) && .d = 4 }", Some(".a = 1 && .b = 2 && .d = 4")),
        ("{ (.a = 1 || .b = 2) && .c", Some(".a = 1 || .b = 2")),
        ("{ .a = 1 && (.b = 2 || (.c = 3 && ", Some(".a = 1 && (.b = 2 || .c = 3)")),
        ("{ .a = 1 && .foo }", Some(".a = 1")),
        ("{ !(.a = 1) && foo }", Some("!(.a = 1)")),
        ("{ .a = 1 } | rate() by (", Some(".a = 1")),
        ("{ name = 1 && .a = 1 }", Some(".a = 1")),
        ("{ .a =~ \"[\" && .b = 1 }", Some(".b = 1")),
        ("{ .b = 1 && name =~ \"GET (\" }", Some(".b = 1")),
        ("{ .foo }", None),
        ("{ }", None),
        ("{", None),
        ("", None),
        ("{ .a = 1 } && { .b = 2 }", None),
        ("count() > 2", None),
        ("}{", None),
    ] {
        let found = parse_filter_leniently(text).map(|expr| expr.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}
