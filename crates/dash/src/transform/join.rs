//! `joinByField` (older name `seriesToColumns`) and `ensureColumns`: frames side by side.
//!
//! `outer` is for series: one row for each value of the joined field, sorted. `outerTabular` and
//! `inner` are joins of tables, as SQL has them: a row for each pair of rows with equal values.

use std::collections::HashMap;

use super::options::Options;
use super::{Outcome, check_cells, joined_ref_id};
use crate::fields::{FieldMatcher, Names};
use crate::frame::{Field, Frame, Key, Kind, Value};

/// How rows are paired.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Outer,
    OuterTabular,
    Inner,
}

pub(super) fn by_field(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let mode = match options.text("mode").unwrap_or("outer") {
        "outer" => Mode::Outer,
        "outerTabular" => Mode::OuterTabular,
        "inner" => Mode::Inner,
        other => return Err(format!("the mode \"{other}\" is not known")),
    };
    if frames.len() < 2 {
        return Ok(frames.to_vec());
    }
    let matcher = match options.text("byField") {
        Some(name) => FieldMatcher::Names(vec![name.to_owned()]),
        None => best(frames),
    };
    let mut joined = join(frames, &matcher, mode)?;
    joined.ref_id = Some(joined_ref_id("joinByField", frames));
    Ok(vec![joined])
}

/// Frames of series that share the name of their time field become one.
pub(super) fn ensure_columns(frames: &[Frame]) -> Outcome {
    let name = |frame: &Frame| frame.first_of(Kind::Time).map(|field| field.name.clone());
    let first = frames.first().and_then(name);
    let same = first.is_some() && frames.iter().all(|frame| name(frame) == first);
    if frames.len() < 2 || !same {
        return Ok(frames.to_vec());
    }
    let mut joined = join(frames, &FieldMatcher::FirstTime, Mode::Outer)?;
    joined.ref_id = Some(joined_ref_id("joinByField", frames));
    Ok(vec![joined])
}

/// The time where there is one, else the first field whose name all frames have.
fn best(frames: &[Frame]) -> FieldMatcher {
    let first = &frames[0];
    if first.first_of(Kind::Time).is_some() {
        return FieldMatcher::FirstTime;
    }
    let everywhere = |field: &&Field| {
        frames.iter().all(|frame| frame.fields.iter().any(|other| other.name == field.name))
    };
    let common = first.fields.iter().find(everywhere).map(|field| field.name.clone());
    FieldMatcher::Names(common.into_iter().collect())
}

/// A frame's part of a join: the field that is joined on, then the others.
struct Side {
    key: Field,
    others: Vec<Field>,
}

/// One frame out of all that have the field. The result has neither a name nor a query.
pub(super) fn join(frames: &[Frame], matcher: &FieldMatcher, mode: Mode) -> Result<Frame, String> {
    let names = Names::new(frames);
    let mut sides = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let meant = matcher.fields(frames, &names, index);
        if let Some(&key) = meant.first() {
            sides.push(side(frame, key));
        }
    }
    let dropped = sides.len() < frames.len();
    if sides.is_empty() {
        return Ok(Frame::default());
    }
    if dropped && mode == Mode::Inner {
        let empty = |field: &Field| field.with_values(Vec::new());
        let fields = all_fields(&sides).map(empty).collect();
        return Ok(Frame::new(fields));
    }
    let fields = match mode {
        Mode::Outer => outer(&sides)?,
        _ => tabular(sides, mode == Mode::OuterTabular)?,
    };
    Ok(Frame::new(fields))
}

fn all_fields(sides: &[Side]) -> impl Iterator<Item = &Field> {
    let key = sides.first().map(|side| &side.key);
    key.into_iter().chain(sides.iter().flat_map(|side| &side.others))
}

/// Splits a frame; the frame's name goes to its fields, so that they can be told apart.
fn side(frame: &Frame, key: usize) -> Side {
    let named = |field: &Field| {
        let mut field = Field { state: None, ..field.clone() };
        if frame.name.is_empty() {
            return field;
        }
        if field.name == "Value" {
            field.name.clone_from(&frame.name);
        } else {
            field.labels.entry("name".to_owned()).or_insert_with(|| frame.name.clone());
        }
        field
    };
    let others = frame.fields.iter().enumerate().filter(|(index, _)| *index != key);
    Side { key: frame.fields[key].clone(), others: others.map(|(_, field)| named(field)).collect() }
}

/// One row for each value of the key, in order.
fn outer(sides: &[Side]) -> Result<Vec<Field>, String> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut keys: Vec<&Value> = Vec::new();
    for value in sides.iter().flat_map(|side| &side.key.values) {
        places.entry(value.key()).or_insert_with(|| {
            keys.push(value);
            keys.len() - 1
        });
    }
    let columns = 1 + sides.iter().map(|side| side.others.len()).sum::<usize>();
    check_cells(columns * keys.len())?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    // Texts keep the order in which they come: only what has an order of its own is sorted.
    if sides[0].key.kind != Kind::String {
        order.sort_by(|a, b| keys[*a].compare(keys[*b]));
    }
    let mut ranks = vec![0; keys.len()];
    for (rank, &place) in order.iter().enumerate() {
        ranks[place] = rank;
    }
    let values = order.iter().map(|&place| keys[place].clone()).collect();
    let mut fields = vec![sides[0].key.with_values(values)];
    for side in sides {
        let row = |value: &Value| places.get(&value.key()).map(|&place| ranks[place]);
        let rows: Vec<Option<usize>> = side.key.values.iter().map(row).collect();
        for field in &side.others {
            let mut values = vec![Value::Null; order.len()];
            for (row, value) in rows.iter().zip(&field.values) {
                if let Some(cell) = row.and_then(|row| values.get_mut(row))
                    && !value.is_null()
                {
                    *cell = value.clone();
                }
            }
            fields.push(field.with_values(values));
        }
    }
    Ok(fields)
}

/// Pairs of rows with equal keys, table after table.
fn tabular(sides: Vec<Side>, keep_unpaired: bool) -> Result<Vec<Field>, String> {
    let mut sides = sides.into_iter();
    let Some(first) = sides.next() else { return Ok(Vec::new()) };
    let mut left: Vec<Field> = std::iter::once(first.key).chain(first.others).collect();
    for right in sides {
        let pairs = pair(&left[0].values, &right.key.values, keep_unpaired, {
            let columns = left.len() + right.others.len();
            move |rows| check_cells(rows * columns)
        })?;
        let pick = |field: &Field, rows: &dyn Fn(&Pair) -> Option<usize>| {
            let cell = |pair: &Pair| rows(pair).map_or(Value::Null, |row| field.at(row).clone());
            field.with_values(pairs.iter().map(cell).collect())
        };
        let key = |pair: &Pair| match (pair.0, pair.1) {
            (Some(row), _) => left[0].at(row).clone(),
            (None, Some(row)) => right.key.at(row).clone(),
            (None, None) => Value::Null,
        };
        let mut joined = vec![left[0].with_values(pairs.iter().map(key).collect())];
        joined.extend(left[1..].iter().map(|field| pick(field, &|pair| pair.0)));
        joined.extend(right.others.iter().map(|field| pick(field, &|pair| pair.1)));
        left = joined;
    }
    Ok(left)
}

/// A row of the left and a row of the right table.
struct Pair(Option<usize>, Option<usize>);

fn pair(
    left: &[Value],
    right: &[Value],
    keep_unpaired: bool,
    check: impl Fn(usize) -> Result<(), String>,
) -> Result<Vec<Pair>, String> {
    let mut places: HashMap<Key, Vec<usize>> = HashMap::new();
    for (row, value) in right.iter().enumerate() {
        places.entry(value.key()).or_default().push(row);
    }
    let mut paired = vec![false; right.len()];
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for (row, value) in left.iter().enumerate() {
        let rows = if value.is_null() { None } else { places.get(&value.key()) };
        match rows {
            Some(rows) => {
                check(pairs.len() + rows.len())?;
                for &other in rows {
                    paired[other] = true;
                    pairs.push(Pair(Some(row), Some(other)));
                }
            }
            None if keep_unpaired => alone.push(Pair(Some(row), None)),
            None => {}
        }
    }
    pairs.extend(alone);
    if keep_unpaired {
        let unpaired = (0..right.len()).filter(|&row| !paired[row]);
        pairs.extend(unpaired.map(|row| Pair(None, Some(row))));
    }
    check(pairs.len())?;
    Ok(pairs)
}
