//! Series, numbers, durations and histograms as scripts write them.

use std::sync::Arc;

use kymo_promql::histogram::{BucketSpan, Histogram, ResetHint};
use kymo_promql::labels::Labels;
use kymo_promql::parser::parse_metric;

/// A sample.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// `_`
    Absent,
    /// `stale`
    Stale,
    /// A number.
    Float(f64),
    /// `{{…}}`
    Histogram(Histogram),
}

/// The labels at the beginning of a line, and the rest.
pub(crate) fn split_metric(line: &str) -> (Labels, &str) {
    let bytes = line.as_bytes();
    let is_name = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_' || letter == b':';
    let mut end = bytes.iter().position(|letter| !is_name(*letter)).unwrap_or(bytes.len());
    if bytes.get(end) == Some(&b'{') && bytes.get(end + 1) != Some(&b'{') {
        let mut quote = None;
        while end < bytes.len() {
            let letter = bytes[end];
            end += 1;
            match (quote, letter) {
                (Some(b'`'), b'\\') => {}
                (Some(_), b'\\') => end += 1,
                (Some(open), letter) if open == letter => quote = None,
                (None, b'"' | b'\'' | b'`') => quote = Some(letter),
                (None, b'}') => break,
                _ => {}
            }
        }
    }
    let labels = parse_metric(&line[..end]).unwrap_or_else(|error| panic!("{line}: {error}"));
    (labels, line[end..].trim())
}

/// A number; also in hexadecimal or octal.
pub(crate) fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = unsigned.to_ascii_lowercase().replace('_', "");
    let value = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => f64::NAN,
        _ if lower.starts_with("0x") => u64::from_str_radix(&lower[2..], 16).ok()? as f64,
        _ if lower.len() > 1
            && lower.starts_with('0')
            && lower.bytes().all(|d| d.is_ascii_digit()) =>
        {
            u64::from_str_radix(&lower, 8).ok()? as f64
        }
        _ if lower.starts_with(|c: char| c.is_ascii_digit() || c == '.') => lower.parse().ok()?,
        _ => return None,
    };
    Some(sign * value)
}

/// A duration, in milliseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('-') {
        return parse_duration(rest).map(|millis| -millis);
    }
    if text == "0" {
        return Some(0);
    }
    let units = [
        ("ms", 1),
        ("s", 1000),
        ("m", 60_000),
        ("h", 3_600_000),
        ("d", 86_400_000),
        ("w", 604_800_000),
        ("y", 31_536_000_000),
    ];
    let (mut rest, mut total) = (text, 0);
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let letters = rest[digits..].find(|letter: char| letter.is_ascii_digit());
        let end = letters.map_or(rest.len(), |letters| digits + letters);
        let (_, millis) = units.iter().find(|(unit, _)| *unit == &rest[digits..end])?;
        total += rest[..digits].parse::<i64>().ok()? * millis;
        rest = &rest[end..];
    }
    Some(total)
}

/// Start times relative to their samples: `-30s`, `_`, `-1m-1mx3`.
pub(crate) fn parse_starts(text: &str) -> Vec<Option<i64>> {
    let mut starts = Vec::new();
    for word in text.split_whitespace() {
        let (word, times) = match word.rsplit_once('x') {
            Some((word, times)) => (word, times.parse::<usize>().unwrap()),
            None => (word, 0),
        };
        if word == "_" {
            starts.extend(std::iter::repeat_n(None, times.max(1)));
            continue;
        }
        let sign = word[1..].find(['+', '-']).map(|at| at + 1);
        let (first, step) = word.split_at(sign.unwrap_or(word.len()));
        let signed = |text: &str| match text.strip_prefix('+') {
            Some(rest) => parse_duration(rest).unwrap(),
            None => parse_duration(text).unwrap(),
        };
        let (mut at, step) = (signed(first), if step.is_empty() { 0 } else { signed(step) });
        for _ in 0..=times {
            starts.push(Some(at));
            at += step;
        }
    }
    starts
}

/// The samples of a line.
pub(crate) fn parse_items(text: &str) -> Vec<Item> {
    let (mut items, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        if rest.starts_with("{{") {
            rest = parse_histograms(rest, &mut items).trim_start();
            continue;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        parse_word(&rest[..end], &mut items);
        rest = rest[end..].trim_start();
    }
    items
}

fn parse_word(word: &str, items: &mut Vec<Item>) {
    if let Some(times) = word.strip_prefix("_x") {
        items.extend(std::iter::repeat_n(Item::Absent, times.parse().unwrap()));
        return;
    }
    if word == "_" {
        return items.push(Item::Absent);
    }
    if let Some(times) = word.strip_prefix("stale") {
        let times = times.strip_prefix('x').map_or(1, |n| n.parse::<usize>().unwrap() + 1);
        items.extend(std::iter::repeat_n(Item::Stale, times));
        return;
    }
    let Some((word, times)) = word.rsplit_once('x') else {
        let number = parse_plain(word).unwrap_or_else(|| panic!("{word} is no sample"));
        return items.push(Item::Float(number));
    };
    let times: usize = times.parse().unwrap();
    // A sign behind the first letter, but not that of an exponent, begins the step.
    let is_sign = |at: &usize| {
        matches!(word.as_bytes()[*at], b'+' | b'-')
            && !matches!(word.as_bytes()[*at - 1], b'e' | b'E')
    };
    let sign = (1..word.len()).find(is_sign);
    let (first, step) = word.split_at(sign.unwrap_or(word.len()));
    let mut value = parse_plain(first).unwrap();
    let step = if step.is_empty() { 0.0 } else { parse_plain(step).unwrap() };
    for _ in 0..=times {
        items.push(Item::Float(value));
        value += step;
    }
}

/// A decimal number.
fn parse_plain(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    match lower.trim_start_matches(['+', '-']) {
        "inf" | "nan" => lower.parse().ok(),
        _ => lower.replace('_', "").parse().ok(),
    }
}

fn parse_histograms<'a>(text: &'a str, items: &mut Vec<Item>) -> &'a str {
    let end = text.find("}}").unwrap();
    let first = parse_histogram(&text[2..end]);
    let mut rest = &text[end + 2..];
    let times = |rest: &'a str| -> (usize, &'a str) {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        (rest[..digits].parse().unwrap(), &rest[digits..])
    };
    if let Some(after) = rest.strip_prefix('x') {
        let (times, after) = times(after);
        items.extend(std::iter::repeat_n(Item::Histogram(first), times + 1));
        return after;
    }
    let sign = rest.chars().next().filter(|sign| matches!(sign, '+' | '-'));
    let Some(sign) = sign.filter(|_| rest[1..].starts_with("{{")) else {
        items.push(Item::Histogram(first));
        return rest;
    };
    rest = &rest[1..];
    let end = rest.find("}}").unwrap();
    let step = parse_histogram(&rest[2..end]);
    let (times, after) = times(rest[end + 2..].strip_prefix('x').unwrap());
    let mut current = first;
    items.push(Item::Histogram(current.clone()));
    for _ in 0..times {
        let hint = step.hint;
        if sign == '+' {
            current.add(&step).unwrap()
        } else {
            current.subtract(&step).unwrap()
        };
        current.hint = hint;
        items.push(Item::Histogram(current.clone()));
    }
    after
}

fn parse_histogram(text: &str) -> Histogram {
    let mut histogram = Histogram::default();
    let (mut offset, mut negative_offset) = (0, 0);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once(':').unwrap();
        let end = match after.starts_with('[') {
            true => after.find(']').unwrap() + 1,
            false => after.find(char::is_whitespace).unwrap_or(after.len()),
        };
        let value = &after[..end];
        let list = || -> Vec<f64> {
            let inner = value.trim_matches(['[', ']']);
            inner.split_whitespace().map(|number| parse_number(number).unwrap()).collect()
        };
        let number = || parse_number(value).unwrap();
        match key.trim() {
            "schema" => histogram.schema = value.parse().unwrap(),
            "sum" => histogram.sum = number(),
            "count" => histogram.count = number(),
            "z_bucket" => histogram.zero_count = number(),
            "z_bucket_w" => histogram.zero_threshold = number(),
            "custom_values" => histogram.custom_bounds = Arc::from(list()),
            "buckets" => histogram.positive = list(),
            "n_buckets" => histogram.negative = list(),
            "offset" => offset = value.parse().unwrap(),
            "n_offset" => negative_offset = value.parse().unwrap(),
            "counter_reset_hint" => {
                histogram.hint = match value {
                    "unknown" => ResetHint::Unknown,
                    "reset" => ResetHint::Reset,
                    "not_reset" => ResetHint::NotReset,
                    "gauge" => ResetHint::Gauge,
                    other => panic!("hint {other}"),
                }
            }
            other => panic!("{other} of a histogram"),
        }
        rest = after[end..].trim_start();
    }
    let spans = |offset: i32, buckets: &[f64]| match buckets.len() {
        0 => Vec::new(),
        length => vec![BucketSpan { offset, length: length as u32 }],
    };
    histogram.positive_spans = spans(offset, &histogram.positive);
    histogram.negative_spans = spans(negative_offset, &histogram.negative);
    histogram
}
