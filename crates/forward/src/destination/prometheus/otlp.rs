//! Remote-write to OTLP.
//!
//! Labels `job` and `instance` become what they are made of in the other direction: `service.name`
//! (with `service.namespace` in front of a stroke) and `service.instance.id` of a resource. All other
//! labels are attributes of points. What is read again as Prometheus does has the names that it had:
//! a series is a sum only if its name ends in `_total`, which a sum's name gets anyway; all others
//! are gauges, those of counters, buckets and summaries too.
//!
//! A native histogram becomes an exponential one, or one with explicit bounds if it has those; counts
//! that are no whole numbers are rounded. OTLP writes empty buckets, too: buckets that are far apart
//! are joined with their neighbours until there are at most [`MAX_DENSE_BUCKETS`]. The marker of an
//! ended series becomes a point without a recorded value.

use std::collections::HashMap;

use kymo_wire::encode::Writer;
use kymo_wire::remote_write::histogram::{CUSTOM_SCHEMA, MAX_SCHEMA};
use kymo_wire::remote_write::{
    HistogramBuffers, HistogramView, METRIC_NAME, NativeHistogram, RequestView, SampleView,
    Version, WriteRequestView,
};
use kymo_wire::{AnyValueView, Repeated, View, WireError};

use super::{CUMULATIVE, ConvertError, NANOS_PER_MILLI, NO_RECORDED_VALUE, STALE_BITS, bounded};
use crate::limits::MAX_DENSE_BUCKETS;

/// Powers of two around all doubles but zero.
const LEAST_POWER: i64 = -1075;
const MOST_POWER: i64 = 1024;

/// Fields of OTLP's messages.
mod field {
    pub(super) const ITEM: u32 = 2;
    pub(super) const NAME: u32 = 1;
    pub(super) const GAUGE: u32 = 5;
    pub(super) const SUM: u32 = 7;
    pub(super) const HISTOGRAM: u32 = 9;
    pub(super) const EXPONENTIAL: u32 = 10;
    pub(super) const POINTS: u32 = 1;
    pub(super) const TEMPORALITY: u32 = 2;
    pub(super) const IS_MONOTONIC: u32 = 3;
    // All kinds of points.
    pub(super) const START_TIME: u32 = 2;
    pub(super) const TIME: u32 = 3;
    pub(super) const AS_DOUBLE: u32 = 4;
    pub(super) const NUMBER_EXEMPLARS: u32 = 5;
    pub(super) const NUMBER_ATTRIBUTES: u32 = 7;
    pub(super) const NUMBER_FLAGS: u32 = 8;
    pub(super) const COUNT: u32 = 4;
    pub(super) const POINT_SUM: u32 = 5;
    pub(super) const FLAGS: u32 = 10;
    pub(super) const BUCKET_COUNTS: u32 = 6;
    pub(super) const BOUNDS: u32 = 7;
    pub(super) const HISTOGRAM_ATTRIBUTES: u32 = 9;
    pub(super) const EXPONENTIAL_ATTRIBUTES: u32 = 1;
    pub(super) const SCALE: u32 = 6;
    pub(super) const ZERO_COUNT: u32 = 7;
    pub(super) const POSITIVE: u32 = 8;
    pub(super) const NEGATIVE: u32 = 9;
    pub(super) const ZERO_THRESHOLD: u32 = 14;
    pub(super) const OFFSET: u32 = 1;
    pub(super) const COUNTS: u32 = 2;
    pub(super) const EXEMPLAR_TIME: u32 = 2;
    pub(super) const EXEMPLAR_DOUBLE: u32 = 3;
    pub(super) const SPAN_ID: u32 = 4;
    pub(super) const TRACE_ID: u32 = 5;
    pub(super) const FILTERED_ATTRIBUTES: u32 = 7;
}

type Label<'a> = (&'a [u8], &'a [u8]);

/// A series of either version.
struct Series<'a> {
    labels: Vec<Label<'a>>,
    samples: Repeated<'a, SampleView>,
    histograms: Repeated<'a, HistogramView<'a>>,
    exemplars: Vec<Exemplar<'a>>,
}

struct Exemplar<'a> {
    labels: Vec<Label<'a>>,
    value: f64,
    time_millis: i64,
}

/// A request of remote-write as one of OTLP. Neither is packed.
///
/// # Errors
/// It is damaged, or too large when it is OTLP, where each sample has all of its labels.
pub(crate) fn to_otlp(request: &[u8], version: Version) -> Result<Vec<u8>, ConvertError> {
    let all = match version {
        Version::One => read_1(request)?,
        Version::Two => read_2(request)?,
    };
    // By resource, in the order of their first series.
    let mut places: HashMap<[&[u8]; 2], usize> = HashMap::new();
    let mut resources: Vec<([&[u8]; 2], Vec<Series<'_>>)> = Vec::new();
    for series in all {
        let identity = [label(&series.labels, b"job"), label(&series.labels, b"instance")];
        let place = *places.entry(identity).or_insert(resources.len());
        match resources.get_mut(place) {
            Some((_, known)) => known.push(series),
            None => resources.push((identity, vec![series])),
        }
    }
    let mut writer = Writer::new();
    let mut buffers = HistogramBuffers::default();
    for (identity, series) in resources {
        writer.resource_group(|w| {
            w.resource(|w| write_identity(identity, w));
            w.scope_group(|w| {
                series.iter().try_for_each(|series| write_series(series, &mut buffers, w))
            })
        })?;
    }
    Ok(writer.into_bytes())
}

fn read_1(request: &[u8]) -> Result<Vec<Series<'_>>, WireError> {
    let mut all = Vec::new();
    for series in WriteRequestView::parse(request)?.series {
        let series = series?;
        let mut exemplars = Vec::new();
        for exemplar in series.exemplars {
            let exemplar = exemplar?;
            let labels = exemplar.labels.iter().flatten().map(|l| (l.name, l.value)).collect();
            let (value, time_millis) = (exemplar.value, exemplar.time_millis);
            exemplars.push(Exemplar { labels, value, time_millis });
        }
        let labels = series.labels.iter().flatten().map(|l| (l.name, l.value)).collect();
        let (samples, histograms) = (series.samples, series.histograms);
        all.push(Series { labels, samples, histograms, exemplars });
    }
    Ok(all)
}

fn read_2(request: &[u8]) -> Result<Vec<Series<'_>>, WireError> {
    let request = RequestView::parse(request)?;
    let symbols = request.symbols.table()?;
    let mut all = Vec::new();
    for series in request.series {
        let series = series?;
        let mut exemplars = Vec::new();
        for exemplar in series.exemplars {
            let exemplar = exemplar?;
            let labels = symbols.labels(&exemplar.labels).flatten().collect();
            let (value, time_millis) = (exemplar.value, exemplar.time_millis);
            exemplars.push(Exemplar { labels, value, time_millis });
        }
        let labels = symbols.labels(&series.labels).flatten().collect();
        let (samples, histograms) = (series.samples, series.histograms);
        all.push(Series { labels, samples, histograms, exemplars });
    }
    Ok(all)
}

/// The value of a label; empty if there is none, which is the same to Prometheus.
fn label<'a>(labels: &[Label<'a>], wanted: &[u8]) -> &'a [u8] {
    labels.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value).unwrap_or_default()
}

fn write_identity([job, instance]: [&[u8]; 2], w: &mut Writer) {
    let stroke = job.iter().position(|byte| *byte == b'/').and_then(|at| job.split_at_checked(at));
    let (namespace, service) = match stroke {
        Some((namespace, rest)) => (namespace, rest.get(1..).unwrap_or_default()),
        None => (&[][..], job),
    };
    for (key, value) in [
        (&b"service.namespace"[..], namespace),
        (b"service.name", service),
        (b"service.instance.id", instance),
    ] {
        if !value.is_empty() {
            w.resource_attribute(key, &AnyValueView::String(value));
        }
    }
}

fn write_series(
    series: &Series<'_>,
    buffers: &mut HistogramBuffers,
    w: &mut Writer,
) -> Result<(), ConvertError> {
    let name = label(&series.labels, METRIC_NAME);
    let attributes: Vec<Label<'_>> = series
        .labels
        .iter()
        .copied()
        .filter(|(name, _)| *name != METRIC_NAME && *name != b"job" && *name != b"instance")
        .collect();
    if !series.samples.is_empty() {
        w.message(field::ITEM, |w| {
            w.bytes_field(field::NAME, name);
            let is_sum = name.ends_with(b"_total");
            w.message(if is_sum { field::SUM } else { field::GAUGE }, |w| {
                // Examples go with the last sample, whose time is nearest to theirs.
                let last = series.samples.count().saturating_sub(1);
                for (place, sample) in series.samples.iter().enumerate() {
                    let exemplars = if place == last { &series.exemplars[..] } else { &[] };
                    write_sample(&sample?, &attributes, exemplars, w);
                    bounded(w.as_slice().len())?;
                }
                if is_sum {
                    w.varint_field(field::TEMPORALITY, CUMULATIVE);
                    w.varint_field(field::IS_MONOTONIC, 1);
                }
                Ok::<_, ConvertError>(())
            })
        })?;
    }
    for histogram in series.histograms {
        let histogram = histogram?;
        let times = [histogram.time_millis, histogram.start_time_millis];
        // Admission has refused those that are wrong.
        if let Ok(resolved) = histogram.resolve(buffers) {
            w.message(field::ITEM, |w| {
                w.bytes_field(field::NAME, name);
                write_histogram(&resolved, times, &attributes, w);
            });
            bounded(w.as_slice().len())?;
        }
    }
    Ok(())
}

fn write_sample(
    sample: &SampleView,
    attributes: &[Label<'_>],
    exemplars: &[Exemplar<'_>],
    w: &mut Writer,
) {
    w.message(field::POINTS, |w| {
        write_times([sample.time_millis, sample.start_time_millis], w);
        let is_stale = sample.value.to_bits() == STALE_BITS;
        if !is_stale {
            w.double_field(field::AS_DOUBLE, sample.value);
        }
        for exemplar in exemplars {
            w.message(field::NUMBER_EXEMPLARS, |w| write_exemplar(exemplar, w));
        }
        write_attributes(field::NUMBER_ATTRIBUTES, attributes, w);
        if is_stale {
            w.varint_field(field::NUMBER_FLAGS, u64::from(NO_RECORDED_VALUE));
        }
    });
}

fn write_times([time_millis, start_millis]: [i64; 2], w: &mut Writer) {
    let nanos = |millis: i64| u64::try_from(millis).unwrap_or(0).saturating_mul(NANOS_PER_MILLI);
    if start_millis > 0 {
        w.fixed64_field(field::START_TIME, nanos(start_millis));
    }
    w.fixed64_field(field::TIME, nanos(time_millis));
}

fn write_attributes(number: u32, attributes: &[Label<'_>], w: &mut Writer) {
    for (name, value) in attributes {
        w.key_value(number, name, &AnyValueView::String(value));
    }
}

fn write_exemplar(exemplar: &Exemplar<'_>, w: &mut Writer) {
    let nanos = u64::try_from(exemplar.time_millis).unwrap_or(0).saturating_mul(NANOS_PER_MILLI);
    w.fixed64_field(field::EXEMPLAR_TIME, nanos);
    w.double_field(field::EXEMPLAR_DOUBLE, exemplar.value);
    for (name, value) in &exemplar.labels {
        match (*name, id(value)) {
            (b"trace_id", Some(id)) if id.len() == 16 => w.bytes_field(field::TRACE_ID, &id),
            (b"span_id", Some(id)) if id.len() == 8 => w.bytes_field(field::SPAN_ID, &id),
            _ => w.key_value(field::FILTERED_ATTRIBUTES, name, &AnyValueView::String(value)),
        }
    }
}

/// Hexadecimal digits as bytes.
fn id(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

fn write_histogram(
    histogram: &NativeHistogram<'_>,
    times: [i64; 2],
    attributes: &[Label<'_>],
    w: &mut Writer,
) {
    let is_explicit = histogram.schema == CUSTOM_SCHEMA;
    let is_stale = histogram.sum.to_bits() == STALE_BITS;
    w.message(if is_explicit { field::HISTOGRAM } else { field::EXPONENTIAL }, |w| {
        w.message(field::POINTS, |w| {
            let number = match is_explicit {
                true => field::HISTOGRAM_ATTRIBUTES,
                false => field::EXPONENTIAL_ATTRIBUTES,
            };
            write_attributes(number, attributes, w);
            write_times(times, w);
            if is_stale {
                w.varint_field(field::FLAGS, u64::from(NO_RECORDED_VALUE));
                return;
            }
            w.fixed64_field(field::COUNT, whole(histogram.count));
            w.double_field(field::POINT_SUM, histogram.sum);
            match is_explicit {
                true => write_explicit(histogram, w),
                false => write_exponential(histogram, w),
            }
        });
        w.varint_field(field::TEMPORALITY, CUMULATIVE);
    });
}

fn write_explicit(histogram: &NativeHistogram<'_>, w: &mut Writer) {
    let mut counts = vec![0; histogram.custom_values.len() + 1];
    for (index, count) in buckets(histogram.positive_spans, histogram.positive) {
        if let Some(known) = usize::try_from(index).ok().and_then(|at| counts.get_mut(at)) {
            *known = whole(count);
        }
    }
    counts.iter().for_each(|count| w.fixed64_field(field::BUCKET_COUNTS, *count));
    histogram.custom_values.iter().for_each(|bound| w.double_field(field::BOUNDS, *bound));
}

fn write_exponential(histogram: &NativeHistogram<'_>, w: &mut Writer) {
    let sides = [
        (field::POSITIVE, histogram.positive_spans, histogram.positive),
        (field::NEGATIVE, histogram.negative_spans, histogram.negative),
    ]
    .map(|(number, spans, counts)| (number, otlp_buckets(histogram.schema, spans, counts)));
    let coarser_by = sides.iter().map(|(_, buckets)| coarser_by(buckets)).max().unwrap_or(0);
    w.sint32_field(field::SCALE, histogram.schema - coarser_by);
    w.fixed64_field(field::ZERO_COUNT, whole(histogram.zero_count));
    for (number, buckets) in sides {
        let Some((first, _)) = buckets.first() else { continue };
        let first = first >> coarser_by;
        w.message(number, |w| {
            w.sint32_field(field::OFFSET, i32::try_from(first).unwrap_or_default());
            let mut next = first;
            let mut buckets = buckets.into_iter().peekable();
            while let Some((index, mut count)) = buckets.next() {
                let index = index >> coarser_by;
                while let Some((_, more)) =
                    buckets.next_if(|(other, _)| other >> coarser_by == index)
                {
                    count += more;
                }
                while next < index {
                    w.varint_field(field::COUNTS, 0);
                    next += 1;
                }
                w.varint_field(field::COUNTS, whole(count));
                next += 1;
            }
        });
    }
    w.double_field(field::ZERO_THRESHOLD, histogram.zero_threshold);
}

/// Buckets with their numbers in OTLP, which are one less, in order. Those beyond all numbers that a
/// double can have are the last that one can be in.
fn otlp_buckets(schema: i32, spans: &[(i32, u32)], counts: &[f64]) -> Vec<(i64, f64)> {
    let of_power = |power: i64| match u32::try_from(schema) {
        Ok(finer_by) => power << finer_by.min(MAX_SCHEMA.unsigned_abs()),
        Err(_) => power >> schema.unsigned_abs().min(u64::BITS - 1),
    };
    let (least, most) = (of_power(LEAST_POWER), of_power(MOST_POWER));
    let clamped = |(index, count): (i64, f64)| ((index - 1).clamp(least, most), count);
    buckets(spans, counts).map(clamped).collect()
}

/// How often neighbours have to be joined.
fn coarser_by(buckets: &[(i64, f64)]) -> i32 {
    let (Some((first, _)), Some((last, _))) = (buckets.first(), buckets.last()) else { return 0 };
    let mut coarser_by = 0;
    while (last >> coarser_by) - (first >> coarser_by) >= MAX_DENSE_BUCKETS {
        coarser_by += 1;
    }
    coarser_by
}

/// Buckets by number, in order.
fn buckets<'a>(
    spans: &'a [(i32, u32)],
    counts: &'a [f64],
) -> impl Iterator<Item = (i64, f64)> + 'a {
    let mut next = 0i64;
    let indexes = spans.iter().flat_map(move |(offset, length)| {
        let first = next + i64::from(*offset);
        next = first + i64::from(*length);
        first..next
    });
    indexes.zip(counts.iter().copied())
}

fn whole(count: f64) -> u64 {
    count.round() as u64
}
