//! Result rows to Arrow batches: the schema, and reading just the granules that
//! hold result rows.
//!
//! A row that has a key more than once shows one value: the first in the order
//! of [`ValueType::ALL`], among equals the first that was sent. It does not
//! depend on where the row lies.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};

use super::build::{Builder, Output, arrow};
use super::compile::{OriginValue, Target, target};
use super::direct::Picked;
use super::fill::{Group, fill};
use super::granule;
use super::keys::{RestKeys, Types, column_types};
use super::lists::ListPiece;
use super::origins::OriginColumn;
use super::part::Part;
use super::predicate::{ColumnRef, Elements};
use super::work::Readers;
use super::{ColumnCache, ScanStats};
use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::schema::{Kind, Table, ValueType};
use crate::tables::series::point;

/// A column of the batches.
#[derive(Debug)]
pub(super) struct Projected {
    pub(super) target: Target,
    pub(super) output: Output,
}

/// The columns of the batches.
#[derive(Debug)]
pub(super) struct Projection {
    pub(super) columns: Vec<Projected>,
    pub(super) schema: SchemaRef,
    /// Members of list elements that are read.
    pub(super) members: Vec<usize>,
}

/// Rows of one granule that a batch is made of.
#[derive(Debug)]
pub(super) struct Pick {
    pub(super) part: u32,
    pub(super) granule: usize,
    pub(super) rows: Picked,
    /// The element of each row, in a scan of elements of a list.
    pub(super) elements: Option<(Arc<ListPiece>, Picked)>,
}

impl Pick {
    /// The first and the second half, of more than one row.
    pub(super) fn halves(self) -> (Self, Self) {
        let Self { part, granule, rows, elements } = self;
        let (first, second) = rows.halves();
        let (first_elements, second_elements) = match elements {
            None => (None, None),
            Some((piece, elements)) => {
                let (first, second) = elements.halves();
                (Some((piece.clone(), first)), Some((piece, second)))
            }
        };
        let half = |rows, elements| Self { part, granule, rows, elements };
        (half(first, first_elements), half(second, second_elements))
    }
}

/// Why there is no batch.
#[derive(Debug)]
pub(super) enum BatchError {
    /// The texts of so many rows are more than a batch may hold.
    TooLarge,
    /// A part cannot be read.
    Part(u32, StoreError),
}

impl Projection {
    /// Checks the columns and decides the type of each from what the sources have.
    pub(super) fn new(
        table: &'static Table,
        elements: Option<Elements>,
        columns: &[ColumnRef],
        parts: &[Arc<Part>],
        cache: &ColumnCache,
    ) -> Result<Self, StoreError> {
        let mut projected = Vec::with_capacity(columns.len());
        let mut fields = Vec::with_capacity(columns.len());
        let mut members = Vec::new();
        for column in columns {
            let target = target(table, elements, column)?;
            if let Target::Member(member) | Target::MemberAttribute { member, .. } = &target
                && !members.contains(member)
            {
                members.push(*member);
            }
            let output = output(table, elements, &target, parts, cache)?;
            fields.push(Field::new(column.name(table), output.data_type(), true));
            projected.push(Projected { target, output });
        }
        Ok(Self { columns: projected, schema: Arc::new(Schema::new(fields)), members })
    }

    /// A batch without columns.
    pub(super) fn count(&self, rows: usize) -> Result<RecordBatch, StoreError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), Vec::new(), &options).map_err(arrow)
    }

    /// The batch of these rows, in this order.
    pub(super) fn batch(
        &self,
        rows: &[RowRef],
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<RecordBatch, BatchError> {
        let arrays = self.arrays(rows, readers, stats)?.into_iter().flatten().collect();
        self.finish(arrays, rows.len(), rows[0].source)
    }

    /// The columns of these rows; `None` in place of what belongs to elements.
    pub(super) fn arrays(
        &self,
        rows: &[RowRef],
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<Vec<Option<ArrayRef>>, BatchError> {
        let groups = Group::of_rows(rows);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            if matches!(column.target, Target::Point(_)) {
                arrays.push(None);
                continue;
            }
            let mut builder = Builder::new(column.output, rows.len());
            for group in &groups {
                let failed = |error| BatchError::Part(group.part, error);
                let reader = readers.of(group.part as usize);
                fill(&column.target, reader, group, &mut builder, stats).map_err(failed)?;
            }
            if builder.is_too_large() {
                return Err(BatchError::TooLarge);
            }
            let failed = |error| BatchError::Part(rows[0].source, error);
            arrays.push(Some(builder.finish().map_err(failed)?));
        }
        Ok(arrays)
    }

    /// The batch of rows of one granule.
    pub(super) fn granule(
        &self,
        pick: &Pick,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<RecordBatch, BatchError> {
        let failed = |error| BatchError::Part(pick.part, error);
        let reader = readers.of(pick.part as usize);
        let mut arrays = Vec::with_capacity(self.columns.len());
        let mut group = None;
        for column in &self.columns {
            let made = granule::array(column, reader, pick, stats).map_err(failed)?;
            let array = match made {
                granule::Made::Array(array) => array,
                granule::Made::TooLarge => return Err(BatchError::TooLarge),
                granule::Made::RowByRow => {
                    let group = group.get_or_insert_with(|| Group::of_pick(pick));
                    let mut builder = Builder::new(column.output, pick.rows.len());
                    fill(&column.target, reader, group, &mut builder, stats).map_err(failed)?;
                    if builder.is_too_large() {
                        return Err(BatchError::TooLarge);
                    }
                    builder.finish().map_err(failed)?
                }
            };
            arrays.push(array);
        }
        self.finish(arrays, pick.rows.len(), pick.part)
    }

    fn finish(
        &self,
        arrays: Vec<ArrayRef>,
        rows: usize,
        part: u32,
    ) -> Result<RecordBatch, BatchError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|error| BatchError::Part(part, arrow(error)))
    }
}

/// What the batches hold of a column.
fn output(
    table: &'static Table,
    elements: Option<Elements>,
    target: &Target,
    parts: &[Arc<Part>],
    cache: &ColumnCache,
) -> Result<Output, StoreError> {
    Ok(match target {
        Target::Field(field) => Output::of(table.fields[*field].kind),
        Target::Parent => Output::Fixed(8),
        Target::Status => Output::Text,
        // Bodies rarely repeat, nor do all attributes of a row: a dictionary would
        // only be in the way.
        Target::Body | Target::OwnJson => Output::Plain,
        Target::EndTime => Output::Time,
        Target::Origin(
            OriginValue::Service
            | OriginValue::Resource
            | OriginValue::Scope
            | OriginValue::ScopeName
            | OriginValue::ScopeVersion,
        ) => Output::Text,
        Target::Origin(_) | Target::Own { .. } | Target::MemberAttribute { .. } => {
            attribute_output(types_of(table, elements, target, parts, cache, RestKeys::known)?)
        }
        Target::Member(member) => match elements {
            Some(Elements::List(list)) => match table.lists[list].members[*member].kind {
                // Attributes, as JSON.
                Kind::Binary => Output::Plain,
                kind => Output::of(kind),
            },
            _ => return Err(StoreError::Query("a member of no list".to_owned())),
        },
        Target::Point(member) => match *member {
            point::TIME | point::START_TIME => Output::Time,
            point::COUNT => Output::UInt,
            point::BUCKET_BOUNDS | point::QUANTILES => Output::DoubleList,
            point::BUCKET_COUNTS => Output::UIntList,
            point::FLAGS => Output::Int,
            _ => Output::Double,
        },
    })
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

/// Types of the values that all sources have. `types_of_key` says what is taken of keys without a column:
/// [`RestKeys::known`] or [`RestKeys::possible`].
pub(super) fn types_of(
    table: &'static Table,
    elements: Option<Elements>,
    target: &Target,
    parts: &[Arc<Part>],
    cache: &ColumnCache,
    types_of_key: fn(&RestKeys, &[u8]) -> Types,
) -> Result<Types, StoreError> {
    let mut types = Types::default();
    match target {
        Target::Own { value_type: Some(value_type), .. }
        | Target::MemberAttribute { value_type: Some(value_type), .. }
        | Target::Origin(
            OriginValue::ResourceAttribute { value_type: Some(value_type), .. }
            | OriginValue::ScopeAttribute { value_type: Some(value_type), .. },
        ) => types.add(*value_type),
        Target::Own { key, value_type: None } => {
            for part in parts {
                types.join(column_types(&part.source, key));
                types.join(types_of_key(&part.rest_keys, key));
            }
        }
        Target::Origin(value) => {
            for part in parts {
                types.join(OriginColumn::of(&part.source, value, cache)?.types());
            }
        }
        Target::MemberAttribute { member, key, value_type: None } => {
            let scope = elements.and_then(|elements| elements.scope(table));
            if let (Some(scope), Some(Elements::List(list))) = (scope, elements) {
                for part in parts {
                    let keys = RestKeys::of_elements(&part.source, scope, list, *member, cache)?;
                    types.join(types_of_key(&keys, key));
                }
            }
        }
        _ => {}
    }
    Ok(types)
}

#[cfg(test)]
mod tests {
    use super::*;

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
