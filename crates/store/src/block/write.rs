//! Writing a block: rows of any sources, in a given order, to one Parquet file.

use std::sync::Arc;

use bytes::Bytes;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;

use super::attributes::AttributePlan;
use super::footer::{self, AttributeColumn, Footer, Region, TextFilter};
use super::indexes::{IndexBytes, IndexedAttribute, Indexes};
use super::merge::{Merged, MergedValues, NOWHERE, Places};
use super::parquet_schema;
use super::source::{RowRef, Source};
use super::trace_index;
use crate::column::{Dict, Interner, Values};
use crate::error::StoreError;
use crate::json;
use crate::origin::Origin;
use crate::pages::encode::{Encoded, Encoder, Hint, Levels};
use crate::pages::write_varint;
use crate::schema::{Kind, Signal, Table};
use crate::tables::{logs, series, spans_block};

/// What a block is made of.
#[derive(Debug)]
pub struct BlockInput<'a> {
    /// The table.
    pub table: &'static Table,
    /// Where the rows are.
    pub sources: &'a [Source],
    /// Which rows, in which order.
    pub order: &'a [RowRef],
    /// Journal positions that the rows come from, for level 0.
    pub journal: std::ops::Range<u64>,
    /// zstd level of pages.
    pub zstd_level: i32,
}

/// A written block.
#[derive(Debug)]
pub struct BlockOutput {
    /// The file.
    pub bytes: Bytes,
    /// Rows.
    pub rows: u64,
    /// Least time of a row.
    pub min_time_nanos: i64,
    /// Greatest time of a row.
    pub max_time_nanos: i64,
    /// Bytes of all pages when decompressed.
    pub plain_bytes: u64,
}

/// Writes a block. `order` must not be empty.
pub fn write(input: &BlockInput<'_>) -> Result<BlockOutput, StoreError> {
    Writer::new(input)?.run()
}

struct Writer<'a> {
    input: &'a BlockInput<'a>,
    places: Places,
    plan: AttributePlan,
    descriptor: SchemaDescriptor,
    encoder: Encoder,
    encoded: Vec<Option<Encoded>>,
    indexes: Indexes,
    footer: Footer,
}

impl<'a> Writer<'a> {
    fn new(input: &'a BlockInput<'a>) -> Result<Self, StoreError> {
        let rows = input.order.len();
        let plan = AttributePlan::new(input.sources, rows);
        let schema = parquet_schema::schema(input.table, &plan.columns)?;
        let descriptor = SchemaDescriptor::new(schema);
        let leaves = descriptor.num_columns();
        Ok(Self {
            input,
            places: Places::new(input.sources, input.order),
            plan,
            descriptor,
            encoder: Encoder::new(input.zstd_level)?,
            encoded: (0..leaves).map(|_| None).collect(),
            indexes: Indexes::new(input.table, rows),
            footer: Footer {
                version: footer::VERSION,
                least_reader: footer::LEAST_READER,
                signal: input.table.signal.name().to_owned(),
                rows: rows as u64,
                journal_start: input.journal.start,
                journal_end: input.journal.end,
                writer: concat!("kymo ", env!("CARGO_PKG_VERSION")).to_owned(),
                ..Footer::default()
            },
        })
    }

    fn rows(&self) -> usize {
        self.places.rows
    }

    fn run(mut self) -> Result<BlockOutput, StoreError> {
        let table = self.input.table;
        let (origin_codes, origins) = self.origins()?;
        self.origin_columns(&origin_codes, &origins)?;
        let trace_index = if table.signal == Signal::Spans {
            spans_block::write(&mut SpanColumns { writer: &mut self }, &origin_codes, &origins)?
        } else {
            Vec::new()
        };
        self.encode_field(table.common.origin, &origin_codes)?;
        drop(origin_codes);
        let (shapes, shape_table) = self.plan.shapes(table, self.input.sources, &self.places)?;
        self.encode_field(table.common.shape, &shapes)?;
        drop(shapes);
        self.rest()?;
        self.remaining_fields()?;
        self.lists()?;
        self.attributes()?;
        self.assemble(origins.dict(), shape_table.dict(), &trace_index)
    }

    /// The number of each row's origin in the block's own table of origins.
    fn origins(&self) -> Result<(Merged, Interner), StoreError> {
        let field = self.input.table.common.origin;
        let mut merged = Merged::empty(Kind::Int, self.rows(), false);
        let MergedValues::Int(out) = &mut merged.values else {
            return Err(StoreError::corrupt("origins are not numbers"));
        };
        let mut interner = Interner::default();
        for (source, to) in self.input.sources.iter().zip(&self.places.to) {
            let origins = source.origins()?;
            let mut new_codes = vec![-1i64; origins.len()];
            let column = source.field(field)?;
            let Some(Values::Int(codes)) = column.as_ref().map(|c| &c.values) else {
                return Err(StoreError::corrupt("rows without origins"));
            };
            for (code, place) in codes.iter().zip(to) {
                if *place == NOWHERE {
                    continue;
                }
                let new = usize::try_from(*code)
                    .ok()
                    .and_then(|c| new_codes.get_mut(c))
                    .ok_or_else(|| StoreError::corrupt("a row has no origin"))?;
                if *new < 0 {
                    *new = i64::from(interner.intern(origins.get(*code as u32)));
                }
                out[*place as usize] = *new;
            }
        }
        Ok((merged, interner))
    }

    /// Columns that only repeat what the origin says, for other readers, and
    /// the catalogue of resources and scopes.
    fn origin_columns(&mut self, codes: &Merged, origins: &Interner) -> Result<(), StoreError> {
        let common = &self.input.table.common;
        let mut service = Derived::default();
        let mut resource = Derived::default();
        let mut scope_name = Derived::default();
        let mut scope_version = Derived::default();
        for encoded in origins.dict().iter() {
            let origin = Origin::decode(encoded);
            service.push(origin.service_name());
            let attributes = origin.resource_attributes();
            resource.push(attributes.map(|attributes| {
                let mut text = String::new();
                json::write_attributes(attributes.iter(), &mut text);
                text.into_bytes()
            }));
            let scope = origin.scope_view();
            scope_name.push(scope.as_ref().map(|s| s.name).filter(|n| !n.is_empty()));
            scope_version.push(scope.as_ref().map(|s| s.version).filter(|n| !n.is_empty()));
            self.indexes.origin(&origin);
        }
        for (field, derived) in [
            (common.service, service),
            (common.resource, resource),
            (common.scope_name, scope_name),
            (common.scope_version, scope_version),
        ] {
            let merged = derived.by_code(codes.ints());
            self.encode_field(field, &merged)?;
        }
        Ok(())
    }

    fn gather_field(&self, field: usize) -> Result<Merged, StoreError> {
        let described = &self.input.table.fields[field];
        let mut merged = Merged::empty(described.kind, self.rows(), described.optional);
        for (source, to) in self.input.sources.iter().zip(&self.places.to) {
            if let Some(column) = source.field(field)? {
                merged.scatter(&column, to)?;
            }
        }
        Ok(merged)
    }

    fn encode_field(&mut self, field: usize, merged: &Merged) -> Result<(), StoreError> {
        let hint = self.input.table.fields[field].hint;
        let dictionary = self.encode_leaf(field, merged.levels(), merged, hint)?;
        self.indexes.field(field, merged, dictionary);
        Ok(())
    }

    fn encode_leaf(
        &mut self,
        leaf: usize,
        levels: Levels<'_>,
        merged: &Merged,
        hint: Hint,
    ) -> Result<bool, StoreError> {
        let descr = self.descriptor.column(leaf);
        let encoded =
            self.encoder.encode(&descr, self.places.rows, levels, merged.dense(), hint)?;
        let dictionary = encoded.dictionary;
        self.encoded[leaf] = Some(encoded);
        Ok(dictionary)
    }

    /// The field `rest`, which is also searched through the granule filters.
    fn rest(&mut self) -> Result<(), StoreError> {
        let table = self.input.table;
        let merged = self.plan.rest(table, self.input.sources, &self.places)?;
        self.footer.rest_rows = self.indexes.rest(&merged);
        self.encode_field(table.common.rest, &merged)
    }

    /// All fields that nothing else has encoded yet.
    fn remaining_fields(&mut self) -> Result<(), StoreError> {
        for field in 0..self.input.table.fields.len() {
            if self.encoded[field].is_some() {
                continue;
            }
            let merged = self.gather_field(field)?;
            if Some(field) == time_field(self.input.table.signal) {
                self.time_range(&merged);
            }
            // A row of series reaches over a range of times of its own.
            if self.input.table.signal == Signal::Series && field == series::field::MAX_TIME {
                let last = merged.ints().iter().copied().max();
                self.footer.max_time_nanos = last.unwrap_or(self.footer.max_time_nanos);
            }
            self.encode_field(field, &merged)?;
        }
        Ok(())
    }

    fn time_range(&mut self, times: &Merged) {
        self.footer.min_time_nanos = times.ints().iter().copied().min().unwrap_or(0);
        self.footer.max_time_nanos = times.ints().iter().copied().max().unwrap_or(0);
    }

    fn lists(&mut self) -> Result<(), StoreError> {
        let table = self.input.table;
        let mut leaf = table.fields.len();
        for (nth, list) in table.lists.iter().enumerate() {
            let parts = self
                .input
                .sources
                .iter()
                .map(|source| source.list(nth))
                .collect::<Result<Vec<_>, _>>()?;
            let counts: Vec<&[u32]> = parts.iter().map(|p| &p.counts[..]).collect();
            let (places, counts) = self.places.elements(&counts);
            for (member, field) in list.members.iter().enumerate() {
                let mut merged = Merged::empty(field.kind, places.rows, field.optional);
                for (part, to) in parts.iter().zip(&places.to) {
                    merged.scatter(&part.members[member], to)?;
                }
                self.indexes.list(list.name, field.name, &merged);
                let present = merged.present.as_deref();
                let levels = Levels::List { counts: &counts, present };
                self.encode_leaf(leaf, levels, &merged, field.hint)?;
                leaf += 1;
            }
        }
        Ok(())
    }

    fn attributes(&mut self) -> Result<(), StoreError> {
        let table = self.input.table;
        let first: usize =
            table.fields.len() + table.lists.iter().map(|l| l.members.len()).sum::<usize>();
        for nth in 0..self.plan.columns.len() {
            let key = self.plan.columns[nth].clone();
            let mut merged = Merged::empty(key.value_type.kind(), self.places.rows, true);
            for (source, column) in &self.plan.parts[nth] {
                let column = self.input.sources[*source].attribute(*column)?;
                merged.scatter(&column, &self.places.to[*source])?;
            }
            let leaf = first + nth;
            let levels = merged.levels();
            let dictionary = self.encode_leaf(leaf, levels, &merged, Hint::Auto)?;
            let IndexedAttribute { count, filtered } =
                self.indexes.attribute(leaf, &key.key, key.value_type, &merged, dictionary);
            self.footer.attributes.push(AttributeColumn {
                key: key.key.to_vec(),
                value_type: key.value_type as u32,
                leaf: leaf as u32,
                count,
                filtered,
            });
        }
        Ok(())
    }

    /// Puts the encoded columns, the index regions and the footer together.
    fn assemble(
        mut self,
        origins: &Dict,
        shapes: &Dict,
        trace_index: &[u8],
    ) -> Result<BlockOutput, StoreError> {
        let properties = Arc::new(
            WriterProperties::builder().set_created_by(self.footer.writer.clone()).build(),
        );
        let schema = self.descriptor.root_schema_ptr();
        let mut file = SerializedFileWriter::new(Vec::new(), schema, properties)?;
        let mut row_group = file.next_row_group()?;
        let mut plain_bytes = 0;
        for encoded in &mut self.encoded {
            let Some(encoded) = encoded.take() else {
                return Err(StoreError::corrupt("a column was not encoded"));
            };
            plain_bytes += encoded.close.metadata.uncompressed_size().max(0) as u64;
            row_group.append_column(&encoded.bytes, encoded.close)?;
        }
        row_group.close()?;
        let IndexBytes { catalogue, filters, text_filters, has_trace_ids } = self.indexes.finish();
        let encoder = &mut self.encoder;
        self.footer.origins = Some(compressed(&mut file, encoder, &framed(origins))?);
        self.footer.shapes = Some(compressed(&mut file, encoder, &framed(shapes))?);
        self.footer.catalogue = Some(compressed(&mut file, encoder, &catalogue)?);
        self.footer.groups = (trace_index.len() / trace_index::ENTRY_BYTES) as u64;
        if !trace_index.is_empty() {
            self.footer.trace_index = Some(region(&mut file, trace_index, 0)?);
        }
        if !filters.is_empty() {
            self.footer.filters = Some(region(&mut file, &filters, 0)?);
        }
        self.footer.trace_ids_filtered = has_trace_ids;
        for (leaf, filters) in &text_filters {
            let region = Some(region(&mut file, filters, 0)?);
            self.footer.text_filters.push(TextFilter { leaf: *leaf as u32, region });
        }
        file.append_key_value_metadata(KeyValue::new(
            footer::KEY.to_owned(),
            self.footer.to_text(),
        ));
        let bytes = Bytes::from(file.into_inner()?);
        Ok(BlockOutput {
            bytes,
            rows: self.footer.rows,
            min_time_nanos: self.footer.min_time_nanos,
            max_time_nanos: self.footer.max_time_nanos,
            plain_bytes,
        })
    }
}

/// What the columns of spans that depend on one another need of the writer.
pub(crate) struct SpanColumns<'w, 'a> {
    writer: &'w mut Writer<'a>,
}

impl SpanColumns<'_, '_> {
    /// The merged field.
    pub(crate) fn gather(&self, field: usize) -> Result<Merged, StoreError> {
        self.writer.gather_field(field)
    }

    /// Encodes a field.
    pub(crate) fn encode(&mut self, field: usize, merged: &Merged) -> Result<(), StoreError> {
        self.writer.encode_field(field, merged)
    }

    /// Takes the times of all rows.
    pub(crate) fn time_range(&mut self, times: &Merged) {
        self.writer.time_range(times);
    }
}

/// The field that tells a row's time; `None` where the table's own code says.
fn time_field(signal: Signal) -> Option<usize> {
    match signal {
        Signal::Spans => None,
        Signal::Logs => Some(logs::field::TIME),
        Signal::Series => Some(series::field::MIN_TIME),
    }
}

/// A text for each code, then a column of them.
#[derive(Default)]
struct Derived {
    interner: Interner,
    by_code: Vec<u32>,
}

impl Derived {
    fn push(&mut self, value: Option<impl AsRef<[u8]>>) {
        let code = value.map_or(NOWHERE, |v| self.interner.intern(v.as_ref()));
        self.by_code.push(code);
    }

    fn by_code(self, codes: &[i64]) -> Merged {
        let mut present = vec![1u8; codes.len()];
        let values =
            codes.iter().zip(&mut present).map(|(code, mark)| match self.by_code[*code as usize] {
                NOWHERE => {
                    *mark = 0;
                    0
                }
                code => code,
            });
        let values = MergedValues::Bytes(values.collect(), self.interner);
        Merged { values, present: Some(present) }
    }
}

/// Entries of a dictionary, each after its length.
fn framed(dict: &Dict) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(dict.total_bytes() + dict.len() * 2);
    for entry in dict.iter() {
        write_varint(entry.len() as u64, &mut bytes);
        bytes.extend_from_slice(entry);
    }
    bytes
}

fn compressed(
    file: &mut SerializedFileWriter<Vec<u8>>,
    encoder: &mut Encoder,
    plain: &[u8],
) -> Result<Region, StoreError> {
    let bytes = encoder.compress(plain)?;
    region(file, &bytes, plain.len() as u64)
}

fn region(
    file: &mut SerializedFileWriter<Vec<u8>>,
    bytes: &[u8],
    plain_bytes: u64,
) -> Result<Region, StoreError> {
    let offset = file.bytes_written() as u64;
    file.write_all(bytes)?;
    let crc = crc32c::crc32c(bytes);
    Ok(Region { offset, length_bytes: bytes.len() as u64, plain_bytes, crc })
}
