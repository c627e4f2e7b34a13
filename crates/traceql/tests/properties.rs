//! Whatever the text, a query is answered or refused, soon, and printing it changes nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::time::{Duration, Instant};

use common::{Model, Span, search};
use kymo_traceql::limits::MAX_QUERY_BYTES;
use kymo_traceql::{Query, parse, parse_attribute, parse_filter_leniently};

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Queries that have a meaning, of every kind.
struct Writer(Random);

impl Writer {
    fn query(&mut self) -> String {
        let hints = self.0.pick(&["", "", "", " with(a=1)", " with(a=-1.5, b=\"x\") with(c=nil)"]);
        let body = if self.0.below(4) == 0 { self.series(2) } else { self.pipeline(2) };
        body + hints
    }

    fn attribute(&mut self) -> &'static str {
        self.0.pick(&[
            ".a",
            "span.a-b",
            "resource.\"a b\"",
            "event.x",
            "link.y",
            "instrumentation.z",
            "name",
            "span:name",
            "parent.a",
            "parent.span.b",
            "parent.\"span.b\"",
            ".\"5\"",
            "span.\"q\\\"\"",
        ])
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.below(3) == 0 {
            return self
                .0
                .pick(&[
                    ".a",
                    "duration",
                    "span:childCount",
                    "1",
                    "-1",
                    "2.5",
                    "1e300",
                    "-0.0",
                    "1h30m",
                    "-100µs",
                    "minInt",
                    "maxInt",
                    "parent.duration",
                    "event:timeSinceStart",
                    "span.b",
                ])
                .to_owned();
        }
        let (left, right) = (self.number(depth - 1), self.number(depth - 1));
        match self.0.below(8) {
            0 => format!("-{left}"),
            1 => format!("-({left})"),
            2 | 3 => format!("({left})"),
            _ => format!("{left} {} {right}", self.0.pick(&["+", "-", "*", "/", "%", "^"])),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .0
                .pick(&["true", "false", ".a", "span.flag", "nil = .a", "name != nil"])
                .to_owned();
        }
        let number = self.number(depth - 1);
        match self.0.below(10) {
            0 => format!("!{}", self.0.pick(&[".a", "true", "(.a = 1)", "!.b"])),
            1 => format!("!({})", self.condition(depth - 1)),
            2 => format!("({})", self.condition(depth - 1)),
            3 => format!("{} {} {}", self.attribute(), self.0.pick(&["=", "!="]), self.text()),
            4 => format!("{} {} {}", self.attribute(), self.0.pick(&["=~", "!~"]), self.text()),
            5 => format!(
                "{number} {} {}",
                self.0.pick(&["=", "!=", "<", "<=", ">", ">="]),
                self.number(depth - 1)
            ),
            6 => format!("{} = {}", self.0.pick(&["status", ".s"]), self.0.pick(&["ok", "error"])),
            7 => format!(
                "{} != {}",
                self.0.pick(&["server", "client"]),
                self.0.pick(&["kind", ".k"])
            ),
            _ => format!(
                "{} {} {}",
                self.condition(depth - 1),
                self.0.pick(&["&&", "||"]),
                self.condition(depth - 1)
            ),
        }
    }

    fn text(&mut self) -> &'static str {
        self.0.pick(&["\"\"", "\"x\\ty\\\"\\u65e5\\x7f\"", "`a.*|b\\d`", "\"[a-z]+\"", "\"\\n\""])
    }

    fn spansets(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.below(3) == 0 {
            return format!("{{ {} }}", self.condition(3));
        }
        let op = self.0.pick(&[
            "&&", "||", ">", ">>", "<", "<<", "~", "!>", "!>>", "!<", "!<<", "!~", "&>", "&>>",
            "&<", "&<<", "&~",
        ]);
        match self.0.below(3) {
            0 => format!("({}) {op} ({})", self.pipeline(depth - 1), self.pipeline(depth - 1)),
            1 => format!("({})", self.spansets(depth - 1)),
            _ => format!("({}) {op} ({})", self.spansets(depth - 1), self.spansets(depth - 1)),
        }
    }

    fn scalar(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.below(2) == 0 {
            return match self.0.below(4) {
                0 => "count()".to_owned(),
                1 => format!(
                    "{}(.a + {})",
                    self.0.pick(&["min", "max", "sum", "avg"]),
                    self.number(2)
                ),
                2 => format!("({} | count())", self.pipeline(depth.saturating_sub(1))),
                _ => self.0.pick(&["avg(duration)", "max(.a)"]).to_owned(),
            };
        }
        let op = self.0.pick(&["+", "-", "*", "/", "%", "^"]);
        let right = match self.0.below(2) {
            0 => self.0.pick(&["2", "-2.5", "(1 + 2)", "3s"]).to_owned(),
            _ => self.scalar(depth - 1),
        };
        format!("{} {op} {right}", self.scalar(depth - 1))
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut stages = Vec::new();
        for nth in 0..1 + self.0.below(3) {
            stages.push(match self.0.below(6) {
                0 => format!("{} {} 5", self.scalar(depth.min(1)), self.0.pick(&["=", "<", ">="])),
                1 => format!("by({})", self.attribute()),
                2 => format!("select({}, {})", self.attribute(), self.attribute()),
                3 if nth > 0 => "coalesce()".to_owned(),
                _ => self.spansets(depth),
            });
        }
        stages.join(" | ")
    }

    fn series(&mut self, depth: usize) -> String {
        let stages = self.0.pick(&["", "", " > 5", " | topk(3)", " <= 1.5 | bottomk(1) != 1s"]);
        if depth > 0 && self.0.below(2) == 0 {
            let op = self.0.pick(&["+", "-", "*", "/"]);
            let right = match self.0.below(3) {
                0 => self.0.pick(&["2", "-1.5", "(7 / 2)"]).to_owned(),
                _ => format!("({})", self.series(depth - 1)),
            };
            return format!("({}) {op} {right}{stages}", self.series(depth - 1));
        }
        let function = self.0.pick(&[
            "rate()",
            "count_over_time() by (name, .b)",
            "max_over_time(duration)",
            "quantile_over_time(.a, 0, 0.5, 1) by (kind)",
            "histogram_over_time(span.\"a b\")",
        ]);
        format!("{} | {function}{stages}", self.pipeline(1))
    }
}

fn check_printed(query: &Query, text: &str) {
    let printed = query.to_string();
    // With all its blanks it may be longer than a query can be.
    if printed.len() > MAX_QUERY_BYTES {
        return;
    }
    match parse(&printed) {
        Ok(again) => assert!(&again == query, "{text}\nis printed as {printed}"),
        Err(error) => panic!("{text}\nis printed as {printed}: {error}"),
    }
}

/// Two spans, with nothing but a parent.
fn traces() -> Vec<Model> {
    let root = Span { is_root: true, ..Span::default() };
    let child = Span { parent: Some(0), ..Span::default() };
    vec![Model { spans: vec![root, child] }]
}

#[test]
fn what_is_printed_reads_the_same() {
    let mut writer = Writer(Random(1));
    for _ in 0..20_000 {
        let text = writer.query();
        match parse(&text) {
            Ok(query) => check_printed(&query, &text),
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

#[test]
fn no_text_makes_it_panic() {
    const PIECES: [&str; 40] = [
        "{",
        "}",
        "(",
        ")",
        "|",
        "||",
        "&&",
        "!",
        "=",
        "!=",
        "=~",
        "!~",
        ">>",
        "!<<",
        "&~",
        "~",
        "+",
        "-",
        "*",
        "/",
        "^",
        "%",
        ",",
        ".",
        "\"",
        "`",
        "\\",
        "//",
        "/*",
        "nil",
        "count()",
        "by(",
        "rate()",
        " with(",
        "span.",
        "parent.",
        "9999999999999999999",
        "é",
        "\u{2028}",
        "\0",
    ];
    let traces = traces();
    let mut writer = Writer(Random(2));
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut text = writer.query();
        for _ in 0..1 + writer.0.below(3) {
            let places: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = writer.0.below(places.len());
            let to = (from + writer.0.below(6)).min(places.len() - 1);
            let (from, to) = (places[from], places[to]);
            match writer.0.below(4) {
                0 => text.replace_range(from..to, ""),
                1 => text.insert_str(from, writer.0.pick(&PIECES)),
                2 => {
                    let again = text[from..to].to_owned();
                    text.insert_str(from, &again);
                }
                _ => text.replace_range(from..to, writer.0.pick(&PIECES)),
            }
        }
        if let Ok(query) = parse(&text) {
            accepted += 1;
            check_printed(&query, &text);
            if let kymo_traceql::ast::Body::Spans(_) = query.body {
                search(&text, &traces).unwrap();
            }
        }
        parse_filter_leniently(&text);
        let _attribute = parse_attribute(&text);
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn monstrous_queries_end_soon() {
    let deep = |open: &str, close: &str, times: usize| {
        format!("{}{}{}", open.repeat(times), "{ .a }", close.repeat(times))
    };
    let inside = |text: String| format!("{{ {text} }}");
    let run = |term: &str, op: &str, times: usize| vec![term; times].join(op);
    let mixed: String = (0..20_000).map(|n| if n % 2 == 0 { ".a||" } else { ".a&&" }).collect();
    let regexes = run(".a=~\"\\\\w{50}\"", "||", 5_000);
    let distinct: Vec<String> = (0..12_000).map(|n| format!(".a{n}=1")).collect();
    let texts: Vec<String> = (0..9_000).map(|n| format!(".a=\"{n}\"")).collect();
    let monsters = [
        "x".repeat(1 << 20),
        inside("x".repeat(1 << 20)),
        "{".repeat(100_000),
        "(".repeat(10_000),
        deep("(", ")", 10_000),
        deep("(", ")", 250),
        inside("(".repeat(10_000)),
        inside(format!("{}.a{}", "(".repeat(10_000), ")".repeat(10_000))),
        inside(format!("{}.a{}", "(".repeat(250), ")".repeat(250))),
        inside(format!("{}.a", "!".repeat(100_000))),
        inside(format!("{}.a", "!".repeat(250))),
        inside(format!("{}.a = 1", "-".repeat(100_000))),
        inside(format!("{}5 = 1", "-".repeat(100_000))),
        format!("{}5 < count()", "-".repeat(100_000)),
        inside(run(".a", "||", 100_000)),
        inside(run(".a", "||", 30_000)),
        inside(format!("{mixed}.a")),
        inside(format!("{} = 1", run(".a", " + ", 20_000))),
        inside(format!("{} = 1", run("1", "^", 50_000))),
        run("{}", "&&", 30_000),
        run("{}", ">", 30_000),
        run("{}", "|", 40_000),
        run("({}|rate())", "+", 10_000),
        format!("{} > 1", run("count()", "+", 10_000)),
        format!("{} > 1", run("count()", "^", 10_000)),
        format!("({}|count()) > 1", "({}|count()>1)|".repeat(5_000)),
        inside(regexes),
        inside(distinct.join("||")),
        inside(texts.join("||")),
        inside(format!(".a =~ \"{}\"", "(a|".repeat(10_000))),
        inside(format!(".a =~ \"{}\"", "(a".repeat(5_000) + &")".repeat(5_000))),
        format!("{{}} | select({})", run(".a", ",", 40_000)),
        format!("{{}} with({})", run("a=1", ",", 30_000)),
        "\"".repeat(100_000),
        "/*".repeat(50_000),
        format!("{{ .{} }}", "\"a\"".repeat(40_000)),
    ];
    // Threads of a server have 2 MiB, of which this may not take all.
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(move || monsters.iter().for_each(|text| face(text))).unwrap().join().unwrap();
}

/// Does all that can be done with a query.
fn face(text: &str) {
    let start = Instant::now();
    let beginning: String = text.chars().take(40).collect();
    if let Ok(query) = parse(text) {
        check_printed(&query, &beginning);
        assert!(query.clone() == query);
        assert!(!format!("{query:?}").is_empty());
        query.attributes();
        if let kymo_traceql::ast::Body::Spans(_) = query.body {
            search(text, &traces()).unwrap();
        }
    }
    parse_filter_leniently(text);
    let _attribute = parse_attribute(text);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{beginning} took {took:?}");
}
