//! Start times, which OpenMetrics sends as samples of their own.
//!
//! A counter `x_total{a="1"}` has its start in `x_created{a="1"}`, anywhere in the same family,
//! often behind the samples it belongs to. So when the first sample of a family is reached, the
//! lines of the family are looked through for such starts; where there are none, which is usual,
//! that is one search for a word.

use std::borrow::Cow;
use std::collections::HashMap;

use super::cursor::Cursor;
use super::number::seconds_to_millis;
use super::{Label, MetricKind};

/// How the samples with start times end.
pub(super) const SUFFIX: &str = "_created";

/// Start times of one family, by the labels that say which series is meant.
#[derive(Debug, Default)]
pub(super) struct Created {
    starts: HashMap<Vec<u8>, i64>,
    key: Vec<u8>,
}

impl Created {
    pub(super) fn clear(&mut self) {
        self.starts.clear();
    }

    /// Reads the start times of the family whose first sample is at `cursor`.
    pub(super) fn read(&mut self, cursor: Cursor<'_>, family: &str, kind: MetricKind) {
        self.starts.clear();
        let rest = cursor.text.get(cursor.at..).unwrap_or_default();
        // OpenMetrics has no line breaks in strings, so this begins a line.
        let end = rest.find("\n# ").map_or(rest.len(), |at| at + 1);
        let samples = &rest[..end];
        if !samples.contains(SUFFIX) {
            return;
        }
        let mut labels = Vec::new();
        let mut unused = Vec::new();
        for line in samples.split_inclusive('\n').filter(|line| line.contains(SUFFIX)) {
            labels.clear();
            let mut at = Cursor { text: line, at: 0, ..cursor };
            // A line that is wrong is reported when it is reached.
            let Some(start) = start_of(&mut at, family, kind, &mut labels, &mut unused) else {
                continue;
            };
            let key = key(&mut self.key, kind, &labels);
            self.starts.insert(key.to_vec(), start);
        }
    }

    /// The start of a series of the family.
    pub(super) fn start(&mut self, kind: MetricKind, labels: &[Label<'_>]) -> Option<i64> {
        if self.starts.is_empty() {
            return None;
        }
        let key = key(&mut self.key, kind, labels);
        self.starts.get(key).copied()
    }
}

fn start_of<'a>(
    at: &mut Cursor<'a>,
    family: &str,
    kind: MetricKind,
    labels: &mut Vec<Label<'a>>,
    unused: &mut Vec<Label<'a>>,
) -> Option<i64> {
    let mut name = at.plain_name(true).map(Cow::Borrowed);
    if at.peek() == Some(b'{') {
        at.labels(kind, Some(&mut name), labels).ok()?;
    }
    if name?.strip_suffix(SUFFIX)? != family {
        return None;
    }
    seconds_to_millis(at.suffix(unused).ok()?.value)
}

/// The labels that all samples of one histogram or summary share.
fn key<'k>(key: &'k mut Vec<u8>, kind: MetricKind, labels: &[Label<'_>]) -> &'k [u8] {
    let is_bound = |name: &str| match kind {
        MetricKind::Histogram => name == "le",
        MetricKind::Summary => name == "quantile",
        _ => false,
    };
    key.clear();
    for label in labels.iter().filter(|label| !is_bound(&label.name)) {
        for part in [&label.name, &label.value] {
            key.extend_from_slice(part.as_bytes());
            // No text has this byte.
            key.push(0xff);
        }
    }
    key
}
