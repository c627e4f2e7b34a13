use super::*;
use crate::parser::parse;

fn printed(text: &str) -> String {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

#[test]
fn queries_are_printed_in_one_form() {
    for (text, expected) in [
        ("SUM(a) BY (b,c)", "sum by (b, c) (a)"),
        ("sum by () (a)", "sum(a)"),
        ("sum without () (a)", "sum without () (a)"),
        ("topk by ('x y') (3,a)", "topk by (\"x y\") (3, a)"),
        ("a{c='d',b!=\"e\"}", "a{b!=\"e\",c=\"d\"}"),
        ("{__name__='a'}", "{__name__=\"a\"}"),
        ("{'a.b','c.d'='e'}", "{\"c.d\"=\"e\",__name__=\"a.b\"}"),
        ("a[300]", "a[5m]"),
        ("a[90m:] offset -1h", "a[1h30m:] offset -1h"),
        ("a[5m] offset 1h @ 1.5", "a[5m] @ 1.500 offset 1h"),
        ("a offset 1h anchored @ end()", "a @ end() anchored offset 1h"),
        ("a[(5)+2m]", "a[(5) + 2m]"),
        ("a offset +step()", "a offset step()"),
        ("a + ignoring () b", "a + b"),
        ("a + on() group_right b", "a + on () group_right () b"),
        (
            "a > bool on(c) fill_left(1e22) fill_right(0.00001) b",
            "a > bool on (c) fill_left (1e+22) fill_right (1e-05) b",
        ),
        ("a + fill(2) b", "a + fill (2) b"),
        ("1e3 + 0x1F", "1000 + 31"),
        ("-inf", "-Inf"),
        ("inf", "+Inf"),
        ("5m", "5m"),
        ("-5m", "-5m"),
    ] {
        assert_eq!(printed(text), expected, "{text}");
    }
    assert_eq!(printed("'a\"\\n'"), r#""a\"\n""#);
}

#[test]
fn long_queries_are_split_and_short_ones_are_not() {
    let lines = |text: &str| pretty(&parse(text).unwrap());
    assert_eq!(lines("sum  (a)"), "sum(a)");
    let name = "a".repeat(60);
    assert_eq!(lines(&format!("{name}+on(b){name}")), format!("  {name}\n+ on (b)\n  {name}"));
    assert_eq!(
        lines(&format!("topk by(c)(3,abs({name}+{name}))")),
        format!("topk by (c) (\n  3,\n  abs(\n      {name}\n    +\n      {name}\n  )\n)")
    );
    assert_eq!(lines(&format!("-({name}+{name})")), format!("-(\n    {name}\n  +\n    {name}\n)"));
    let long = "a".repeat(120);
    assert_eq!(lines(&format!("rate({long}[5m])")), format!("rate(\n  {long}[5m]\n)"));
    assert_eq!(
        lines(&format!("max_over_time(abs({long})[5m:])")),
        format!("max_over_time(\n  abs(\n    {long}\n  )[5m:]\n)")
    );
}
