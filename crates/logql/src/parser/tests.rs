use super::*;
use crate::ast::{BinaryOp, LabelFilter, Stage};

fn refused(text: &str) -> String {
    parse(text).map(|expr| panic!("{expr}")).unwrap_err().to_string()
}

fn stages(text: &str) -> Vec<Stage> {
    parse_log(text).unwrap_or_else(|error| panic!("{text}: {error}")).stages
}

#[test]
fn an_error_tells_line_column_and_stage() {
    let error = parse("{a=\"b\"}\n  | json\n  | line_format 5").unwrap_err();
    assert_eq!((error.line, error.column), (3, 17));
    assert_eq!(error.stage.as_deref(), Some("| line_format 5"));
    assert_eq!((error.span.start, error.span.end), (33, 34));
    let error = parse("{a=\"é\"} | x ~ 1").unwrap_err();
    assert_eq!(error.column, 13, "columns are characters");
}

#[test]
fn what_is_beyond_the_limits_is_refused_in_a_few_words() {
    let many = |before: &str, again: &str, count: usize, after: &str| {
        refused(&format!("{before}{}{after}", again.repeat(count)))
    };
    assert!(many("", "(", 100_000, "").contains("nested too deeply"));
    assert!(many("", "sum(", 20_000, "").contains("nested too deeply"));
    assert!(many("rate(", "(", 50_000, "{a=\"b\"}[1m]").contains("nested too deeply"));
    assert!(many("{a=\"b\"} | ", "(", 50_000, "x=1").contains("nested too deeply"));
    assert!(many("{a=\"b\"} | ", "x=1,", 200, "x=1").contains("nested too deeply"));
    assert!(many("vector(1)", "+vector(1)", 5000, "").contains("too complex"));
    assert!(many("vector(1)", "^vector(1)", 5000, "").contains("nested too deeply"));
    assert!(many("{a=\"b\"} | x=1", " or x=1", 5000, "").contains("too many conditions"));
    assert!(many("{a=\"b\"} |= \"x\"", " or \"x\"", 5000, "").contains("too many conditions"));
    assert!(many("{a=\"b\"", ",a=\"b\"", 5000, "}").contains("too many conditions"));
    assert!(many("{a=\"b\"}", "|json", 5000, "").contains("too many stages"));
    assert!(many("{a=\"b\"} |= \"", "x", 1 << 20, "\"").contains("too long"));
}

#[test]
fn many_regular_expressions_share_what_one_may_take() {
    let large = r#""\\pL{100}""#;
    let query = |count: usize| format!("{{a=\"b\"}} |~ {}", vec![large; count].join(" or "));
    assert_eq!(stages(&query(1)).len(), 1);
    assert!(refused(&query(900)).contains("too large"));
    let small = query(900).replace(r"\\pL{100}", "x");
    assert_eq!(stages(&small).len(), 1);
}

#[test]
fn numbers_alone_are_folded_whatever_their_count() {
    let sum = format!("1{}", "+1".repeat(250));
    assert_eq!(parse(&sum).unwrap(), Expr::Metric(MetricExpr::Literal(251.0)));
}

#[test]
fn a_filter_or_a_parser_is_told_by_what_follows_the_pipe() {
    assert!(matches!(stages("{a=\"b\"} | rate = 5")[..], [Stage::Labels(_)]));
    assert!(matches!(stages("{a=\"b\"} | json | bytes > 5")[..], [Stage::Json, Stage::Labels(_)]));
    assert!(matches!(stages("{a=\"b\"} | json a")[..], [Stage::JsonPaths(_)]));
    assert!(matches!(stages("{a=\"b\"} | JSON != \"x\"")[..], [Stage::Json, Stage::Line(_)]));
    let [Stage::Labels(LabelFilter::Or(..))] = &stages("{a=\"b\"} | x=1 and y=2 or z=3")[..] else {
        panic!("or binds least");
    };
}

#[test]
fn operators_group_by_strength() {
    let Expr::Metric(MetricExpr::Binary(binary)) =
        parse("vector(1) or vector(2) > vector(3) + vector(4)").unwrap()
    else {
        panic!("an operator");
    };
    assert_eq!(binary.op, BinaryOp::Or);
}

#[test]
fn selectors_alone_may_match_everything() {
    assert_eq!(parse_selector("{}").unwrap(), []);
    assert_eq!(parse_selector("{a=\"b\", c!~\"d\"}").unwrap().len(), 2);
    assert!(parse_selector("{a=\"b\"} |= \"x\"").is_err());
    assert!(parse_log("vector(1)").unwrap_err().to_string().contains("expected a log query"));
}
