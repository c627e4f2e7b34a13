//! A column of a batch whose rows lie in one granule, made at once where there
//! is a way.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};

use super::ScanStats;
use super::build::{Output, arrow};
use super::compile::{OriginValue, Target, UNSET};
use super::direct::{self, Picked};
use super::fill::each_json;
use super::keys::column_of;
use super::lists::whole;
use super::own_json;
use super::packed::{Piece, Slice};
use super::part::Leaf;
use super::project::{Pick, Projected};
use super::reader::{Loaded, Reader};
use crate::column::Column;
use crate::error::StoreError;
use crate::limits::SCAN_BATCH_MAX_BYTES;
use crate::schema::ValueType;
use crate::tables::{logs, spans};

/// What came of it.
pub(super) enum Made {
    Array(ArrayRef),
    /// There is no other way than row by row.
    RowByRow,
    /// The array would be larger than a batch may be.
    TooLarge,
}

impl From<Option<ArrayRef>> for Made {
    fn from(array: Option<ArrayRef>) -> Self {
        array.map_or(Made::RowByRow, Made::Array)
    }
}

/// The array of a column for rows of one granule.
pub(super) fn array(
    column: &Projected,
    reader: &mut Reader,
    pick: &Pick,
    stats: &mut ScanStats,
) -> Result<Made, StoreError> {
    let output = column.output;
    let rows = reader.part().rows(pick.granule);
    match &column.target {
        Target::Field(field) => leaf(Leaf::Field(*field), output, None, reader, pick, stats),
        Target::Status => {
            leaf(Leaf::Field(spans::field::STATUS), output, Some(UNSET), reader, pick, stats)
        }
        Target::Body => {
            let any = Leaf::Field(logs::field::BODY_ANY);
            let only_texts = match reader.load(any, pick.granule, stats)? {
                None => true,
                Some(loaded) => !has_values(&loaded.piece(pick.granule, rows)),
            };
            match only_texts {
                true => leaf(Leaf::Field(logs::field::BODY), output, None, reader, pick, stats),
                false => Ok(Made::RowByRow),
            }
        }
        Target::Parent => {
            let loaded = reader.parents(pick.granule, stats)?;
            let piece = loaded.piece(pick.granule, rows);
            Ok(direct::array(&piece, &pick.rows, output)?.into())
        }
        Target::EndTime => {
            let loaded = reader.end_times(pick.granule, stats)?;
            let piece = loaded.piece(pick.granule, rows);
            Ok(direct::array(&piece, &pick.rows, output)?.into())
        }
        Target::Origin(value) if output == Output::Text => origins(value, reader, pick, stats),
        Target::Own { key, value_type } => match only_column(reader, key, *value_type, output) {
            Some(nth) => leaf(Leaf::Attribute(nth), output, None, reader, pick, stats),
            None => Ok(Made::RowByRow),
        },
        Target::OwnJson => {
            let mut texts = Texts::with_capacity(pick.rows.len());
            let places = pick.rows.places();
            own_json::each(reader, pick.granule, &places, stats, |_, json| texts.push(json))?;
            texts.finish()
        }
        Target::Member(member) => match &pick.elements {
            Some((piece, picked)) => match piece.member(*member) {
                Some(column) => member_array(column, picked, output),
                None => Ok(Made::RowByRow),
            },
            None => Ok(Made::RowByRow),
        },
        Target::Origin(_) | Target::MemberAttribute { .. } | Target::Point(_) => Ok(Made::RowByRow),
    }
}

fn leaf(
    leaf: Leaf,
    output: Output,
    default: Option<&str>,
    reader: &mut Reader,
    pick: &Pick,
    stats: &mut ScanStats,
) -> Result<Made, StoreError> {
    let Some(loaded) = reader.load(leaf, pick.granule, stats)? else { return Ok(Made::RowByRow) };
    let rows = reader.part().rows(pick.granule);
    let piece = loaded.piece(pick.granule, rows);
    let Slice::Bytes(codes, dict) = piece.values else {
        return Ok(direct::array(&piece, &pick.rows, output)?.into());
    };
    if output != Output::Text {
        let made = direct::plain_array(&codes, dict, &piece.present, &pick.rows, output);
        return Ok(made.map_or(Made::TooLarge, Made::Array));
    }
    let Some(texts) = reader.texts(leaf, &loaded, pick.rows.len(), default) else {
        return Ok(Made::RowByRow);
    };
    let default = default.map(|_| dict.len() as i32);
    let array = direct::text_array(&codes, &piece.present, &pick.rows, texts, default)?;
    Ok(Made::Array(array))
}

/// Whether a row has a value.
fn has_values(piece: &Piece<'_>) -> bool {
    use super::packed::Present;
    match piece.present {
        Present::All => true,
        Present::Bits(bits) => bits.iter().any(|word| *word != 0),
        Present::Rows { rows, .. } => !rows.is_empty(),
    }
}

/// The column that has all values of a key that the source has, if that is one
/// and its values are shown as they are.
fn only_column(
    reader: &Reader,
    key: &[u8],
    value_type: Option<ValueType>,
    output: Output,
) -> Option<usize> {
    let part = reader.part();
    let mut found = None;
    for of_type in ValueType::ALL.into_iter().filter(|t| value_type.is_none_or(|v| v == *t)) {
        if part.rest_keys.possible(key).has(of_type) {
            return None;
        }
        if let Some(nth) = column_of(&part.source, key, of_type) {
            if found.is_some() {
                return None;
            }
            found = Some((nth, of_type));
        }
    }
    let (nth, of_type) = found?;
    let as_it_is = match output {
        Output::Text | Output::Plain => of_type == ValueType::String,
        _ => of_type != ValueType::Any,
    };
    as_it_is.then_some(nth)
}

fn origins(
    value: &OriginValue,
    reader: &mut Reader,
    pick: &Pick,
    stats: &mut ScanStats,
) -> Result<Made, StoreError> {
    let part = reader.part();
    let column = reader.origin_column(value)?;
    let leaf = Leaf::Field(part.table.common.origin);
    let missing = || StoreError::corrupt("rows without origins");
    let loaded: Loaded = reader.load(leaf, pick.granule, stats)?.ok_or_else(missing)?;
    let piece = loaded.piece(pick.granule, part.rows(pick.granule));
    let Slice::Int(codes) = piece.values else { return Err(missing()) };
    Ok(Made::Array(direct::origin_array(&codes, &pick.rows, column.texts())?))
}

fn member_array(column: &Column, picked: &Picked, output: Output) -> Result<Made, StoreError> {
    let piece = whole(column);
    match piece.values {
        Slice::Bytes(..) if output == Output::Plain => {
            let mut texts = Texts::with_capacity(picked.len());
            each_json(&piece, &picked.places(), |_, json| texts.push(json));
            texts.finish()
        }
        Slice::Bytes(..) => Ok(Made::RowByRow),
        _ => Ok(direct::array(&piece, picked, output)?.into()),
    }
}

/// Texts one after another, up to what a batch may hold.
struct Texts {
    offsets: Vec<i32>,
    bytes: String,
    too_large: bool,
}

impl Texts {
    fn with_capacity(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self { offsets, bytes: String::new(), too_large: false }
    }

    fn push(&mut self, text: &str) {
        // One row is always taken, however large.
        let is_first = self.bytes.is_empty();
        if !is_first && self.bytes.len() + text.len() > SCAN_BATCH_MAX_BYTES {
            self.too_large = true;
            return;
        }
        self.bytes.push_str(text);
        self.offsets.push(self.bytes.len() as i32);
    }

    fn finish(self) -> Result<Made, StoreError> {
        if self.too_large {
            return Ok(Made::TooLarge);
        }
        let offsets = OffsetBuffer::new(self.offsets.into());
        let bytes = Buffer::from_vec(self.bytes.into_bytes());
        let array = StringArray::try_new(offsets, bytes, None).map_err(arrow)?;
        Ok(Made::Array(Arc::new(array)))
    }
}
