//! Exemplars of series: single observations, with the trace they were made in.

use std::collections::BTreeMap;

use kymo_promql::labels::{Label, Labels};
use kymo_promql::matcher::LabelMatcher;
use kymo_promql::number::format_float;
use kymo_store::series::codec::{PointValues, Points};
use kymo_store::series::exemplars::Exemplars as Stored;
use kymo_store::series::identity::MetricType;
use kymo_store::series::matcher::value_text;
use kymo_store::series::read::read_points;
use kymo_wire::{ExemplarView, NumberValue, View as _, text};

use super::catalog::SeriesQuery;
use super::find::{Conditions, Place, TimeRange};
use super::translate::Translated;
use super::unfold::Variant;
use super::view::View;
use crate::error::EngineError;

/// An exemplar.
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar {
    /// Its labels: `trace_id`, `span_id` and others.
    pub labels: Labels,
    /// The value that was observed.
    pub value: f64,
    /// When, in milliseconds since 1970.
    pub time: i64,
}

const NANOS_PER_MILLI: u64 = 1_000_000;

impl View {
    /// Exemplars of series, by labels of the series and time.
    pub(crate) fn exemplars(
        &self,
        query: &SeriesQuery,
    ) -> Result<BTreeMap<Labels, Vec<Exemplar>>, EngineError> {
        let mut all: BTreeMap<Labels, Vec<Exemplar>> = BTreeMap::new();
        let range = TimeRange::of_millis(query.start, query.end);
        for matchers in &query.matchers {
            let conditions = Conditions::new(matchers, self);
            let found = self.find(&conditions, range, false)?;
            let mut rows: Vec<Vec<(u32, usize)>> = vec![Vec::new(); found.sources.len()];
            for (nth, piece) in found.pieces.iter().enumerate() {
                if let Place::Row { source, row } = piece.place {
                    rows[source].push((row, nth));
                }
            }
            for (source, rows) in found.sources.iter().zip(&mut rows) {
                rows.sort_unstable();
                let numbers: Vec<u32> = rows.iter().map(|(row, _)| *row).collect();
                let mut pieces = rows.iter().map(|(_, piece)| *piece);
                read_points(&source.source, &numbers, true, &mut |_, chunk| {
                    if let Some(piece) = pieces.next() {
                        let series = &found.pieces[piece].series;
                        if !chunk.exemplars.is_empty() {
                            let stored = (&*chunk.exemplars, &chunk.points()?);
                            add(&mut all, series, stored, query, matchers);
                        }
                    }
                    Ok(())
                })?;
            }
            self.open_exemplars(&mut all, query, matchers)?;
        }
        for exemplars in all.values_mut() {
            exemplars.sort_by(|a, b| a.time.cmp(&b.time).then(a.labels.cmp(&b.labels)));
            exemplars.dedup();
        }
        Ok(all)
    }

    fn open_exemplars(
        &self,
        all: &mut BTreeMap<Labels, Vec<Exemplar>>,
        query: &SeriesQuery,
        matchers: &[LabelMatcher],
    ) -> Result<(), EngineError> {
        self.snapshot().for_each_head(&mut |head| {
            let mut attributes = Vec::new();
            head.for_each(&mut |_, _, _| true, &mut |open| {
                if open.exemplars().is_empty() {
                    return;
                }
                let series = self.naming().translate(&open.describe(&mut attributes));
                if let Some(series) = series.filter(|series| series.may_match(matchers)) {
                    add(all, &series, (open.exemplars(), open.points()), query, matchers);
                }
            });
            Ok(())
        })?;
        Ok(())
    }
}

/// Adds the exemplars of a row that lie in the time asked for.
fn add(
    all: &mut BTreeMap<Labels, Vec<Exemplar>>,
    series: &Translated,
    (stored, points): (&[u8], &Points),
    query: &SeriesQuery,
    matchers: &[LabelMatcher],
) {
    for (nth, message) in Stored::new(stored).flatten() {
        let Ok(view) = ExemplarView::parse(message) else { continue };
        let exemplar = exemplar_of(&view);
        if exemplar.time < query.start || exemplar.time > query.end {
            continue;
        }
        let labels = match series.kind.metric_type {
            MetricType::Histogram => {
                series.labels_of(&Variant::Bucket(bucket_of(points, nth, exemplar.value)))
            }
            MetricType::Summary => continue,
            _ => series.labels_of(&Variant::Whole),
        };
        let fulfils = |m: &LabelMatcher| m.matches(labels.get(&m.name).unwrap_or_default());
        if matchers.iter().all(fulfils) {
            all.entry(labels).or_default().push(exemplar);
        }
    }
}

/// The bucket of a point that holds a value.
fn bucket_of(points: &Points, nth: usize, value: f64) -> Box<str> {
    let PointValues::Histograms(histograms) = &points.values else { return "+Inf".into() };
    let bounds = histograms.iter().nth(nth).map(|histogram| histogram.bounds).unwrap_or_default();
    match bounds.iter().find(|bound| value <= **bound) {
        Some(bound) => format_float(*bound).into(),
        None => "+Inf".into(),
    }
}

fn exemplar_of(view: &ExemplarView<'_>) -> Exemplar {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut labels: Vec<Label> = Vec::new();
    let mut push = |name: &str, value: String| {
        labels.push(Label { name: name.into(), value: value.into() });
    };
    push("trace_id", hex(view.trace_id));
    push("span_id", hex(view.span_id));
    for entry in view.filtered_attributes.iter().flatten() {
        let value = String::from_utf8_lossy(&value_text(&entry.value)).into_owned();
        push(&text(entry.key), value);
    }
    let value = match view.value {
        NumberValue::None => 0.0,
        NumberValue::Int(value) => value as f64,
        NumberValue::Double(value) => value,
    };
    let time = (view.time_unix_nano / NANOS_PER_MILLI) as i64;
    Exemplar { labels: Labels::new(labels), value, time }
}
