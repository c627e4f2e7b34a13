//! Columns of spans that depend on the order of rows: parents as row numbers,
//! and what every span of a trace repeats of the trace.

use hashbrown::HashMap;

use super::spans::field;
use crate::block::merge::{Merged, MergedValues};
use crate::block::trace_index;
use crate::block::write::SpanColumns;
use crate::column::Interner;
use crate::error::StoreError;
use crate::origin::Origin;

/// Encodes those columns; returns the trace index.
pub(crate) fn write(
    columns: &mut SpanColumns<'_, '_>,
    origin_codes: &Merged,
    origins: &Interner,
) -> Result<Vec<u8>, StoreError> {
    let trace_ids = columns.gather(field::TRACE_ID)?;
    let MergedValues::Id16(ids) = &trace_ids.values else { return Err(wrong_type()) };
    let traces = trace_ranges(ids);
    columns.encode(field::TRACE_ID, &trace_ids)?;

    let span_ids = columns.gather(field::SPAN_ID)?;
    let mut parents = columns.gather(field::PARENT_SPAN_ID)?;
    let roots = roots(&traces, &parents);
    let parent_rows = parent_rows(&traces, &span_ids, &mut parents)?;
    columns.encode(field::SPAN_ID, &span_ids)?;
    columns.encode(field::PARENT_ROW, &parent_rows)?;
    columns.encode(field::PARENT_SPAN_ID, &parents)?;
    drop((span_ids, parents, parent_rows));

    let names = columns.gather(field::NAME)?;
    let root_names = root_names(&traces, &roots, &names)?;
    columns.encode(field::NAME, &names)?;
    columns.encode(field::ROOT_NAME, &root_names)?;
    drop((names, root_names));
    let services = root_services(&traces, &roots, origin_codes.ints(), origins);
    columns.encode(field::ROOT_SERVICE, &services)?;

    let starts = columns.gather(field::START_TIME)?;
    let durations = columns.gather(field::DURATION)?;
    columns.time_range(&starts);
    let (trace_starts, trace_durations) = trace_times(&traces, starts.ints(), durations.ints());
    columns.encode(field::START_TIME, &starts)?;
    columns.encode(field::DURATION, &durations)?;
    columns.encode(field::TRACE_START_TIME, &trace_starts)?;
    columns.encode(field::TRACE_DURATION, &trace_durations)?;
    Ok(trace_index::encode(traces.iter().map(|t| (ids[t.start], t.start as u32))))
}

fn wrong_type() -> StoreError {
    StoreError::corrupt("a column of spans has another type")
}

/// Rows of each trace; a trace's rows are neighbours.
fn trace_ranges(ids: &[[u8; 16]]) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for row in 1..=ids.len() {
        if row == ids.len() || ids[row] != ids[start] {
            ranges.push(start..row);
            start = row;
        }
    }
    ranges
}

/// The first row of each trace that has no parent.
fn roots(traces: &[std::ops::Range<usize>], parents: &Merged) -> Vec<Option<usize>> {
    let marks = parents.present.as_deref();
    traces
        .iter()
        .map(|trace| trace.clone().find(|row| marks.is_none_or(|m| m[*row] == 0)))
        .collect()
}

/// How many rows before (or, negative, after) each row its parent is. Where it
/// is known, the parent's id is taken out of `parents`.
fn parent_rows(
    traces: &[std::ops::Range<usize>],
    span_ids: &Merged,
    parents: &mut Merged,
) -> Result<Merged, StoreError> {
    let MergedValues::Id8(ids) = &span_ids.values else { return Err(wrong_type()) };
    let (MergedValues::Id8(parent_ids), Some(marks)) = (&parents.values, &mut parents.present)
    else {
        return Err(wrong_type());
    };
    let mut distance = vec![0i64; ids.len()];
    let mut known = vec![0u8; ids.len()];
    let mut rows_by_id: HashMap<[u8; 8], usize> = HashMap::new();
    for trace in traces {
        rows_by_id.clear();
        for row in trace.clone() {
            rows_by_id.entry(ids[row]).or_insert(row);
        }
        for row in trace.clone().filter(|row| marks[*row] == 1).collect::<Vec<_>>() {
            if let Some(parent) = rows_by_id.get(&parent_ids[row]) {
                distance[row] = row as i64 - *parent as i64;
                known[row] = 1;
                marks[row] = 0;
            }
        }
    }
    Ok(Merged { values: MergedValues::Int(distance), present: Some(known) })
}

fn root_names(
    traces: &[std::ops::Range<usize>],
    roots: &[Option<usize>],
    names: &Merged,
) -> Result<Merged, StoreError> {
    let (codes, dict) = names.bytes().ok_or_else(wrong_type)?;
    Ok(repeated(traces, roots.iter().map(|root| root.map(|row| dict.get(codes[row])))))
}

fn root_services(
    traces: &[std::ops::Range<usize>],
    roots: &[Option<usize>],
    origin_codes: &[i64],
    origins: &Interner,
) -> Merged {
    let services: Vec<Option<&[u8]>> =
        origins.dict().iter().map(|encoded| Origin::decode(encoded).service_name()).collect();
    let service = |row: usize| services[origin_codes[row] as usize];
    repeated(traces, roots.iter().map(|root| root.and_then(service)))
}

/// A text for each trace, on all its rows.
fn repeated<'a>(
    traces: &[std::ops::Range<usize>],
    values: impl Iterator<Item = Option<&'a [u8]>>,
) -> Merged {
    let rows = traces.last().map_or(0, |t| t.end);
    let mut interner = Interner::default();
    let mut codes = Vec::with_capacity(rows);
    let mut present = Vec::with_capacity(rows);
    for (trace, value) in traces.iter().zip(values) {
        let code = value.map_or(0, |v| interner.intern(v));
        codes.resize(trace.end, code);
        present.resize(trace.end, u8::from(value.is_some()));
    }
    Merged { values: MergedValues::Bytes(codes, interner), present: Some(present) }
}

fn trace_times(
    traces: &[std::ops::Range<usize>],
    starts: &[i64],
    durations: &[i64],
) -> (Merged, Merged) {
    let mut trace_starts = Vec::with_capacity(starts.len());
    let mut trace_durations = Vec::with_capacity(starts.len());
    for trace in traces {
        let start = starts[trace.clone()].iter().copied().min().unwrap_or(0);
        let end = trace.clone().map(|r| starts[r].saturating_add(durations[r].max(0))).max();
        trace_starts.resize(trace.end, start);
        trace_durations.resize(trace.end, end.unwrap_or(start).saturating_sub(start));
    }
    let merged = |v| Merged { values: MergedValues::Int(v), present: None };
    (merged(trace_starts), merged(trace_durations))
}
