//! The Parquet schema of a block.

use std::sync::Arc;

use hashbrown::HashSet;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};

use crate::schema::{AttributeKey, Field, Kind, Table};

/// The schema: fields, then lists, then attributes.
pub(crate) fn schema(table: &Table, attributes: &[AttributeKey]) -> Result<TypePtr, ParquetError> {
    let mut columns: Vec<TypePtr> = Vec::new();
    for field in table.fields {
        columns.push(leaf(field.name, field.kind, field.optional)?);
    }
    for list in table.lists {
        let members = list
            .members
            .iter()
            .map(|m: &Field| leaf(m.name, m.kind, m.optional))
            .collect::<Result<Vec<_>, _>>()?;
        let element = Type::group_type_builder("element")
            .with_repetition(Repetition::REQUIRED)
            .with_fields(members)
            .build()?;
        let repeated = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![Arc::new(element)])
            .build()?;
        let group = Type::group_type_builder(list.name)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(repeated)])
            .build()?;
        columns.push(Arc::new(group));
    }
    for (name, key) in attribute_names(table, attributes).into_iter().zip(attributes) {
        columns.push(leaf(&name, key.value_type.kind(), true)?);
    }
    let root = Type::group_type_builder(table.signal.name()).with_fields(columns).build()?;
    Ok(Arc::new(root))
}

/// Names of the attribute columns: `<scope>.<key>`, and for the second and
/// further types of a key `<scope>.<key>::<type>`.
fn attribute_names(table: &Table, attributes: &[AttributeKey]) -> Vec<String> {
    let mut taken: HashSet<String> = table.fields.iter().map(|f| f.name.to_owned()).collect();
    let mut names = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        let key = String::from_utf8_lossy(&attribute.key);
        let mut name = format!("{}.{key}", table.scope);
        if taken.contains(&name) {
            name = format!("{name}::{}", attribute.value_type.name());
        }
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

fn leaf(name: &str, kind: Kind, optional: bool) -> Result<TypePtr, ParquetError> {
    let (physical, logical, length) = match kind {
        Kind::Time => {
            let nanos = LogicalType::timestamp(true, TimeUnit::NANOS);
            (PhysicalType::INT64, Some(nanos), 0)
        }
        Kind::Int => (PhysicalType::INT64, None, 0),
        Kind::Double => (PhysicalType::DOUBLE, None, 0),
        Kind::Bool => (PhysicalType::BOOLEAN, None, 0),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), 0),
        Kind::Binary => (PhysicalType::BYTE_ARRAY, None, 0),
        Kind::Id16 => (PhysicalType::FIXED_LEN_BYTE_ARRAY, None, 16),
        Kind::Id8 => (PhysicalType::FIXED_LEN_BYTE_ARRAY, None, 8),
    };
    let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let leaf = Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_length(length)
        .build()?;
    Ok(Arc::new(leaf))
}
