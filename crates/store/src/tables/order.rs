//! The order of rows in blocks, and their division by day.
//!
//! Spans: spans of one trace lie together by start, traces by their start. Logs:
//! by time. Series: by name, identity and time, so that a series' chunks are
//! neighbours.

use hashbrown::HashMap;

use super::{logs, series, spans};
use crate::block::source::{RowRef, Source};
use crate::column::{Column, Values};
use crate::error::StoreError;
use crate::schema::Signal;

/// Rows of one day (days since 1970), in order.
#[derive(Debug)]
pub struct Partition {
    /// Days since 1970.
    pub day: i64,
    /// The rows.
    pub rows: Vec<RowRef>,
}

/// Nanoseconds of a day.
pub const DAY_NANOS: i64 = 86_400_000_000_000;

/// Puts the rows of all sources in order; `keep` may leave some out.
pub fn order(
    signal: Signal,
    sources: &[Source],
    keep: impl Fn(RowRef) -> bool,
) -> Result<Vec<Partition>, StoreError> {
    match signal {
        Signal::Spans => order_spans(sources, keep),
        Signal::Logs => order_by_time(sources, logs::field::TIME, keep),
        Signal::Series => order_series(sources, keep),
    }
}

fn each_source(
    sources: &[Source],
    field: usize,
    mut each: impl FnMut(usize, &Column) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for (nth, source) in sources.iter().enumerate() {
        let column = source
            .field(field)?
            .ok_or_else(|| StoreError::corrupt("a required column is missing"))?;
        each(nth, &column)?;
    }
    Ok(())
}

fn wrong_type() -> StoreError {
    StoreError::corrupt("a column has another type than its table says")
}

fn times(sources: &[Source], field: usize) -> Result<Vec<Vec<i64>>, StoreError> {
    let mut times = Vec::new();
    each_source(sources, field, |_, column| match &column.values {
        Values::Int(values) => {
            times.push(values.clone());
            Ok(())
        }
        _ => Err(wrong_type()),
    })?;
    Ok(times)
}

struct Trace {
    id: [u8; 16],
    start: i64,
    rows: u32,
}

fn order_spans(
    sources: &[Source],
    keep: impl Fn(RowRef) -> bool,
) -> Result<Vec<Partition>, StoreError> {
    let starts = times(sources, spans::field::START_TIME)?;
    let mut numbers: HashMap<[u8; 16], u32> = HashMap::new();
    let mut traces: Vec<Trace> = Vec::new();
    let mut rows: Vec<(u32, RowRef)> = Vec::with_capacity(starts.iter().map(Vec::len).sum());
    each_source(sources, spans::field::TRACE_ID, |source, column| {
        let Values::Id16(ids) = &column.values else { return Err(wrong_type()) };
        let mut last: Option<([u8; 16], u32)> = None;
        for (row, id) in ids.iter().enumerate() {
            let place = RowRef { source: source as u32, row: row as u32 };
            if !keep(place) {
                continue;
            }
            let number = match last {
                Some((last_id, number)) if last_id == *id => number,
                _ => *numbers.entry(*id).or_insert_with(|| {
                    traces.push(Trace { id: *id, start: i64::MAX, rows: 0 });
                    traces.len() as u32 - 1
                }),
            };
            last = Some((*id, number));
            let trace = &mut traces[number as usize];
            trace.start = trace.start.min(starts[source][row]);
            trace.rows += 1;
            rows.push((number, place));
        }
        Ok(())
    })?;
    drop(numbers);
    // Rank the traces, deal the rows out to them, then order each trace's few.
    let mut ranked: Vec<u32> = (0..traces.len() as u32).collect();
    ranked.sort_unstable_by_key(|n| {
        let trace = &traces[*n as usize];
        (trace.start, trace.id)
    });
    let mut next = vec![0u32; traces.len()];
    let mut total = 0;
    for number in &ranked {
        next[*number as usize] = total;
        total += traces[*number as usize].rows;
    }
    let mut ordered = vec![RowRef { source: 0, row: 0 }; rows.len()];
    for (number, place) in rows {
        let at = &mut next[number as usize];
        ordered[*at as usize] = place;
        *at += 1;
    }
    let mut partitions: Vec<Partition> = Vec::new();
    let mut first = 0;
    for number in ranked {
        let trace = &traces[number as usize];
        let end = first + trace.rows as usize;
        let members = &mut ordered[first..end];
        members.sort_by_key(|r| starts[r.source as usize][r.row as usize]);
        push_rows(&mut partitions, trace.start.div_euclid(DAY_NANOS), members);
        first = end;
    }
    Ok(partitions)
}

/// Appends rows to the partition of `day`; days come in ascending order.
fn push_rows(partitions: &mut Vec<Partition>, day: i64, rows: &[RowRef]) {
    match partitions.last_mut() {
        Some(last) if last.day == day => last.rows.extend_from_slice(rows),
        _ => partitions.push(Partition { day, rows: rows.to_vec() }),
    }
}

fn order_by_time(
    sources: &[Source],
    field: usize,
    keep: impl Fn(RowRef) -> bool,
) -> Result<Vec<Partition>, StoreError> {
    let times = times(sources, field)?;
    let mut rows: Vec<(i64, RowRef)> = Vec::with_capacity(times.iter().map(Vec::len).sum());
    for (source, times) in times.iter().enumerate() {
        for (row, time) in times.iter().enumerate() {
            let place = RowRef { source: source as u32, row: row as u32 };
            if keep(place) {
                rows.push((*time, place));
            }
        }
    }
    rows.sort_by_key(|(time, _)| *time);
    let mut partitions = Vec::new();
    for (time, row) in rows {
        push_rows(&mut partitions, time.div_euclid(DAY_NANOS), &[row]);
    }
    Ok(partitions)
}

fn order_series(
    sources: &[Source],
    keep: impl Fn(RowRef) -> bool,
) -> Result<Vec<Partition>, StoreError> {
    let times = times(sources, series::field::MIN_TIME)?;
    let mut names: Vec<Vec<Vec<u8>>> = Vec::new();
    each_source(sources, series::field::NAME, |_, column| match &column.values {
        Values::Bytes(codes, dict) => {
            names.push(codes.iter().map(|code| dict.get(*code).to_vec()).collect());
            Ok(())
        }
        _ => Err(wrong_type()),
    })?;
    let mut rows = Vec::new();
    each_source(sources, series::field::IDENTITY, |source, column| {
        let Values::Id16(ids) = &column.values else { return Err(wrong_type()) };
        for (row, id) in ids.iter().enumerate() {
            let place = RowRef { source: source as u32, row: row as u32 };
            if keep(place) {
                let time = times[source][row];
                rows.push((time.div_euclid(DAY_NANOS), &names[source][row], *id, time, place));
            }
        }
        Ok(())
    })?;
    rows.sort();
    let mut partitions = Vec::new();
    for (day, _, _, _, row) in rows {
        push_rows(&mut partitions, day, &[row]);
    }
    Ok(partitions)
}
