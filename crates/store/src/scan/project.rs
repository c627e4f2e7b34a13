//! Result rows to Arrow batches: the schema, and reading just the granules that
//! hold result rows.
//!
//! A row that has a key more than once shows one value: the first in the order
//! of [`ValueType::ALL`], among equals the first that was sent. It does not
//! depend on where the row lies.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use hashbrown::HashMap;
use kymo_wire::{AnyValueView, View};

use super::ColumnCache;
use super::build::{Builder, Output, arrow};
use super::compile::{OriginValue, Target, target};
use super::keys::{Types, column_of, column_types};
use super::origins::OriginColumn;
use super::packed::{Piece, Slice};
use super::part::{Leaf, Part};
use super::predicate::ColumnRef;
use super::reader::Reader;
use super::{ScanStats, run::Readers};
use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::schema::{Signal, Table, ValueType};
use crate::tables::logs;

/// A column of the batches.
#[derive(Debug)]
struct Projected {
    target: Target,
    output: Output,
}

/// The columns of the batches.
#[derive(Debug)]
pub(super) struct Projection {
    columns: Vec<Projected>,
    pub(super) schema: SchemaRef,
}

/// Rows of a batch that lie in one granule, and their places in the batch.
struct Group {
    part: u32,
    granule: usize,
    /// Row within the granule, and place in the batch.
    rows: Vec<(u32, usize)>,
}

impl Projection {
    /// Decides the type of every column from what the sources have.
    pub(super) fn new(
        table: &'static Table,
        columns: &[ColumnRef],
        parts: &[Part<'_>],
        cache: &ColumnCache,
    ) -> Result<Self, StoreError> {
        let mut projected = Vec::with_capacity(columns.len());
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let target = target(table, column)?;
            let output = match column {
                ColumnRef::Field(field) => field_output(table, *field),
                ColumnRef::Attribute { .. } => attribute_output(types_of(&target, parts, cache)?),
            };
            fields.push(Field::new(column.name(table), output.data_type(), true));
            projected.push(Projected { target, output });
        }
        Ok(Self { columns: projected, schema: Arc::new(Schema::new(fields)) })
    }

    /// The batch of these rows, in this order.
    pub(super) fn batch(
        &self,
        rows: &[RowRef],
        readers: &mut Readers<'_>,
        stats: &mut ScanStats,
    ) -> Result<RecordBatch, (u32, StoreError)> {
        let groups = groups(rows);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let mut builder = Builder::new(column.output, rows.len());
            for group in &groups {
                let reader = readers.of(group.part as usize);
                fill(&column.target, reader, group, &mut builder, stats)
                    .map_err(|error| (group.part, error))?;
            }
            arrays.push(builder.finish().map_err(|error| (rows[0].source, error))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|error| (rows[0].source, arrow(error)))
    }
}

/// Rows by granule, so that each granule is read once for each column.
fn groups(rows: &[RowRef]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<(u32, usize), usize> = HashMap::new();
    let mut last = None;
    for (at, row) in rows.iter().enumerate() {
        let place = (row.source, row.row as usize / GRANULE_ROWS);
        let nth = match last {
            Some((last, nth)) if last == place => nth,
            _ => *places.entry(place).or_insert_with(|| {
                groups.push(Group { part: place.0, granule: place.1, rows: Vec::new() });
                groups.len() - 1
            }),
        };
        last = Some((place, nth));
        groups[nth].rows.push((row.row % GRANULE_ROWS as u32, at));
    }
    groups.sort_by_key(|group| (group.part, group.granule));
    groups
}

fn field_output(table: &Table, field: usize) -> Output {
    let kind = table.fields[field].kind;
    // Bodies rarely repeat: a dictionary would only be in the way.
    if table.signal == Signal::Logs && field == logs::field::BODY {
        return Output::Plain;
    }
    Output::of(kind)
}

/// The type of a column whose values have these types.
fn attribute_output(types: Types) -> Output {
    let has: Vec<ValueType> = ValueType::ALL.into_iter().filter(|t| types.has(*t)).collect();
    match has[..] {
        [] => Output::Plain,
        [ValueType::Bool] => Output::Bool,
        [ValueType::Int] => Output::Int,
        [ValueType::Double] | [ValueType::Int, ValueType::Double] => Output::Double,
        _ => Output::Text,
    }
}

/// Types of the values that all sources have.
fn types_of(target: &Target, parts: &[Part<'_>], cache: &ColumnCache) -> Result<Types, StoreError> {
    let mut types = Types::default();
    match target {
        Target::Own { value_type: Some(value_type), .. }
        | Target::Origin(
            OriginValue::ResourceAttribute { value_type: Some(value_type), .. }
            | OriginValue::ScopeAttribute { value_type: Some(value_type), .. },
        ) => types.add(*value_type),
        Target::Own { key, value_type: None } => {
            for part in parts {
                types.join(column_types(part.source, key));
                types.join(part.rest_keys.known(key));
            }
        }
        Target::Origin(value) => {
            for part in parts {
                types.join(OriginColumn::of(part.source, value, cache)?.types());
            }
        }
        Target::Field(_) | Target::Parent => {}
    }
    Ok(types)
}

fn fill(
    target: &Target,
    reader: &mut Reader<'_>,
    group: &Group,
    builder: &mut Builder,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let granule_rows = reader.part().rows(group.granule);
    match target {
        Target::Field(field) => {
            let leaf = Leaf::Field(*field);
            if let Some(loaded) = reader.load(leaf, group.granule, stats)? {
                fill_piece(&loaded.piece(group.granule, granule_rows), group, None, builder);
            }
        }
        Target::Parent => {
            let loaded = reader.parents(group.granule, stats)?;
            fill_piece(&loaded.piece(group.granule, granule_rows), group, None, builder);
        }
        Target::Origin(value) => fill_origins(value, reader, group, builder, stats)?,
        Target::Own { key, value_type } => {
            // Later ones overwrite: the type that counts most comes last.
            for of_type in ValueType::ALL.into_iter().rev() {
                if value_type.is_some_and(|wanted| wanted != of_type) {
                    continue;
                }
                fill_rest(key, of_type, reader, group, builder, stats)?;
                if let Some(nth) = column_of(reader.part().source, key, of_type) {
                    let leaf = Leaf::Attribute(nth);
                    if let Some(loaded) = reader.load(leaf, group.granule, stats)? {
                        let piece = loaded.piece(group.granule, granule_rows.clone());
                        fill_piece(&piece, group, Some(of_type), builder);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Takes the values of a group from a column.
fn fill_piece(
    piece: &Piece<'_>,
    group: &Group,
    attribute: Option<ValueType>,
    builder: &mut Builder,
) {
    let present = group.rows.iter().filter_map(|(row, at)| Some((piece.index_of(*row)?, *at)));
    match piece.values {
        Slice::Int(ints) => present.for_each(|(nth, at)| builder.put_int(at, ints.get(nth))),
        Slice::Double(values) => present.for_each(|(nth, at)| builder.put_double(at, values[nth])),
        Slice::Bool(values) => present.for_each(|(nth, at)| builder.put_bool(at, values[nth])),
        Slice::Id8(ids) => present.for_each(|(nth, at)| builder.put_id(at, &ids[nth])),
        Slice::Id16(ids) => present.for_each(|(nth, at)| builder.put_id(at, &ids[nth])),
        Slice::Bytes(codes, dict) if attribute == Some(ValueType::Any) => {
            present.for_each(|(nth, at)| {
                if let Ok(value) = AnyValueView::parse(dict.get(codes.get(nth) as u32)) {
                    builder.put_any(at, &value);
                }
            });
        }
        Slice::Bytes(codes, dict) => {
            // Each entry is looked up in the batch's dictionary once.
            let mut known = vec![None; dict.len()];
            present.for_each(|(nth, at)| {
                let code = codes.get(nth) as u32;
                let in_batch =
                    *known[code as usize].get_or_insert_with(|| builder.intern(dict.get(code)));
                builder.put_code(at, in_batch);
            });
        }
    }
}

fn fill_rest(
    key: &[u8],
    value_type: ValueType,
    reader: &mut Reader<'_>,
    group: &Group,
    builder: &mut Builder,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let part = reader.part();
    if !part.rest_keys.possible(key).has(value_type) {
        return Ok(());
    }
    let leaf = Leaf::Field(part.table.common.rest);
    let Some(loaded) = reader.load(leaf, group.granule, stats)? else { return Ok(()) };
    let piece = loaded.piece(group.granule, part.rows(group.granule));
    for (row, at) in &group.rows {
        let mut first = None;
        Reader::each_in_rest(&piece, *row, key, Some(value_type), |_, value| {
            first = first.or(Some(value));
        });
        if let Some(value) = first {
            builder.put_any(*at, &value);
        }
    }
    Ok(())
}

fn fill_origins(
    value: &OriginValue,
    reader: &mut Reader<'_>,
    group: &Group,
    builder: &mut Builder,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let part = reader.part();
    let column = reader.origin_column(value)?;
    let leaf = Leaf::Field(part.table.common.origin);
    let Some(loaded) = reader.load(leaf, group.granule, stats)? else { return Ok(()) };
    let piece = loaded.piece(group.granule, part.rows(group.granule));
    let Slice::Int(codes) = piece.values else { return Ok(()) };
    // What each distinct value is in this batch; looked up once.
    let mut shown: Vec<Option<Option<Shown<'_>>>> = vec![None; column.distinct()];
    for (row, at) in &group.rows {
        let origin = piece.index_of(*row).map(|nth| codes.get(nth) as usize);
        let code = origin
            .and_then(|origin| column.code(origin))
            .ok_or_else(|| StoreError::corrupt("a row has no origin"))?;
        let show = shown[code as usize].get_or_insert_with(|| {
            Some(match column.first(code)? {
                AnyValueView::String(text) if builder.is_bytes() => {
                    Shown::Code(builder.intern(text))
                }
                other => Shown::Value(other),
            })
        });
        match show {
            None => {}
            Some(Shown::Code(code)) => builder.put_code(*at, *code),
            Some(Shown::Value(value)) => builder.put_any(*at, value),
        }
    }
    Ok(())
}

/// What rows of one origin show.
#[derive(Clone)]
enum Shown<'a> {
    /// A text, by its number in the batch.
    Code(i32),
    Value(AnyValueView<'a>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Kind;

    #[test]
    fn the_type_of_a_column_follows_the_types_of_its_values() {
        let output = |types: &[ValueType]| {
            let mut set = Types::default();
            types.iter().for_each(|value_type| set.add(*value_type));
            attribute_output(set)
        };
        use ValueType::{Any, Bool, Double, Int, String};
        assert_eq!(output(&[]), Output::Plain);
        assert_eq!(output(&[String]), Output::Text);
        assert_eq!(output(&[Int]), Output::Int);
        assert_eq!(output(&[Int, Double]), Output::Double);
        assert_eq!(output(&[Bool, Int]), Output::Text);
        assert_eq!(output(&[Any]), Output::Text);
        assert_eq!(Output::of(Kind::Id8), Output::Fixed(8));
    }
}
