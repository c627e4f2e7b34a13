//! Writing a request again without what was refused and with what was repaired.
//!
//! It runs only when the [check](super::check) found something, and may take its time: each series
//! is judged once more. Series without a fault are copied as they are, and so is the table of texts
//! of a 2.0 request, which the series go on referring to.

use super::check::{Checker, Judgement};
use super::views::{
    ExemplarRefsView, ExemplarView, MetadataView, SampleView, SeriesRefsView, SeriesView,
    SymbolTable, WriteRequestView,
};
use super::{HistogramView, RequestView, write_label};
use crate::encode::Writer;
use crate::limits::Limits;
use crate::proto::WireError;
use crate::repeated::{Repeated, View};
use crate::tags::{write1_request, write1_series, write2_request, write2_series};

/// Encodes a 1.0 request again. It must have passed the check.
pub(super) fn request_1(body: &[u8], limits: &Limits) -> Result<Vec<u8>, WireError> {
    let mut writer = Writer::with_capacity(body.len());
    let request = WriteRequestView::parse(body)?;
    for series in request.series {
        let series = series?;
        let mut checker = Checker::new(limits);
        if !checker.series_1(&series)? {
            continue;
        }
        if checker.is_clean() {
            writer.bytes_field(write1_request::SERIES >> 3, series.raw);
            continue;
        }
        writer.message(write1_request::SERIES >> 3, |w| series_1(&series, &mut checker, w))?;
    }
    let checker = Checker::new(limits);
    for raw in request.metadata.raws() {
        let raw = raw?;
        if checker.is_metadata_1(&MetadataView::parse(raw)?) {
            writer.bytes_field(write1_request::METADATA >> 3, raw);
        }
    }
    Ok(writer.into_bytes())
}

fn series_1(
    series: &SeriesView<'_>,
    checker: &mut Checker<'_>,
    writer: &mut Writer,
) -> Result<(), WireError> {
    let mut labels = Vec::with_capacity(series.labels.count());
    for label in series.labels {
        let label = label?;
        if !label.value.is_empty() {
            labels.push((label.name, label.value));
        }
    }
    labels.sort_unstable();
    for (name, value) in labels {
        write_label(name, value, writer);
    }
    samples(&series.samples, write1_series::SAMPLES >> 3, checker, writer)?;
    for raw in series.exemplars.raws() {
        let raw = raw?;
        if checker.is_exemplar_1(&ExemplarView::parse(raw)?)? {
            writer.bytes_field(write1_series::EXEMPLARS >> 3, raw);
        }
    }
    histograms(&series.histograms, write1_series::HISTOGRAMS >> 3, checker, writer)
}

/// Encodes a 2.0 request again. It must have passed the check.
pub(super) fn request_2(body: &[u8], limits: &Limits) -> Result<Vec<u8>, WireError> {
    let mut writer = Writer::with_capacity(body.len());
    let request = RequestView::parse(body)?;
    let symbols = request.symbols.table()?;
    for symbol in request.symbols.raws() {
        writer.bytes_field(write2_request::SYMBOLS >> 3, symbol?);
    }
    for series in request.series {
        let series = series?;
        let mut checker = Checker::new(limits);
        if !checker.series_2(&symbols, &series)? {
            continue;
        }
        if checker.is_clean() {
            writer.bytes_field(write2_request::SERIES >> 3, series.raw);
            continue;
        }
        let field = write2_request::SERIES >> 3;
        writer.message(field, |w| series_2(&series, &symbols, &mut checker, w))?;
    }
    Ok(writer.into_bytes())
}

fn series_2(
    series: &SeriesRefsView<'_>,
    symbols: &SymbolTable<'_>,
    checker: &mut Checker<'_>,
    writer: &mut Writer,
) -> Result<(), WireError> {
    let mut numbers = series.labels.iter();
    let mut labels = Vec::with_capacity(series.labels.count() / 2);
    while let (Some(name), Some(value)) = (numbers.next(), numbers.next()) {
        if symbols.get(value).is_some_and(|value| !value.is_empty()) {
            labels.push((name, value));
        }
    }
    if checker.judge_2(symbols, series)? != Judgement::Keep {
        labels.sort_by_key(|(name, _)| symbols.get(*name));
    }
    writer.message(write2_series::LABELS_PACKED >> 3, |w| {
        for (name, value) in labels {
            w.varint(name);
            w.varint(value);
        }
    });
    samples(&series.samples, write2_series::SAMPLES >> 3, checker, writer)?;
    histograms(&series.histograms, write2_series::HISTOGRAMS >> 3, checker, writer)?;
    for raw in series.exemplars.raws() {
        let raw = raw?;
        if checker.is_exemplar_2(symbols, &ExemplarRefsView::parse(raw)?)? {
            writer.bytes_field(write2_series::EXEMPLARS >> 3, raw);
        }
    }
    if let Some(metadata) = series.metadata
        && checker.is_metadata_2(symbols, &metadata)
    {
        super::writer::write_metadata(&metadata, writer);
    }
    Ok(())
}

fn samples(
    samples: &Repeated<'_, SampleView>,
    field: u32,
    checker: &Checker<'_>,
    writer: &mut Writer,
) -> Result<(), WireError> {
    for raw in samples.raws() {
        let raw = raw?;
        if checker.sample_fault(&SampleView::parse(raw)?).is_none() {
            writer.bytes_field(field, raw);
        }
    }
    Ok(())
}

fn histograms(
    histograms: &Repeated<'_, HistogramView<'_>>,
    field: u32,
    checker: &mut Checker<'_>,
    writer: &mut Writer,
) -> Result<(), WireError> {
    for raw in histograms.raws() {
        let raw = raw?;
        if checker.histogram_fault(&HistogramView::parse(raw)?)?.is_none() {
            writer.bytes_field(field, raw);
        }
    }
    Ok(())
}
