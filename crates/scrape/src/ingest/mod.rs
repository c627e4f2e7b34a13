//! From an answer to samples: formats, labels, relabeling, limits, ends of series.
//!
//! An answer is taken whole or not at all. If it cannot be read, or is too much, all series of the
//! target end.

mod classic;

use std::sync::Arc;

use kymo_wire::exposition::{
    Entry, Exemplar, Format, Label, MetricKind, NativeHistogram, ParseOptions, Parser, Series,
    is_legacy_label_name, is_legacy_metric_name,
};

use crate::cache::{Lookup, SeriesCache, SeriesRef};
use crate::config::{JobLimits, JobSettings};
use crate::labels::{Labels, METRIC_NAME};
use crate::limits::{MAX_AHEAD, MAX_SAMPLES};
use crate::relabel::relabel;
use crate::sink::{MetricMetadata, ScrapedExemplar, ScrapedSeries, ScrapedValue};
use crate::target::Target;

use classic::{Classic, ClassicSample};

/// How many samples there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// In the answer.
    pub(crate) scraped: usize,
    /// After relabeling.
    pub(crate) kept: usize,
    /// Of series that the scrape before did not have.
    pub(crate) added: usize,
    /// Left out: a second sample of a series, one from the future, a histogram that does not add up.
    pub(crate) left_out: usize,
}

/// The format to read an answer as.
pub(crate) fn format_of(content_type: &str, job: &JobSettings) -> Result<Format, String> {
    if let Some(format) = Format::from_content_type(content_type) {
        return Ok(format);
    }
    if let Some(fallback) = job.fallback_scrape_protocol {
        return Ok(fallback.format());
    }
    if content_type.trim().is_empty() {
        return Err("non-compliant scrape target sending blank Content-Type and no \
                    fallback_scrape_protocol specified for target"
            .to_owned());
    }
    let shown: String = content_type.chars().take(100).collect();
    Err(format!(
        "received unsupported Content-Type {shown:?} and no fallback_scrape_protocol specified for \
         target"
    ))
}

/// Reads an answer. On success, its samples and the ends of series that are gone; otherwise why
/// not, with the memory unchanged but for the lines that were seen.
pub(crate) fn ingest(
    cache: &mut SeriesCache,
    job: &JobSettings,
    target: &Target,
    body: &[u8],
    format: Format,
    time_millis: i64,
) -> (Counts, Result<Vec<ScrapedSeries>, String>) {
    cache.begin();
    let mut ingest = Ingest {
        cache,
        job,
        target,
        time_millis,
        counts: Counts::default(),
        out: Vec::new(),
        family: None,
        classic: None,
        native_key: Vec::new(),
        limit: None,
    };
    let result = ingest.read(body, format);
    let (counts, limit) = (ingest.counts, ingest.limit);
    let mut out = ingest.out;
    let result = result.and(limit.map_or(Ok(()), |limit| Err(limit.to_owned())));
    match result {
        Ok(()) => {
            cache.commit(time_millis, &mut out);
            (counts, Ok(out))
        }
        Err(error) => (counts, Err(error)),
    }
}

struct Ingest<'a> {
    cache: &'a mut SeriesCache,
    job: &'a JobSettings,
    target: &'a Target,
    time_millis: i64,
    counts: Counts,
    out: Vec<ScrapedSeries>,
    /// What the last metadata said.
    family: Option<Arc<MetricMetadata>>,
    /// The classic histogram whose samples are being read, to be converted.
    classic: Option<Classic>,
    /// The last native histogram: its classic part is not converted, since it would be the same
    /// series.
    native_key: Vec<u8>,
    /// Which limit was passed. The rest is read all the same, to count it.
    limit: Option<&'static str>,
}

/// A sample as the parser gave it.
struct Sample<'p, V> {
    key: &'p [u8],
    name: &'p str,
    labels: &'p [Label<'p>],
    value: V,
    timestamp_millis: Option<i64>,
    start_millis: Option<i64>,
    exemplars: Vec<ScrapedExemplar>,
}

impl Ingest<'_> {
    fn read(&mut self, body: &[u8], format: Format) -> Result<(), String> {
        let options = ParseOptions {
            native_histograms: self.target.native_histograms,
            classic_beside_native: self.target.classic_beside_native,
        };
        let with_classic = self.target.classic_beside_native;
        let mut parser = Parser::new(body, format, options);
        while let Some(entry) = parser.next_entry().map_err(|error| error.to_string())? {
            match entry {
                Entry::Type { name, kind } => {
                    let is_same = |known: &MetricMetadata| known.kind == kind;
                    self.metadata(name, is_same, |known| known.kind = kind)?;
                }
                Entry::Help { name, help } => {
                    let is_same = |known: &MetricMetadata| known.help == help;
                    self.metadata(name, is_same, |known| help.clone_into(&mut known.help))?;
                }
                Entry::Unit { name, unit } => {
                    let is_same = |known: &MetricMetadata| known.unit == unit;
                    self.metadata(name, is_same, |known| unit.clone_into(&mut known.unit))?;
                }
                Entry::Series(series) => {
                    let is_read =
                        self.target.convert_classic && self.gather(&series)? && !with_classic;
                    if !is_read {
                        self.series(&series)?;
                    }
                }
                Entry::Histogram(series) => {
                    self.convert()?;
                    if self.target.convert_classic {
                        self.native_key = classic::key(series.name, series.labels);
                    }
                    let time = self.time(series.timestamp_millis);
                    let exemplars = series.exemplars.iter();
                    self.histogram(Sample {
                        key: series.key,
                        name: series.name,
                        labels: series.labels,
                        value: series.histogram,
                        timestamp_millis: series.timestamp_millis,
                        start_millis: series.start_millis,
                        exemplars: exemplars.map(|exemplar| scraped(exemplar, time)).collect(),
                    })?;
                }
            }
        }
        self.convert()
    }

    fn metadata(
        &mut self,
        family: &str,
        is_same: impl Fn(&MetricMetadata) -> bool,
        change: impl FnOnce(&mut MetricMetadata),
    ) -> Result<(), String> {
        // What was gathered belongs to the family before.
        self.convert()?;
        self.family = Some(self.cache.update_metadata(family, is_same, change));
        Ok(())
    }

    fn series(&mut self, series: &Series<'_>) -> Result<(), String> {
        let time = self.time(series.timestamp_millis);
        let exemplar = series.exemplar.iter();
        self.sample(Sample {
            key: series.key,
            name: series.name,
            labels: series.labels,
            value: ScrapedValue::Float(series.value),
            timestamp_millis: series.timestamp_millis,
            start_millis: series.start_millis,
            exemplars: exemplar.map(|exemplar| scraped(exemplar, time)).collect(),
        })
    }

    /// Takes a sample of a classic histogram that is to be converted; `false` if it is none.
    fn gather(&mut self, series: &Series<'_>) -> Result<bool, String> {
        let family = self.family.clone();
        let family = family.filter(|family| family.kind == MetricKind::Histogram);
        let sample = family.as_ref().and_then(|family| ClassicSample::of(series, family));
        let sample = sample.filter(|sample| sample.key != self.native_key);
        let (Some(family), Some(sample)) = (family, sample) else {
            self.convert()?;
            return Ok(false);
        };
        if self.classic.as_ref().is_some_and(|classic| classic.key != sample.key) {
            self.convert()?;
        }
        let new = || Classic::new(&sample, series, &family.family);
        self.classic.get_or_insert_with(new).add(&sample, series);
        Ok(true)
    }

    /// Hands on the histogram that was gathered, if any.
    fn convert(&mut self) -> Result<(), String> {
        let Some(mut classic) = self.classic.take() else { return Ok(()) };
        let Some(histogram) = classic.histogram() else {
            self.counts.left_out += 1;
            return Ok(());
        };
        let exemplars = std::mem::take(&mut classic.exemplars);
        self.histogram(Sample {
            key: &classic.key,
            name: &classic.name,
            labels: &classic.labels,
            value: histogram,
            timestamp_millis: classic.timestamp_millis,
            start_millis: classic.start_millis,
            exemplars,
        })
    }

    fn time(&self, given: Option<i64>) -> i64 {
        given.filter(|_| self.job.honor_timestamps).unwrap_or(self.time_millis)
    }

    /// A sample with a histogram, which gets no more buckets than it may have.
    fn histogram(&mut self, mut sample: Sample<'_, NativeHistogram>) -> Result<(), String> {
        let limits = &self.job.limits;
        if let Some(schema) = limits.histogram_schema {
            // Listed bounds have no schema to be made coarser.
            sample.value.coarsen(schema);
        }
        if limits.histogram_buckets > 0 && !sample.value.limit_buckets(limits.histogram_buckets) {
            self.counts.scraped += 1;
            self.counts.kept += 1;
            self.limit.get_or_insert("histogram bucket limit exceeded");
            return Ok(());
        }
        let Sample { key, name, labels, value, timestamp_millis, start_millis, exemplars } = sample;
        let value = ScrapedValue::Histogram(Box::new(value));
        self.sample(Sample { key, name, labels, value, timestamp_millis, start_millis, exemplars })
    }

    fn sample(&mut self, sample: Sample<'_, ScrapedValue>) -> Result<(), String> {
        self.counts.scraped += 1;
        let ceiling = MAX_SAMPLES.max(self.job.limits.samples);
        if self.counts.scraped > ceiling {
            return Err(format!(
                "more than {ceiling} samples in an answer; to take more, set sample_limit to how many"
            ));
        }
        let (series, is_new) = match self.cache.lookup(sample.key) {
            Lookup::Dropped => return Ok(()),
            Lookup::Series(series) => (series, false),
            Lookup::New => {
                let labels = labels(self.job, self.target, sample.name, sample.labels)?;
                let Some(labels) = labels else {
                    self.cache.remember(sample.key, None);
                    return Ok(());
                };
                (SeriesRef::new(labels), true)
            }
        };
        self.counts.kept += 1;
        let has_time = sample.timestamp_millis.is_some() && self.job.honor_timestamps;
        let time_millis = self.time(sample.timestamp_millis);
        let max_millis = self.time_millis.saturating_add(MAX_AHEAD.as_millis() as i64);
        if !has_time && self.cache.is_duplicate(&series) || time_millis > max_millis {
            self.counts.left_out += 1;
            return Ok(());
        }
        let max_samples = self.job.limits.samples;
        if max_samples > 0 && self.out.len() >= max_samples {
            self.limit = Some("sample limit exceeded");
            return Ok(());
        }
        if is_new {
            self.cache.remember(sample.key, Some(series.clone()));
            self.counts.added += 1;
        }
        // A time of its own says itself how long it is good for.
        if !has_time || self.job.track_timestamps_staleness {
            self.cache.track(&series);
        }
        let metadata = self.family.as_ref().filter(|family| is_of_family(sample.name, family));
        self.out.push(ScrapedSeries {
            labels: series.labels,
            value: sample.value,
            time_millis,
            start_millis: sample.start_millis,
            exemplars: sample.exemplars,
            metadata: metadata.cloned(),
        });
        Ok(())
    }
}

fn scraped(exemplar: &Exemplar<'_>, time_millis: i64) -> ScrapedExemplar {
    let labels = exemplar.labels.iter();
    ScrapedExemplar {
        labels: labels.map(|l| (l.name.to_string(), l.value.to_string())).collect(),
        value: exemplar.value,
        time_millis: exemplar.timestamp_millis.unwrap_or(time_millis),
    }
}

/// The labels of a sample; `None` if it is dropped.
fn labels(
    job: &JobSettings,
    target: &Target,
    name: &str,
    exposed: &[Label<'_>],
) -> Result<Option<Labels>, String> {
    let mut labels = Labels::new();
    labels.set(METRIC_NAME, name);
    for label in exposed {
        if labels.contains(&label.name) {
            return Err(format!("label name {:?} is not unique in a sample of {name}", label.name));
        }
        labels.set(&label.name, &*label.value);
    }
    add_target_labels(&mut labels, target, exposed, job.honor_labels);
    if !relabel(&mut labels, &job.metric_relabel_rules) || labels.is_empty() {
        return Ok(None);
    }
    if !labels.contains(METRIC_NAME) {
        return Err("missing metric name (__name__ label)".to_owned());
    }
    let is_valid = !job.legacy_names
        || labels.iter().all(|(name, value)| {
            is_legacy_label_name(name) && (name != METRIC_NAME || is_legacy_metric_name(value))
        });
    if !is_valid {
        return Err(format!("invalid metric name or label names: {labels}"));
    }
    check_limits(&labels, &job.limits)?;
    Ok(Some(labels))
}

/// Adds the target's labels. Where the sample has another value, one of both gives way: ours, or
/// the sample's to the name with `exported_` before it. A target whose labels are honored may also
/// say that it wants none of ours, with an empty value.
fn add_target_labels(
    labels: &mut Labels,
    target: &Target,
    exposed: &[Label<'_>],
    honor_labels: bool,
) {
    let mut conflicts = Vec::new();
    for (name, value) in target.labels.iter() {
        if honor_labels && exposed.iter().any(|label| label.name == name) {
            continue;
        }
        let exposed = labels.get(name);
        if !exposed.is_empty() {
            conflicts.push((name, exposed.to_owned()));
        }
        labels.set(name, value);
    }
    // Short names first: what gives way to `exported_x` may itself have to give way.
    conflicts.sort_by_key(|(name, _)| name.len());
    for (name, value) in conflicts {
        let mut exported = format!("exported_{name}");
        while labels.contains(&exported) {
            exported.insert_str(0, "exported_");
        }
        labels.set(&exported, value);
    }
}

fn check_limits(labels: &Labels, limits: &JobLimits) -> Result<(), String> {
    let cut = |text: &str| text.chars().take(50).collect::<String>();
    let metric = cut(labels.get(METRIC_NAME));
    if limits.labels > 0 && labels.len() > limits.labels {
        return Err(format!(
            "label_limit exceeded (metric: {metric}, number of labels: {}, limit: {})",
            labels.len(),
            limits.labels
        ));
    }
    for (name, value) in labels.iter() {
        if limits.label_name_bytes > 0 && name.len() > limits.label_name_bytes {
            return Err(format!(
                "label_name_length_limit exceeded (metric: {metric}, label name: {}, length: {}, \
                 limit: {})",
                cut(name),
                name.len(),
                limits.label_name_bytes
            ));
        }
        if limits.label_value_bytes > 0 && value.len() > limits.label_value_bytes {
            return Err(format!(
                "label_value_length_limit exceeded (metric: {metric}, label name: {}, value: {:?}, \
                 length: {}, limit: {})",
                cut(name),
                cut(value),
                value.len(),
                limits.label_value_bytes
            ));
        }
    }
    Ok(())
}

/// Whether a sample belongs to the family whose metadata came last: a text may have samples
/// without any.
fn is_of_family(name: &str, family: &MetricMetadata) -> bool {
    let base = family.family.as_str();
    let Some(suffix) = name.strip_prefix(base) else { return false };
    let suffixes: &[&str] = match family.kind {
        MetricKind::Counter => &["_total"],
        MetricKind::Histogram => &["_bucket", "_sum", "_count"],
        MetricKind::GaugeHistogram => &["_bucket", "_gsum", "_gcount"],
        MetricKind::Summary => &["_sum", "_count"],
        MetricKind::Info => &["_info"],
        _ => &[],
    };
    suffix.is_empty() || suffixes.contains(&suffix)
}

#[cfg(test)]
mod tests;
