//! sccache's text, as `--show-stats`, `--show-adv-stats` and `--stop-server` print it: a name, spaces
//! and a value in each line.
//!
//! Names may have parentheses within parentheses, `Cache hits (CUDA (Device code))`. Lines with a
//! rate (`Cache hits rate (Rust)   50.00 %`, or `-`) say nothing that the counts do not.

use super::{Outcome, Stats};

const OUTCOMES: [(&str, Outcome); 3] = [
    ("Cache hits", Outcome::Hit),
    ("Cache misses", Outcome::Miss),
    ("Cache errors", Outcome::Error),
];

/// What a text tells; none if it is not sccache's.
pub(super) fn parse(text: &str) -> Option<Stats> {
    let mut stats = Stats::default();
    for line in text.lines() {
        if let Some((name, value)) = line.trim_end().rsplit_once(char::is_whitespace) {
            take(&mut stats, name.trim_end(), value);
        }
    }
    // Those of a server that was not asked for anything, which prints 0.000.
    let looked_up = stats.total();
    if looked_up.misses == 0 {
        stats.average_compiler_seconds.take_if(|seconds| *seconds == 0.0);
    }
    if looked_up.hits == 0 {
        stats.average_cache_read_hit_seconds = None;
    }
    stats.requests.is_some().then_some(stats)
}

fn take(stats: &mut Stats, name: &str, value: &str) {
    let count = value.parse::<u64>().ok();
    match (name, count) {
        // The first line. When someone asks twice into one file, the second answer has it all.
        ("Compile requests", Some(_)) => *stats = Stats { requests: count, ..Stats::default() },
        ("Non-cacheable calls", Some(_)) => stats.non_cacheable_calls = count,
        ("Compilation failures", Some(_)) => stats.compile_failures = count,
        ("Version (client)", _) => stats.version = Some(super::super::text::bounded_name(value)),
        (_, Some(count)) => take_outcome(stats, name, count),
        // Seconds, `Average compiler   0.334 s`, are cut into a name with a number and `s`.
        (_, None) if value == "s" => take_average(stats, name),
        _ => {}
    }
}

fn take_outcome(stats: &mut Stats, name: &str, count: u64) {
    for (prefix, outcome) in OUTCOMES {
        let Some(rest) = name.strip_prefix(prefix) else { continue };
        let label = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
        match label {
            Some(label) => stats.add_labelled(outcome, label, count),
            None if rest.is_empty() => stats.add_plain(outcome, count),
            None => {}
        }
    }
}

fn take_average(stats: &mut Stats, name_and_number: &str) {
    let Some((name, number)) = name_and_number.rsplit_once(char::is_whitespace) else { return };
    let seconds = number.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    match name.trim_end() {
        "Average compiler" => stats.average_compiler_seconds = seconds,
        "Average cache read hit" => stats.average_cache_read_hit_seconds = seconds,
        _ => {}
    }
}
