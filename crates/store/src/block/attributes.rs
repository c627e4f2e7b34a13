//! Which attributes become columns of a block, and what goes to `rest`.

use hashbrown::HashMap;
use kymo_wire::kvlist_entries;

use super::merge::{Merged, MergedValues, NOWHERE, Places};
use super::source::Source;
use crate::chunk::{REST, push_rest, shape_slots};
use crate::column::{Column, Interner, Values};
use crate::error::StoreError;
use crate::limits::{BLOCK_ATTRIBUTE_MIN_SHARE, BLOCK_MAX_ATTRIBUTES};
use crate::pages::write_varint;
use crate::schema::{AttributeKey, Kind, Table, ValueType};

/// The attribute columns of a block and how those of its sources map to them.
#[derive(Debug)]
pub(crate) struct AttributePlan {
    /// The columns, by key and type.
    pub(crate) columns: Vec<AttributeKey>,
    /// For each column, which column of which source it is made of.
    pub(crate) parts: Vec<Vec<(usize, usize)>>,
    /// For each source, for each of its columns, the block's column or [`REST`].
    slots: Vec<Vec<u32>>,
}

/// An attribute over all sources.
#[derive(Default)]
struct Total {
    /// Rows that have it.
    rows: usize,
    /// Which column of which source it is.
    parts: Vec<(usize, usize)>,
}

impl AttributePlan {
    /// Chooses the frequent attributes.
    pub(crate) fn new(sources: &[Source], rows: usize) -> Self {
        let keys: Vec<Vec<(AttributeKey, usize)>> =
            sources.iter().map(Source::attributes).collect();
        let mut totals: HashMap<&AttributeKey, Total> = HashMap::new();
        for (source, keys) in keys.iter().enumerate() {
            for (nth, (key, count)) in keys.iter().enumerate() {
                let total = totals.entry(key).or_default();
                total.rows += count;
                total.parts.push((source, nth));
            }
        }
        let mut chosen: Vec<(&AttributeKey, Total)> = totals
            .into_iter()
            .filter(|(_, t)| t.rows > 0 && t.rows * BLOCK_ATTRIBUTE_MIN_SHARE >= rows)
            .collect();
        chosen.sort_by(|a, b| b.1.rows.cmp(&a.1.rows).then_with(|| a.0.cmp(b.0)));
        chosen.truncate(BLOCK_MAX_ATTRIBUTES);
        chosen.sort_by(|a, b| a.0.cmp(b.0));
        let mut slots: Vec<Vec<u32>> = keys.iter().map(|k| vec![REST; k.len()]).collect();
        for (slot, (_, total)) in chosen.iter().enumerate() {
            for (source, nth) in &total.parts {
                slots[*source][*nth] = slot as u32;
            }
        }
        let (columns, parts) =
            chosen.into_iter().map(|(key, total)| (key.clone(), total.parts)).unzip();
        Self { columns, parts, slots }
    }

    /// The shapes of all rows, by number.
    pub(crate) fn shapes(
        &self,
        table: &Table,
        sources: &[Source],
        places: &Places,
    ) -> Result<(Merged, Interner), StoreError> {
        let mut merged = Merged::empty(Kind::Int, places.rows, false);
        let mut interner = Interner::default();
        let mut encoded = Vec::new();
        for ((source, slots), to) in sources.iter().zip(&self.slots).zip(&places.to) {
            let shapes = source.shapes()?;
            let new_codes: Vec<i64> = shapes
                .iter()
                .map(|shape| {
                    encoded.clear();
                    for slot in shape_slots(shape) {
                        let slot = slots.get(slot as usize).copied().unwrap_or(REST);
                        encoded.extend_from_slice(&slot.to_le_bytes());
                    }
                    i64::from(interner.intern(&encoded))
                })
                .collect();
            let Some(column) = source.field(table.common.shape)? else { continue };
            let Values::Int(codes) = &column.values else {
                return Err(StoreError::corrupt("shapes are not numbers"));
            };
            let codes = codes
                .iter()
                .map(|code| usize::try_from(*code).ok().and_then(|c| new_codes.get(c)).copied())
                .collect::<Option<Vec<i64>>>()
                .ok_or_else(|| StoreError::corrupt("a row has no shape"))?;
            let column = Column { rows: column.rows.clone(), values: Values::Int(codes) };
            merged.scatter(&column, to)?;
        }
        Ok((merged, interner))
    }

    /// The field `rest` of all rows: what was there, and what has become rare.
    pub(crate) fn rest(
        &self,
        table: &Table,
        sources: &[Source],
        places: &Places,
    ) -> Result<Merged, StoreError> {
        let mut merged = Merged::empty(Kind::Binary, places.rows, true);
        for ((source, slots), to) in sources.iter().zip(&self.slots).zip(&places.to) {
            let rest = source.field(table.common.rest)?;
            if slots.iter().all(|slot| *slot != REST) {
                // Nothing has become rare: what is there stays as it is.
                if let Some(rest) = rest {
                    merged.scatter(&rest, to)?;
                }
                continue;
            }
            self.rest_of_source(table, source, slots, rest.as_deref(), to, &mut merged)?;
        }
        Ok(merged)
    }

    fn rest_of_source(
        &self,
        table: &Table,
        source: &Source,
        slots: &[u32],
        rest: Option<&Column>,
        to: &[u32],
        merged: &mut Merged,
    ) -> Result<(), StoreError> {
        let keys = source.attributes();
        let mut rare: HashMap<u32, std::borrow::Cow<'_, Column>> = HashMap::new();
        let mut rows: Vec<u32> = Vec::new();
        let mut add_rows = |column: &Column| column.for_each_row(|row, _| rows.push(row));
        for (nth, slot) in slots.iter().enumerate() {
            if *slot == REST {
                let column = source.attribute(nth)?;
                add_rows(&column);
                rare.insert(nth as u32, column);
            }
        }
        if let Some(rest) = rest {
            add_rows(rest);
        }
        rows.sort_unstable();
        rows.dedup();
        let shapes = source.shapes()?;
        let shape_of = source
            .field(table.common.shape)?
            .ok_or_else(|| StoreError::corrupt("rows without shapes"))?;
        let (MergedValues::Bytes(codes, interner), Values::Int(shape_of)) =
            (&mut merged.values, &shape_of.values)
        else {
            return Err(StoreError::corrupt("shapes are not numbers"));
        };
        let mut list = Vec::new();
        let mut encoded = Vec::new();
        for row in rows {
            let place = to[row as usize];
            if place == NOWHERE {
                continue;
            }
            list.clear();
            let kept = rest.and_then(|rest| bytes_at(rest, row)).unwrap_or_default();
            let mut kept = kvlist_entries(kept);
            for slot in shape_slots(shapes.get(shape_of[row as usize] as u32)) {
                if slot == REST {
                    if let Some(entry) = kept.next() {
                        push_rest(entry?.raw, &mut list);
                    }
                } else if let Some(column) = rare.get(&slot)
                    && let Some(nth) = column.index_of(row)
                {
                    encoded.clear();
                    let key = &keys[slot as usize].0;
                    encode_key_value(key, &column.values, nth, &mut encoded);
                    push_rest(&encoded, &mut list);
                }
            }
            if list.is_empty() {
                continue;
            }
            codes[place as usize] = interner.intern(&list);
            if let Some(marks) = &mut merged.present {
                marks[place as usize] = 1;
            }
        }
        Ok(())
    }
}

/// The bytes that `row` has in a column of bytes.
pub(crate) fn bytes_at(column: &Column, row: u32) -> Option<&[u8]> {
    match &column.values {
        Values::Bytes(codes, dict) => Some(dict.get(codes[column.index_of(row)?])),
        _ => None,
    }
}

/// Appends an encoded `KeyValue` with the value at `nth`.
pub(crate) fn encode_key_value(key: &AttributeKey, values: &Values, nth: usize, out: &mut Vec<u8>) {
    let mut any = Vec::with_capacity(16);
    match (values, key.value_type) {
        (Values::Bytes(codes, dict), ValueType::String) => {
            let text = dict.get(codes[nth]);
            any.push(1 << 3 | 2);
            write_varint(text.len() as u64, &mut any);
            any.extend_from_slice(text);
        }
        (Values::Bytes(codes, dict), _) => any.extend_from_slice(dict.get(codes[nth])),
        (Values::Bool(values), _) => any.extend_from_slice(&[2 << 3, u8::from(values[nth])]),
        (Values::Int(values), _) => {
            any.push(3 << 3);
            write_varint(values[nth] as u64, &mut any);
        }
        (Values::Double(values), _) => {
            any.push(4 << 3 | 1);
            any.extend_from_slice(&values[nth].to_le_bytes());
        }
        // Attributes have no other columns.
        _ => {}
    }
    if !key.key.is_empty() {
        out.push(1 << 3 | 2);
        write_varint(key.key.len() as u64, out);
        out.extend_from_slice(&key.key);
    }
    out.push(2 << 3 | 2);
    write_varint(any.len() as u64, out);
    out.extend_from_slice(&any);
}
