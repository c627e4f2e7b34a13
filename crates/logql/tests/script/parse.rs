//! How scripts are written.
//!
//! ```text
//! # a comment
//! load {app="shop"}                       a stream; several lines follow, indented
//!   1s | the line
//!   2m {room="north"} = "a line\nwith escapes"
//! clear                                   forgets all streams
//!
//! eval instant at 5m QUERY                a query; what it gives follows, indented
//!   {app="shop"} 2
//! eval range 1m to 5m step 1m QUERY       `_` where a step has no value
//!   {app="shop"} 1 2 _ 4 5
//! eval log QUERY                          lines with all labels, newest first
//!   {app="shop"} 2m = "a line\nwith escapes"
//! eval log limit 2 forward 1s to 2m interval 10s categorized QUERY
//!   {app="shop"} meta{room="north"} parsed{} 2m | the line
//! eval format QUERY                       the query in one form
//!   {app="shop"} |= "x"
//! ```
//!
//! A query that is refused or fails is expected by `fails: ` and a part of the error's text.

use kymo_logql::labels::Labels;
use kymo_logql::matcher::MatchOp;
use kymo_logql::parser::parse_selector;
use kymo_logql::request::{Direction, Request};
use kymo_logql::units::parse_go_duration;

/// What a script says.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) cases: Vec<Case>,
}

/// A line of a stream.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) stream: Labels,
    pub(crate) time_nanos: i64,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) line: String,
}

/// One query.
pub(crate) struct Case {
    pub(crate) line_number: usize,
    pub(crate) lines: Vec<Line>,
    pub(crate) query: String,
    pub(crate) kind: Kind,
    pub(crate) expected: Vec<String>,
    /// Where in the text that begins.
    pub(crate) expected_at: usize,
    pub(crate) fails: bool,
}

/// How the query is asked.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Ask { request: Request, is_categorized: bool },
    Format,
}

/// Reads a script.
pub(crate) fn parse(name: &str, text: &str) -> Script {
    let mut script = Script::default();
    let mut lines: Vec<Line> = Vec::new();
    let mut stream = None;
    let mut is_expecting = false;
    for (at, text) in text.lines().enumerate() {
        let place = || format!("{name}:{}", at + 1);
        if text.trim().is_empty() || text.starts_with('#') {
            is_expecting = false;
        } else if let Some(content) = text.strip_prefix("  ") {
            match script.cases.last_mut().filter(|_| is_expecting) {
                Some(case) => {
                    case.expected.push(content.to_owned());
                    case.fails |= content.starts_with("fails: ");
                }
                None => {
                    let stream = stream.clone().unwrap_or_else(|| panic!("{}: no load", place()));
                    lines.push(stored(&stream, content).unwrap_or_else(|| panic!("{}", place())));
                }
            }
        } else if let Some(selector) = text.strip_prefix("load ") {
            stream = Some(labels(selector));
            is_expecting = false;
        } else if text == "clear" {
            lines.clear();
        } else if let Some(rest) = text.strip_prefix("eval ") {
            let (kind, query) = asked(rest).unwrap_or_else(|| panic!("{}: {rest}", place()));
            script.cases.push(Case {
                line_number: at + 1,
                lines: lines.clone(),
                query,
                kind,
                expected: Vec::new(),
                expected_at: at + 1,
                fails: false,
            });
            is_expecting = true;
        } else {
            panic!("{}: {text}", place());
        }
    }
    script
}

fn labels(selector: &str) -> Labels {
    let matchers = parse_selector(selector).unwrap();
    assert!(matchers.iter().all(|matcher| matcher.op == MatchOp::Equal), "{selector}");
    Labels::of(matchers.iter().map(|matcher| (&matcher.name, &matcher.value)))
}

/// `2m {room="north"} | the line`
fn stored(stream: &Labels, text: &str) -> Option<Line> {
    let (time, rest) = text.split_once(' ')?;
    let (metadata, rest) = match rest.starts_with('{') {
        true => {
            let (metadata, rest) = rest.split_once("} ")?;
            (labels(&format!("{metadata}}}")), rest)
        }
        false => (Labels::default(), rest),
    };
    let line = match rest.split_at_checked(1)? {
        ("|", line) => line.strip_prefix(' ').unwrap_or(line).to_owned(),
        ("=", line) => serde_json::from_str(line.trim()).ok()?,
        _ => return None,
    };
    let metadata = metadata.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let time_nanos = parse_go_duration(time)?;
    Some(Line { stream: stream.clone(), time_nanos, metadata: metadata.collect(), line })
}

/// How a query is asked, and the query.
fn asked(text: &str) -> Option<(Kind, String)> {
    let (word, rest) = text.split_once(' ')?;
    let ask = |request| Kind::Ask { request, is_categorized: false };
    match word {
        "format" => Some((Kind::Format, rest.to_owned())),
        "instant" => {
            let (time, query) = rest.strip_prefix("at ")?.split_once(' ')?;
            Some((ask(Request::instant(parse_go_duration(time)?)), query.to_owned()))
        }
        "range" => {
            let (start, rest) = rest.split_once(" to ")?;
            let (end, rest) = rest.split_once(" step ")?;
            let (step, query) = rest.split_once(' ')?;
            let [start, end, step] = [start, end, step].map(parse_go_duration);
            Some((ask(Request::range(start?, end?, step?)), query.to_owned()))
        }
        "log" => log_asked(rest),
        _ => None,
    }
}

fn log_asked(text: &str) -> Option<(Kind, String)> {
    let hour_nanos = 3600 * 1_000_000_000;
    let mut request = Request::range(-hour_nanos, 24 * hour_nanos, 0);
    let (mut is_categorized, mut rest) = (false, text);
    loop {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "limit" => {
                let (limit, after) = after.split_once(' ')?;
                request.limit = limit.parse().ok()?;
                rest = after;
                continue;
            }
            "interval" => {
                let (interval, after) = after.split_once(' ')?;
                request.interval_nanos = parse_go_duration(interval)?;
                rest = after;
                continue;
            }
            "forward" => request.direction = Direction::Forward,
            "categorized" => is_categorized = true,
            _ => match parse_go_duration(word) {
                Some(start) => {
                    let (end, after) = after.strip_prefix("to ")?.split_once(' ')?;
                    let (limit, direction) = (request.limit, request.direction);
                    let interval_nanos = request.interval_nanos;
                    request = Request::range(start, parse_go_duration(end)?, 0);
                    request = Request { limit, direction, interval_nanos, ..request };
                    rest = after;
                    continue;
                }
                None => return Some((Kind::Ask { request, is_categorized }, rest.to_owned())),
            },
        }
        rest = after;
    }
}
