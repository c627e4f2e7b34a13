//! No text of a query and no line makes anything panic: queries of the scripts, mutilated, are
//! read, printed, planned and run over lines, mutilated too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::Path;

use kymo_logql::entry::Entry;
use kymo_logql::labels::Labels;
use kymo_logql::parser::parse;
use kymo_logql::plan::{Plan, plan};
use kymo_logql::request::{Bounds, Request};
use kymo_logql::selection::Tested;

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "|",
    "|=",
    "!=",
    "=~",
    "!~",
    "|>",
    "!>",
    "\"",
    "`",
    "\\",
    "=",
    ">",
    "-",
    "+",
    "*",
    "^",
    "%",
    ",",
    "or",
    "and",
    "unless",
    "by",
    "without",
    "on ()",
    "ignoring",
    "group_left",
    "bool",
    "json",
    "logfmt",
    "--strict",
    "unpack",
    "unwrap",
    "ip(\"::/0\")",
    "[5m]",
    "[0s]",
    "offset",
    "-1h",
    "1e999",
    "0",
    "9223372036854775807",
    "5ms",
    "1KiB",
    "sum",
    "rate(",
    "topk(1,",
    "vector(1)",
    "é",
    "\u{1b}[31m",
    "\n",
    "#",
    "{{",
    "}}",
    "{{.}}",
    ".x",
    "<_>",
    "(?P<a>",
    "drop",
    "keep",
    "__error__",
    "line_format",
    "label_format",
    "_extracted",
    "\u{0}",
    "日本",
];

fn mutilated(text: &str, random: &mut Random) -> String {
    let mut letters: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(letters.len() + 1);
        match random.below(5) {
            0 if at < letters.len() => drop(letters.remove(at)),
            1 => letters.insert(at, random.pick(PIECES).to_owned()),
            2 => letters.truncate(at),
            3 if !letters.is_empty() => {
                let from = random.below(letters.len());
                let piece: Vec<String> = letters[from..].iter().take(20).cloned().collect();
                letters.splice(at..at, piece);
            }
            _ if at < letters.len() => letters[at] = random.pick(PIECES).to_owned(),
            _ => {}
        }
    }
    letters.concat()
}

fn queries() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logql");
    let mut queries = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| line.starts_with("eval ")) {
            // What stands before the query makes it only worse.
            queries.push(line.trim_start_matches("eval ").to_owned());
            let query = line.find('{').map_or(line, |at| &line[at..]);
            queries.push(query.to_owned());
            if let Some(at) = line.find(" step 1m ").or(line.find(" at 1m ")) {
                queries.push(
                    line[at..]
                        .trim_start_matches(" step 1m ")
                        .trim_start_matches(" at 1m ")
                        .to_owned(),
                );
            }
        }
    }
    queries.sort_unstable();
    queries
}

const LINES: &[&str] = &[
    r#"{"level":"info","status":200,"user":{"id":"u1","tags":["a",{"b":1}]},"e":"\u00e9\n"}"#,
    r#"level=info msg="two \"words\"" took=35ms n=1e3 flag empty= ip=10.0.0.1"#,
    r#"10.1.0.1 - alice [15/Nov/2026:10:00:05 +0000] "GET /a HTTP/1.1" 200 1043"#,
    r#"{"_entry":"level=info","container":"c1"}"#,
    "\u{1b}[31mERROR\u{1b}[0m disk \u{1b}[",
    "",
    "naïve 日本語 ✓ \u{0}\u{7f}",
];

fn run(query: &str, random: &mut Random) -> Option<()> {
    let expr = parse(query).ok()?;
    let printed = expr.to_string();
    let again =
        parse(&printed).unwrap_or_else(|error| panic!("{query:?} prints {printed:?}: {error}"));
    assert_eq!(again.to_string(), printed, "{query:?}");
    kymo_logql::print::pretty(&expr);
    let mut request = match random.below(3) {
        0 => Request::instant(60),
        1 => Request::range(0, 100, 7),
        _ => Request::range(i64::MIN, i64::MAX, i64::MAX),
    };
    request.limit = random.below(3);
    request.interval_nanos = random.below(2) as i64 * 10;
    request.bounds = Bounds { max_series: 5, max_samples: 50, max_entries: 4 };
    let plan = plan(&expr, &request).ok()?;
    let stream = Labels::of([("app", "a"), ("b", "")]);
    type Given = (i64, String, [(&'static str, &'static str); 2]);
    let entries: Vec<Given> = (0..8)
        .map(|nth| {
            let line = random.pick(LINES);
            let line = if nth % 2 == 0 { line.to_owned() } else { mutilated(line, random) };
            let time = [0, 50, 59, -5, i64::MIN, i64::MAX][random.below(6)];
            (time, line, [("app", "x"), ("__error__", random.pick(&["", "E"]))])
        })
        .collect();
    let entry = |nth: usize| {
        let (time_nanos, line, metadata) = &entries[nth];
        let metadata = &metadata[..nth % 3];
        Entry { time_nanos: *time_nanos, sequence: nth as u64, line, stream: &stream, metadata }
    };
    match plan {
        Plan::Log(plan) => {
            let mut worker = plan.worker(Tested::No);
            for nth in 0..entries.len() {
                worker.push(&entry(nth)).ok()?;
                worker.worst_time_nanos();
            }
            let found = plan.finish(vec![worker]).ok()?;
            assert!(found.entries.len() <= request.limit);
            found.merged();
            found.categorized();
        }
        Plan::Metric(plan) => {
            let mut all = Vec::new();
            for leaf in plan.leaves() {
                let mut worker = leaf.worker(Tested::Exact);
                for (nth, (time_nanos, ..)) in entries.iter().enumerate() {
                    worker.push(&entry(nth)).ok()?;
                    leaf.bucket_end_nanos(*time_nanos);
                }
                all.push(vec![worker]);
            }
            plan.finish(all).ok()?;
        }
    }
    Some(())
}

#[test]
fn no_query_and_no_line_makes_anything_panic() {
    let queries = queries();
    assert!(queries.len() > 200);
    let mut random = Random(42);
    let mut answered = 0;
    for nth in 0..20_000 {
        let query = &queries[random.below(queries.len())];
        let query = if nth % 8 == 0 { query.clone() } else { mutilated(query, &mut random) };
        answered += usize::from(run(&query, &mut random).is_some());
    }
    assert!(answered > 500, "{answered}: most were refused");
}
