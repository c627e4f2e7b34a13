use std::sync::Arc;

use super::*;

fn answer(query: &str) -> Result<Vec<VectorSample>, String> {
    let sample = |instance: &str, value: f64| VectorSample {
        labels: Labels::of([("__name__", "up"), ("instance", instance)]),
        value: SampleValue::Float(value),
    };
    match query {
        "up" => Ok(vec![sample("b:1", 2.0), sample("a:1", 1.0)]),
        "nothing" => Ok(Vec::new()),
        other => Err(format!("no answer to {other}")),
    }
}

fn expand_with(text: &str, value: SampleValue) -> Result<String, String> {
    let labels = Labels::of([("instance", "host.example.com:9100"), ("job", "node exporter")]);
    let external_labels = BTreeMap::from([("region".to_owned(), "eu".to_owned())]);
    let sample = VectorSample { labels, value };
    let url = "http://kymo:1/prometheus/";
    let data = TemplateData::new(&sample, &external_labels, url, 1_435_065_584_128_000_000);
    let query = |text: String| -> BoxFuture<'_, _> { Box::pin(async move { answer(&text) }) };
    let template = Template::parse("A", text).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(template.expand(&data, &query)).map_err(|error| error.to_string())
}

fn expand(text: &str) -> Result<String, String> {
    expand_with(text, SampleValue::Float(1234.5))
}

#[test]
fn templates_give_what_prometheus_gives() {
    for (text, expected) in [
        ("plain", "plain"),
        ("{{ $labels.instance }}", "host.example.com:9100"),
        ("{{ .Labels.job }}/{{ $labels.none }}", "node exporter/"),
        ("{{ $value }} {{ .Value }}", "1234.5 1234.5"),
        ("{{ $externalLabels.region }} {{ $externalURL }}", "eu http://kymo:1/prometheus/"),
        ("{{ externalURL }} {{ pathPrefix }}", "http://kymo:1/prometheus/ /prometheus"),
        ("a {{- 1 -}} b", "a1b"),
        ("a {{/* no */}} b", "a  b"),
        ("a {{- /* no */ -}} b", "ab"),
        ("{{ `raw \\n` }}{{ \"q\\t\\\"\" }}{{ 'a' }}", "raw \\nq\t\"97"),
        ("{{ 0x10 }} {{ 1e3 }} {{ -2 }} {{ 1_000 }} {{ 1.5 }}", "16 1000 -2 1000 1.5"),
        ("{{ $value | humanize }}", "1.234k"),
        ("{{ humanize 0.0000000123 }}", "12.3n"),
        ("{{ humanize 1234567 }} {{ humanize 0 }} {{ humanize \"1e10\" }}", "1.235M 0 10G"),
        (
            "{{ humanize1024 1048576 }} {{ humanize1024 0.5 }} {{ humanize1024 -2048 }}",
            "1Mi 0.5 -2ki",
        ),
        (
            "{{ humanizeDuration 0 }} {{ humanizeDuration 1 }} {{ humanizeDuration 60 }}",
            "0s 1s 1m 0s",
        ),
        ("{{ humanizeDuration 3600 }} {{ humanizeDuration 86400 }}", "1h 0m 0s 1d 0h 0m 0s"),
        ("{{ humanizeDuration -90061 }} {{ humanizeDuration 0.0123 }}", "-1d 1h 1m 1s 12.3ms"),
        ("{{ humanizeDuration 59.99 }} {{ humanizeDuration \"61\" }}", "59.99s 1m 1s"),
        ("{{ humanizePercentage 0.12345 }} {{ 1 | humanizePercentage }}", "12.35% 100%"),
        ("{{ humanizeTimestamp 1435065584.1289 }}", "2015-06-23 13:19:44.128 +0000 UTC"),
        ("{{ (1435065584.128 | toTime).Year }}", "2015"),
        (
            "{{ (toTime 1435065584).Format \"02 Jan 06 15:04:05.000 MST\" }}",
            "23 Jun 15 13:19:44.000 UTC",
        ),
        ("{{ (toTime 1435065584).Weekday }} {{ (toTime 1435065584).Month }}", "Tuesday June"),
        ("{{ toDuration 3723.5 }} {{ toDuration 0.001 }}", "1h2m3.5s 1ms"),
        ("{{ now | printf \"%.3f\" }}", "1435065584.128"),
        ("{{ parseDuration \"1h30m\" }}", "5400"),
        ("{{ title \"aa bb cC\" }} {{ toUpper \"aB\" }} {{ toLower \"aB\" }}", "Aa Bb CC AB ab"),
        ("{{ match \"a+\" \"baab\" }} {{ match \"^a\" \"ba\" }}", "true false"),
        ("{{ reReplaceAll \"(a)b\" \"x$1\" \"abcab\" }}", "xacxa"),
        ("{{ $labels.instance | reReplaceAll \":.*\" \"\" }}", "host.example.com"),
        (
            "{{ stripPort \"a.b:80\" }} {{ stripPort \"[::1]:80\" }} {{ stripPort \"a\" }}",
            "a.b ::1 a",
        ),
        (
            "{{ stripDomain \"a.b.c:80\" }} {{ stripDomain \"a.b\" }} {{ stripDomain \"1.2.3.4:5\" }}",
            "a:80 a 1.2.3.4:5",
        ),
        ("{{ urlQueryEscape \"a b/c\" }}", "a+b%2Fc"),
        ("{{ graphLink \"up == 0\" }}", "/graph?g0.expr=up+%3D%3D+0&g0.tab=0"),
        ("{{ tableLink \"up\" }}", "/graph?g0.expr=up&g0.tab=1"),
        ("{{ query \"up\" | first | value }}", "2"),
        ("{{ query \"up\" | sortByLabel \"instance\" | first | label \"instance\" }}", "a:1"),
        ("{{ range query \"up\" }}{{ .Labels.instance }}={{ .Value }};{{ end }}", "b:1=2;a:1=1;"),
        (
            "{{ range $i, $s := query \"up\" }}{{ $i }}{{ $s.Labels.instance }} {{ end }}",
            "0b:1 1a:1 ",
        ),
        ("{{ range query \"nothing\" }}x{{ else }}none{{ end }}", "none"),
        (
            "{{ range $k, $v := $labels }}{{ $k }}:{{ $v }},{{ end }}",
            "instance:host.example.com:9100,job:node exporter,",
        ),
        (
            "{{ range 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}",
            "02",
        ),
        ("{{ with query \"up\" }}{{ . | first | value | humanize }}{{ end }}", "2"),
        ("{{ with query \"nothing\" }}x{{ else }}y{{ end }}", "y"),
        ("{{ with $labels.none }}x{{ else with $labels.job }}{{ . }}{{ end }}", "node exporter"),
        ("{{ if gt $value 1000.0 }}big{{ else }}small{{ end }}", "big"),
        ("{{ if lt $value 1.0 }}a{{ else if le $value 1234.5 }}b{{ else }}c{{ end }}", "b"),
        ("{{ if and (eq $labels.job \"x\" \"node exporter\") (not false) }}yes{{ end }}", "yes"),
        ("{{ or \"\" $labels.none \"z\" }} {{ and 1 0 2 }}", "z 0"),
        ("{{ if or true (first nil) }}short{{ end }}", "short"),
        ("{{ ne 1 2 }} {{ ge \"b\" \"a\" }} {{ eq 1.0 1.0 }}", "true true true"),
        ("{{ len $labels }} {{ len \"abc\" }} {{ len (query \"up\") }}", "2 3 2"),
        ("{{ index $labels \"job\" }} {{ (index (query \"up\") 1).Value }}", "node exporter 1"),
        ("{{ slice \"abcd\" 1 3 }} {{ len (slice (query \"up\") 1) }}", "bc 1"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", "1"),
        (
            "{{ define \"t\" }}<{{ .arg0 }}|{{ .arg1 }}>{{ end }}{{ template \"t\" (args 1 \"b\") }}",
            "<1|b>",
        ),
        ("{{ define \"t\" }}{{ .none }}{{ end }}{{ template \"t\" (args) }}", "<no value>"),
        ("{{ block \"b\" 3 }}[{{ . }}]{{ end }}", "[3]"),
        ("{{ print 1 2 \"a\" 3 }}{{ println \"x\" 1 }}", "1 2a3x 1\n"),
        (
            "{{ $labels }} {{ args 1 2 }}",
            "map[instance:host.example.com:9100 job:node exporter] map[arg0:1 arg1:2]",
        ),
        ("{{ true }} {{ 1e300 }} {{ 1000000.0 }}", "true 1e+300 1e+06"),
        ("100%", "100%"),
        ("{{\"{{\"}} }} {", "{{ }} {"),
    ] {
        assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn printf_is_that_of_go() {
    for (arguments, expected) in [
        ("\"%s %v %d\" \"a\" 1.5 3", "a 1.5 3"),
        ("\"%.2f %f %6.1f|%-6.1f|\" 1.005 2.0 3.14 3.14", "1.00 2.000000    3.1|3.1   |"),
        (
            "\"%e %.1E %g %.3g\" 12345.678 12345.678 1e21 0.00012345",
            "1.234568e+04 1.2E+04 1e+21 0.000123",
        ),
        (
            "\"%q %x %X %5s|%-5s|%.2s\" \"a\\\"b\" \"hi\" 255 \"ab\" \"ab\" \"abc\"",
            "\"a\\\"b\" 6869 FF    ab|ab   |ab",
        ),
        ("\"%05d %+d %x %o %b %c %t\" 42 42 255 8 5 65 true", "00042 +42 ff 10 101 A true"),
        ("\"%d%%\" 5", "5%"),
        ("\"%d\" 1.5", "%!d(float64=1.5)"),
        ("\"%s\" 5", "%!s(int=5)"),
        ("\"%f\" \"x\"", "%!f(string=x)"),
        ("\"%d %d\" 1", "1 %!d(MISSING)"),
        ("\"%d\" 1 \"b\" 2", "1%!(EXTRA string=b, int=2)"),
        ("\"%T %v\" 1.0 $labels.job", "float64 node exporter"),
        ("\"%*d|%\" 4 7", "   7|%!(NOVERB)"),
    ] {
        let text = format!("{{{{ printf {arguments} }}}}");
        assert_eq!(expand(&text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn templates_that_do_not_parse_are_refused_with_their_line() {
    for (text, expected) in [
        ("{{ $x }}", "1: undefined variable \"$x\""),
        ("a\n{{ nofunc 1 }}", "2: function \"nofunc\" not defined"),
        ("{{ if true }}", "1: unexpected EOF"),
        ("{{ end }}", "1: unexpected {{end}}"),
        ("{{ else }}", "1: unexpected {{else}}"),
        ("{{", "1: unclosed action"),
        ("{{ }}", "1: missing value for command"),
        ("{{ \"a }}", "1: unterminated quoted string"),
        ("{{ (1 }}", "1: unexpected <}}> in parenthesized pipeline"),
        ("{{ 1 | 2 }}", "1: non executable command in pipeline stage 2"),
        ("{{ @ }}", "1: unrecognized character in action: U+0040 '@'"),
        ("{{ break }}", "1: {{break}} outside {{range}}"),
        ("{{/* a }}", "1: unclosed comment"),
    ] {
        let expected = format!("error parsing template __alert_A: template: __alert_A:{expected}");
        assert_eq!(expand(text), Err(expected), "{text}");
    }
    let deep = format!("{}1{}", "{{ ".to_owned() + &"(".repeat(500), ")".repeat(500) + " }}");
    assert!(expand(&deep).unwrap_err().contains("nested more than"));
}

#[test]
fn what_goes_wrong_while_running_is_told_with_its_place() {
    let at = PRELUDE.len();
    for (text, expected) in [
        (
            "{{ .Nope }}",
            format!("1:{}: executing \"__alert_A\" at <.Nope>: can't evaluate field Nope in type struct", at + 3),
        ),
        (
            "\n{{ humanize \"a\" }}",
            "2:3: executing \"__alert_A\" at <humanize>: error calling humanize: strconv.ParseFloat: \
             parsing \"a\": invalid syntax"
                .to_owned(),
        ),
        (
            "\n{{ query \"bad\" }}",
            "2:3: executing \"__alert_A\" at <query>: error calling query: no answer to bad".to_owned(),
        ),
        (
            "\n{{ query \"nothing\" | first }}",
            "2:21: executing \"__alert_A\" at <first>: error calling first: first() called on vector \
             with no elements"
                .to_owned(),
        ),
        (
            "\n{{ gt $value 5 }}",
            "2:3: executing \"__alert_A\" at <gt>: error calling gt: incompatible types for comparison"
                .to_owned(),
        ),
        ("\n{{ toUpper 1 }}", "2:3: executing \"__alert_A\" at <toUpper>: wrong type for value; expected string; got int".to_owned()),
        ("\n{{ toUpper }}", "2:3: executing \"__alert_A\" at <toUpper>: wrong number of args for toUpper: want 1 got 0".to_owned()),
        ("\n{{ template \"x\" }}", "2:0: executing \"__alert_A\" at <>: template \"x\" not defined".to_owned()),
        ("\n{{ match \"(\" \"a\" }}", "2:3: executing \"__alert_A\" at <match>: error calling match: error parsing regexp: ".to_owned()),
        ("\n{{ call 1 }}", "2:3: executing \"__alert_A\" at <call>: error calling call: not supported in alerts".to_owned()),
    ] {
        let found = expand(text).unwrap_err();
        let expected = format!("error executing template __alert_A: template: __alert_A:{expected}");
        assert!(found.starts_with(&expected), "{text}: {found}");
    }
}

#[test]
fn templates_end() {
    let forever = "{{ define \"t\" }}{{ template \"t\" . }}{{ end }}{{ template \"t\" 1 }}";
    assert!(expand(forever).unwrap_err().contains("exceeded maximum template depth"));
    let long = "{{ range 1000000000 }}{{ end }}";
    assert!(expand(long).unwrap_err().contains("steps"));
    let wide = "{{ range 100000 }}{{ printf \"%200d\" . }}{{ end }}";
    assert!(expand(wide).unwrap_err().contains("bytes"));
    let doubled = "{{ $x := \"ab\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}";
    assert!(expand(doubled).unwrap_err().contains("bytes"));
    let nested = "{{ $x := args 1 }}{{ range 40 }}{{ $x = args $x $x }}{{ end }}{{ $x }}";
    assert!(expand(nested).unwrap_err().contains("bytes"));
    let deeper = "{{ $x := args 1 }}{{ range 90 }}{{ $x = args $x }}{{ end }}";
    assert!(expand(deeper).unwrap_err().contains("within each other"));
    let many = "{{ range 100 }}{{ if query (printf \"up%d\" .) }}{{ end }}{{ end }}";
    assert!(expand(many).is_err());
}

#[test]
fn special_values_and_histograms_have_their_text() {
    assert_eq!(
        expand_with("{{ $value | humanize }}", SampleValue::Float(f64::NAN)).unwrap(),
        "NaN"
    );
    let infinite = SampleValue::Float(f64::INFINITY);
    let text = "{{ $value }} {{ humanizeTimestamp $value }} {{ printf \"%.1f\" $value }}";
    assert_eq!(expand_with(text, infinite).unwrap(), "+Inf +Inf +Inf");
    let histogram = SampleValue::Histogram(Arc::default());
    assert_eq!(expand_with("{{ $value }}", histogram).unwrap(), "{count:0, sum:0}");
}

#[test]
fn no_text_makes_a_template_panic() {
    let parts = [
        "{{",
        "}}",
        "{{-",
        "-}}",
        " ",
        "$",
        "$x",
        ":=",
        "=",
        "|",
        "(",
        ")",
        ".",
        ".Labels",
        "if",
        "else",
        "end",
        "range",
        "with",
        "define",
        "template",
        "block",
        "break",
        "\"é\"",
        "\"",
        "`",
        "'a'",
        "'",
        "1",
        "-",
        "0x",
        "1e",
        "printf",
        "\"%-05.3q%*d\"",
        "humanize",
        "$value",
        "$labels",
        "é",
        "\n",
        "/*",
        "*/",
        ",",
        "query",
        "\"up\"",
        "toTime",
        ".Format",
        "\"é.000 2006\"",
        "slice",
        "index",
        "args",
        "nil",
        "true",
        "and",
        "or",
        "eq",
        "lt",
        "title",
        "stripDomain",
        "\"[\"",
        "reReplaceAll",
        "\\",
    ];
    // A simple generator: the same texts in each run.
    let mut state: u64 = 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    for _ in 0..3_000 {
        let length = 1 + next(14);
        let mut text: String = (0..length).map(|_| parts[next(parts.len())]).collect();
        if next(2) == 0 {
            let words: Vec<_> = (0..length).map(|_| parts[next(parts.len())]).collect();
            text = format!("{{{{ {} }}}}", words.join(" "));
        }
        // Whether it is a template does not matter.
        let _ = expand(&text);
    }
}
