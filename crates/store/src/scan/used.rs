//! Keys that rows have which pass: found by the shapes and origins of these rows,
//! without reading a single value, but for keys that have no column.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use kymo_wire::kvlist_entries;

use super::lists::{ListPiece, whole};
use super::mask::Mask;
use super::packed::{Piece, Slice};
use super::part::{Leaf, Part};
use super::predicate::Scope;
use super::reader::Reader;
use super::run::on_threads;
use super::work::{Readers, Unit, Work};
use super::{Prepared, Scan, ScanContext, ScanStats};
use crate::block::listing::Keys;
use crate::block::source::Source;
use crate::chunk::{REST, shape_slots};
use crate::column::Dict;
use crate::error::StoreError;
use crate::origin::Origin;
use crate::schema::Signal;
use crate::tables::spans::list;

/// What passing rows of one source refer to.
#[derive(Debug, Default)]
struct Referred {
    shapes: HashSet<i64>,
    origins: HashSet<i64>,
    /// Keys without columns, and keys of elements.
    keys: HashSet<(Scope, Vec<u8>)>,
}

/// Keys of attributes, by scope, that spans have which pass the predicate of `scan` and lie in its
/// time: of these spans, their resources, scopes, events and links.
pub fn used_keys(
    sources: &[Source],
    scan: &Scan,
    context: ScanContext,
) -> Result<Keys, StoreError> {
    let scan = Scan { columns: Vec::new(), limit: None, elements: None, ..scan.clone() };
    let threads = context.threads.max(1);
    let prepared = Prepared::new(sources, Signal::Spans, &scan, context)?;
    let work = prepared.start();
    let parts = on_threads(threads, || visit_all(&work))?;
    let mut keys = Keys::new();
    for (part, referred) in parts.into_iter().flatten() {
        let found = resolve(&prepared.parts[part as usize], referred);
        match found {
            Ok(found) => keys.extend(found),
            Err(error) => prepared.tolerate(part, error)?,
        }
    }
    Ok(keys)
}

/// A share of the granules.
fn visit_all(work: &Arc<Work>) -> Result<HashMap<u32, Referred>, StoreError> {
    let prepared = &work.prepared;
    let mut readers = Readers::new(prepared);
    let mut referred: HashMap<u32, Referred> = HashMap::new();
    let mut stats = ScanStats::default();
    while let Some(unit) = work.take_unit() {
        let mask = prepared.find(unit, &mut readers, &mut stats)?;
        if !mask.any() {
            continue;
        }
        let of_part = referred.entry(unit.part).or_default();
        let reader = readers.of(unit.part as usize);
        if let Err(error) = visit(reader, unit, &mask, of_part, &mut stats) {
            prepared.tolerate(unit.part, error)?;
        }
    }
    Ok(referred)
}

/// What the passing rows of a granule refer to.
fn visit(
    reader: &mut Reader,
    unit: Unit,
    mask: &Mask,
    referred: &mut Referred,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let granule = unit.granule as usize;
    let part = reader.part();
    let rows = part.rows(granule);
    let common = &part.table.common;
    for (field, codes) in
        [(common.shape, &mut referred.shapes), (common.origin, &mut referred.origins)]
    {
        let Some(loaded) = reader.load(Leaf::Field(field), granule, stats)? else { continue };
        let piece = loaded.piece(granule, rows.clone());
        let Slice::Int(values) = piece.values else { continue };
        let found = mask.rows().filter_map(|row| piece.index_of(row));
        codes.extend(found.map(|nth| values.get(nth)));
    }
    let has_rest = match &part.source {
        Source::Block(block) => block.footer().rest_rows > 0,
        Source::Chunk(_) => true,
    };
    if has_rest && let Some(loaded) = reader.load(Leaf::Field(common.rest), granule, stats)? {
        let piece = loaded.piece(granule, rows.clone());
        add_lists(&piece, mask.rows(), Scope::Own, &mut referred.keys);
    }
    for (number, attributes, scope) in [
        (list::EVENTS, list::EVENT_ATTRIBUTES, Scope::Event),
        (list::LINKS, list::LINK_ATTRIBUTES, Scope::Link),
    ] {
        let piece: Arc<ListPiece> = reader.list(number, &[attributes], granule, stats)?;
        let (_, elements) = piece.pairs(rows.clone(), mask.rows())?;
        if let Some(column) = piece.member(attributes).filter(|_| !elements.is_empty()) {
            add_lists(&whole(column), elements.into_iter(), scope, &mut referred.keys);
        }
    }
    Ok(())
}

/// Adds the keys of encoded lists of attributes.
fn add_lists(
    piece: &Piece<'_>,
    rows: impl Iterator<Item = u32>,
    scope: Scope,
    keys: &mut HashSet<(Scope, Vec<u8>)>,
) {
    let Slice::Bytes(codes, dict) = piece.values else { return };
    let seen: HashSet<i64> =
        rows.filter_map(|row| piece.index_of(row)).map(|nth| codes.get(nth)).collect();
    for attribute in
        seen.into_iter().flat_map(|code| kvlist_entries(dict.get(code as u32)).flatten())
    {
        keys.insert((scope, attribute.key.to_vec()));
    }
}

/// The keys of shapes and origins.
fn resolve(part: &Part, referred: Referred) -> Result<Keys, StoreError> {
    let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    let mut keys: Keys =
        referred.keys.into_iter().map(|(scope, key)| (scope, text(&key))).collect();
    let columns = part.source.attributes();
    let shapes = part.source.shapes()?;
    for shape in entries(&shapes, &referred.shapes) {
        for slot in shape_slots(shape).filter(|slot| *slot != REST) {
            if let Some((key, _)) = columns.get(slot as usize) {
                keys.insert((Scope::Own, text(&key.key)));
            }
        }
    }
    let origins = part.source.origins()?;
    for encoded in entries(&origins, &referred.origins) {
        let origin = Origin::decode(encoded);
        for attribute in origin.resource_attributes().iter().flat_map(|a| a.iter()).flatten() {
            keys.insert((Scope::Resource, text(attribute.key)));
        }
        for attribute in origin.scope_view().iter().flat_map(|s| s.attributes.iter()).flatten() {
            keys.insert((Scope::Scope, text(attribute.key)));
        }
    }
    Ok(keys)
}

fn entries<'d>(dict: &'d Dict, codes: &'d HashSet<i64>) -> impl Iterator<Item = &'d [u8]> {
    let known = codes.iter().filter_map(|code| u32::try_from(*code).ok());
    known.filter(|code| (*code as usize) < dict.len()).map(|code| dict.get(code))
}
