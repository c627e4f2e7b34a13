//! Which attributes the rows of a source have themselves, and of which types: in
//! columns and in `rest`.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, kvlist_entries};

use super::cache::{ColumnCache, Kept, What};
use super::predicate::Scope;
use super::value_test::type_of;
use crate::block::read::Block;
use crate::block::source::Source;
use crate::chunk::Chunk;
use crate::column::Values;
use crate::error::StoreError;
use crate::schema::ValueType;

/// A set of value types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) fn add(&mut self, value_type: ValueType) {
        self.0 |= 1 << value_type as u8;
    }

    pub(super) fn has(self, value_type: ValueType) -> bool {
        self.0 >> value_type as u8 & 1 == 1
    }

    pub(super) fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn all() -> Self {
        let mut types = Self::default();
        ValueType::ALL.into_iter().for_each(|value_type| types.add(value_type));
        types
    }

    /// Only this type, if it is told which.
    pub(super) fn only(self, value_type: Option<ValueType>) -> Self {
        match value_type {
            Some(value_type) => Self(self.0 & 1 << value_type as u8),
            None => self,
        }
    }
}

/// Keys that have no columns of their own, with their types: those in the field
/// `rest` of a source, or of the attributes of list elements.
#[derive(Debug, Default)]
pub(crate) struct RestKeys {
    types: HashMap<Vec<u8>, Types>,
    /// Whether there are more than are known.
    incomplete: bool,
}

impl RestKeys {
    /// Types that values of `key` in `rest` have, as far as is known.
    pub(super) fn known(&self, key: &[u8]) -> Types {
        self.types.get(key).copied().unwrap_or_default()
    }

    /// Types that values of `key` in `rest` may have.
    pub(super) fn possible(&self, key: &[u8]) -> Types {
        match self.types.get(key) {
            Some(types) => *types,
            None if self.incomplete => Types::all(),
            None => Types::default(),
        }
    }

    fn heap_bytes(&self) -> usize {
        self.types.keys().map(|key| key.len() + 48).sum()
    }

    /// Of a source; those of blocks are kept in the cache.
    pub(super) fn of(source: &Source, cache: &ColumnCache) -> Result<Arc<Self>, StoreError> {
        match source {
            Source::Chunk(chunk) => {
                let found =
                    chunk.findings.rest_keys.get_or_init(|| Arc::new(Self::of_chunk(chunk)));
                Ok(found.clone())
            }
            Source::Block(block) if block.footer().rest_rows == 0 => Ok(Arc::default()),
            Source::Block(block) => Self::kept(block, &What::RestKeys, cache, Self::of_block),
        }
    }

    /// Of the attributes of the elements of a list, whose encoded lists are the
    /// member at place `member`.
    pub(super) fn of_elements(
        source: &Source,
        scope: Scope,
        list: usize,
        member: usize,
        cache: &ColumnCache,
    ) -> Result<Arc<Self>, StoreError> {
        match source {
            Source::Chunk(chunk) => {
                let mut keys = Self::default();
                keys.add_lists(&chunk.lists[list].members[member].values);
                Ok(Arc::new(keys))
            }
            Source::Block(block) => Self::kept(block, &What::ElementKeys(scope), cache, |block| {
                let catalogue = block.catalogue()?;
                let mut keys = Self { incomplete: catalogue.keys_left_out, ..Self::default() };
                for entry in catalogue.entries.iter().filter(|entry| entry.scope == scope) {
                    keys.types.entry_ref(&entry.key[..]).or_default().add(entry.value_type);
                }
                Ok(keys)
            }),
        }
    }

    fn kept(
        block: &Block,
        what: &What,
        cache: &ColumnCache,
        make: impl Fn(&Block) -> Result<Self, StoreError>,
    ) -> Result<Arc<Self>, StoreError> {
        let estimate = block.footer().catalogue.map_or(0, |r| r.plain_bytes as usize);
        let kept = cache.get_or_make(block.path(), what, estimate, || {
            let keys = make(block)?;
            let bytes = keys.heap_bytes();
            Ok((Kept::RestKeys(Arc::new(keys)), bytes))
        })?;
        match kept {
            Some(Kept::RestKeys(keys)) => Ok(keys),
            _ => Ok(Arc::new(make(block)?)),
        }
    }

    /// Adds the keys of encoded `KeyValueList`s.
    fn add_lists(&mut self, lists: &Values) {
        let Values::Bytes(_, dict) = lists else { return };
        for attribute in dict.iter().flat_map(|list| kvlist_entries(list).flatten()) {
            if let Some(value_type) = type_of(&attribute.value) {
                self.types.entry_ref(attribute.key).or_default().add(value_type);
            }
        }
    }

    fn of_chunk(chunk: &Chunk) -> Self {
        let mut keys = Self::default();
        if let Some(rest) = &chunk.fields[chunk.table.common.rest] {
            keys.add_lists(&rest.values);
        }
        keys
    }

    /// What the catalogue counts more often than the column has values, or
    /// that has no column.
    fn of_block(block: &Block) -> Result<Self, StoreError> {
        let catalogue = block.catalogue()?;
        let mut keys = Self { incomplete: catalogue.keys_left_out, ..Self::default() };
        for entry in catalogue.entries.iter().filter(|entry| entry.scope == Scope::Own) {
            let column = block.attribute_of(&entry.key, entry.value_type);
            let in_column = column.map_or(0, |nth| block.attributes()[nth].count);
            if entry.count > in_column as u64 {
                keys.types.entry_ref(&entry.key[..]).or_default().add(entry.value_type);
            }
        }
        Ok(keys)
    }
}

/// Types that the columns of a source have for `key`.
pub(super) fn column_types(source: &Source, key: &[u8]) -> Types {
    let mut types = Types::default();
    for value_type in ValueType::ALL {
        if column_of(source, key, value_type).is_some() {
            types.add(value_type);
        }
    }
    types
}

/// The place of the column of a key and type.
pub(super) fn column_of(source: &Source, key: &[u8], value_type: ValueType) -> Option<usize> {
    match source {
        Source::Block(block) => block.attribute_of(key, value_type),
        Source::Chunk(chunk) => {
            chunk.attributes.iter().position(|(k, _)| k.value_type == value_type && *k.key == *key)
        }
    }
}

/// Whether a value is there and of the type that was asked for.
pub(super) fn wanted(value: &AnyValueView<'_>, value_type: Option<ValueType>) -> bool {
    type_of(value).is_some_and(|found| value_type.is_none_or(|wanted| wanted == found))
}
