//! The names that metrics and attributes of OpenTelemetry have in Prometheus.
//!
//! As Prometheus itself translates OTLP. By default letters that its names cannot have become
//! single underscores, the unit follows the name in plain words, and counters end in `_total`.
//! Names are made when they are read, so that what is stored is what was sent, and the way of
//! naming can be changed later.

/// How names are translated. The words are those of Prometheus' setting `translation_strategy`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// `UnderscoreEscapingWithSuffixes`: plain letters, with unit and type at the end.
    #[default]
    Escaped,
    /// `UnderscoreEscapingWithoutSuffixes`: plain letters only.
    EscapedWithoutSuffixes,
    /// `NoUTF8EscapingWithSuffixes`: the name as sent, with unit and type at the end.
    Utf8,
    /// `NoTranslation`: the name as sent.
    Untranslated,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Escaped, Self::EscapedWithoutSuffixes, Self::Utf8, Self::Untranslated];

    /// Its name in Prometheus' configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Escaped => "UnderscoreEscapingWithSuffixes",
            Self::EscapedWithoutSuffixes => "UnderscoreEscapingWithoutSuffixes",
            Self::Utf8 => "NoUTF8EscapingWithSuffixes",
            Self::Untranslated => "NoTranslation",
        }
    }

    /// The strategy of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    fn is_escaped(self) -> bool {
        matches!(self, Self::Escaped | Self::EscapedWithoutSuffixes)
    }

    /// The name of a metric; `None` if nothing of the name is left.
    pub fn metric_name(self, name: &str, unit: &str, kind: MetricKind) -> Option<String> {
        match self {
            Self::Escaped => metric_name(name, unit, kind),
            Self::EscapedWithoutSuffixes => escaped(name),
            Self::Utf8 => Some(suffixed(name, unit, kind)).filter(|name| !name.is_empty()),
            Self::Untranslated => Some(name.to_owned()).filter(|name| !name.is_empty()),
        }
    }

    /// The name of a label.
    pub fn label_name(self, key: &str) -> String {
        if !self.is_escaped() {
            return key.to_owned();
        }
        let is_letter = |letter: char| letter.is_ascii_alphanumeric();
        let plain: String =
            key.chars().map(|letter| if is_letter(letter) { letter } else { '_' }).collect();
        let is_reserved = plain.starts_with("__");
        match plain.chars().next() {
            Some(digit) if digit.is_ascii_digit() => format!("key_{plain}"),
            Some('_') if !is_reserved => format!("key{plain}"),
            _ => plain,
        }
    }
}

/// Runs of letters that names cannot have as single underscores.
fn escaped(name: &str) -> Option<String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == ':' || letter == '_';
    let parts: Vec<&str> =
        name.split(|letter| !is_letter(letter)).filter(|part| !part.is_empty()).collect();
    let joined = parts.join("_");
    match joined.chars().next()? {
        digit if digit.is_ascii_digit() => Some(format!("_{joined}")),
        _ => Some(joined).filter(|joined| joined.chars().any(|letter| letter != '_')),
    }
}

/// The name as sent, with unit and type at its end.
fn suffixed(name: &str, unit: &str, kind: MetricKind) -> String {
    let last = match kind {
        MetricKind::Counter => Some("total"),
        MetricKind::Gauge if unit == "1" => Some("ratio"),
        _ => None,
    };
    let mut result = name.to_owned();
    if let Some(last) = last
        && let Some(before) = name.strip_suffix(last)
        && before.chars().count() > 1
    {
        // With what stood between them.
        result = before.chars().take(before.chars().count() - 1).collect();
    }
    let (main, per) = unit_words(unit);
    for words in [main, per].iter().map(|words| words.trim_end_matches('_')) {
        if !words.is_empty() && words != "per" && !result.ends_with(words) {
            result = format!("{result}_{words}");
        }
    }
    match last {
        Some(last) => format!("{result}_{last}"),
        None => result,
    }
}

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

/// The name by default; `None` if nothing of the name is left.
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
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
        let labels = lines.iter().position(|line| line[0].starts_with("# label")).unwrap();
        let mut compared = 0;
        for fields in lines[1..labels].iter().filter(|fields| fields.len() > 6) {
            for (strategy, expected) in Strategy::ALL.into_iter().zip(&fields[3..]) {
                let found = strategy.metric_name(fields[0], fields[1], kind(fields[2]));
                let expected = Some(*expected).filter(|expected| !expected.starts_with("ERROR"));
                assert_eq!(found.as_deref(), expected, "{fields:?} {strategy:?}");
                compared += 1;
            }
        }
        assert!(compared > 200, "{compared} names");
        for fields in lines[labels + 1..].iter().filter(|fields| fields.len() > 3) {
            assert_eq!(Strategy::Escaped.label_name(fields[0]), fields[1], "{fields:?}");
            assert_eq!(Strategy::Utf8.label_name(fields[0]), fields[0]);
        }
    }
}
