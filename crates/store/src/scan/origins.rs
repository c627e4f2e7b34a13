//! What rows have from their origins: attributes of resource and scope, and the
//! fields that only repeat them.
//!
//! A value is looked up once in each origin, and kept in the cache as a number
//! for each origin; tests run once for each distinct value.

use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;
use kymo_wire::{AnyValueView, KeyValueView, Repeated, kvlist_entries};

use super::build::{shown_text, texts_of};
use super::cache::{ColumnCache, Kept, What};
use super::compile::OriginValue;
use super::keys::{Types, wanted};
use super::part::Marks;
use super::value_test::{ValueTest, type_of};
use crate::block::source::Source;
use crate::chunk::push_rest;
use crate::column::{Dict, Interner};
use crate::error::StoreError;
use crate::origin::Origin;
use crate::pages::write_varint;
use crate::schema::ValueType;

/// A value of each origin of a source.
#[derive(Debug)]
pub(super) struct OriginColumn {
    /// For each origin the number of its list.
    codes: Vec<u32>,
    /// Distinct encoded `KeyValueList`s: an origin may have a key twice.
    lists: Dict,
    texts: OnceLock<OriginTexts>,
}

/// What rows of each origin show, as text.
#[derive(Debug)]
pub(super) struct OriginTexts {
    /// For each origin the place of its text; [`NO_TEXT`] if it has none.
    pub(super) keys: Vec<i32>,
    /// Distinct texts, shared by all batches.
    pub(super) texts: ArrayRef,
}

/// In [`OriginTexts::keys`]: there is no value.
pub(super) const NO_TEXT: i32 = -1;

impl OriginColumn {
    /// Of a source; those of blocks are kept in the cache.
    pub(super) fn of(
        source: &Source,
        value: &OriginValue,
        cache: &ColumnCache,
    ) -> Result<Arc<Self>, StoreError> {
        let block = match source {
            Source::Chunk(chunk) => return Ok(Arc::new(Self::new(&chunk.origins, value))),
            Source::Block(block) => block,
        };
        let what = What::Origins(value.clone());
        if let Some(Kept::Origins(column)) = cache.get(block.path(), &what) {
            return Ok(column);
        }
        let origins = block.origins()?;
        // Most values are shared by many origins; what it really takes is known soon.
        let estimate_bytes = 2 * origins.len() * 8;
        let kept = cache.get_or_make(block.path(), &what, estimate_bytes, || {
            let column = Self::new(&origins, value);
            // Codes and values may be there a second time, as batches show them.
            let bytes = 2 * (column.codes.capacity() * 4 + column.lists.heap_bytes());
            Ok((Kept::Origins(Arc::new(column)), bytes))
        })?;
        Ok(match kept {
            Some(Kept::Origins(column)) => column,
            _ => Arc::new(Self::new(&origins, value)),
        })
    }

    fn new(origins: &Dict, value: &OriginValue) -> Self {
        let mut interner = Interner::default();
        let mut list = Vec::new();
        let codes = origins.iter().map(|encoded| {
            list.clear();
            value.append(&Origin::decode(encoded), &mut list);
            interner.intern(&list)
        });
        let codes = codes.collect();
        Self { codes, lists: interner.into_dict(), texts: OnceLock::new() }
    }

    /// What rows of each origin show, as text.
    pub(super) fn texts(&self) -> &OriginTexts {
        self.texts.get_or_init(|| {
            let mut interner = Interner::default();
            let shown: Vec<i32> = (0..self.lists.len() as u32)
                .map(|code| {
                    let text =
                        self.first(code).and_then(|value| Some(shown_text(&value)?.into_owned()));
                    text.map_or(NO_TEXT, |text| interner.intern(&text) as i32)
                })
                .collect();
            let keys = self.codes.iter().map(|code| shown[*code as usize]).collect();
            OriginTexts { keys, texts: texts_of(interner.dict(), None) }
        })
    }

    /// The number of an origin's value; `None` if there is no such origin.
    pub(super) fn code(&self, origin: usize) -> Option<u32> {
        self.codes.get(origin).copied()
    }

    /// How many numbers there are.
    pub(super) fn distinct(&self) -> usize {
        self.lists.len()
    }

    /// The value that is shown where a column has room for one.
    pub(super) fn first(&self, code: u32) -> Option<AnyValueView<'_>> {
        values(self.lists.get(code))
            .filter_map(|value| Some((type_of(&value)?, value)))
            .min_by_key(|(value_type, _)| *value_type)
            .map(|(_, value)| value)
    }

    /// Which origins pass.
    pub(super) fn marks(&self, test: &ValueTest) -> Marks {
        let passing: Vec<bool> =
            self.lists.iter().map(|list| values(list).any(|value| test.any(&value))).collect();
        Marks::new(self.codes.iter().map(|code| passing[*code as usize]).collect())
    }

    /// Types of all values.
    pub(super) fn types(&self) -> Types {
        let mut types = Types::default();
        for value in self.lists.iter().flat_map(values) {
            if let Some(value_type) = type_of(&value) {
                types.add(value_type);
            }
        }
        types
    }
}

fn values(list: &[u8]) -> impl Iterator<Item = AnyValueView<'_>> {
    kvlist_entries(list).flatten().map(|attribute| attribute.value)
}

impl OriginValue {
    /// Appends the values that an origin has to an encoded `KeyValueList`.
    fn append(&self, origin: &Origin<'_>, list: &mut Vec<u8>) {
        match self {
            Self::Service => append_text(origin.service_name(), list),
            Self::Resource => append_json(origin.resource_attributes(), list),
            Self::Scope => append_json(origin.scope_view().map(|scope| scope.attributes), list),
            Self::ScopeName => {
                let name = origin.scope_view().map(|scope| scope.name);
                append_text(name.filter(|name| !name.is_empty()), list);
            }
            Self::ScopeVersion => {
                let version = origin.scope_view().map(|scope| scope.version);
                append_text(version.filter(|version| !version.is_empty()), list);
            }
            Self::ResourceAttribute { key, value_type } => {
                let attributes = origin.resource_attributes();
                for attribute in attributes.iter().flat_map(|a| a.iter()).flatten() {
                    append_wanted(&attribute, key, *value_type, list);
                }
            }
            Self::ScopeAttribute { key, value_type } => {
                let scope = origin.scope_view();
                for attribute in scope.iter().flat_map(|s| s.attributes.iter()).flatten() {
                    append_wanted(&attribute, key, *value_type, list);
                }
            }
        }
    }
}

fn append_wanted(
    attribute: &KeyValueView<'_>,
    key: &[u8],
    value_type: Option<ValueType>,
    list: &mut Vec<u8>,
) {
    if attribute.key == key && wanted(&attribute.value, value_type) {
        push_rest(attribute.raw, list);
    }
}

/// Appends attributes as JSON text.
fn append_json(attributes: Option<Repeated<'_, KeyValueView<'_>>>, list: &mut Vec<u8>) {
    let Some(attributes) = attributes else { return };
    let mut json = String::new();
    crate::json::write_attributes(attributes.iter(), &mut json);
    append_text(Some(json.as_bytes()), list);
}

/// Appends a text as an attribute without a key.
fn append_text(text: Option<&[u8]>, list: &mut Vec<u8>) {
    let Some(text) = text else { return };
    let mut value = vec![1 << 3 | 2];
    write_varint(text.len() as u64, &mut value);
    value.extend_from_slice(text);
    let mut attribute = vec![2 << 3 | 2];
    write_varint(value.len() as u64, &mut attribute);
    attribute.extend_from_slice(&value);
    push_rest(&attribute, list);
}
