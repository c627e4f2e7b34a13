//! The series of a range aggregation: rows to numbers.
//!
//! Which labels make a series is known beforehand, so a row is turned into a short key, and only
//! the first row of a series into labels.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use crate::ast::{Grouping, VectorAggregation};
use crate::entry::Entry;
use crate::error::EvalError;
use crate::labels::{Labels, LabelsBuilder};
use crate::pipeline::row::RowLabels;

/// Which labels make a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Group {
    /// These, in order. One that is empty is another series than one that is missing.
    By(Vec<String>),
    /// All but these. Empty ones are kept, but by aggregations of series.
    Without { names: Vec<String>, keeps_empty: bool },
}

impl Group {
    /// All labels.
    pub(crate) fn all() -> Self {
        Self::Without { names: Vec::new(), keeps_empty: true }
    }

    pub(crate) fn new(grouping: &Grouping, keeps_empty: bool) -> Self {
        let mut names = grouping.names.clone();
        names.sort_unstable();
        names.dedup();
        match grouping.is_without {
            true => Self::Without { names, keeps_empty },
            false => Self::By(names),
        }
    }

    /// Which series an aggregation takes together; all if it names no labels.
    pub(crate) fn around(aggregation: &VectorAggregation) -> Self {
        match &aggregation.grouping {
            Some(grouping) => Self::new(grouping, false),
            None => Self::By(Vec::new()),
        }
    }

    /// Leaves out one label more.
    pub(crate) fn without(self, name: &str) -> Self {
        match self {
            Self::By(names) => Self::By(names),
            Self::Without { mut names, keeps_empty } => {
                names.push(name.to_owned());
                Self::Without { names, keeps_empty }
            }
        }
    }

    /// The labels of a series that are left in its group.
    pub(crate) fn of(&self, labels: &Labels) -> Labels {
        match self {
            Self::By(names) => labels.filtered(|name, _| names.iter().any(|wanted| wanted == name)),
            Self::Without { names, keeps_empty } => labels.filtered(|name, value| {
                (*keeps_empty || !value.is_empty()) && !names.iter().any(|left| left == name)
            }),
        }
    }
}

/// Series by number.
#[derive(Debug, Default)]
pub(crate) struct SeriesTable {
    numbers: HashMap<Box<[u8]>, u32>,
    labels: Vec<Labels>,
    /// Streams whose entries are one series; the labels are held so that the identity stays.
    streams: HashMap<usize, (Labels, u32)>,
    key: Vec<u8>,
}

impl SeriesTable {
    /// The labels of all series.
    pub(crate) fn labels(&self) -> &[Labels] {
        &self.labels
    }

    /// The number of the series that a row belongs to.
    pub(crate) fn number_of_row(
        &mut self,
        group: &Group,
        entry: &Entry<'_>,
        row: &RowLabels,
        max: usize,
    ) -> Result<u32, EvalError> {
        if row.is_stream_only(entry) {
            let identity = entry.stream.identity();
            if let Some((_, number)) = self.streams.get(&identity) {
                return Ok(*number);
            }
            let number = self.number_of(group, entry, row, max)?;
            // Streams are as many as the store has; those beyond are looked up by their labels.
            if self.streams.len() < max {
                self.streams.insert(identity, (entry.stream.clone(), number));
            }
            return Ok(number);
        }
        self.number_of(group, entry, row, max)
    }

    fn number_of(
        &mut self,
        group: &Group,
        entry: &Entry<'_>,
        row: &RowLabels,
        max: usize,
    ) -> Result<u32, EvalError> {
        self.key.clear();
        match group {
            Group::By(names) => {
                for name in names {
                    push_value(&mut self.key, row.get_or_error(entry, name));
                }
                if let Some(number) = self.numbers.get(self.key.as_slice()) {
                    return Ok(*number);
                }
                let mut builder = LabelsBuilder::default();
                for name in names {
                    if let Some(value) = row.get_or_error(entry, name) {
                        builder.push(name, value);
                    }
                }
                self.insert(builder.finish(), max)
            }
            Group::Without { names, keeps_empty } => {
                let mut all = row.all(entry);
                all.retain(|(name, value)| {
                    (*keeps_empty || !value.is_empty()) && !names.iter().any(|left| left == name)
                });
                for (name, value) in &all {
                    push_text(&mut self.key, name);
                    push_text(&mut self.key, value);
                }
                if let Some(number) = self.numbers.get(self.key.as_slice()) {
                    return Ok(*number);
                }
                let mut builder = LabelsBuilder::default();
                all.iter().for_each(|(name, value)| builder.push(name, value));
                self.insert(builder.finish(), max)
            }
        }
    }

    /// The number of the series with these labels, which are those of a group.
    pub(crate) fn number_of_labels(
        &mut self,
        group: &Group,
        labels: &Labels,
        max: usize,
    ) -> Result<u32, EvalError> {
        self.key.clear();
        match group {
            Group::By(names) => {
                for name in names {
                    push_value(&mut self.key, labels.get(name));
                }
            }
            Group::Without { .. } => {
                for (name, value) in labels {
                    push_text(&mut self.key, name);
                    push_text(&mut self.key, value);
                }
            }
        }
        match self.numbers.get(self.key.as_slice()) {
            Some(number) => Ok(*number),
            None => self.insert(group.of(labels), max),
        }
    }

    fn insert(&mut self, labels: Labels, max: usize) -> Result<u32, EvalError> {
        if self.labels.len() >= max {
            return Err(too_many_series(max, &self.labels));
        }
        // There are fewer than 2^32: the limit is far below.
        let number = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        self.numbers.insert(self.key.as_slice().into(), number);
        self.labels.push(labels);
        Ok(number)
    }
}

/// A value, or that there is none.
fn push_value(key: &mut Vec<u8>, value: Option<&str>) {
    key.push(u8::from(value.is_some()));
    push_text(key, value.unwrap_or_default());
}

fn push_text(key: &mut Vec<u8>, text: &str) {
    key.extend_from_slice(&(text.len() as u64).to_le_bytes());
    key.extend_from_slice(text.as_bytes());
}

/// The error that names the labels with the most values.
pub(crate) fn too_many_series(max: usize, series: &[Labels]) -> EvalError {
    let mut values: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    for (name, value) in series.iter().flat_map(Labels::iter) {
        values.entry(name).or_default().insert(value);
    }
    let mut counts: Vec<(usize, &str)> =
        values.iter().map(|(name, values)| (values.len(), *name)).collect();
    counts.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let most: Vec<String> =
        counts.iter().take(3).map(|(count, name)| format!("{name} {count}")).collect();
    let guilty = match most.is_empty() {
        true => String::new(),
        false => format!(" (most values: {})", most.join(", ")),
    };
    EvalError::TooManySeries { max, guilty }
}
