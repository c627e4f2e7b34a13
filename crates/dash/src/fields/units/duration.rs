//! Lengths of time in words and on clocks.

use super::Formatted;

/// Units from the largest, in milliseconds.
const UNITS: [(&str, f64); 8] = [
    ("year", 31_536_000e3),
    ("month", 2_592_000e3),
    ("week", 604_800e3),
    ("day", 86_400e3),
    ("hour", 3_600e3),
    ("minute", 60e3),
    ("second", 1e3),
    ("millisecond", 1.0),
];

/// A length as `1 hour, 5 minutes`: the largest unit, and as many more as decimals are asked for.
pub(super) fn words(value: f64, decimals: Option<i64>, millis: f64, unit: &str) -> Formatted {
    if !value.is_finite() {
        return Formatted::text(super::number::fixed(value, None));
    }
    if value == 0.0 {
        return Formatted { suffix: format!(" {unit}"), ..Formatted::text("0") };
    }
    let mut rest = value.abs() * millis;
    let mut left = decimals.unwrap_or(0) + 1;
    let mut parts = Vec::new();
    for (name, size) in UNITS {
        if left == 0 {
            break;
        }
        let count = (rest / size).floor();
        if count >= 1.0 || !parts.is_empty() {
            let plural = if count == 1.0 { "" } else { "s" };
            parts.push(format!("{count} {name}{plural}"));
            rest %= size;
            left -= 1;
        }
    }
    if parts.is_empty() {
        parts.push("0 milliseconds".to_owned());
    }
    let suffix = if value < 0.0 { " ago" } else { "" };
    Formatted { suffix: suffix.to_owned(), ..Formatted::text(parts.join(", ")) }
}

/// Seconds as `01:05:00`, with days before it if asked for.
pub(super) fn clock(value: f64, with_days: bool) -> Formatted {
    let seconds = value.abs();
    if !seconds.is_finite() {
        return Formatted::text(super::number::fixed(value, None));
    }
    let days = if with_days { (seconds / 86_400.0).floor() } else { 0.0 };
    let rest = seconds - days * 86_400.0;
    let hours = (rest / 3600.0).floor();
    let (minutes, seconds) = ((rest % 3600.0 / 60.0).floor(), (rest % 60.0).floor());
    let days = if days > 0.0 { format!("{days} d ") } else { String::new() };
    let text = format!("{days}{hours:02}:{minutes:02}:{seconds:02}");
    let suffix = if value < 0.0 { " ago" } else { "" };
    Formatted { suffix: suffix.to_owned(), ..Formatted::text(text) }
}

/// Milliseconds as `01h:05m:00s:000ms`; decimals say how many parts follow the first.
pub(super) fn watch(value: f64, decimals: Option<i64>) -> String {
    if !value.is_finite() {
        return super::number::fixed(value, None);
    }
    let millis = value.max(0.0).floor();
    let part = |size: f64, of: f64| (millis / size).floor() % of;
    let seconds = format!("{:02}s", part(1e3, 60.0));
    let rest = format!("{:03}ms", part(1.0, 1e3));
    let minutes = format!("{:02}m", part(60e3, 60.0));
    let parts = match millis {
        millis if millis < 1e3 => return rest,
        millis if millis < 60e3 => vec![seconds, rest],
        millis if millis < 3_600e3 => vec![minutes, seconds, rest],
        millis => vec![format!("{}h", (millis / 3_600e3).floor()), minutes, seconds, rest],
    };
    // A length of seconds has no middle part to stop at.
    let kept = match decimals {
        Some(decimals) if parts.len() > 2 || decimals == 0 => (decimals + 1) as usize,
        _ => parts.len(),
    };
    parts[..kept.min(parts.len())].join(":")
}

/// How long ago, or in how long: `5 minutes ago`.
pub(super) fn from_now(millis: f64, now_millis: f64) -> String {
    let distance = millis - now_millis;
    if !distance.is_finite() {
        return "Invalid date".to_owned();
    }
    let seconds = (distance.abs() / 1e3).round();
    let minutes = (seconds / 60.0).round();
    let hours = (minutes / 60.0).round();
    let days = (hours / 24.0).round();
    let months = (days / 30.4369).round();
    let years = (days / 365.25).round();
    let text = if seconds < 45.0 {
        "a few seconds".to_owned()
    } else if minutes <= 1.0 {
        "a minute".to_owned()
    } else if minutes < 45.0 {
        format!("{minutes} minutes")
    } else if hours <= 1.0 {
        "an hour".to_owned()
    } else if hours < 22.0 {
        format!("{hours} hours")
    } else if days <= 1.0 {
        "a day".to_owned()
    } else if days < 26.0 {
        format!("{days} days")
    } else if months <= 1.0 {
        "a month".to_owned()
    } else if months < 11.0 {
        format!("{months} months")
    } else if years <= 1.0 {
        "a year".to_owned()
    } else {
        format!("{years} years")
    };
    if distance > 0.0 { format!("in {text}") } else { format!("{text} ago") }
}
