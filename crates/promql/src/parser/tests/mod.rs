mod corpus;
mod errors;

use super::*;
use crate::ast::{At, Cardinality, DurationNode, Edges};
use crate::matcher::MatchOp;

/// The tree with parentheses around everything that is made of others.
fn shape(text: &str) -> String {
    fn of(expr: &Expr) -> String {
        match &expr.node {
            Node::Binary(binary) => {
                let symbol = binary.op.symbol();
                format!("({} {symbol} {})", of(&binary.left), of(&binary.right))
            }
            Node::Unary(unary) => {
                format!("{}[{}]", if unary.is_negative { "neg" } else { "pos" }, of(&unary.expr))
            }
            Node::Paren(inner) => of(inner),
            _ => expr.to_string(),
        }
    }
    of(&read(text))
}

fn read(text: &str) -> Expr {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What stands where an expression and the parts below it say they stand.
fn places(text: &str) -> Vec<&str> {
    fn walk<'a>(expr: &Expr, text: &'a str, places: &mut Vec<&'a str>) {
        places.push(expr.span.of(text));
        match &expr.node {
            Node::Binary(binary) => {
                walk(&binary.left, text, places);
                walk(&binary.right, text, places);
            }
            Node::Unary(unary) => walk(&unary.expr, text, places),
            Node::Paren(inner) => walk(inner, text, places),
            Node::Subquery(subquery) => walk(&subquery.expr, text, places),
            Node::Call(call) => call.args.iter().for_each(|arg| walk(arg, text, places)),
            Node::Aggregate(aggregate) => {
                aggregate.param.iter().for_each(|param| walk(param, text, places));
                walk(&aggregate.expr, text, places);
            }
            Node::Range(range) => places.push(range.selector_span.of(text)),
            Node::Number(_) | Node::Text(_) | Node::Selector(_) => {}
        }
    }
    let mut places = Vec::new();
    walk(&read(text), text, &mut places);
    places
}

#[test]
fn operators_bind_by_their_rank() {
    for (text, expected) in [
        ("a or b and c unless d", "(a or ((b and c) unless d))"),
        ("a == b + c * d ^ e", "(a == (b + (c * (d ^ e))))"),
        ("a ^ b ^ c", "(a ^ (b ^ c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a </ 1 + 2", "(a </ (1 + 2))"),
        ("a atan2 b % c", "((a atan2 b) % c)"),
        ("-a ^ b", "neg[(a ^ b)]"),
        ("-a * b", "(neg[a] * b)"),
        ("a ^ -b ^ c", "(a ^ neg[(b ^ c)])"),
        ("-1 ^ 2", "neg[(1 ^ 2)]"),
        ("- - 1", "1"),
        ("+a", "pos[a]"),
        ("(a + b) * c", "((a + b) * c)"),
        ("a > bool b + 1", "(a > (b + 1))"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn modifiers_bind_to_what_stands_before_them() {
    for (text, expected) in [
        ("a + b offset 5m", "(a + b offset 5m)"),
        ("-a offset 5m", "neg[a offset 5m]"),
        ("a offset 1m + 2", "(a offset 1m + 2)"),
        ("a offset -1m ^ 2", "(a offset -1m ^ 2)"),
        ("a offset (1m) + 2", "a offset (1m) + 2"),
        ("a offset -(1m) * 2", "(a offset -(1m) * 2)"),
        ("a offset step() * 2", "(a offset step() * 2)"),
        ("a @ 1 offset 5m", "a @ 1.000 offset 5m"),
        ("a offset 5m @ end()", "a @ end() offset 5m"),
        ("a offset 0s offset 5m", "a offset 5m"),
        ("rate(a[5m:] @ start() offset 1w)", "rate(a[5m:] @ start() offset 1w)"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn every_expression_knows_its_place() {
    assert_eq!(places(" a + sum( b ) "), ["a + sum( b )", "a", "sum( b )", "b"]);
    assert_eq!(places("sum (a) by (b)"), ["sum (a) by (b)", "a"]);
    assert_eq!(places("-(a)"), ["-(a)", "(a)", "a"]);
    assert_eq!(places("- 1"), ["- 1"]);
    let range = "rate(a{b=\"c\"} [5m] offset 1m)";
    assert_eq!(places(range), [range, "a{b=\"c\"} [5m] offset 1m", "a{b=\"c\"}"]);
    assert_eq!(places("max_over_time((a)[1h:1m] @ 5)")[1..], ["(a)[1h:1m] @ 5", "(a)", "a"]);
    assert_eq!(places("topk(3, a)"), ["topk(3, a)", "3", "a"]);
}

#[test]
fn keywords_are_names_where_nothing_else_can_stand() {
    for text in [
        "sum",
        "by",
        "and and or",
        "offset offset 5m",
        "start",
        "max_of{a=\"b\"}",
        "fill + fill",
        "sum by (sum, on, by, atan2) (sum)",
        "anchored anchored",
        "{sum=\"a\", by=\"b\"}",
    ] {
        read(text);
    }
    for text in ["bool", "on", "atan2", "group_left", "sum by (without) (a)"] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_selector_has_its_name_last() {
    let Node::Selector(selector) = read("a{b!=\"c\", \"d.e\"=~'f', }").node else { panic!() };
    assert_eq!(selector.name.as_deref(), Some("a"));
    let matchers: Vec<_> = selector.matchers.iter().map(|m| (&*m.name, m.op, &*m.value)).collect();
    assert_eq!(
        matchers,
        [
            ("b", MatchOp::NotEqual, "c"),
            ("d.e", MatchOp::Matches, "f"),
            ("__name__", MatchOp::Equal, "a"),
        ]
    );
    let Node::Selector(selector) = read("{\"a.b\", c=\"d\"}").node else { panic!() };
    assert_eq!(selector.name, None);
    assert_eq!(selector.matchers[0], LabelMatcher::equal("__name__", "a.b"));
}

#[test]
fn series_match_as_the_modifiers_say() {
    let matching = |text: &str| match read(text).node {
        Node::Binary(binary) => binary.matching,
        _ => None,
    };
    assert_eq!(matching("a + 1"), None);
    assert_eq!(matching("1 + 1"), None);
    assert_eq!(matching("a and b").unwrap().cardinality, Cardinality::ManyToMany);
    assert_eq!(matching("a + b"), Some(Default::default()));
    let full = matching("a > bool on (c) group_left (d, 'e f') fill_right(-1) fill_left(2) b");
    let full = full.unwrap();
    assert_eq!(full.cardinality, Cardinality::ManyToOne);
    assert!(full.is_on);
    assert_eq!((full.labels, full.include), (vec!["c".to_owned()], vec!["d".into(), "e f".into()]));
    assert_eq!((full.fill_left, full.fill_right), (Some(2.0), Some(-1.0)));
    let both = matching("a + ignoring (c) fill (5m) b").unwrap();
    assert_eq!((both.is_on, both.fill_left, both.fill_right), (false, Some(300.0), Some(300.0)));
}

#[test]
fn times_and_edges_are_kept() {
    let Node::Selector(selector) = read("a @ -1.5 offset 5m anchored").node else { panic!() };
    assert_eq!(selector.shift.at, Some(At::Time(-1500)));
    assert_eq!(selector.edges, Edges::Anchored);
    let Node::Range(range) = read("a[5m] smoothed @ end()").node else { panic!() };
    assert_eq!((range.selector.shift.at, range.selector.edges), (Some(At::End), Edges::Smoothed));
}

#[test]
fn durations_are_computed_everywhere() {
    let text = "a[1m + step() * 2 : max_of(range(), -5) % 3] offset (-step() ^ 2)";
    let Node::Subquery(subquery) = read(text).node else { panic!() };
    assert_eq!(subquery.range.span.of(text), "1m + step() * 2");
    assert!(matches!(subquery.range.node, DurationNode::Binary(..)));
    assert!(matches!(subquery.step.unwrap().node, DurationNode::Binary(..)));
    let offset = subquery.shift.offset.unwrap();
    // Prometheus leaves out the parentheses.
    assert_eq!(offset.span.of(text), "-step() ^ 2");
    let Node::Range(range) = read("a[step()]").node else { panic!() };
    assert_eq!(range.range.node, DurationNode::Step);
    read("a[step():step()]");
}

#[test]
fn what_is_nested_deeply_is_refused_and_not_overflown() {
    for (before, after) in
        [("(", ")"), ("-", ""), ("abs(", ")"), ("sum(", ")"), ("a^", ""), ("-(", ")")]
    {
        let deep = |times: usize| format!("{}a{}", before.repeat(times), after.repeat(times));
        read(&deep(100));
        let error = parse(&deep(100_000)).unwrap_err();
        assert!(error.message.contains("nested too deeply"), "{before}: {error}");
    }
    let long = read(&format!("{}a", "a + ".repeat(MAX_HEIGHT - 1)));
    assert_eq!(long.to_string().len(), 4 * (MAX_HEIGHT - 1) + 1);
    assert!(crate::print::pretty(&long).len() > long.to_string().len());
    let error = parse(&format!("{}a", "a + ".repeat(100_000))).unwrap_err();
    assert!(error.message.contains("too complex"), "{error}");
    let error = parse(&format!("a[{}1]", "1 + ".repeat(1000))).unwrap_err();
    assert!(error.message.contains("too complex"), "{error}");
    let error = parse(&format!("a[{}1{}]", "(".repeat(1000), ")".repeat(1000))).unwrap_err();
    assert!(error.message.contains("too complex"), "{error}");
    let error = parse(&"a".repeat(MAX_QUERY_BYTES + 1)).unwrap_err();
    assert!(error.message.contains("too long"), "{error}");
}

#[test]
fn a_selector_alone_is_read_for_the_api() {
    assert_eq!(parse_selector("up").unwrap().len(), 1);
    assert_eq!(parse_selector("{}").unwrap().len(), 0);
    assert_eq!(parse_selector("a{b=~\"c\"}").unwrap().len(), 2);
    for text in ["", "a[5m]", "a offset 5m", "sum(a)", "1", "a b"] {
        assert!(parse_selector(text).is_err(), "{text}");
    }
}

#[test]
fn the_labels_of_a_series_are_read() {
    let read = |text| parse_metric(text).map(|labels| labels.to_string());
    assert_eq!(read("a{b=\"c\"}").unwrap(), r#"{__name__="a", b="c"}"#);
    assert_eq!(read("{\"a.b\", \"c d\"='e',}").unwrap(), r#"{__name__="a.b", "c d"="e"}"#);
    assert_eq!(read("{}").unwrap(), "{}");
    let error = read("a{b!=\"c\"}").unwrap_err().message;
    assert_eq!(error, "unexpected <op:!=> in label set, expected \"=\"");
}

#[test]
fn parentheses_around_parentheses_of_durations_are_not_kept() {
    assert_eq!(read("a[((5m))]").to_string(), "a[(5m)]");
}
