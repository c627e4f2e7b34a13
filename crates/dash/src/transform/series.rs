//! Series in other shapes: `seriesToRows`, `prepareTimeSeries`, `timeSeriesTable`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::group::Groups;
use super::join::{self, Mode};
use super::options::Options;
use super::{Outcome, check_cells, joined_ref_id, sort};
use crate::fields::{FieldMatcher, Names, name};
use crate::frame::{Field, Frame, Kind, Labels, Value};
use crate::reduce::Reducer;

/// A series: its times, its values and the frame that it came from.
struct Series<'a> {
    frame: usize,
    time: &'a Field,
    values: &'a Field,
    name: String,
}

/// The fields of values of all frames that have times.
fn series(frames: &[Frame]) -> Vec<Series<'_>> {
    let names = Names::new(frames);
    let mut found = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let Some(time) = frame.first_of(Kind::Time) else { continue };
        let values = frame.fields.iter().filter(|field| field.kind != Kind::Time).count();
        for (at, field) in frame.fields.iter().enumerate() {
            if field.kind == Kind::Time {
                continue;
            }
            let alone = values == 1;
            let name = match alone {
                true => name::of_frame(frame),
                false => names.of(index, at).to_owned(),
            };
            found.push(Series { frame: index, time, values: field, name });
        }
    }
    found
}

/// One long table of time, metric and value, the newest first.
pub(super) fn to_rows(frames: &[Frame]) -> Outcome {
    let full: Vec<Frame> = frames.iter().filter(|frame| frame.rows() > 0).cloned().collect();
    if full.is_empty() || full.iter().any(|frame| frame.first_of(Kind::Time).is_none()) {
        return Ok(full);
    }
    let all = series(&full);
    let Some(first) = all.first() else { return Ok(full) };
    check_cells(3 * all.iter().map(|series| series.values.values.len()).sum::<usize>())?;
    let mut time = first.time.with_values(Vec::new());
    let mut metric = Field::new("Metric", Kind::String, Vec::new());
    let mut value = first.values.with_values(Vec::new());
    for series in &all {
        let name: Arc<str> = series.name.as_str().into();
        time.values.extend(series.time.values.iter().cloned());
        metric.values.extend(std::iter::repeat_n(Value::Text(name), series.values.values.len()));
        value.values.extend(series.values.values.iter().cloned());
    }
    for (field, name) in [(&mut time, "Time"), (&mut value, "Value")] {
        field.name = name.to_owned();
        field.labels.clear();
        field.config.remove("displayName");
        field.config.remove("displayNameFromDS");
    }
    let table =
        Frame::new(vec![time, metric, value]).with_ref_id(joined_ref_id("seriesToRows", &full));
    Ok(vec![sort::rows_by(&table, 0, true)])
}

pub(super) fn prepare(options: Options<'_>, frames: &[Frame]) -> Outcome {
    match options.text("format").unwrap_or("multi") {
        "multi" | "many" => Ok(typed(multi(frames), "timeseries-multi")),
        "wide" => {
            let parts = multi(frames);
            if parts.len() < 2 {
                return Ok(typed(parts, "timeseries-wide"));
            }
            let mut wide = join::join(&parts, &FieldMatcher::FirstTime, Mode::Outer)?;
            wide.ref_id.clone_from(&parts[0].ref_id);
            Ok(typed(vec![wide], "timeseries-wide"))
        }
        "long" => long(&multi(frames)).map(|frames| typed(frames, "timeseries-long")),
        other => Err(format!("the format \"{other}\" is not known")),
    }
}

fn typed(mut frames: Vec<Frame>, kind: &str) -> Vec<Frame> {
    for frame in &mut frames {
        frame.meta.insert("type".to_owned(), kind.into());
    }
    frames
}

/// A frame of time and values for each series; texts beside them become labels.
fn multi(frames: &[Frame]) -> Vec<Frame> {
    let mut made = Vec::new();
    for frame in frames {
        let Some(time) = frame.fields.iter().position(|field| field.kind == Kind::Time) else {
            continue;
        };
        let of = |kinds: &[Kind]| -> Vec<usize> {
            let is = |field: &usize| kinds.contains(&frame.fields[*field].kind);
            (0..frame.fields.len()).filter(is).collect()
        };
        let texts = of(&[Kind::String, Kind::Enum]);
        let values = of(&[Kind::Number, Kind::Boolean]);
        if values.is_empty() {
            continue;
        }
        for rows in Groups::of(frame, &texts).rows {
            let part = sort::rows_by(&frame.with_rows(&rows), time, false);
            let labels: Labels = texts
                .iter()
                .filter_map(|&text| {
                    let field = &part.fields[text];
                    let value = field.values.first().filter(|value| !value.is_null())?;
                    Some((field.name.clone(), value.to_text()))
                })
                .collect();
            for &value in &values {
                let mut field = part.fields[value].clone();
                field.labels.extend(labels.clone());
                made.push(part.with_fields(vec![part.fields[time].clone(), field]));
            }
        }
    }
    made
}

/// One table: time, a column for each label, a column for each name of values.
fn long(parts: &[Frame]) -> Outcome {
    let Some(first) = parts.first() else { return Ok(Vec::new()) };
    let fields = || parts.iter().filter_map(|part| part.fields.get(1));
    let labels: BTreeSet<&str> =
        fields().flat_map(|field| field.labels.keys()).map(String::as_str).collect();
    let mut columns: Vec<&Field> = Vec::new();
    for field in fields() {
        if !columns.iter().any(|column| column.name == field.name) {
            columns.push(field);
        }
    }
    let rows: usize = parts.iter().map(Frame::rows).sum();
    check_cells((1 + labels.len() + columns.len()) * rows)?;
    let mut made = vec![
        first.fields[0].with_values(gather(parts, |part, row| part.fields[0].at(row).clone())),
    ];
    for label in labels {
        let cell = |part: &Frame, _| match part.fields[1].labels.get(label) {
            Some(value) => Value::from(value.as_str()),
            None => Value::Null,
        };
        made.push(Field::new(label, Kind::String, gather(parts, cell)));
    }
    for column in columns {
        let cell = |part: &Frame, row| match &part.fields[1] {
            field if field.name == column.name => field.at(row).clone(),
            _ => Value::Null,
        };
        let mut field = column.with_values(gather(parts, cell));
        field.labels.clear();
        made.push(field);
    }
    let table = first.with_fields(made);
    Ok(vec![sort::rows_by(&table, 0, false)])
}

fn gather(parts: &[Frame], cell: impl Fn(&Frame, usize) -> Value) -> Vec<Value> {
    let mut values = Vec::new();
    for part in parts {
        values.extend((0..part.rows()).map(|row| cell(part, row)));
    }
    values
}

/// A table with a row for each series: its labels and the series itself as a trend.
pub(super) fn table(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let mut ref_ids: Vec<&str> = Vec::new();
    let all = series(frames);
    for series in &all {
        let ref_id = frames[series.frame].ref_id.as_deref().unwrap_or_default();
        if !ref_ids.contains(&ref_id) {
            ref_ids.push(ref_id);
        }
    }
    let mut made: Vec<Frame> =
        frames.iter().filter(|frame| frame.first_of(Kind::Time).is_none()).cloned().collect();
    for ref_id in ref_ids {
        let of_query = |series: &&Series<'_>| {
            frames[series.frame].ref_id.as_deref().unwrap_or_default() == ref_id
        };
        let rows: Vec<&Series<'_>> = all.iter().filter(of_query).collect();
        made.push(trends(options.within(ref_id), frames, ref_id, &rows)?);
    }
    Ok(made)
}

fn trends(
    options: Options<'_>,
    frames: &[Frame],
    ref_id: &str,
    rows: &[&Series<'_>],
) -> Result<Frame, String> {
    let id = options.text("stat").unwrap_or("lastNotNull");
    let reducer = Reducer::from_id(id).ok_or(format!("the reducer \"{id}\" is not known"))?;
    let labels: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.values.labels.keys()).map(String::as_str).collect();
    check_cells((labels.len() + 1) * rows.len())?;
    let mut fields: Vec<Field> = labels
        .into_iter()
        .map(|label| {
            Field::text(label, rows.iter().map(|row| row.values.labels.get(label).cloned()))
        })
        .collect();
    let trend = |row: &&Series<'_>| {
        let mut inner = frames[row.frame].with_fields(vec![row.time.clone(), row.values.clone()]);
        let value = reducer.reduce(row.values).to_json();
        inner.meta.insert("custom".to_owned(), json!({"stat": reducer.id(), "value": value}));
        Value::Frame(Arc::new(inner))
    };
    let name = if ref_id.is_empty() { "Trend".to_owned() } else { format!("Trend #{ref_id}") };
    let mut field = Field::new(name, Kind::Frame, rows.iter().map(trend).collect());
    let first = rows.first().map(|row| &row.values.config);
    field.config = first.cloned().unwrap_or_default();
    field.config.remove("displayNameFromDS");
    fields.push(field);
    let mut table = Frame::new(fields);
    table.ref_id = Some(ref_id.to_owned()).filter(|id| !id.is_empty());
    Ok(table)
}
