//! The name that a metric of OpenTelemetry has in Prometheus.
//!
//! As the translation that Prometheus itself applies to OTLP by default: letters that its names
//! cannot have become single underscores, the unit follows the name in plain words, and counters
//! end in `_total`. Names are made when they are read, so that what is stored is what was sent.

/// What of a metric's type its name depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A sum that only grows.
    Counter,
    /// A gauge.
    Gauge,
    /// Any other: a sum that also falls, histograms, summaries.
    Other,
}

/// Units as they are written, and the words for them.
const UNITS: [(&str, &str); 26] = [
    ("d", "days"),
    ("h", "hours"),
    ("min", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("By", "bytes"),
    ("KiBy", "kibibytes"),
    ("MiBy", "mebibytes"),
    ("GiBy", "gibibytes"),
    // Not a word, but what Prometheus writes.
    ("TiBy", "tibibytes"),
    ("KBy", "kilobytes"),
    ("MBy", "megabytes"),
    ("GBy", "gigabytes"),
    ("TBy", "terabytes"),
    ("m", "meters"),
    ("V", "volts"),
    ("A", "amperes"),
    ("J", "joules"),
    ("W", "watts"),
    ("g", "grams"),
    ("Cel", "celsius"),
    ("Hz", "hertz"),
    ("%", "percent"),
    ("1", ""),
];

/// Units behind a stroke, and the words for them.
const PER_UNITS: [(&str, &str); 7] = [
    ("s", "second"),
    ("m", "minute"),
    ("h", "hour"),
    ("d", "day"),
    ("w", "week"),
    ("mo", "month"),
    ("y", "year"),
];

/// The name in Prometheus; `None` if nothing of the name is left.
pub fn metric_name(name: &str, unit: &str, kind: MetricKind) -> Option<String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == ':';
    let mut tokens: Vec<&str> =
        name.split(|letter| !is_letter(letter)).filter(|token| !token.is_empty()).collect();
    let (main, per) = unit_words(unit);
    let per = Some(per.trim_end_matches('_')).filter(|per| !per.is_empty() && *per != "per");
    let per = per.filter(|per| !tokens.contains(per));
    let mut main = Some(main.as_str()).filter(|main| !main.is_empty() && !tokens.contains(main));
    if per.is_some() {
        main = main.map(|main| main.trim_end_matches('_')).filter(|main| !main.is_empty());
    }
    tokens.extend(main);
    tokens.extend(per);
    let last = match kind {
        MetricKind::Counter => Some("total"),
        MetricKind::Gauge if unit == "1" => Some("ratio"),
        _ => None,
    };
    if let Some(last) = last {
        // Wherever it stood, it stands at the end.
        tokens.retain(|token| *token != last);
        tokens.push(last);
    }
    let joined = tokens.join("_");
    match joined.chars().next()? {
        digit if digit.is_ascii_digit() => Some(format!("_{joined}")),
        _ => Some(joined).filter(|joined| joined.chars().any(|letter| letter != '_')),
    }
}

/// The words of a unit, and those of what it is divided by (`per_second`). Text in braces is an
/// annotation, not a unit.
fn unit_words(unit: &str) -> (String, String) {
    let (main, per) = unit.split_once('/').unwrap_or((unit, ""));
    let words = |part: &str, known: &[(&str, &str)]| {
        let part = part.trim();
        if part.contains(['{', '}']) {
            return String::new();
        }
        let found = known.iter().find(|(written, _)| *written == part);
        clean(found.map_or(part, |(_, words)| words))
    };
    let main = words(main, &UNITS);
    let per = match words(per, &PER_UNITS) {
        empty if empty.is_empty() => empty,
        per => clean(&format!("per_{per}")),
    };
    (main, per)
}

/// Letters that names cannot have as single underscores, none at the beginning.
fn clean(unit: &str) -> String {
    let mut cleaned = String::with_capacity(unit.len());
    for letter in unit.chars() {
        if letter.is_ascii_alphanumeric() || letter == ':' {
            cleaned.push(letter);
        } else if !cleaned.ends_with('_') && !cleaned.is_empty() {
            cleaned.push('_');
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(word: &str) -> MetricKind {
        match word {
            "counter" => MetricKind::Counter,
            "gauge" => MetricKind::Gauge,
            _ => MetricKind::Other,
        }
    }

    #[test]
    fn names_are_translated_as_prometheus_does() {
        for (name, unit, word, expected) in [
            ("worker.jobs", "", "counter", "worker_jobs_total"),
            ("worker.jobs", "{job}", "counter", "worker_jobs_total"),
            ("worker.jobs.total", "1", "counter", "worker_jobs_total"),
            ("total.jobs", "", "counter", "jobs_total"),
            ("request.duration", "s", "histogram", "request_duration_seconds"),
            ("request.seconds", "s", "histogram", "request_seconds"),
            ("cpu.utilization", "1", "gauge", "cpu_utilization_ratio"),
            ("cpu.utilization", "1", "updown", "cpu_utilization"),
            ("link", "By/s", "gauge", "link_bytes_per_second"),
            ("fan", "{turn}/min", "gauge", "fan_per_min"),
            ("yield", "tokens/step", "gauge", "yield_tokens_per_step"),
            ("2fast", "", "gauge", "_2fast"),
            ("a__b--c", "", "gauge", "a_b_c"),
            ("loss", "foo bar", "gauge", "loss_foo_bar"),
            ("loss", "/", "gauge", "loss"),
            ("größe", "m", "gauge", "gr_e_meters"),
        ] {
            let found = metric_name(name, unit, kind(word));
            assert_eq!(found.as_deref(), Some(expected), "{name} {unit} {word}");
        }
        assert_eq!(metric_name("...", "", MetricKind::Gauge), None);
    }

    /// Names that the real translation made, where they are at hand.
    #[test]
    fn names_are_those_of_the_reference() {
        let Ok(data) = std::env::var("KYMO_TEST_DATA") else { return };
        let path = std::path::Path::new(&data).join("otlp/name_translation_golden.tsv");
        let Ok(table) = std::fs::read_to_string(&path) else { return };
        let mut compared = 0;
        for line in table.lines().skip(1).take_while(|line| !line.starts_with("# label")) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, unit, word, expected, ..] = fields[..] else { continue };
            let found = metric_name(name, unit, kind(word));
            let expected = Some(expected).filter(|expected| !expected.starts_with("ERROR"));
            assert_eq!(found.as_deref(), expected, "{line}");
            compared += 1;
        }
        assert!(compared > 50, "{compared} names");
    }
}
