//! Remote-write 1.0 to 2.0 and back.
//!
//! Samples and histograms are the same messages in both, and are copied as they are when 2.0 becomes
//! 1.0; start times, which only 2.0 knows, stay as fields that readers of 1.0 skip. What 1.0 says of
//! families is said of each of their series in 2.0.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{
    HistogramBuffers, METRIC_NAME, Metadata, MetadataView, RequestView, RequestWriter, SeriesView,
    SeriesWriter, SymbolTable, Version, WriteRequestView, write_label,
};
use kymo_wire::{View, WireError, text};

use super::{ConvertError, bounded};

/// Fields of a request, a series, an exemplar and metadata of 1.0.
mod field {
    pub(super) const SERIES: u32 = 1;
    pub(super) const METADATA: u32 = 3;
    pub(super) const SAMPLES: u32 = 2;
    pub(super) const EXEMPLARS: u32 = 3;
    pub(super) const HISTOGRAMS: u32 = 4;
    pub(super) const EXEMPLAR_VALUE: u32 = 2;
    pub(super) const EXEMPLAR_TIME: u32 = 3;
    pub(super) const TYPE: u32 = 1;
    pub(super) const FAMILY: u32 = 2;
    pub(super) const HELP: u32 = 4;
    pub(super) const UNIT: u32 = 5;
}

/// A request of the other version, as one of `version`. Both are not packed.
///
/// # Errors
/// It is damaged, or too large when its labels are not numbered.
pub(crate) fn convert_version(request: &[u8], version: Version) -> Result<Vec<u8>, ConvertError> {
    match version {
        Version::One => to_1(request),
        Version::Two => to_2(request),
    }
}

fn to_1(request: &[u8]) -> Result<Vec<u8>, ConvertError> {
    let request = RequestView::parse(request)?;
    let symbols = request.symbols.table()?;
    let mut writer = Writer::new();
    let mut described: HashSet<&[u8]> = HashSet::new();
    let mut metadata = Writer::new();
    for series in request.series {
        let series = series?;
        let labels = || symbols.labels(&series.labels).flatten();
        writer.message(field::SERIES, |w| -> Result<(), ConvertError> {
            labels().for_each(|(name, value)| write_label(name, value, w));
            for sample in series.samples.raws() {
                w.bytes_field(field::SAMPLES, sample?);
            }
            for exemplar in series.exemplars {
                let exemplar = exemplar?;
                w.message(field::EXEMPLARS, |w| {
                    let labels = symbols.labels(&exemplar.labels).flatten();
                    labels.for_each(|(name, value)| write_label(name, value, w));
                    w.double_field(field::EXEMPLAR_VALUE, exemplar.value);
                    w.varint_field(field::EXEMPLAR_TIME, exemplar.time_millis.cast_unsigned());
                });
                bounded(w.as_slice().len())?;
            }
            for histogram in series.histograms.raws() {
                w.bytes_field(field::HISTOGRAMS, histogram?);
            }
            Ok(())
        })?;
        let name = labels().find(|(name, _)| *name == METRIC_NAME).map(|(_, value)| value);
        if let (Some(name), Some(said)) = (name, series.metadata.filter(|said| !said.is_empty()))
            && described.insert(name)
        {
            write_metadata(&mut metadata, name, &said, &symbols);
        }
        bounded(writer.as_slice().len() + metadata.as_slice().len())?;
    }
    writer.raw(metadata.as_slice());
    Ok(writer.into_bytes())
}

fn write_metadata(
    writer: &mut Writer,
    name: &[u8],
    said: &kymo_wire::remote_write::MetadataRefsView,
    symbols: &SymbolTable<'_>,
) {
    use kymo_wire::remote_write::MetadataType::{Histogram, Summary};
    // The family of these is their name without the suffix.
    let suffixes: &[&[u8]] = match said.metric_type {
        Histogram => &[b"_bucket", b"_sum", b"_count"],
        Summary => &[b"_sum", b"_count"],
        _ => &[],
    };
    let family = suffixes.iter().find_map(|suffix| name.strip_suffix(*suffix)).unwrap_or(name);
    writer.message(field::METADATA, |w| {
        w.varint_field(field::TYPE, said.metric_type as u64);
        w.bytes_field(field::FAMILY, family);
        w.bytes_field(field::HELP, symbols.get(said.help).unwrap_or_default());
        w.bytes_field(field::UNIT, symbols.get(said.unit).unwrap_or_default());
    });
}

fn to_2(request: &[u8]) -> Result<Vec<u8>, ConvertError> {
    let request = WriteRequestView::parse(request)?;
    let mut families: HashMap<&[u8], MetadataView<'_>> = HashMap::new();
    for metadata in request.metadata {
        let metadata = metadata?;
        families.insert(metadata.family, metadata);
    }
    let mut writer = RequestWriter::new();
    let mut buffers = HistogramBuffers::default();
    for series in request.series {
        let series = series?;
        let labels = texts(series.labels.iter().flatten().map(|label| (label.name, label.value)));
        let name = labels.iter().find(|(name, _)| name.as_bytes() == METRIC_NAME);
        let said = name.and_then(|(_, name)| families.get(name.as_bytes()));
        let words = said.map(|said| (said.metric_type, text(said.help), text(said.unit)));
        let metadata = words.as_ref().map(|(metric_type, help, unit)| Metadata {
            metric_type: *metric_type,
            help,
            unit,
        });
        writer.series(pairs(&labels), metadata, |w| write_points(&series, &mut buffers, w))?;
    }
    Ok(writer.finish())
}

fn write_points(
    series: &SeriesView<'_>,
    buffers: &mut HistogramBuffers,
    writer: &mut SeriesWriter<'_>,
) -> Result<(), WireError> {
    for sample in series.samples {
        let sample = sample?;
        writer.sample(sample.value, sample.time_millis, sample.start_time_millis);
    }
    for histogram in series.histograms {
        let histogram = histogram?;
        // Admission has refused those that are wrong.
        if let Ok(resolved) = histogram.resolve(buffers) {
            writer.histogram(&resolved, histogram.time_millis, histogram.start_time_millis);
        }
    }
    for exemplar in series.exemplars {
        let exemplar = exemplar?;
        let labels = exemplar.labels.iter().flatten().map(|label| (label.name, label.value));
        writer.exemplar(pairs(&texts(labels)), exemplar.value, exemplar.time_millis);
    }
    Ok(())
}

type TextLabels<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

fn texts<'a>(labels: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> TextLabels<'a> {
    labels.map(|(name, value)| (text(name), text(value))).collect()
}

fn pairs<'l>(labels: &'l TextLabels<'_>) -> impl Iterator<Item = (&'l str, &'l str)> + Clone {
    labels.iter().map(|(name, value)| (&**name, &**value))
}
