//! The language of the scripts.
//!
//! ```text
//! load 1m                          series follow, a sample each minute from 1970 on
//!   a_total{job="x"} 0+10x5 _ stale 1
//!   h {{schema:0 count:3 sum:4 buckets:[1 2]}}x2
//!   a_total@st -30s                start times of the next line, relative to its samples
//! load_with_nhcb 1m                classic histograms also as native ones
//! clear
//! eval instant at 5m rate(a_total[5m])
//!   expect warn|no_warn|info|no_info|fail|ordered [msg: text | regex: pattern]
//!   expect string "text"
//!   {job="x"} 0.1
//! eval range from 0 to 5m step 1m a_total
//! ```

mod expect;
mod memory;
mod nhcb;
mod values;

use kymo_promql::eval::{EvalOptions, Times, Uninterrupted, evaluate};
use kymo_promql::labels::Labels;
use kymo_promql::parser::parse;
use memory::Memory;
use values::{Item, parse_duration, parse_items, parse_number, parse_starts, split_metric};

/// A thing to evaluate and what should come out.
#[derive(Default)]
struct Case {
    line: usize,
    query: String,
    times: Option<Times>,
    ordered: bool,
    fails: Option<Wanted>,
    warnings: Vec<Wanted>,
    infos: Vec<Wanted>,
    no_warnings: bool,
    no_infos: bool,
    scalar: Option<f64>,
    text: Option<String>,
    /// First time and step of an expected range.
    range: Option<(i64, i64)>,
    series: Vec<(Labels, Vec<Item>)>,
}

/// A message.
#[derive(Debug, Clone)]
enum Wanted {
    Any,
    Text(String),
    Pattern(String),
}

impl Wanted {
    fn matches(&self, message: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Text(text) => message == text,
            Self::Pattern(pattern) => regex::Regex::new(pattern).unwrap().is_match(message),
        }
    }
}

/// Runs a script: how many cases there are, and those that failed.
pub(crate) fn run(name: &str, text: &str) -> (usize, Vec<String>) {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_blank = |line: &str| line.is_empty() || line.starts_with('#');
    let (mut memory, mut cases, mut failures) = (Memory::default(), 0, Vec::new());
    let mut at = 0;
    while at < lines.len() {
        let (first, line) = (lines[at], at + 1);
        at += 1;
        if is_blank(first) {
            continue;
        }
        let begin = at;
        if first != "clear" {
            while at < lines.len() && !is_blank(lines[at]) {
                at += 1;
            }
        }
        let body = &lines[begin..at];
        let words: Vec<&str> = first.split_whitespace().collect();
        match words[0] {
            "clear" => memory = Memory::default(),
            "load" | "load_with_nhcb" => load(&mut memory, &words, body),
            _ => {
                cases += 1;
                let case = parse_case(first, line, body);
                if let Err(why) = check(&memory, &case) {
                    failures.push(format!("{name}:{line} {}\n    {why}", case.query));
                }
            }
        }
    }
    (cases, failures)
}

fn load(memory: &mut Memory, words: &[&str], body: &[&str]) {
    let step = parse_duration(words[1]).unwrap();
    let mut loaded = Memory::default();
    let mut starts: Vec<Option<i64>> = Vec::new();
    for line in body {
        let (labels, rest) = split_metric(line);
        if let Some(offsets) = rest.strip_prefix("@st") {
            starts = parse_starts(offsets);
            continue;
        }
        for (nth, item) in parse_items(rest).into_iter().enumerate() {
            let time = nth as i64 * step;
            let start = starts.get(nth).copied().flatten().map_or(0, |offset| time + offset);
            loaded.add(&labels, time, start, item);
        }
        starts.clear();
    }
    if words[0] == "load_with_nhcb" {
        nhcb::add(&mut loaded);
    }
    memory.merge(loaded);
}

/// Between two words.
fn between<'a>(text: &'a str, from: &str, to: &str) -> (&'a str, &'a str) {
    let text = text.trim_start().strip_prefix(from).unwrap_or_else(|| panic!("{from} in {text}"));
    let text = text.trim_start();
    let end = if to.is_empty() { text.find(' ').unwrap() } else { text.find(to).unwrap() };
    (text[..end].trim(), &text[end..])
}

fn parse_case(first: &str, line: usize, body: &[&str]) -> Case {
    let mut case = Case { line, ..Case::default() };
    let (word, rest) = first.split_once(char::is_whitespace).unwrap();
    match word {
        "eval_fail" => case.fails = Some(Wanted::Any),
        "eval_warn" => case.warnings.push(Wanted::Any),
        "eval_info" => case.infos.push(Wanted::Any),
        "eval_ordered" => case.ordered = true,
        "eval" => {}
        other => panic!("line {line}: {other} is not known"),
    }
    let rest = rest.trim_start();
    if let Some(rest) = rest.strip_prefix("instant") {
        let (time, query) = between(rest, "at", "");
        case.times = Some(Times::instant(parse_duration(time).unwrap()));
        query.trim().clone_into(&mut case.query);
    } else {
        let rest = rest.strip_prefix("range").unwrap();
        let (start, rest) = between(rest, "from", " to ");
        let (end, rest) = between(rest, "to", " step ");
        let (step, query) = between(rest, "step", "");
        let [start, end, step] = [start, end, step].map(|text| parse_duration(text).unwrap());
        case.times = Some(Times { start, end, step });
        query.trim().clone_into(&mut case.query);
    }
    body.iter().for_each(|line| parse_expectation(&mut case, line));
    case
}

fn parse_expectation(case: &mut Case, line: &str) {
    if let Some(text) = line.strip_prefix("expect string ") {
        let mut labels = format!("{{a={}}}", text.trim());
        if text.trim().len() == 2 {
            labels = "{}".to_owned();
        }
        let (labels, _) = split_metric(&labels);
        case.text = Some(labels.get("a").unwrap_or_default().to_owned());
        return;
    }
    if let Some(rest) = line.strip_prefix("expect range vector") {
        let (start, rest) = between(rest, "from", " to ");
        let (end, step) = between(rest, "to", " step ");
        let step = parse_duration(step.trim_start().strip_prefix("step").unwrap().trim()).unwrap();
        case.times = Some(Times::instant(parse_duration(end).unwrap()));
        case.range = Some((parse_duration(start).unwrap(), step));
        return;
    }
    if let Some(rest) = line.strip_prefix("expect ") {
        let (word, message) = rest.split_once(' ').unwrap_or((rest, ""));
        let message = message.trim();
        let wanted = match (message.strip_prefix("msg:"), message.strip_prefix("regex:")) {
            (Some(text), _) => Wanted::Text(text.trim().to_owned()),
            (_, Some(pattern)) => Wanted::Pattern(pattern.trim().to_owned()),
            _ => Wanted::Any,
        };
        match word {
            "ordered" => case.ordered = true,
            "fail" => case.fails = Some(wanted),
            "warn" => case.warnings.push(wanted),
            "info" => case.infos.push(wanted),
            "no_warn" => case.no_warnings = true,
            "no_info" => case.no_infos = true,
            other => panic!("line {}: expect {other}", case.line),
        }
        return;
    }
    if let Some(number) = parse_number(line) {
        case.scalar = Some(number);
        return;
    }
    let (labels, rest) = split_metric(line);
    case.series.push((labels, parse_items(rest)));
}

fn check(memory: &Memory, case: &Case) -> Result<(), String> {
    let options = EvalOptions::default();
    let times = case.times.unwrap();
    let run = |times: Times| -> Result<_, String> {
        let expr = parse(&case.query).map_err(|error| error.to_string())?;
        evaluate(&expr, times, memory, &options, &Uninterrupted).map_err(|error| error.to_string())
    };
    let evaluation = match (run(times), &case.fails) {
        (Err(message), Some(wanted)) => {
            return match wanted {
                Wanted::Text(text) if message.contains(text) => Ok(()),
                wanted if wanted.matches(&message) => Ok(()),
                wanted => Err(format!("error: {message}, expected {wanted:?}")),
            };
        }
        (Ok(_), Some(_)) => return Err("should have failed".to_owned()),
        (Err(message), None) => return Err(format!("failed: {message}")),
        (Ok(evaluation), None) => evaluation,
    };
    expect::value(case, &evaluation.outcome, &times)?;
    expect::annotations(case, &evaluation.annotations)?;
    // What holds at one time holds at the middle of three.
    let mentions_query = ["start()", "end()", "range()", "step()"];
    let is_plain =
        times.is_instant() && !case.ordered && case.text.is_none() && case.range.is_none();
    if is_plain && !mentions_query.iter().any(|word| case.query.contains(word)) {
        let minute = 60_000;
        let around = Times { start: times.start - minute, end: times.start + minute, step: minute };
        let evaluation = run(around).map_err(|error| format!("as a range: {error}"))?;
        expect::middle(case, &evaluation.outcome, times.start)
            .map_err(|why| format!("as a range: {why}"))?;
    }
    Ok(())
}
