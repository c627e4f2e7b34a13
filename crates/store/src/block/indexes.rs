//! What a block has beside its columns, so that readers open few of them: the catalogue of keys and
//! values, filters over hashes of values, and filters over pieces of texts.
//!
//! They are made of the merged columns on the way to their encoding. None of them decides anything:
//! they tell where something may be.

use std::borrow::Cow;

use kymo_wire::{AnyValueView, KeyValueView, View, kvlist_entries};

use super::catalogue::{CatalogueBuilder, Scope};
use super::filter::{FilterBuilder, value_hash};
use super::merge::{Merged, MergedValues};
use super::text_filter::TextFilterBuilder;
use super::trace_index;
use crate::limits::{CATALOGUE_MAX_VALUES, TEXT_FILTER_MIN_MEAN_BYTES};
use crate::origin::Origin;
use crate::pages::GRANULE_ROWS;
use crate::scan::shown_text;
use crate::schema::{Kind, Signal, Table, ValueType};
use crate::tables::logs;

/// Indexes of a block that is being written.
pub(super) struct Indexes {
    table: &'static Table,
    rows: usize,
    catalogue: CatalogueBuilder,
    filters: FilterBuilder,
    /// Text filters by leaf column.
    text_filters: Vec<(usize, Vec<u8>)>,
    has_trace_ids: bool,
}

/// What they come to.
pub(super) struct IndexBytes {
    pub(super) catalogue: Vec<u8>,
    pub(super) filters: Vec<u8>,
    /// By leaf column.
    pub(super) text_filters: Vec<(usize, Vec<u8>)>,
    /// Whether the filters have the ids of traces.
    pub(super) has_trace_ids: bool,
}

/// What is known of an attribute's column.
pub(super) struct IndexedAttribute {
    /// Rows that have a value.
    pub(super) count: u64,
    /// Whether the filters have its values.
    pub(super) filtered: bool,
}

impl Indexes {
    /// Of a block with so many rows.
    pub(super) fn new(table: &'static Table, rows: usize) -> Self {
        let filters = match table.signal {
            Signal::Logs => FilterBuilder::for_logs(rows),
            _ => FilterBuilder::new(rows),
        };
        Self {
            table,
            rows,
            catalogue: CatalogueBuilder::default(),
            filters,
            text_filters: Vec::new(),
            has_trace_ids: false,
        }
    }

    /// Attributes of a resource and its scope.
    pub(super) fn origin(&mut self, origin: &Origin<'_>) {
        let attributes = origin.resource_attributes();
        for attribute in attributes.iter().flat_map(|a| a.iter()).flatten() {
            self.catalogue.attribute(Scope::Resource, &attribute);
        }
        let scope = origin.scope_view();
        for attribute in scope.iter().flat_map(|s| s.attributes.iter()).flatten() {
            self.catalogue.attribute(Scope::Scope, &attribute);
        }
    }

    /// A field; `dictionary` says whether its pages have one.
    pub(super) fn field(&mut self, field: usize, merged: &Merged, dictionary: bool) {
        let described = &self.table.fields[field];
        if described.kind == Kind::Text && field != self.table.common.resource {
            self.catalogue_texts(Scope::Field, described.name.as_bytes(), merged);
        }
        if self.table.signal == Signal::Logs {
            self.log_field(field, merged, dictionary);
        }
    }

    /// Records are searched for by what their bodies contain, and by trace.
    fn log_field(&mut self, field: usize, merged: &Merged, dictionary: bool) {
        match field {
            // A dictionary is searched as fast as filters.
            logs::field::BODY if !dictionary => {
                self.text_filter(field, merged, |text| Cow::Borrowed(text));
            }
            logs::field::BODY_ANY => self.text_filter(field, merged, |encoded| {
                shown_body(encoded).map_or(Cow::Borrowed(&b""[..]), Cow::Owned)
            }),
            logs::field::TRACE_ID => {
                if let MergedValues::Id16(ids) = &merged.values {
                    merged.for_each_present(self.rows, |row| {
                        self.filters.add(row, trace_index::trace_hash(&ids[row]));
                    });
                }
                self.has_trace_ids = true;
            }
            _ => {}
        }
    }

    /// Attributes without columns of their own; returns how many rows have some.
    pub(super) fn rest(&mut self, merged: &Merged) -> u64 {
        let Some((codes, dict)) = merged.bytes() else { return 0 };
        let mut rest_rows = 0;
        merged.for_each_present(self.rows, |row| {
            rest_rows += 1;
            for attribute in kvlist_entries(dict.get(codes[row])).flatten() {
                self.catalogue.attribute(Scope::Own, &attribute);
                if let Some(hash) = text_hash(&attribute) {
                    self.filters.add(row, hash);
                }
            }
        });
        rest_rows
    }

    /// A member of the elements of a list.
    pub(super) fn list(&mut self, list: &str, member: &str, merged: &Merged) {
        let scope = if list == "links" { Scope::Link } else { Scope::Event };
        match (member, merged.bytes()) {
            ("name", Some(_)) => {
                self.catalogue_texts(Scope::Field, format!("{list}.{member}").as_bytes(), merged);
            }
            ("attributes", Some((_, dict))) => {
                for attributes in dict.iter() {
                    for attribute in kvlist_entries(attributes).flatten() {
                        self.catalogue.attribute(scope, &attribute);
                    }
                }
            }
            _ => {}
        }
    }

    /// The column of an attribute, which is a leaf of the file.
    pub(super) fn attribute(
        &mut self,
        leaf: usize,
        key: &[u8],
        value_type: ValueType,
        merged: &Merged,
        dictionary: bool,
    ) -> IndexedAttribute {
        let filtered = value_type == ValueType::String && !dictionary;
        if filtered {
            self.filter_texts(key, merged);
        }
        let mut count = 0;
        merged.for_each_present(self.rows, |_| count += 1);
        let total_bytes = merged.bytes().map_or(0, |(_, dict)| dict.total_bytes());
        let is_long = total_bytes as u64 >= count * TEXT_FILTER_MIN_MEAN_BYTES as u64;
        if filtered && self.table.signal == Signal::Logs && is_long {
            self.text_filter(leaf, merged, |text| Cow::Borrowed(text));
        }
        self.catalogue.count(Scope::Own, key, value_type, count);
        self.catalogue_values(key, value_type, merged);
        IndexedAttribute { count, filtered }
    }

    fn filter_texts(&mut self, key: &[u8], merged: &Merged) {
        let Some((codes, dict)) = merged.bytes() else { return };
        let hashes: Vec<u64> = dict.iter().map(|value| value_hash(key, value)).collect();
        merged.for_each_present(self.rows, |row| {
            self.filters.add(row, hashes[codes[row] as usize]);
        });
    }

    /// Filters over the texts of a leaf column, as `shown` shows them.
    fn text_filter(
        &mut self,
        leaf: usize,
        merged: &Merged,
        shown: impl for<'t> Fn(&'t [u8]) -> Cow<'t, [u8]>,
    ) {
        let Some((codes, dict)) = merged.bytes() else { return };
        let mut builder = TextFilterBuilder::default();
        let mut texts = Vec::new();
        let mut granule = 0;
        merged.for_each_present(self.rows, |row| {
            while row / GRANULE_ROWS > granule {
                builder.granule(&texts);
                texts.clear();
                granule += 1;
            }
            texts.push(shown(dict.get(codes[row])));
        });
        for _ in granule..self.rows.div_ceil(GRANULE_ROWS) {
            builder.granule(&texts);
            texts.clear();
        }
        self.text_filters.push((leaf, builder.finish()));
    }

    fn catalogue_texts(&mut self, scope: Scope, key: &[u8], merged: &Merged) {
        if let Some((_, dict)) = merged.bytes() {
            for value in dict.iter().take(CATALOGUE_MAX_VALUES + 1) {
                self.catalogue.value(scope, key, ValueType::String, value);
            }
        }
    }

    fn catalogue_values(&mut self, key: &[u8], value_type: ValueType, merged: &Merged) {
        const ENOUGH: usize = CATALOGUE_MAX_VALUES + 1;
        match &merged.values {
            MergedValues::Bytes(..) if value_type == ValueType::String => {
                self.catalogue_texts(Scope::Own, key, merged);
            }
            MergedValues::Int(ints) => {
                let mut distinct = hashbrown::HashSet::new();
                merged.for_each_present(self.rows, |row| {
                    if distinct.len() < ENOUGH {
                        distinct.insert(ints[row]);
                    }
                });
                for value in distinct {
                    let text = value.to_string();
                    self.catalogue.value(Scope::Own, key, value_type, text.as_bytes());
                }
            }
            MergedValues::Bool(bools) => {
                let mut seen = [false; 2];
                merged.for_each_present(self.rows, |row| {
                    seen[usize::from(bools[row] & 1)] = true;
                });
                for (value, _) in [&b"false"[..], b"true"].iter().zip(seen).filter(|(_, s)| *s) {
                    self.catalogue.value(Scope::Own, key, value_type, value);
                }
            }
            _ => self.catalogue.incomplete(Scope::Own, key, value_type),
        }
    }

    /// The bytes of all of them.
    pub(super) fn finish(self) -> IndexBytes {
        IndexBytes {
            catalogue: self.catalogue.finish(),
            filters: self.filters.finish(),
            text_filters: self.text_filters,
            has_trace_ids: self.has_trace_ids,
        }
    }
}

/// The text that a body is shown and searched as, if it is not text itself.
fn shown_body(encoded: &[u8]) -> Option<Vec<u8>> {
    shown_text(&AnyValueView::parse(encoded).ok()?).map(Cow::into_owned)
}

fn text_hash(attribute: &KeyValueView<'_>) -> Option<u64> {
    match attribute.value {
        AnyValueView::String(text) => Some(value_hash(attribute.key, text)),
        _ => None,
    }
}
