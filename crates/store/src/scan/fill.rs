//! Filling a column of a batch row by row, wherever the rows lie.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, View, kvlist_entries};

use super::ScanStats;
use super::build::{Builder, Output};
use super::compile::{OriginValue, Target, UNSET};
use super::keys::{column_of, wanted};
use super::lists::{ListPiece, whole};
use super::own_json;
use super::packed::{Piece, Slice};
use super::part::Leaf;
use super::project::Pick;
use super::reader::Reader;
use super::value_test::type_of;
use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::json;
use crate::pages::GRANULE_ROWS;
use crate::schema::ValueType;
use crate::tables::{logs, spans};

/// Rows of a batch that lie in one granule, and their places in the batch.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) part: u32,
    granule: usize,
    /// Row within the granule, and place in the batch.
    rows: Placed,
    /// Elements, and which of them goes where.
    elements: Option<(Arc<ListPiece>, Placed)>,
}

/// Rows or elements, each with its place in the batch.
type Placed = Vec<(u32, usize)>;

impl Group {
    /// Rows of one granule.
    pub(super) fn of_pick(pick: &Pick) -> Self {
        let elements = pick.elements.as_ref();
        Self {
            part: pick.part,
            granule: pick.granule,
            rows: pick.rows.places(),
            elements: elements.map(|(piece, picked)| (piece.clone(), picked.places())),
        }
    }

    /// Rows by granule, so that each granule is read once for each column.
    pub(super) fn of_rows(rows: &[RowRef]) -> Vec<Self> {
        let mut groups: Vec<Group> = Vec::new();
        let mut places: HashMap<(u32, usize), usize> = HashMap::new();
        let mut last = None;
        for (at, row) in rows.iter().enumerate() {
            let place = (row.source, row.row as usize / GRANULE_ROWS);
            let nth = match last {
                Some((last, nth)) if last == place => nth,
                _ => *places.entry(place).or_insert_with(|| {
                    let (part, granule) = place;
                    groups.push(Group { part, granule, rows: Vec::new(), elements: None });
                    groups.len() - 1
                }),
            };
            last = Some((place, nth));
            groups[nth].rows.push((row.row % GRANULE_ROWS as u32, at));
        }
        groups.sort_by_key(|group| (group.part, group.granule));
        groups
    }
}

/// Takes the values that a group's rows have in a column.
pub(super) fn fill(
    target: &Target,
    reader: &mut Reader,
    group: &Group,
    builder: &mut Builder,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    match target {
        Target::Field(field) => {
            fill_leaf(Leaf::Field(*field), None, reader, group, builder, stats)?
        }
        Target::Status => {
            let unset = builder.intern(UNSET.as_bytes());
            group.rows.iter().for_each(|(_, at)| builder.put_code(*at, unset));
            let leaf = Leaf::Field(spans::field::STATUS);
            fill_leaf(leaf, None, reader, group, builder, stats)?;
        }
        Target::Body => {
            let any = Leaf::Field(logs::field::BODY_ANY);
            fill_leaf(any, Some(ValueType::Any), reader, group, builder, stats)?;
            let text = Leaf::Field(logs::field::BODY);
            fill_leaf(text, None, reader, group, builder, stats)?;
        }
        Target::Parent => {
            let rows = reader.part().rows(group.granule);
            let loaded = reader.parents(group.granule, stats)?;
            fill_piece(&loaded.piece(group.granule, rows), &group.rows, None, builder);
        }
        Target::EndTime => {
            let rows = reader.part().rows(group.granule);
            let loaded = reader.end_times(group.granule, stats)?;
            fill_piece(&loaded.piece(group.granule, rows), &group.rows, None, builder);
        }
        Target::Origin(value) => fill_origins(value, reader, group, builder, stats)?,
        Target::Own { key, value_type } => {
            // Later ones overwrite: the type that counts most comes last.
            for of_type in ValueType::ALL.into_iter().rev() {
                if value_type.is_some_and(|wanted| wanted != of_type) {
                    continue;
                }
                fill_rest(key, of_type, reader, group, builder, stats)?;
                if let Some(nth) = column_of(&reader.part().source, key, of_type) {
                    let leaf = Leaf::Attribute(nth);
                    fill_leaf(leaf, Some(of_type), reader, group, builder, stats)?;
                }
            }
        }
        Target::OwnJson => {
            own_json::each(reader, group.granule, &group.rows, stats, |at, json| {
                builder.put_text(at, json.as_bytes());
            })?
        }
        Target::Member(member) => fill_member(*member, None, group, builder),
        Target::MemberAttribute { member, key, value_type } => {
            fill_member(*member, Some((key, *value_type)), group, builder);
        }
        // Points are no rows.
        Target::Point(_) => {}
    }
    Ok(())
}

fn fill_leaf(
    leaf: Leaf,
    attribute: Option<ValueType>,
    reader: &mut Reader,
    group: &Group,
    builder: &mut Builder,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let rows = reader.part().rows(group.granule);
    if let Some(loaded) = reader.load(leaf, group.granule, stats)? {
        fill_piece(&loaded.piece(group.granule, rows), &group.rows, attribute, builder);
    }
    Ok(())
}

/// Takes a member of elements, or an attribute out of it.
fn fill_member(
    member: usize,
    attribute: Option<(&Vec<u8>, Option<ValueType>)>,
    group: &Group,
    builder: &mut Builder,
) {
    let Some((piece, elements)) = &group.elements else { return };
    let Some(column) = piece.member(member) else { return };
    let piece = whole(column);
    let Slice::Bytes(codes, dict) = piece.values else {
        return fill_piece(&piece, elements, None, builder);
    };
    let Some((key, value_type)) = attribute else {
        match builder.output() {
            Output::Plain => each_json(&piece, elements, |at, json| {
                builder.put_text(at, json.as_bytes());
            }),
            _ => fill_piece(&piece, elements, None, builder),
        }
        return;
    };
    for (element, at) in elements {
        let Some(nth) = piece.index_of(*element) else { continue };
        let found = kvlist_entries(dict.get(codes.get(nth) as u32))
            .flatten()
            .filter(|entry| entry.key == &key[..] && wanted(&entry.value, value_type))
            .min_by_key(|entry| type_of(&entry.value));
        if let Some(entry) = found {
            builder.put_any(*at, &entry.value);
        }
    }
}

/// Calls `put` with the attributes of elements as JSON, and their places.
pub(super) fn each_json(
    lists: &Piece<'_>,
    elements: &[(u32, usize)],
    mut put: impl FnMut(usize, &str),
) {
    let mut out = String::new();
    for (element, at) in elements {
        let list = match (lists.index_of(*element), lists.values) {
            (Some(nth), Slice::Bytes(codes, dict)) => dict.get(codes.get(nth) as u32),
            _ => &[],
        };
        out.clear();
        json::write_attributes(kvlist_entries(list), &mut out);
        put(*at, &out);
    }
}

/// Takes the values of rows, given with their places, from a column.
fn fill_piece(
    piece: &Piece<'_>,
    rows: &[(u32, usize)],
    attribute: Option<ValueType>,
    builder: &mut Builder,
) {
    let present = rows.iter().filter_map(|(row, at)| Some((piece.index_of(*row)?, *at)));
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
        Slice::Bytes(codes, dict) if dict.len() > rows.len() * 8 => {
            present.for_each(|(nth, at)| {
                builder.put_text(at, dict.get(codes.get(nth) as u32));
            })
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
    reader: &mut Reader,
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
    reader: &mut Reader,
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
