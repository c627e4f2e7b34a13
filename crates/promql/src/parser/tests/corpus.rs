//! Many expressions: those of scripts and dashboards if they are there, and damaged ones.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::print::pretty;

/// Expressions that use most of the language.
const SEEDS: [&str; 8] = [
    "sum by (job, \"a.b\") (rate(http_requests_total{code=~\"5..\", job!='x'}[5m] offset -1m)) / 2",
    "a > bool on (b) group_left (c) fill_left(-1) fill_right(1e3) d @ start() or vector(0x1F)",
    "max_over_time(rate(a[1m + step()])[1h:min_of(1m, 5 * 2)] @ 1.5) ^ -2",
    "topk(3, {\"metric.name\", \"l.n\"=\"\\x41\\u00e9\"}) unless b # comment\n + 1",
    "histogram_quantile(0.9, sum without () (a_bucket)) </ 5 >/ 2",
    "info(a[5m] anchored, {x=~\".*\"})",
    "label_replace(up, `a`, \"$1\", 'b', \"(.*)\")",
    "-a offset (step() * 2) % 3h5m atan2 +Inf",
];

/// What holds for every text: no panic, and what is read is printed so that it is read again.
fn check_round_trip(text: &str) -> bool {
    let Ok(expr) = parse(text) else { return false };
    let printed = expr.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{text} → {printed}: {error}"));
    assert_eq!(again.to_string(), printed, "{text}");
    let lines = pretty(&expr);
    let again = parse(&lines).unwrap_or_else(|error| panic!("{text} → {lines}: {error}"));
    assert_eq!(again.to_string(), printed, "{text}");
    true
}

fn data(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("KYMO_TEST_DATA")?).join(path))
}

/// The expressions of a script, and whether they should fail.
fn evaluations(script: &str) -> Vec<(String, bool)> {
    let eval = r"^eval(_fail|_warn|_ordered|_info)?\s+";
    let instant = regex::Regex::new(&format!(r"{eval}instant\s+(?:at\s+(?:.+?))?\s+(.+)$"));
    let range =
        regex::Regex::new(&format!(r"{eval}range\s+from\s+.+\s+to\s+.+\s+step\s+.+?\s+(.+)$"));
    let (instant, range) = (instant.unwrap(), range.unwrap());
    let lines: Vec<&str> = script.lines().collect();
    let mut found = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        let Some(parts) = instant.captures(line).or_else(|| range.captures(line)) else {
            continue;
        };
        let mut block = lines[nth + 1..].iter().take_while(|line| !line.trim().is_empty());
        let fails = block.any(|line| line.trim().starts_with("expect fail"))
            || parts.get(1).is_some_and(|kind| kind.as_str() == "_fail");
        found.push((parts[2].to_owned(), fails));
    }
    found
}

#[test]
fn the_scripts_are_read() {
    let Some(folder) = data("promql/testdata") else { return };
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "test") {
            continue;
        }
        for (text, fails) in evaluations(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            if !fails {
                assert!(check_round_trip(&text), "{text}: {:?}", parse(&text).err());
            }
        }
    }
    assert!(count > 1000, "{count} expressions");
}

#[test]
fn the_dashboards_are_read() {
    let Some(file) = data("dashboards/exprs.txt") else { return };
    let mut count = 0;
    for line in fs::read_to_string(file).unwrap().lines() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let text = ["$__rate_interval", "$__interval", "$__range"]
            .iter()
            .fold(line.to_owned(), |text, name| text.replace(name, "5m"));
        count += 1;
        assert!(check_round_trip(&text), "{text}: {:?}", parse(&text).err());
    }
    assert!(count > 200, "{count} expressions");
}

#[test]
fn seeds_are_read() {
    for seed in SEEDS {
        // One is wrong on purpose: info() has no range.
        assert_eq!(check_round_trip(seed), !seed.starts_with("info"), "{seed}");
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

#[test]
fn damaged_expressions_are_refused_or_read_again() {
    const PIECES: [&str; 24] = [
        "(", ")", "[", "]", "{", "}", ",", ":", "\"", "'", "\\", "-", "0", "1e", "_", "by", "sum",
        "offset ", "@", "é", "\n", "=~", "step()", "\u{0}",
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut text: Vec<char> = SEEDS[dice.roll(SEEDS.len())].chars().collect();
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(text.len());
            match dice.roll(4) {
                0 => drop(text.drain(at..(at + dice.roll(6)).min(text.len()))),
                1 => drop(text.splice(at..at, PIECES[dice.roll(PIECES.len())].chars())),
                2 => text.truncate(at.max(5)),
                _ => {
                    let other: Vec<char> = SEEDS[dice.roll(SEEDS.len())].chars().collect();
                    let from = dice.roll(other.len());
                    text.splice(at..at, other[from..].iter().copied().take(12));
                }
            }
        }
        let text: String = text.into_iter().collect();
        read += usize::from(check_round_trip(&text));
    }
    assert!(read > 500, "only {read} were read: the damage is too great to test anything");
}

#[test]
fn random_bytes_do_not_panic() {
    let mut dice = Dice(0x1234_5678_9abc_def1);
    for _ in 0..5000 {
        let bytes: Vec<u8> = (0..dice.roll(60)).map(|_| dice.roll(256) as u8).collect();
        let text = String::from_utf8_lossy(&bytes);
        let _ = parse(&text);
        let _ = parse_selector(&text);
        let _ = parse_metric(&text);
    }
}
