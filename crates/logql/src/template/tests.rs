//! Templates and what they make. The first tables were made with Go's own templates.

use std::borrow::Cow;

use super::{Lookup, Template, TemplateError};

struct Labels(&'static [(&'static str, &'static str)]);

impl Lookup for Labels {
    fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| Cow::Borrowed(*value))
    }

    fn each(&self, give: &mut dyn FnMut(&str, &str)) {
        self.0.iter().for_each(|(name, value)| give(name, value));
    }
}

const FEW: Labels = Labels(&[("b", "2"), ("a", "1")]);

const ORDER: Labels = Labels(&[
    ("amount", "7.25"),
    ("bytes", "512B"),
    ("level", "warn"),
    ("msg", "card declined"),
    ("order", "1003"),
    ("took", "250ms"),
    ("json", r#"{"a":{"b":5},"list":[1,"x",null,{"y":1.5}],"s":"t"}"#),
]);

const LINE: &str = "level=warn msg=\"card declined\" order=1003";
/// 2026-11-15 10:00:05.25 UTC
const TIME_NANOS: i64 = 1_794_736_805_250_000_000;

fn render(labels: &Labels, template: &str) -> Result<String, TemplateError> {
    let mut out = String::new();
    Template::parse(template)?.render(labels, LINE, TIME_NANOS, &mut out).map(|()| out)
}

fn made(template: &str) -> String {
    render(&ORDER, template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

const RENDERED: &[(&str, &str)] = &[
    (r#"{{printf "%s %d" (add 1 2) "x"}}"#, "%!s(int64=3) %!d(string=x)"),
    (
        r#"{{printf "%d"}} {{printf "a" 1 2}} {{printf "%"}} {{printf "%z" 3}}"#,
        "%!d(MISSING) a%!(EXTRA int=1, int=2) %!(NOVERB) %!z(int=3)",
    ),
    ("{{.}}", "map[a:1 b:2]"),
    ("{{range $i,$e := .}}{{$i}}={{$e}},{{end}}", "a=1,b=2,"),
    ("{{range 3}}{{.}}{{end}}", "012"),
    (
        r#"{{"abc" | len | printf "%03d|%-5d|%+d|%x|%5.1f" 1 2 3 4 }}"#,
        "001|2    |+3|4|%!f(int=    3)",
    ),
    (r#"{{lt 1 2}} {{lt "a" "b"}}"#, "true true"),
    (r#"{{and 1 0 2}} {{or 0 "" "x"}} {{not 0}}"#, "0 x true"),
    (r#"{{index "abc" 1}}"#, "98"),
    ("{{'a'}} {{0x1F}} {{1_000}} {{+5}} {{-3}}", "97 31 1000 5 -3"),
    (r#"{{0x1p3}} {{0x1p-1}} {{float64 "0x1p3"}} {{float64 "1_000"}}"#, "8 0.5 8 1000"),
    (r#"{{.zz}}|{{index . "zz"}}|"#, "||"),
    ("{{with .zz}}y{{else}}n{{end}}", "n"),
    (r#"{{if eq .a "1"}}y{{else if true}}z{{end}}"#, "y"),
    (
        r#"{{printf "%5s|%-5s|%.2s|%05d|%x|%X|% x" "ab" "ab" "abcd" 42 "hi" "hi" "hi"}}"#,
        "   ab|ab   |ab|00042|6869|6869|68 69",
    ),
    (r#"{{printf "%[2]d %[1]d" 1 2}} {{printf "%*d" 5 42}}"#, "2 1    42"),
    (r#"{{printf "%v %v" true nil}}"#, "true <nil>"),
    ("{{print nil}}", "<nil>"),
    ("{{print}}", ""),
    (r#"{{println 1 "a" 2}}"#, "1 a 2\n"),
    (r#"{{print 1 2 "a" "b" 3 4}}"#, "1 2ab3 4"),
    (r#"{{printf "%t %c %U %q" true 65 0x1F600 'x'}}"#, "true A U+1F600 'x'"),
    (
        r#"{{printf "%e %g %G %E" 1234.5678 0.00001234 1e30 1.0}}"#,
        "1.234568e+03 1.234e-05 1E+30 1.000000E+00",
    ),
    (
        r#"{{printf "%6.2f|%-8.3f|%+.1f|%08.3f" 3.14159 2.5 1.0 -3.14159}}"#,
        "  3.14|2.500   |+1.0|-003.142",
    ),
    (r#"{{printf "%d" 3.5}}"#, "%!d(float64=3.5)"),
    (r#"{{printf "%s" 3.5}}"#, "%!s(float64=3.5)"),
    (r#"{{printf "%d %s" true true}}"#, "%!d(bool=true) %!s(bool=true)"),
    (
        r#"{{printf "%x" -255}} {{printf "%#x %#o %b %o %O" 255 8 5 8 8}}"#,
        "-ff 0xff 010 101 10 0o10",
    ),
    (r#"{{slice "abcdef" 1 3}} {{slice "abc" 1}} {{slice "abc"}}"#, "bc bc abc"),
    (
        r#"{{html "<a href='x'>" "&\""}} {{js "a\"b'c<>&=\n\x01é"}}"#,
        r#"&lt;a href=&#39;x&#39;&gt;&amp;&#34; a\"b\'c\u003C\u003E\u0026\u003D\u000A\u0001é"#,
    ),
    (r#"{{true | printf "%v"}}"#, "true"),
    ("{{$x := 1}}{{$x = 2}}{{$x}}", "2"),
    (r#"{{- " a " -}}   b"#, " a b"),
    ("a {{/* c */}} b", "a  b"),
    ("{{range .}}{{else}}e{{end}}", ""),
    (r#"{{printf "%v" .a}}{{printf "%d%%" 5}}"#, "15%"),
    (r#"{{define "T"}}[{{.}}]{{end}}{{template "T" .a}}{{template "T"}}"#, "[1][<no value>]"),
    (r#"{{block "B" 3}}<{{.}}>{{end}}"#, "<3>"),
    ("{{range 5}}{{if eq . 3}}{{break}}{{end}}{{.}}{{end}}", "012"),
    (r#"{{printf "%T %T %T %T" 1 "a" 1.5 nil}}"#, "int string float64 <nil>"),
    ("{{eq nil nil}}", "true"),
    (r#"{{printf "%v|%6v|%-6v|%06v" 42 42 42 42}}"#, "42|    42|42    |000042"),
    (r#"{{printf "%q" 65}} {{printf "%+q" "é"}} {{printf "%#q" "ab"}}"#, r#"'A' "\u00e9" `ab`"#),
    (r#"{{printf "%s" nil}}|{{printf "%d" nil}}"#, "%!s(<nil>)|%!d(<nil>)"),
    (
        r#"{{printf "%.3v" "abcdef"}} {{printf "%.3g" 1234.5}} {{printf "%10.3v|" 3.14159}}"#,
        "abc 1.23e+03       3.14|",
    ),
    (r#"{{"q\"s"}}"#, r#"q"s"#),
    ("{{gt 3 2 }} {{eq 1 2 1}}", "true true"),
    ("{{len .}}", "2"),
    ("{{1.}} {{.5}} {{1e3}} {{0b11}} {{0o17}} {{017}}", "1 0.5 1000 3 15 15"),
    (r#"{{printf "%5t|%-7t|" true false}}"#, " true|false  |"),
    (r#"{{printf "%!"}}{{printf "%-010d|" 5}}"#, "%!!(MISSING)5         |"),
    (r#"{{.a | html | printf "%s"}}"#, "1"),
    (r#"{{if not .a}}1{{end}}{{if and .a (eq .b "2")}}ok{{end}}"#, "ok"),
    (r#"{{printf "%6.3d|%+d|% d" 7 7 7}}"#, "   007|+7| 7"),
    (r#"{{printf "%X" "é"}}"#, "C3A9"),
    (r#"{{printf "%08b" 5}}"#, "00000101"),
    ("{{.a | }}", "1"),
];

const FAILING: &[&str] = &[
    "{{eq 1 1.0}}",
    r#"{{eq "a" 1}}"#,
    "{{.a.b}}",
    r#"{{slice "abc" 5}}"#,
    "{{len 3}}",
    r#"{{"a" "b"}}"#,
    r#"{{"x" | .a}}"#,
    r#"{{trunc "1" "abc"}}"#,
    "{{trunc 1 2}}",
    "{{trunc 1}}",
    "{{nil}}",
    r#"{{range $x := "abc"}}{{$x}}{{end}}"#,
    r#"{{template "nosuch"}}"#,
    r#"{{trunc (add 1 2) "abcdef"}}"#,
];

const WRONG: &[&str] = &[
    "{{1 | 2}}",
    "{{break}}",
    "{{else}}",
    "{{end}}",
    "{{if .a}}",
    "{{.a b}}",
    "{{.a}",
    r#"{{"abc}}"#,
    "{{nosuch}}",
    "{{$y}}",
    "{{range $i, $j, $k := .}}{{end}}",
    "{{}}",
    "{{if}}{{end}}",
    "{{(1}}",
    "{{1)}}",
    "{{ | .a}}",
    "{{.a..b}}",
    "{{'ab'}}",
    "{{1x}}",
    "{{/* x}}",
    "{{ /* x */ }}",
];

#[test]
fn templates_make_what_they_make_in_go() {
    for (template, expected) in RENDERED {
        assert_eq!(render(&FEW, template).as_deref(), Ok(*expected), "{template}");
    }
}

#[test]
fn what_fails_in_go_fails() {
    for template in FAILING {
        let result = render(&FEW, template);
        assert!(matches!(result, Err(TemplateError::Render(_))), "{template}: {result:?}");
    }
}

#[test]
fn what_is_no_template_in_go_is_none() {
    for template in WRONG {
        let result = render(&FEW, template);
        assert!(matches!(result, Err(TemplateError::Syntax { .. })), "{template}: {result:?}");
    }
}

#[test]
fn functions_of_texts_do_as_in_loki() {
    for (template, expected) in [
        (
            r#"{{.msg | replace "card" "CARD"}} {{Replace .msg "d" "D" 1}}"#,
            "CARD declined carD declined",
        ),
        ("{{.msg | trunc 4}} {{.msg | trunc -4}} {{.msg | substr 2 6}}", "card ined rd d"),
        (
            r#"{{TrimLeft .msg "ca"}} {{TrimRight .msg "ed"}} [{{TrimSpace " a "}}] {{TrimPrefix .msg "card"}}"#,
            "rd declined card declin [a]  declined",
        ),
        (
            r#"{{Trim "xxaxx" "x"}} {{TrimSuffix "a.go" ".go"}} {{trimAll "$" "$5$"}} {{trimSuffix "-" "a-"}} {{trimPrefix "-" "-a"}}"#,
            "a a 5 a a",
        ),
        (
            r#"{{lower "ÀB"}} {{upper "straße"}} {{ToLower "A"}} {{ToUpper "a"}} {{title "hello wörld-a_b"}}"#,
            "àb STRAßE a A Hello Wörld-A_b",
        ),
        (
            r#"{{contains "rd" .msg}} {{hasPrefix "card" .msg}} {{hasSuffix "x" .msg}}"#,
            "true true false",
        ),
        (r#"{{indent 2 "a\nb"}}|{{nindent 1 "a"}}"#, "  a\n  b|\n a"),
        (r#"{{repeat 3 "ab"}}|{{repeat 0 "ab"}}"#, "ababab|"),
        (
            r#"{{alignLeft 5 "ab"}}|{{alignRight 5 "ab"}}|{{alignLeft 2 "日本語"}}|{{alignRight 2 "日本語"}}|{{alignLeft -1 "ab"}}"#,
            "ab   |   ab|日本|本語|ab",
        ),
        (
            r#"{{default "none" .nosuch}} {{.level | default "x"}} {{default 5 0}} {{default "d"}}"#,
            "none warn 5 d",
        ),
        (
            r#"{{regexReplaceAll "(c)(a)" .msg "$2${1}x"}} {{regexReplaceAllLiteral "c" "abc" "$1"}} {{count "d" .msg}}"#,
            "acxrd declined ab$1 3",
        ),
        (
            r#"{{regexReplaceAll .level "a warn" "X"}} {{regexReplaceAll "x*" "abc" "-"}}"#,
            "a X -a-b-c-",
        ),
        (r#"{{substr 0 100 "abc"}} {{substr 1 -1 "abc"}} {{substr -1 2 "abc"}}"#, "abc bc ab"),
        (r#"{{trunc 2 "日本"}}|{{trunc 3 "日本"}}|{{trunc -4 "日本"}}"#, "|日|本"),
        (r#"{{__line__ | trunc 10}} {{__line__ | len}}"#, "level=warn 41"),
    ] {
        assert_eq!(made(template), expected, "{template}");
    }
}

#[test]
fn functions_of_numbers_do_as_in_loki() {
    for (template, expected) in [
        ("{{add 1 2 3}} {{sub 5 2}} {{mul 2 3}} {{div 7 2}} {{mod 7 2}} {{add}}", "6 3 6 3 1 0"),
        ("{{addf 1.5 2}} {{subf 5.5 2}} {{mulf 1.5 2}} {{divf 7 2}}", "3.5 3.5 3 3.5"),
        ("{{addf 0.1 0.2}} {{divf 1 3}} {{mulf 1000000 1000000}}", "0.3 0.3333333333333333 1e+12"),
        (
            "{{max 1 2 3}} {{min 4 2}} {{maxf 1.5 2}} {{minf 1.5 2}} {{ceil 1.2}} {{floor 1.8}} {{round 1.256 2}}",
            "3 2 2 1.5 2 1 1.26",
        ),
        ("{{.order | int | add 1}} {{.amount | float64 | mulf 2}}", "1004 14.5"),
        (
            r#"{{int "x"}} {{.amount | int}} {{int true}} {{int 3.9}} {{int nil}} {{float64 "x"}}"#,
            "0 7 1 3 0 0",
        ),
        (
            r#"{{div (duration_seconds .took) 1}} {{duration "1m3s"}} {{bytes "1.5KB"}} {{bytes "2MB"}}"#,
            "0 63 1500 2e+06",
        ),
        (
            r#"{{round 123.555 1}} {{round "2.5" 0}} {{round -1.2 0}} {{round 1.24 1 0.3}}"#,
            "123.6 3 -2 1.3",
        ),
        (r#"{{printf "%05d %q %.2f" (int .order) .level 1.5}}"#, "01003 \"warn\" 1.50"),
        ("{{mod -7 2}} {{div -7 2}} {{sub .amount 1}}", "-1 -3 6"),
    ] {
        assert_eq!(made(template), expected, "{template}");
    }
}

#[test]
fn notations_are_read_and_written() {
    for (template, expected) in [
        (
            r#"{{urlencode "a b/ü"}} {{urldecode "a+b%2F%C3%BC"}} {{urlquery "a b"}}"#,
            "a+b%2F%C3%BC a b/ü a+b",
        ),
        (
            r#"{{b64enc "hello"}} {{b64dec "aGVsbG8="}} {{b64dec "aGVs*"}}"#,
            "aGVsbG8= hello illegal base64 data at input byte 4",
        ),
        (
            r#"{{with fromJson .json}}{{.a.b}} {{.s}} {{index .list 1}} {{len .list}}{{end}}"#,
            "5 t x 4",
        ),
        (r#"{{range (fromJson .json).list}}<{{.}}>{{end}}"#, "<1><x><<no value>><map[y:1.5]>"),
        (r#"{{range $k, $v := fromJson .json}}{{$k}} {{end}}"#, "a list s "),
        (r#"{{fromJson "nope"}}{{(fromJson .json).nosuch}}"#, "<no value><no value>"),
        (r#"{{html "<b>"}} {{js "a'b"}}"#, "&lt;b&gt; a\\'b"),
    ] {
        assert_eq!(made(template), expected, "{template}");
    }
}

#[test]
fn times_are_read_and_written() {
    for (template, expected) in [
        (
            r#"{{ "2026-01-02" | toDate "2006-01-02" | date "02 Jan 06" }} {{ unixEpoch (toDate "2006-01-02" "2026-01-02") }}"#,
            "02 Jan 26 1767312000",
        ),
        ("{{__timestamp__}}", "2026-11-15 10:00:05.25 +0000 UTC"),
        (r#"{{__timestamp__ | date "2006-01-02T15:04:05.000Z07:00"}}"#, "2026-11-15T10:00:05.250Z"),
        (r#"{{__timestamp__ | date "Mon Jan _2 3:04:05PM 2006"}}"#, "Sun Nov 15 10:00:05AM 2026"),
        (
            r#"{{__timestamp__ | date "Monday, 02-January-06 15h4m5s.999 -0700 002"}}"#,
            "Sunday, 15-November-26 10h0m5s.25 +0000 319",
        ),
        (
            "{{__timestamp__ | unixEpoch}} {{unixEpochMillis __timestamp__}} {{unixEpochNanos __timestamp__}}",
            "1794736805 1794736805250 1794736805250000000",
        ),
        (
            r#"{{toDateInZone "2006-01-02 15:04" "Europe/Berlin" "2026-07-01 12:00"}}"#,
            "2026-07-01 12:00:00 +0200 CEST",
        ),
        (
            r#"{{toDateInZone "2006-01-02 15:04" "Nowhere/X" "2026-07-01 12:00" | unixEpoch}}"#,
            "1782907200",
        ),
        (
            r#"{{toDate "2006-01-02T15:04:05Z07:00" "2026-07-01T12:00:00+02:00" | unixEpoch}}"#,
            "1782900000",
        ),
        (
            r#"{{toDate "02/Jan/2006:15:04:05 -0700" "15/Nov/2026:10:00:05 +0000"}}"#,
            "2026-11-15 10:00:05 +0000 UTC",
        ),
        (r#"{{toDate "2006-01-02" "nope" | unixEpoch}}"#, "-62135596800"),
        (r#"{{toDate "15:04:05" "10:11:12.5" | date "15.04.05.000"}}"#, "10.11.12.500"),
        (
            r#"{{unixToTime "20000"}} {{unixToTime "1794736805" | date "15:04"}}"#,
            "2024-10-04 00:00:00 +0000 UTC 10:00",
        ),
        (
            r#"{{unixToTime "1794736805250" | unixEpochMillis}} {{unixToTime "1794736805250000" | unixEpochNanos}}"#,
            "1794736805250 1794736805250000000",
        ),
        (r#"{{date "2006" 0}} {{date "15:04" (int "3600")}}"#, "1970 01:00"),
        (
            r#"{{(__timestamp__).Year}} {{__timestamp__.Unix}} {{__timestamp__.Format "15:04"}} {{__timestamp__.Month}}"#,
            "2026 1794736805 10:00 November",
        ),
        (
            "{{if __timestamp__.Before now}}past{{else}}future{{end}}",
            if std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() > TIME_NANOS as u128 {
                "past"
            } else {
                "future"
            },
        ),
    ] {
        assert_eq!(made(template), expected, "{template}");
    }
}

#[test]
fn what_cannot_be_calculated_fails_and_writes_nothing() {
    for template in [
        "{{div 1 0}}",
        "{{mod 1 0}}",
        "{{divf 1 0}}",
        r#"{{addf "NaN" 1}}"#,
        r#"{{repeat -1 "a"}}"#,
        r#"{{substr 5 9 "abc"}}"#,
        r#"{{substr 3 2 "abcd"}}"#,
        r#"{{duration "soon"}}"#,
        r#"{{bytes "many"}}"#,
        r#"{{urldecode "%zz"}}"#,
        r#"{{regexReplaceAll "(" "a" "b"}}"#,
        r#"{{unixToTime "12"}}"#,
        r#"{{unixToTime "abcde"}}"#,
        "{{unixEpoch .level}}",
        "{{lower 5}}",
        "{{lower}}",
        r#"{{lower "a" "b"}}"#,
        "{{index .level 99}}",
        "{{.level.x}}",
        "{{(fromJson .json).nosuch.x}}",
        "{{__timestamp__.Nope}}",
        "{{repeat .order .msg}}",
        "{{round 1}}",
    ] {
        let mut out = String::from("before");
        let result = Template::parse(template).unwrap().render(&ORDER, LINE, 0, &mut out);
        assert!(matches!(result, Err(TemplateError::Render(_))), "{template}: {result:?} {out}");
        assert_eq!(out, "before");
    }
}

#[test]
fn labels_that_are_read_are_known() {
    let names = |template: &str| {
        Template::parse(template)
            .unwrap()
            .names()
            .map(|names| names.iter().cloned().collect::<Vec<_>>().join(","))
    };
    assert_eq!(
        names("{{.a}} {{if .b}}{{.c | lower}}{{else}}{{$.d}}{{end}}").as_deref(),
        Some("a,b,c,d")
    );
    assert_eq!(names(r#"{{index . "x-y"}} {{index $ "z"}}"#).as_deref(), Some("x-y,z"));
    assert_eq!(names("{{with fromJson .j}}{{.}}{{.k}}{{end}}").as_deref(), Some("j,k"));
    assert_eq!(names("plain").as_deref(), Some(""));
    for all in [
        "{{.}}",
        "{{range .}}{{end}}",
        "{{$}}",
        r#"{{template "x" .}}"#,
        "{{if .}}{{end}}",
        "{{printf \"%v\" .}}",
        "{{with $}}{{end}}",
    ] {
        assert_eq!(names(all), None, "{all}");
    }
    let reads_line = |template: &str| Template::parse(template).unwrap().reads_line();
    assert!(reads_line("{{ (__line__ | lower) }}") && reads_line("{{if .a}}{{__line__}}{{end}}"));
    assert!(!reads_line("{{.line}} {{__timestamp__}}"));
}

#[test]
fn a_mistake_is_told_with_its_line() {
    let error = Template::parse("a\n{{.b\n}}\n{{nosuch}}").unwrap_err();
    assert_eq!(error.to_string(), "template line 4: function \"nosuch\" is not defined");
    assert_eq!(
        Template::parse("{{.a").unwrap_err().to_string(),
        "template line 1: an action is not closed"
    );
}

#[test]
fn work_and_output_are_bounded() {
    for template in [
        "{{range 1000000000}}{{end}}",
        "{{range 100000}}{{range 100000}}x{{end}}{{end}}",
        r#"{{repeat 1000000000 "abc"}}"#,
        r#"{{indent 1000000000 "a"}}"#,
        r#"{{alignLeft 9000000000000000000 "a"}}"#,
        r#"{{$x := "aaaaaaaaaa"}}{{range 100}}{{$x = print $x $x}}{{end}}"#,
        r#"{{$x := "aaaaaaaaaa"}}{{range 100}}{{$x = replace "a" "aaaaaaaaaa" $x}}{{end}}"#,
        r#"{{$x := "aaaaaaaaaa"}}{{range 100}}{{$x = regexReplaceAll "a" $x "$0$0$0$0"}}{{end}}"#,
        r#"{{define "r"}}{{template "r"}}{{end}}{{template "r"}}"#,
        r#"{{range 1000}}{{printf "%1000000d" 1}}{{end}}"#,
        r#"{{range 1000000}}{{regexReplaceAll (print . "a+") "aaa" "b"}}{{end}}"#,
    ] {
        assert!(matches!(render(&ORDER, template), Err(TemplateError::Render(_))), "{template}");
    }
    for template in [
        format!("{}1{}", "{{if 1}}".repeat(100_000), "{{end}}".repeat(100_000)),
        format!("{{{{{}1{}}}}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{{{{if 0}}}}{}{{{{end}}}}", "{{else if 0}}".repeat(100_000)),
    ] {
        assert!(Template::parse(&template).is_err());
    }
}

#[test]
fn copies_of_a_text_count_as_work() {
    for template in [
        r#"{{$x := repeat 1000000 "a"}}{{range 1000}}{{$y := $x}}{{end}}"#,
        r#"{{$x := repeat 1000000 "a"}}{{range 1000}}{{if $x}}{{end}}{{end}}"#,
        r#"{{define "t"}}{{end}}{{$x := repeat 1000000 "a"}}{{range 1000}}{{template "t" $x}}{{end}}"#,
        r#"{{$x := fromJson (print "{\"a\":\"" (repeat 100000 "a") "\"}")}}{{range 1000}}{{if $x.a}}{{end}}{{end}}"#,
    ] {
        let error = render(&ORDER, template).unwrap_err();
        assert!(error.to_string().contains("too much work"), "{template}: {error}");
    }
    assert_eq!(made(r#"{{$x := repeat 3 "a"}}{{range 2}}{{$x}}{{end}}"#), "aaaaaa");
}

/// A small generator of numbers, so that a failure can be repeated.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn no_text_makes_the_engine_panic() {
    const PIECES: &[&str] = &[
        "{{",
        "}}",
        "{{-",
        "-}}",
        " ",
        "-",
        ".",
        ".a",
        "$",
        "$x",
        ":=",
        "=",
        ",",
        "|",
        "(",
        ")",
        "if",
        "else",
        "end",
        "range",
        "with",
        "define",
        "template",
        "block",
        "break",
        "\"T\"",
        "\"",
        "`",
        "'",
        "'x'",
        "\\",
        "1",
        "-1",
        "0x",
        "1e9",
        "1.5",
        "nil",
        "true",
        "printf",
        "\"%5.2d%[3]*.[1]q%s%v%x%U\"",
        "trunc",
        "substr",
        "slice",
        "index",
        "len",
        "repeat",
        "date",
        "toDate",
        "\"2006-01-02 .000 Z07:00 MST\"",
        "now",
        "__line__",
        "__timestamp__",
        "fromJson",
        "\"{\\\"a\\\":[1]}\"",
        "round",
        "int",
        "div",
        "mod",
        "é",
        "日本",
        "\n",
        "/*",
        "*/",
        "add",
        "-9223372036854775808",
        "b64dec",
        "urldecode",
        "regexReplaceAll",
        "unixToTime",
        "alignRight",
        "indent",
        "eq",
        "lt",
        "and",
        "or",
        "not",
        "default",
        "{{end}}",
        "{{if .a}}",
        "{{range 3}}",
    ];
    let mut random = Seeded(7);
    let mut rendered = 0;
    for _ in 0..20_000 {
        let mut text = String::new();
        let is_wrapped = random.below(2) == 0;
        text.push_str(if is_wrapped { "{{" } else { "" });
        for _ in 0..random.below(8) + 1 {
            text.push_str(PIECES[random.below(PIECES.len())]);
            text.push_str(if random.below(3) > 0 { " " } else { "" });
        }
        text.push_str(if is_wrapped { "}}" } else { "" });
        rendered += usize::from(render(&ORDER, &text).is_ok());
    }
    assert!(rendered > 100, "{rendered}");
}
