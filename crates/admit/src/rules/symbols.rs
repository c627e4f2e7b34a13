//! Series of a request of remote-write 2.0, written again with another table of texts.
//!
//! The table has what is still referred to and nothing else, so that no text of a series that was
//! left out stays behind. Samples, histograms and fields that are not known are copied.

use std::collections::HashMap;

use kymo_condition::edit::each_field;
use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{ExemplarRefsView, MetadataRefsView, SeriesRefsView, SymbolTable};
use kymo_wire::{View, WireError};

use super::series::LABELS;

/// Texts of a request.
pub(super) const SYMBOLS_2: u32 = 4;
/// Series of a request.
pub(super) const SERIES_2: u32 = 5;
/// Exemplars of a series.
const EXEMPLARS: u32 = 4;
/// What is said about the metric of a series: its type, and numbers of texts.
const METADATA: u32 = 5;
const METADATA_TYPE: u32 = 1;
const METADATA_HELP: u32 = 3;
const METADATA_UNIT: u32 = 4;

/// Writes a series of 2.0 with numbers of another table.
pub(super) fn series_2(
    series: &SeriesRefsView<'_>,
    labels: &[(u64, u64)],
    table: &mut Table<'_>,
    out: &mut Writer,
) -> Result<(), WireError> {
    write_numbers(labels, out);
    let mut metadata = series.metadata;
    each_field(series.raw, |number, content, whole| {
        match number {
            LABELS => {}
            EXEMPLARS => {
                out.message(EXEMPLARS, |out| exemplar_2(content, table, out))?;
            }
            METADATA => {
                if let Some(metadata) = metadata.take() {
                    out.message(METADATA, |out| metadata_2(&metadata, table, out));
                }
            }
            _ => out.raw(whole),
        }
        Ok(())
    })
}

fn exemplar_2(raw: &[u8], table: &mut Table<'_>, out: &mut Writer) -> Result<(), WireError> {
    let exemplar = ExemplarRefsView::parse(raw)?;
    let labels: Vec<_> = table
        .before
        .labels(&exemplar.labels)
        .flatten()
        .map(|(name, value)| (table.number(name), table.number(value)))
        .collect();
    write_numbers(&labels, out);
    each_field(raw, |number, _, whole| {
        if number != LABELS {
            out.raw(whole);
        }
        Ok(())
    })
}

fn metadata_2(metadata: &MetadataRefsView, table: &mut Table<'_>, out: &mut Writer) {
    out.varint_field(METADATA_TYPE, metadata.metric_type as u64);
    for (number, text) in [(METADATA_HELP, metadata.help), (METADATA_UNIT, metadata.unit)] {
        let text = table.before.get(text).unwrap_or_default();
        if !text.is_empty() {
            out.varint_field(number, table.number(text));
        }
    }
}

fn write_numbers(labels: &[(u64, u64)], out: &mut Writer) {
    out.message(LABELS, |out| {
        for (name, value) in labels {
            out.varint(*name);
            out.varint(*value);
        }
    });
}

/// The texts that what is left of a request refers to.
pub(super) struct Table<'a> {
    before: &'a SymbolTable<'a>,
    numbers: HashMap<Box<[u8]>, u64>,
    written: Writer,
}

impl<'a> Table<'a> {
    pub(super) fn new(before: &'a SymbolTable<'a>) -> Self {
        let mut table = Self { before, numbers: HashMap::new(), written: Writer::new() };
        // Number 0 stands for what is not said.
        table.number(&[]);
        table
    }

    pub(super) fn number(&mut self, text: &[u8]) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.numbers.len() as u64;
        self.written.bytes_field(SYMBOLS_2, text);
        self.numbers.insert(text.into(), number);
        number
    }

    /// The texts as fields of a request.
    pub(super) fn into_written(self) -> Writer {
        self.written
    }
}
