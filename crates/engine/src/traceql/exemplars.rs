//! Examples: spans that are shown with the series that they were counted for.

use kymo_store::block::source::RowRef;
use kymo_store::scan::{ColumnRef, TraceReader};
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Name};
use kymo_traceql::metrics::{Candidate, Exemplar, Grid, Measured, Series};
use kymo_traceql::value::{OwnedValue, Value};

use super::counting::row_of;
use super::layout::{From, Layout};
use super::look::Look;
use super::measure::{Leaf, measured_of};
use super::table::{Table, id_text};
use crate::error::EngineError;

/// Chooses at most so many, evenly over all points, and reads what is shown of them.
pub(super) fn add(
    look: &Look,
    leaf: &Leaf<'_>,
    grid: &Grid,
    measured: Vec<Measured>,
    most: usize,
) -> Result<Vec<Series>, EngineError> {
    let failed = |error| look.failed(error);
    let mut chosen: Vec<(usize, Candidate)> = Vec::new();
    for (nth, measured) in measured.iter().enumerate() {
        chosen.extend(measured.candidates.iter().map(|candidate| (nth, *candidate)));
    }
    chosen.sort_by_key(|(nth, candidate)| (candidate.point, candidate.token, *nth));
    let every = chosen.len().div_ceil(most.max(1)).max(1);
    let chosen: Vec<(usize, Candidate)> = chosen.into_iter().step_by(every).take(most).collect();
    let mut series: Vec<Series> = measured.into_iter().map(|m| m.series).collect();
    let base = [ColumnRef::Field(field::TRACE_ID)];
    let attributes: Vec<&Attribute> = leaf
        .by
        .iter()
        .chain(measured_of(leaf.function))
        // What belongs to the parent is not in the span's row.
        .filter(|attribute| !attribute.of_parent)
        .collect();
    let names: Vec<Name> = attributes.iter().map(|named| named.name.clone()).collect();
    let layout = Layout::new(look, &base, &names).map_err(failed)?;
    let prepared = look.prepare(layout.columns.clone(), None).map_err(failed)?;
    let held = look.memory("exemplars");
    let mut go_on = |bytes| look.go_on(&held, bytes);
    let rows: Vec<RowRef> = chosen.iter().map(|(_, c)| row_of(c.token)).collect();
    let Some(batches) = TraceReader::new(&prepared).read(&rows, &mut go_on).map_err(failed)? else {
        // Examples are not worth more.
        return Ok(series);
    };
    let table = Table::new(&batches, layout.slots.iter().flat_map(From::span_places));
    for (row, (nth, candidate)) in chosen.into_iter().enumerate() {
        let mut labels = Vec::new();
        for (attribute, from) in attributes.iter().zip(&layout.slots) {
            let value = table.get(row, from);
            if value != Value::Nil {
                labels.push((attribute.to_string(), OwnedValue::from(value)));
            }
        }
        let id = table.id(row, 0).map(id_text).unwrap_or_default();
        labels.push(("trace:id".to_owned(), OwnedValue::Text(id)));
        let value = match measured_of(leaf.function) {
            Some(_) => candidate.value,
            // What is counted has no value of its own: the point's is shown.
            None => {
                let time = grid.time_of(candidate.point);
                let point = series[nth].points.iter().find(|point| point.0 == time);
                point.map_or(0.0, |point| point.1)
            }
        };
        let time_nanos = candidate.start_nanos;
        series[nth].exemplars.push(Exemplar { labels, time_nanos, value });
    }
    Ok(series)
}
