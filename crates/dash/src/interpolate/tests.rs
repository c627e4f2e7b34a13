//! Every form and every format, with one value, several and all.

use super::interval::{
    LONGEST_MILLIS, interval, parse, prometheus_step, rate_interval, rounded, short,
};
use super::*;

fn context() -> Context {
    let list = |values: &[&str]| Held {
        values: values.iter().map(|value| Choice::plain(*value)).collect(),
        is_list: true,
        is_array: true,
        ..Held::default()
    };
    let all = Held { is_all: true, ..list(&["x", "y"]) };
    let custom = Held { all_value: Some(".*".to_owned()), ..all.clone() };
    let named = Held {
        values: vec![Choice { text: "Production".to_owned(), value: "prod-1".to_owned() }],
        ..Held::default()
    };
    let variables = [
        ("one", Held::one("a.b")),
        ("single", list(&["a.b"])),
        ("several", list(&["a.b", "c'd"])),
        ("all", all),
        ("custom", custom),
        ("named", named),
        ("none", list(&[])),
    ];
    Context {
        variables: variables.into_iter().map(|(name, held)| (name.to_owned(), held)).collect(),
        time: TimeRange { from_millis: 1_594_671_549_254, to_millis: 1_594_675_149_254 },
        interval_millis: 30_000,
        rate_interval_millis: 60_000,
        dashboard: ("GPUs".to_owned(), "gpu".to_owned()),
        user: "ann".to_owned(),
        ..Context::default()
    }
}

#[track_caller]
fn filled(text: &str, style: Style, expected: &str) {
    assert_eq!(context().fill(text, style), expected, "{text}");
}

#[test]
fn all_forms_are_put_in_and_unknown_names_stay() {
    filled("$one ${one} [[one]] ${one:raw}", Style::Glob, "a.b a.b a.b a.b");
    filled(
        "$other ${other:csv} [[other]] $1 ${__value.raw}",
        Style::Glob,
        "$other ${other:csv} [[other]] $1 ${__value.raw}",
    );
    filled(
        "${named} ${named:text} ${named.text} $named",
        Style::Glob,
        "prod-1 Production Production prod-1",
    );
}

#[test]
fn each_language_gets_its_own_writing() {
    filled("{a=~\"$several\"}", Style::Promql, r#"{a=~"(a\\.b|c'd)"}"#);
    filled("{a=~\"$single\"}", Style::Promql, r#"{a=~"a\\.b"}"#);
    filled("{a=\"$one\"}", Style::Promql, r#"{a="a.b"}"#);
    filled("{a=~\"$several\"}", Style::Logql, r#"{a=~"(a\\.b|c'd)"}"#);
    filled("{ .a =~ \"$several\" }", Style::Traceql, r#"{ .a =~ "a\\.b|c'd" }"#);
    filled("a IN ($several)", Style::Sql, "a IN ('a.b','c''d')");
    filled("a = '$one'", Style::Sql, "a = 'a.b'");
    filled("a IN ($none) OR b IN (${none:sqlstring})", Style::Sql, "a IN (NULL) OR b IN (NULL)");
    filled("$several", Style::Text, "a.b + c'd");
    filled("$several", Style::Glob, "{a.b,c'd}");
}

#[test]
fn quotes_and_backslashes_cannot_end_a_text_of_a_language() {
    let mut context = context();
    context.variables.insert("v".to_owned(), Held::one("a\"} or vector(1) #\\"));
    assert_eq!(context.fill("\"$v\"", Style::Promql), r#""a\"} or vector(1) #\\""#);
    context.variables.insert("v".to_owned(), Held::one("'; x"));
    assert_eq!(context.fill("'$v'", Style::Sql), "'''; x'");
}

#[test]
fn a_value_is_escaped_within_quotes_and_a_part_of_the_query_elsewhere() {
    let mut context = context();
    let list = |values: &[&str]| Held {
        values: values.iter().map(|value| Choice::plain(*value)).collect(),
        is_list: true,
        ..Held::default()
    };
    for (name, held) in [
        ("filter", Held::one("job=\"api\", x=~\"a\\\\d\"")),
        ("listed", list(&["sum(rate(a{b=\"c\"}[5m]))"])),
        ("sly", Held::one("x\"} or vector(1) #")),
        ("tick", Held::one("x`} or vector(1) #")),
        ("ticks", list(&["a`.b"])),
        ("open", Held::one("job=\"")),
        ("slash", Held::one("\\")),
    ] {
        context.variables.insert(name.to_owned(), held);
    }
    for style in [Style::Promql, Style::Logql] {
        for (text, expected) in [
            ("up{$filter}", r#"up{job="api", x=~"a\\d"}"#),
            ("$listed / 2", r#"sum(rate(a{b="c"}[5m])) / 2"#),
            (r#"{a="$sly"}"#, r#"{a="x\"} or vector(1) #"}"#),
            ("{a=`$tick`}", r"{a=`x\x60} or vector(1) #`}"),
            ("{a=~`$ticks`, b=~`$several`}", r"{a=~`a\x60\.b`, b=~`(a\.b|c'd)`}"),
            // What a value opens is open.
            (r#"{$open$sly"}"#, r#"{job="x\"} or vector(1) #"}"#),
            // Neither backslash takes the other's place.
            (
                r#"{a="\$sly", b="$slash", c="$sly"}"#,
                r#"{a="\\x\"} or vector(1) #", b="\\", c="x\"} or vector(1) #"}"#,
            ),
            ("# it's\n{$filter}", "# it's\n{job=\"api\", x=~\"a\\\\d\"}"),
        ] {
            assert_eq!(context.fill(text, style), expected, "{text}");
        }
    }
    assert_eq!(context.fill("{a='$several'}", Style::Promql), r"{a='(a\\.b|c\'d)'}");
    assert_eq!(context.fill("{ $open$sly\" }", Style::Traceql), r#"{ job="x\"} or vector(1) #" }"#);
}

#[test]
fn links_go_on_with_the_time_as_it_is_written() {
    let written_time = Some(("now/d".to_owned(), "now".to_owned()));
    let context = Context { written_time, ..context() };
    assert_eq!(context.fill("${__url_time_range}", Style::Glob), "from=now%2Fd&to=now");
}

#[test]
fn all_is_all_values_or_what_the_author_wrote() {
    filled("$all", Style::Promql, "(x|y)");
    filled("$custom", Style::Promql, ".*");
    filled("${custom:regex}", Style::Promql, ".*");
    filled("$custom", Style::Text, "All");
    filled("${all:text}", Style::Glob, "All");
    filled("${custom:queryparam}", Style::Glob, "var-custom=%24__all");
}

#[test]
fn every_format_is_written_as_grafana_does() {
    for (format, expected) in [
        ("csv", "a.b,c'd"),
        ("raw", "a.b,c'd"),
        ("join", "a.b,c'd"),
        ("join: or ", "a.b or c'd"),
        ("pipe", "a.b|c'd"),
        ("text", "a.b + c'd"),
        ("json", r#"["a.b","c'd"]"#),
        ("regex", r"(a\.b|c'd)"),
        ("lucene", r#"("a.b" OR "c'd")"#),
        ("singlequote", r"'a.b','c\'d'"),
        ("doublequote", r#""a.b","c'd""#),
        ("sqlstring", "'a.b','c''d'"),
        ("html", "a.b, c&#39;d"),
        ("percentencode", "%7Ba.b%2Cc%27d%7D"),
        ("uriencode", "%7Ba.b,c%27d%7D"),
        ("queryparam", "var-several=a.b&var-several=c%27d"),
        ("customqueryparam", "several=a.b&several=c%27d"),
        ("customqueryparam:v:x-", "v=x-a.b&v=x-c%27d"),
        ("distributed", "a.b,several=c'd"),
        ("glob", "{a.b,c'd}"),
        ("unheard-of", "{a.b,c'd}"),
    ] {
        filled(&format!("${{several:{format}}}"), Style::Promql, expected);
    }
    filled("${one:regex} ${single:regex}", Style::Glob, r"a\.b a\.b");
    filled("${one:json} ${single:json}", Style::Glob, r#"a.b ["a.b"]"#);
    filled("${one:percentencode} ${single:percentencode}", Style::Glob, "a.b %7Ba.b%7D");
    filled("${one:lucene}|${none:lucene}", Style::Glob, "a.b|__empty__");
}

#[test]
fn time_and_surroundings_can_be_named() {
    for (text, expected) in [
        ("$__from $__to", "1594671549254 1594675149254"),
        ("${__from:date}", "2020-07-13T20:19:09.254Z"),
        ("${__from:date:iso}", "2020-07-13T20:19:09.254Z"),
        ("${__from:date:seconds}", "1594671549"),
        ("${__from:date:ms}", "1594671549254"),
        ("${__to:date:YYYY-MM}", "2020-07"),
        ("$__interval $__interval_ms", "30s 30000"),
        ("[$__rate_interval]", "[1m]"),
        ("$__range $__range_s $__range_ms", "3600s 3600 3600000"),
        ("${__dashboard} ${__dashboard.uid}", "GPUs gpu"),
        ("${__user.login}", "ann"),
        ("${__url_time_range}", "from=1594671549254&to=1594675149254"),
    ] {
        filled(text, Style::Promql, expected);
    }
}

#[test]
fn scoped_values_go_before_the_variables() {
    let mut context = context();
    context.scoped.insert("several".to_owned(), Held::one("only"));
    assert_eq!(context.fill("$several", Style::Promql), "only");
}

#[test]
fn a_value_that_names_itself_ends() {
    let mut context = context();
    let all_value = Some("$loop$loop".to_owned());
    context
        .variables
        .insert("loop".to_owned(), Held { is_all: true, all_value, ..Held::default() });
    assert!(context.fill("$loop", Style::Glob).len() < 10_000);
}

#[test]
fn intervals_are_grafanas() {
    assert_eq!(
        [9, 12, 100, 14_000, 80_000, 6_000_000_000].map(rounded),
        [1, 10, 100, 15_000, 60_000, 365 * 86_400_000]
    );
    assert_eq!(interval(3_600_000, 1_000, 1), 5_000);
    assert_eq!(interval(3_600_000, 1_000, 15_000), 15_000);
    assert_eq!(interval(6 * 3_600_000, 0, 1), 21_600_000);
    assert_eq!(rate_interval(15_000, 15_000), 60_000);
    assert_eq!(rate_interval(120_000, 15_000), 135_000);
    assert_eq!(prometheus_step(1_000, 1, 86_400_000), 8_000);
    assert_eq!(prometheus_step(15_000, 2, 3_600_000), 30_000);
    assert_eq!(
        [1, 1_500, 60_000, 90_000, 3_600_000, 86_400_000].map(short),
        ["1ms", "1500ms", "1m", "90s", "1h", "1d"].map(str::to_owned)
    );
    assert_eq!(parse("1h30m"), Some(5_400_000));
    assert_eq!(
        [parse(">10s"), parse("15"), parse("1M"), parse(""), parse("x"), parse("-5s"), parse("5q")],
        [Some(10_000), Some(15_000), Some(2_592_000_000), None, None, None, None]
    );
    assert_eq!(parse("100y"), Some(100 * 365 * 86_400_000));
    // As nanoseconds, these would be no numbers any more.
    assert_eq!([parse("300y"), parse("10000000000s"), parse("1e300")], [None, None, None]);
    assert!(LONGEST_MILLIS.checked_mul(1_000_000).is_some());
}

#[test]
fn values_within_marked_texts_are_told_from_what_is_around() {
    let mut context = context();
    let sly = format!("<h1>{VALUE_ENDS}# x{VALUE_BEGINS}");
    context.variables.insert("sly".to_owned(), Held::one(sly));
    let fill = |text: &str| {
        let filled = context.fill(text, Style::Marked);
        filled.replace(VALUE_BEGINS, "⟨").replace(VALUE_ENDS, "⟩")
    };
    assert_eq!(fill("# $named, $several"), "# ⟨Production⟩, ⟨a.b + c'd⟩");
    assert_eq!(fill("<b>$sly</b> $other"), "<b>⟨<h1># x⟩</b> $other");
    assert_eq!(
        fill("${several:html} ${several:queryparam}"),
        "⟨a.b, c'd⟩ ⟨var-several=a.b&var-several=c%27d⟩"
    );
    assert_eq!(fill("${custom:raw} $custom"), "⟨.*⟩ ⟨All⟩");
}

#[test]
fn values_that_name_each_other_take_a_bounded_number_of_steps() {
    let all = |text: String| Held { is_all: true, all_value: Some(text), ..Held::default() };
    let mut variables: BTreeMap<String, Held> = (1..8)
        .map(|nth| (format!("v{nth}"), all(format!("${{v{}}}", nth + 1).repeat(100))))
        .collect();
    variables.insert("v8".to_owned(), all(String::new()));
    let context = Context { variables, ..Context::default() };
    let before = std::time::Instant::now();
    let filled = context.fill("$v1", Style::Glob);
    assert!(before.elapsed().as_secs() < 5);
    assert!(filled.starts_with("${v"), "what there were no steps for stays");
    assert_eq!(context.fill("a $v7 b", Style::Glob), "a  b");
}

#[test]
fn all_texts_of_an_answer_share_their_room() {
    let mut context = context();
    let long = "x".repeat(crate::limits::MAX_INTERPOLATED_BYTES);
    context.variables.insert("long".to_owned(), Held::one(long.as_str()));
    let clone = context.clone();
    let texts = crate::limits::MAX_ANSWER_INTERPOLATED_BYTES / long.len();
    for _ in 0..texts {
        assert_eq!(clone.fill("$long", Style::Glob).len(), long.len());
    }
    assert_eq!(context.fill("$one", Style::Glob), "$one");
    assert_eq!(Context::default().fill("a", Style::Glob), "a");
}

#[test]
fn a_value_in_a_regular_expression_is_a_text_that_it_finds() {
    let fill = |text: &str| context().fill(text, Style::Regex);
    assert_eq!(fill("/^$one-/"), r"/^a\.b-/");
    assert_eq!(fill("/$several/"), r"/(a\.b|c'd)/");
}

#[test]
fn members_of_values_are_written_by_their_names() {
    let zone = BTreeMap::from([("zone".to_owned(), "eu-1".to_owned())]);
    let members = Arc::new(Members::from([("eu".to_owned(), zone)]));
    let choice = Choice { text: "Europe".to_owned(), value: "eu".to_owned() };
    let held = Held { values: vec![choice], members, ..Held::default() };
    let variables = [("v".to_owned(), held)].into();
    let context = Context { variables, ..Context::default() };
    let text = "${v.zone} ${v.text} ${v.value} ${v.other} ${v.zone:doublequote}";
    assert_eq!(context.fill(text, Style::Glob), "eu-1 Europe eu eu \"eu-1\"");
    assert_eq!(context.fill("${v.zone}", Style::Text), "eu-1");
}
