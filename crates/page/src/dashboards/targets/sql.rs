//! SQL: tables as they come, or series of them.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use futures::StreamExt;
use kymo_dash::frame::{Field, Frame, Kind, Notice, Value};
use kymo_dash::interpolate::interval::interval;
use kymo_engine::Tenants;

use super::series::{self, Series};
use super::{Given, Question, Wrong, macros};
use crate::Page;
use crate::dashboards::limits::{MAX_ROWS, MAX_SERIES};
use crate::times::millis;

/// A series: the column of its numbers, and the texts beside them.
type SeriesKey = (usize, BTreeMap<String, String>);

pub(super) async fn ask(question: &mut Question<'_>) -> Result<Given, Wrong> {
    let least = question.least_interval().unwrap_or(1);
    question.context.interval_millis = interval(question.range_millis(), question.points, least);
    question.context.rate_interval_millis = question.context.interval_millis;
    let written = match question.text("rawSql") {
        "" => question.text("query"),
        text => text,
    };
    let query = macros::filled(written, &question.context);
    let query = query.map_err(|why| Wrong::invalid(written, why))?;
    if query.trim().is_empty() {
        return Ok(Given::default());
    }
    let read = read(question.page, question.tenants, &query).await;
    let (frame, is_cut) = read.map_err(|error| Wrong::of_sql(&query, error))?;
    let mut notices = Vec::new();
    if !question.filters.is_empty() {
        notices.push(Notice::warning("the dashboard's conditions are not added to SQL"));
    }
    if is_cut {
        notices.push(Notice::warning(format!("truncated: {MAX_ROWS} rows are shown")));
    }
    let wants_series = matches!(question.text("format"), "time_series" | "0");
    if !wants_series {
        return Ok(Given { frames: vec![frame], notices, query });
    }
    let mut frames = to_series(frame).map_err(|why| Wrong::invalid(&query, why))?;
    if frames.len() > MAX_SERIES {
        let count = frames.len();
        let why = format!("truncated: {MAX_SERIES} of {count} series are shown");
        notices.push(Notice::warning(why));
        frames.truncate(MAX_SERIES);
    }
    Ok(Given { frames, notices, query })
}

/// The columns that a query gives.
pub(in crate::dashboards) async fn columns(
    page: &Page,
    tenants: &Tenants,
    query: &str,
) -> Result<Frame, String> {
    read(page, tenants, query).await.map(|(frame, _)| frame).map_err(|error| error.to_string())
}

/// The columns that a query gives, and whether there are more rows.
async fn read(
    page: &Page,
    tenants: &Tenants,
    query: &str,
) -> Result<(Frame, bool), kymo_engine::EngineError> {
    let mut rows = page.engine.sql(tenants, query).await?;
    let schema = rows.schema();
    let mut fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| Field::new(field.name(), kind(field.data_type()), Vec::new()))
        .collect();
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        let batch: RecordBatch = batch?;
        let room = MAX_ROWS.saturating_sub(count);
        let taken = batch.num_rows().min(room);
        for (field, column) in fields.iter_mut().zip(batch.columns()) {
            field.values.extend(cells(&column.slice(0, taken)));
        }
        count += taken;
        if taken < batch.num_rows() {
            return Ok((Frame::new(fields), true));
        }
    }
    Ok((Frame::new(fields), false))
}

fn kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Kind::Time,
        DataType::Boolean => Kind::Boolean,
        data_type if data_type.is_numeric() => Kind::Number,
        _ => Kind::String,
    }
}

fn cells(column: &ArrayRef) -> Vec<Value> {
    let nulls = || vec![Value::Null; column.len()];
    match column.data_type() {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => {
            let nanos = cast(column, &DataType::Timestamp(TimeUnit::Nanosecond, None))
                .and_then(|column| cast(&column, &DataType::Int64));
            let Ok(nanos) = nanos else { return nulls() };
            let nanos = nanos.as_primitive::<Int64Type>();
            nanos.iter().map(|nanos| nanos.map(millis).into()).collect()
        }
        DataType::Boolean => {
            column.as_boolean().iter().map(|is| is.map_or(Value::Null, Value::Boolean)).collect()
        }
        DataType::FixedSizeBinary(_) => column
            .as_fixed_size_binary()
            .iter()
            .map(|bytes| {
                bytes.map_or(Value::Null, |bytes| {
                    Value::from(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
                })
            })
            .collect(),
        data_type if data_type.is_numeric() => {
            let Ok(numbers) = cast(column, &DataType::Float64) else { return nulls() };
            numbers.as_primitive::<Float64Type>().iter().map(Value::from).collect()
        }
        _ => match cast(column, &DataType::Utf8) {
            Ok(texts) => {
                let texts = texts.as_string::<i32>().iter();
                texts.map(|text| text.map_or(Value::Null, Value::from)).collect()
            }
            // Lists and the like: as they are printed.
            Err(_) => {
                let options = arrow_cast::display::FormatOptions::default();
                let printed =
                    arrow_cast::display::ArrayFormatter::try_new(column.as_ref(), &options);
                let Ok(printed) = printed else { return nulls() };
                (0..column.len()).map(|row| Value::from(printed.value(row).to_string())).collect()
            }
        },
    }
}

/// Rows as series: a time, texts that name the series, numbers.
fn to_series(frame: Frame) -> Result<Vec<Frame>, String> {
    let is_time = |field: &&Field| {
        field.kind == Kind::Time || field.name == "time" && field.kind == Kind::Number
    };
    let named = frame.fields.iter().find(|field| field.name == "time" && is_time(field));
    let time = named.or_else(|| frame.fields.iter().find(is_time));
    let time = time.ok_or("a series needs a column of times: name one \"time\"")?;
    let names: Vec<&Field> =
        frame.fields.iter().filter(|field| field.kind == Kind::String).collect();
    let numbers: Vec<&Field> = frame
        .fields
        .iter()
        .filter(|field| field.kind == Kind::Number && field.name != time.name)
        .collect();
    let mut found: BTreeMap<SeriesKey, Vec<(i64, f64)>> = BTreeMap::new();
    for row in 0..frame.rows() {
        let Some(at) = time.at(row).as_number() else { continue };
        // A number of seconds, as old queries give.
        let millis = if time.kind == Kind::Number && at < 1e11 { at * 1000.0 } else { at };
        let labels: BTreeMap<String, String> = names
            .iter()
            .filter(|field| !field.at(row).is_null())
            .map(|field| (field.name.clone(), field.at(row).to_text()))
            .collect();
        for (place, field) in numbers.iter().enumerate() {
            if let Some(value) = field.at(row).as_number() {
                found.entry((place, labels.clone())).or_default().push((millis as i64, value));
            }
        }
    }
    let mut all = Vec::new();
    for ((place, labels), mut points) in found {
        points.sort_by_key(|(time, _)| *time);
        let column = &numbers[place].name;
        // One text names the series by itself; a column of numbers is named where there are several.
        let legend = match (labels.len(), numbers.len()) {
            (0, _) => column.clone(),
            (1, 1) => labels.values().next().cloned().unwrap_or_default(),
            (_, 1) => labels.values().cloned().collect::<Vec<_>>().join(" "),
            _ => format!("{column} {}", labels.values().cloned().collect::<Vec<_>>().join(" ")),
        };
        let mut made = series::frames(vec![Series { labels, points }], "", &legend, 0);
        for frame in &mut made {
            frame.name.clone_from(&legend);
            if let Some(value) = frame.fields.get_mut(1) {
                value.name.clone_from(column);
                value.config.insert("displayNameFromDS".to_owned(), legend.clone().into());
            }
        }
        all.extend(made);
    }
    Ok(all)
}
