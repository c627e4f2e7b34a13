//! The series of a request that is being made: each once, its samples in order of time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kymo_wire::remote_write::{Metadata, MetadataType, NativeHistogram, RequestWriter};

use super::labels::Labels;
use super::{ConvertError, bounded};

/// What a metric is, for people.
#[derive(Debug, Clone)]
pub(super) struct Description {
    pub(super) metric_type: MetadataType,
    pub(super) help: String,
    pub(super) unit: String,
}

/// When a sample is of, in milliseconds since 1970; the start is 0 if it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) millis: i64,
    pub(super) start_millis: i64,
}

/// A native histogram with its lists.
#[derive(Debug, Clone)]
pub(super) struct OwnedHistogram {
    pub(super) schema: i32,
    pub(super) reset_hint: u8,
    pub(super) zero_threshold: f64,
    pub(super) zero_count: u64,
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) positive: (Vec<(i32, u32)>, Vec<f64>),
    pub(super) negative: (Vec<(i32, u32)>, Vec<f64>),
}

impl OwnedHistogram {
    fn view(&self) -> NativeHistogram<'_> {
        NativeHistogram {
            schema: self.schema,
            reset_hint: self.reset_hint,
            is_integer: true,
            zero_threshold: self.zero_threshold,
            zero_count: self.zero_count as f64,
            count: self.count as f64,
            sum: self.sum,
            positive_spans: &self.positive.0,
            negative_spans: &self.negative.0,
            positive: &self.positive.1,
            negative: &self.negative.1,
            custom_values: &[],
        }
    }
}

/// An example of a measurement.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) labels: Labels,
    pub(super) value: f64,
    pub(super) millis: i64,
}

/// One series.
#[derive(Debug)]
pub(super) struct Series {
    description: Description,
    samples: Vec<(Times, f64)>,
    histograms: Vec<(Times, OwnedHistogram)>,
    examples: Vec<Example>,
}

impl Series {
    pub(super) fn sample(&mut self, times: Times, value: f64) {
        self.samples.push((times, value));
    }

    pub(super) fn histogram(&mut self, times: Times, histogram: OwnedHistogram) {
        self.histograms.push((times, histogram));
    }

    pub(super) fn example(&mut self, example: Example) {
        self.examples.push(example);
    }
}

/// All of a request, by their labels.
#[derive(Debug, Default)]
pub(super) struct AllSeries {
    by_labels: BTreeMap<Labels, Series>,
    /// Bytes of labels and descriptions.
    size_bytes: usize,
}

impl AllSeries {
    /// The series with these labels.
    ///
    /// # Errors
    /// There are too many: each bucket of a histogram has all labels of its point.
    pub(super) fn find(
        &mut self,
        labels: Labels,
        description: &Description,
    ) -> Result<&mut Series, ConvertError> {
        let place = match self.by_labels.entry(labels) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(place) => place,
        };
        let labels_bytes = place.key().iter().map(|(name, value)| name.len() + value.len());
        let description_bytes = description.help.len() + description.unit.len();
        self.size_bytes += labels_bytes.sum::<usize>() + description_bytes;
        bounded(self.size_bytes)?;
        Ok(place.insert(Series {
            description: description.clone(),
            samples: Vec::new(),
            histograms: Vec::new(),
            examples: Vec::new(),
        }))
    }

    /// A request of remote-write 2.0; nothing if there are no series.
    pub(super) fn into_request(self) -> Vec<u8> {
        if self.by_labels.is_empty() {
            return Vec::new();
        }
        let mut request = RequestWriter::new();
        for (labels, mut series) in self.by_labels {
            series.samples.sort_by_key(|(times, _)| times.millis);
            series.histograms.sort_by_key(|(times, _)| times.millis);
            series.examples.sort_by_key(|example| example.millis);
            let Description { metric_type, help, unit } = &series.description;
            let metadata = Metadata { metric_type: *metric_type, help, unit };
            request.series(pairs(&labels), Some(metadata), |writer| {
                for (times, value) in &series.samples {
                    writer.sample(*value, times.millis, times.start_millis);
                }
                for (times, histogram) in &series.histograms {
                    writer.histogram(&histogram.view(), times.millis, times.start_millis);
                }
                for example in &series.examples {
                    writer.exemplar(pairs(&example.labels), example.value, example.millis);
                }
            });
        }
        request.finish()
    }
}

fn pairs(labels: &Labels) -> impl Iterator<Item = (&str, &str)> + Clone {
    labels.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}
