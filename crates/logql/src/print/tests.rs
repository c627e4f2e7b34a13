use super::*;
use crate::parser::parse;

fn printed(text: &str) -> String {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

#[test]
fn queries_are_printed_in_one_form() {
    for (text, expected) in [
        (
            r#"sum by(app)(rate({app="a",env="b"}|="x"[1m]))"#,
            r#"sum by (app)(rate({app="a", env="b"} |= "x"[1m]))"#,
        ),
        ("{a=`b`}|json # comment", r#"{a="b"} | json"#),
        (
            r#"{a="b"} | json x="y",z | logfmt --strict --keep-empty q"#,
            r#"{a="b"} | json x="y",z="z" | logfmt --strict --keep-empty q="q""#,
        ),
        (r#"{a="b"} | x=1 or y>2s and z<1KiB"#, r#"{a="b"} | ( x==1 or ( y>2s , z<1KiB ) )"#),
        (
            r#"{a="b"} |= "x" or ip("10.0.0.0/8") | drop a,b="c" | keep d"#,
            r#"{a="b"} |= "x" or ip("10.0.0.0/8") | drop a,b="c" | keep d"#,
        ),
        (
            r#"quantile_over_time(.5,{a="b"}[5m]|unwrap duration(d)|__error__="") by (x)"#,
            r#"quantile_over_time(0.5,{a="b"} | unwrap duration(d) | __error__=""[5m]) by (x)"#,
        ),
        (r#"rate(({a="b"}|="x")[90m] offset 1h)"#, r#"rate({a="b"} |= "x"[1h30m] offset 1h0m0s)"#),
        ("1 + 2 * 3", "7"),
        ("vector(1)+2^2^3", "(vector(1.000000) + 256)"),
        (
            r#"sum(rate({a="b"}[1m])) / on(x,y) group_left(z) vector(1) > bool 2"#,
            r#"((sum(rate({a="b"}[1m])) / on (x,y) group_left (z) vector(1.000000)) > bool 2)"#,
        ),
        (r#"topk(3,rate({a="b"}[1m]))without(x)"#, r#"topk without (x)(3,rate({a="b"}[1m]))"#),
        (
            r#"{a="b"}|line_format "{{.x}}"|label_format c=d,e="f"|decolorize|unpack"#,
            r#"{a="b"} | line_format "{{.x}}" | label_format c=d,e="f" | decolorize | unpack"#,
        ),
        (r#"{a="b"} | d = 90s"#, r#"{a="b"} | d==1m30s"#),
    ] {
        assert_eq!(printed(text), expected, "{text}");
        assert_eq!(printed(expected), expected, "{text}");
    }
}

#[test]
fn long_queries_are_split_and_short_ones_are_not() {
    let lines = |text: &str| pretty(&parse(text).unwrap());
    assert_eq!(lines(r#"{a="b"}|json"#), r#"{a="b"} | json"#);
    let long = "x".repeat(90);
    assert_eq!(
        lines(&format!(r#"{{a="b"}}|json|="{long}""#)),
        format!("{{a=\"b\"}}\n  | json\n  |= \"{long}\"")
    );
    assert_eq!(
        lines(&format!(r#"sum by(c,d)(rate({{a="b"}}|="{long}"|unwrap e[1m] offset 1h))*2"#)),
        format!(
            "  sum by (c, d)(\n    rate(\n      {{a=\"b\"}}\n        |= \"{long}\"\n        \
             | unwrap e [1m] offset 1h\n    )\n  )\n*\n  2"
        )
    );
}
