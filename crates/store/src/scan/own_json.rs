//! All attributes that rows have themselves as JSON text: in the order of their
//! shapes, from columns and from `rest`. The form of values is that of
//! [`crate::json`], so that rows of chunks and of blocks read the same.

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, View, kvlist_entries, text};

use super::ScanStats;
use super::packed::{Piece, Present, Slice};
use super::part::Leaf;
use super::reader::{Loaded, Reader};
use crate::block::source::Source;
use crate::chunk::{REST, shape_slots};
use crate::column::Dict;
use crate::error::StoreError;
use crate::json;
use crate::schema::{AttributeKey, ValueType};

/// An attribute column that some rows have.
struct SlotColumn<'a> {
    /// The key as it stands before a value.
    key: String,
    value_type: ValueType,
    piece: Piece<'a>,
    /// Where the value of the next row probably is.
    next: usize,
}

impl SlotColumn<'_> {
    /// Where the value of a row is. Rows mostly come in order, and then their
    /// values do.
    fn index_of(&mut self, row: u32) -> Option<usize> {
        let Present::Rows { rows, first } = self.piece.present else {
            return self.piece.index_of(row);
        };
        let nth = match rows.get(self.next) {
            Some(next) if *next == row + first => self.next,
            _ => self.piece.index_of(row)?,
        };
        self.next = nth + 1;
        Some(nth)
    }

    fn write(&mut self, row: u32, out: &mut String) -> Result<(), StoreError> {
        let nth = self.index_of(row).ok_or_else(lacks)?;
        out.push_str(&self.key);
        match self.piece.values {
            Slice::Int(values) => json::write_display(values.get(nth), out),
            Slice::Double(values) => json::write_double(values[nth], out),
            Slice::Bool(values) => out.push_str(if values[nth] { "true" } else { "false" }),
            Slice::Bytes(codes, dict) => {
                let bytes = dict.get(codes.get(nth) as u32);
                if self.value_type == ValueType::Any {
                    json::write_value(&AnyValueView::parse(bytes)?, out);
                } else {
                    json::write_text(&text(bytes), out);
                }
            }
            Slice::Id8(_) | Slice::Id16(_) => {
                return Err(StoreError::corrupt("an attribute column has another type"));
            }
        }
        Ok(())
    }
}

fn lacks() -> StoreError {
    StoreError::corrupt("a row lacks an attribute of its shape")
}

fn no_shape() -> StoreError {
    StoreError::corrupt("a row has no shape")
}

/// Calls `put` with the place and the JSON of each of some rows of a granule,
/// given as pairs of row and place.
pub(super) fn each(
    reader: &mut Reader,
    granule: usize,
    rows: &[(u32, usize)],
    stats: &mut ScanStats,
    mut put: impl FnMut(usize, &str),
) -> Result<(), StoreError> {
    let part = reader.part();
    let held;
    let shapes: &Dict = match &part.source {
        Source::Chunk(chunk) => &chunk.shapes,
        Source::Block(block) => {
            held = block.shapes()?;
            &held
        }
    };
    let granule_rows = part.rows(granule);
    let shape_of = Leaf::Field(part.table.common.shape);
    let shape_of = reader.load(shape_of, granule, stats)?.ok_or_else(no_shape)?;
    let shape_of = shape_of.piece(granule, granule_rows.clone());
    let Slice::Int(shape_codes) = shape_of.values else { return Err(no_shape()) };

    // For each shape of these rows the places of its attributes in `loaded`.
    let mut slots_of: HashMap<i64, Vec<u32>> = HashMap::new();
    let mut loaded: Vec<(u32, Loaded)> = Vec::new();
    for (row, _) in rows {
        let code = shape_of.index_of(*row).map(|nth| shape_codes.get(nth)).ok_or_else(no_shape)?;
        if slots_of.contains_key(&code) {
            continue;
        }
        let known = u32::try_from(code).ok().filter(|code| (*code as usize) < shapes.len());
        let mut places = Vec::new();
        for slot in shape_slots(shapes.get(known.ok_or_else(no_shape)?)) {
            let place = match loaded.iter().position(|(known, _)| *known == slot) {
                _ if slot == REST => REST,
                Some(place) => place as u32,
                None => {
                    key_of(&part.source, slot).ok_or_else(lacks)?;
                    let leaf = Leaf::Attribute(slot as usize);
                    let column = reader.load(leaf, granule, stats)?.ok_or_else(lacks)?;
                    loaded.push((slot, column));
                    loaded.len() as u32 - 1
                }
            };
            places.push(place);
        }
        slots_of.insert(code, places);
    }
    let rest = match slots_of.values().any(|slots| slots.contains(&REST)) {
        true => reader.load(Leaf::Field(part.table.common.rest), granule, stats)?,
        false => None,
    };
    let rest = rest.as_ref().map(|rest| rest.piece(granule, granule_rows.clone()));
    let mut columns = Vec::with_capacity(loaded.len());
    for (slot, column) in &loaded {
        let key = key_of(&part.source, *slot).ok_or_else(lacks)?;
        let piece = column.piece(granule, granule_rows.clone());
        let mut quoted = String::new();
        json::write_text(&text(&key.key), &mut quoted);
        quoted.push(':');
        let value_type = key.value_type;
        columns.push(SlotColumn { key: quoted, value_type, piece, next: 0 });
    }

    let mut out = String::new();
    for (row, at) in rows {
        out.clear();
        out.push('{');
        let code = shape_of.index_of(*row).map_or(-1, |nth| shape_codes.get(nth));
        let mut entries = kvlist_entries(rest.as_ref().map_or(&[], |rest| bytes_of(rest, *row)));
        for (nth, place) in slots_of.get(&code).into_iter().flatten().enumerate() {
            if nth > 0 {
                out.push(',');
            }
            if *place == REST {
                let entry = entries.next().ok_or_else(lacks)??;
                json::write_text(&text(entry.key), &mut out);
                out.push(':');
                json::write_value(&entry.value, &mut out);
            } else {
                columns[*place as usize].write(*row, &mut out)?;
            }
        }
        out.push('}');
        put(*at, &out);
    }
    Ok(())
}

fn key_of(source: &Source, slot: u32) -> Option<&AttributeKey> {
    match source {
        Source::Chunk(chunk) => chunk.attributes.get(slot as usize).map(|(key, _)| key),
        Source::Block(block) => block.attributes().get(slot as usize).map(|a| &a.key),
    }
}

/// The bytes that a row has; none if it has no value.
fn bytes_of<'d>(piece: &Piece<'d>, row: u32) -> &'d [u8] {
    match (piece.index_of(row), piece.values) {
        (Some(nth), Slice::Bytes(codes, dict)) => dict.get(codes.get(nth) as u32),
        _ => &[],
    }
}
