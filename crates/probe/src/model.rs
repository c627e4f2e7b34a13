//! Families, samples, and how collectors build them.
//!
//! A [`Snapshot`] is what one collection found, and which series it found no more. Families come
//! in the order in which collectors emit them, each name once; labels in the order given by the
//! collector, not sorted.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only rises, or starts again at 0.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Not known; what node-exporter calls so.
    Untyped,
}

impl Kind {
    /// As in the text format's TYPE line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Untyped => "untyped",
        }
    }
}

/// A family that is known when the program is built.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name.
    pub name: &'static str,
    /// What it says, for people.
    pub help: &'static str,
    /// Its type.
    pub kind: Kind,
}

impl Metric {
    /// A counter.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Counter }
    }

    /// A gauge.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Gauge }
    }
}

/// Labels of a sample.
pub type Labels = Vec<(&'static str, String)>;

/// One value of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values, without job and instance.
    pub labels: Labels,
    /// The value.
    pub value: f64,
    /// Since when a counter counts, where that is known: milliseconds since 1970.
    pub start_millis: Option<i64>,
}

/// All samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The name.
    pub name: Cow<'static, str>,
    /// What it says, for people.
    pub help: Cow<'static, str>,
    /// Its type.
    pub kind: Kind,
    /// At least one.
    pub samples: Vec<Sample>,
}

/// A series: a name with labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The name.
    pub name: Cow<'static, str>,
    /// Names and values, without job and instance.
    pub labels: Labels,
}

/// What one collection found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// Each name once.
    pub families: Vec<Family>,
    /// Series of earlier collections that are no more. A series that was not looked for this time
    /// is neither here nor in a family.
    pub ended: Vec<Series>,
}

impl Snapshot {
    /// The family of a name.
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name == name)
    }

    /// The value of the first sample of `name` that has all of `labels`.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |sample: &Sample, (name, value): &(&str, &str)| {
            sample.labels.iter().any(|(n, v)| n == name && v == value)
        };
        let samples = &self.family(name)?.samples;
        let sample = samples.iter().find(|s| labels.iter().all(|label| has(s, label)))?;
        Some(sample.value)
    }

    /// How many samples there are.
    pub fn sample_count(&self) -> usize {
        self.families.iter().map(|family| family.samples.len()).sum()
    }

    /// Appends all of it in Prometheus' text format, with HELP and TYPE.
    pub fn write_text(&self, out: &mut String) {
        for family in &self.families {
            out.push_str("# HELP ");
            out.push_str(&family.name);
            out.push(' ');
            push_escaped(out, &family.help, false);
            out.push_str("\n# TYPE ");
            out.push_str(&family.name);
            out.push(' ');
            out.push_str(family.kind.as_str());
            out.push('\n');
            for sample in &family.samples {
                write_sample(out, &family.name, sample);
            }
        }
    }
}

fn write_sample(out: &mut String, name: &str, sample: &Sample) {
    out.push_str(name);
    for (nth, (label, value)) in sample.labels.iter().enumerate() {
        out.push(if nth == 0 { '{' } else { ',' });
        out.push_str(label);
        out.push_str("=\"");
        push_escaped(out, value, true);
        out.push('"');
    }
    if !sample.labels.is_empty() {
        out.push('}');
    }
    out.push(' ');
    push_number(out, sample.value);
    out.push('\n');
}

/// Help texts keep their quotes, label values do not.
fn push_escaped(out: &mut String, text: &str, is_quoted: bool) {
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if is_quoted => out.push_str("\\\""),
            other => out.push(other),
        }
    }
}

fn push_number(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value}");
    }
}

/// Collects samples into families, whatever order they come in.
#[derive(Debug, Default)]
pub struct Builder {
    families: Vec<Family>,
    /// Where a name is in `families`; kept between collections for its memory.
    places: HashMap<Cow<'static, str>, usize>,
}

impl Builder {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sample without labels.
    pub fn value(&mut self, metric: &Metric, value: f64) {
        self.push(metric, Vec::new(), value);
    }

    /// Adds a sample with labels.
    pub fn with(&mut self, metric: &Metric, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.push(metric, labels, value);
    }

    /// Adds a sample of a counter that counts since then, where that is known.
    pub fn since(
        &mut self,
        metric: &Metric,
        labels: &[(&'static str, &str)],
        value: f64,
        start_millis: Option<i64>,
    ) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let place = self.place_of(metric);
        self.push_at(place, Sample { labels, value, start_millis });
    }

    /// Adds a sample with labels that are already owned.
    pub fn push(&mut self, metric: &Metric, labels: Labels, value: f64) {
        let place = self.place_of(metric);
        self.push_at(place, Sample { labels, value, start_millis: None });
    }

    /// Adds a sample of a family whose name only the kernel knows; `help` is called once for each.
    pub fn named(
        &mut self,
        name: &str,
        kind: Kind,
        help: impl FnOnce() -> String,
        labels: Labels,
        value: f64,
    ) {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => self.add(Cow::Owned(name.to_owned()), Cow::Owned(help()), kind),
        };
        self.push_at(place, Sample { labels, value, start_millis: None });
    }

    /// Adds families of another builder.
    pub fn append(&mut self, families: Vec<Family>) {
        for mut family in families {
            match self.places.get(&family.name).and_then(|place| self.families.get_mut(*place)) {
                Some(to) => to.samples.append(&mut family.samples),
                None => {
                    self.places.insert(family.name.clone(), self.families.len());
                    self.families.push(family);
                }
            }
        }
    }

    /// Takes what was collected; the builder is empty again.
    pub fn finish(&mut self) -> Snapshot {
        self.places.clear();
        Snapshot { families: std::mem::take(&mut self.families), ended: Vec::new() }
    }

    fn place_of(&mut self, metric: &Metric) -> usize {
        match self.places.get(metric.name) {
            Some(place) => *place,
            None => self.add(Cow::Borrowed(metric.name), Cow::Borrowed(metric.help), metric.kind),
        }
    }

    fn add(&mut self, name: Cow<'static, str>, help: Cow<'static, str>, kind: Kind) -> usize {
        let place = self.families.len();
        self.places.insert(name.clone(), place);
        self.families.push(Family { name, help, kind, samples: Vec::new() });
        place
    }

    fn push_at(&mut self, place: usize, sample: Sample) {
        // Always there: places are those of families.
        if let Some(family) = self.families.get_mut(place) {
            family.samples.push(sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: Metric = Metric::counter("bytes_total", "Bytes,\nall \"of\" them \\ here.");
    const LOAD: Metric = Metric::gauge("load", "Load.");

    #[test]
    fn samples_of_one_name_are_one_family_whatever_their_order() {
        let mut builder = Builder::new();
        builder.with(&BYTES, &[("device", "a")], 1.0);
        builder.value(&LOAD, 0.5);
        builder.with(&BYTES, &[("device", "b")], 2.0);
        let snapshot = builder.finish();
        assert_eq!(snapshot.families.len(), 2);
        assert_eq!(snapshot.sample_count(), 3);
        assert_eq!(snapshot.value("bytes_total", &[("device", "b")]), Some(2.0));
        assert_eq!(builder.finish(), Snapshot::default(), "a builder starts anew");
    }

    #[test]
    fn the_text_format_escapes_what_it_must() {
        let mut builder = Builder::new();
        builder.with(&BYTES, &[("device", "a\"b\\c\nd"), ("x", "")], f64::INFINITY);
        builder.value(&LOAD, f64::NAN);
        let mut text = String::new();
        builder.finish().write_text(&mut text);
        let expected = "# HELP bytes_total Bytes,\\nall \"of\" them \\\\ here.\n\
            # TYPE bytes_total counter\n\
            bytes_total{device=\"a\\\"b\\\\c\\nd\",x=\"\"} +Inf\n\
            # HELP load Load.\n# TYPE load gauge\nload NaN\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn appended_families_join_those_of_the_same_name() {
        let mut first = Builder::new();
        first.with(&BYTES, &[("device", "a")], 1.0);
        let held = first.finish().families;
        let mut builder = Builder::new();
        builder.with(&BYTES, &[("device", "b")], 2.0);
        builder.append(held);
        let snapshot = builder.finish();
        assert_eq!(snapshot.families.len(), 1);
        assert_eq!(snapshot.value("bytes_total", &[("device", "a")]), Some(1.0));
    }
}
