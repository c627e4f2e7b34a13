//! Durations as dashboards write them, and the step between points, as Grafana computes it.

use crate::limits::MAX_POINTS;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How often metrics are scraped, where nobody says: as Grafana assumes it.
pub const SCRAPE_MILLIS: i64 = 15 * SECOND;

/// The longest duration that is read, about a hundred years: what is longer is none that anybody
/// meant, and as nanoseconds it has to be a number still.
pub const LONGEST_MILLIS: i64 = 3_200_000_000_000;

/// Steps that are round to people: up to the first number, the second is meant.
const ROUND: [(i64, i64); 30] = [
    (10, 1),
    (15, 10),
    (35, 20),
    (75, 50),
    (150, 100),
    (350, 200),
    (750, 500),
    (1_500, SECOND),
    (3_500, 2 * SECOND),
    (7_500, 5 * SECOND),
    (12_500, 10 * SECOND),
    (17_500, 15 * SECOND),
    (25_000, 20 * SECOND),
    (45_000, 30 * SECOND),
    (90_000, MINUTE),
    (210_000, 2 * MINUTE),
    (450_000, 5 * MINUTE),
    (750_000, 10 * MINUTE),
    (1_050_000, 15 * MINUTE),
    (1_500_000, 20 * MINUTE),
    (2_700_000, 30 * MINUTE),
    (5_400_000, HOUR),
    (9_000_000, 2 * HOUR),
    (16_200_000, 3 * HOUR),
    (32_400_000, 6 * HOUR),
    (86_400_000, 12 * HOUR),
    (604_800_000, DAY),
    (1_814_400_000, 7 * DAY),
    (3_628_800_000, 30 * DAY),
    (i64::MAX, 365 * DAY),
];

/// The round step that is nearest.
pub fn rounded(millis: i64) -> i64 {
    ROUND.iter().find(|(below, _)| millis < *below).map_or(365 * DAY, |(_, step)| *step)
}

/// `$__interval`: the time divided by the points, rounded, and no less than a bound.
pub fn interval(range_millis: i64, points: i64, least_millis: i64) -> i64 {
    rounded(range_millis.max(0) / points.max(1)).max(least_millis)
}

/// The step of a PromQL query: the interval times the query's factor, and never so short that the
/// answer has more points than allowed.
pub fn prometheus_step(interval_millis: i64, factor: i64, range_millis: i64) -> i64 {
    let safe = rounded_up(range_millis.max(0) / MAX_POINTS + 1);
    interval_millis.saturating_mul(factor.clamp(1, 1_000)).max(safe).max(1)
}

/// A step of whole seconds from a second on, so that points of several queries meet.
fn rounded_up(millis: i64) -> i64 {
    if millis <= SECOND { 1 } else { (millis + SECOND - 1) / SECOND * SECOND }
}

/// `$__rate_interval`: long enough that four scrapes are in it.
pub fn rate_interval(step_millis: i64, scrape_millis: i64) -> i64 {
    step_millis.saturating_add(scrape_millis).max(scrape_millis.saturating_mul(4))
}

/// A duration as Grafana writes it: in the largest unit that it is a multiple of.
pub fn short(millis: i64) -> String {
    let units = [(365 * DAY, "y"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")];
    let unit = units.into_iter().find(|(unit, _)| millis >= *unit && millis % unit == 0);
    match unit {
        Some((unit, name)) => format!("{}{name}", millis / unit),
        None => format!("{}ms", millis.max(1)),
    }
}

/// A duration such as `30s`, `1h30m`, `>10s` or `15`, in milliseconds. A bare number is seconds.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim().trim_start_matches(['>', '<', '=']).trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return bounded(seconds * 1_000.0);
    }
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_length =
            rest[digits..].find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len() - digits);
        let unit = match rest[digits..digits + unit_length].trim() {
            "ns" => 1e-6,
            "us" | "µs" => 1e-3,
            "ms" => 1.0,
            "s" => SECOND as f64,
            "m" => MINUTE as f64,
            "h" => HOUR as f64,
            "d" => DAY as f64,
            "w" => 7.0 * DAY as f64,
            "M" => 30.0 * DAY as f64,
            "y" => 365.0 * DAY as f64,
            _ => return None,
        };
        total += number * unit;
        rest = &rest[digits + unit_length..];
    }
    bounded(total)
}

fn bounded(millis: f64) -> Option<i64> {
    (millis > 0.0 && millis <= LONGEST_MILLIS as f64).then_some(millis.ceil() as i64)
}
