//! Walks over traces, whole traces and keys in use must agree with the model too.

use std::collections::{BTreeMap, BTreeSet};

use super::model::Row;
use crate::block::source::Source;
use crate::block::trace_index::trace_hash;
use crate::scan::{
    ColumnRef, Link, Prepared, Scan, ScanContext, Scope, TraceReader, Walk, traces_with, used_keys,
};
use crate::schema::Signal;
use crate::tables::spans::field;

/// Traces come once, by their newest row that passes; all of them, however many are asked for.
pub(super) fn check_walk(
    sources: &[Source],
    passing: &[&Row],
    scan: &Scan,
    context: ScanContext,
    wanted: usize,
    what: &str,
) {
    let mut newest: BTreeMap<u64, i64> = BTreeMap::new();
    for row in passing {
        let newest = newest.entry(trace_hash(&[row.trace; 16])).or_insert(i64::MIN);
        *newest = row.start.max(*newest);
    }
    let mut expected: Vec<(i64, u64)> = newest.into_iter().map(|(hash, at)| (-at, hash)).collect();
    expected.sort_unstable();
    let mut walk = Walk::new(sources, scan, context.clone()).unwrap();
    let mut found = Vec::new();
    while let Some(some) = walk.next(wanted).unwrap() {
        assert!(some.len() <= wanted, "more than wanted in {what}");
        found.extend(some.iter().map(|trace| (-trace.newest_nanos, trace.hash)));
    }
    assert_eq!(found, expected, "walk of {what}");
    let (total, read) = walk.progress();
    assert_eq!(total, read, "granules of {what}");
    let all: BTreeSet<u64> = traces_with(sources, scan, context).unwrap().into_iter().collect();
    assert_eq!(all, expected.iter().map(|(_, hash)| *hash).collect(), "traces of {what}");
}

/// Keys that rows have which pass, and no others.
pub(super) fn check_keys(
    sources: &[Source],
    passing: &[&Row],
    scan: &Scan,
    context: ScanContext,
    what: &str,
) {
    let mut expected = BTreeSet::new();
    for row in passing {
        let own = row.attributes.iter().map(|(key, _)| (Scope::Own, key.clone()));
        let resource = row.resource.iter().map(|(key, _)| (Scope::Resource, (*key).to_owned()));
        expected.extend(own.chain(resource));
        for (elements, scope) in [(&row.events, Scope::Event), (&row.links, Scope::Link)] {
            let keys = elements.iter().flat_map(|element| &element.attributes);
            expected.extend(keys.map(|(key, _)| (scope, (*key).to_owned())));
        }
    }
    assert_eq!(used_keys(sources, scan, context).unwrap(), expected, "keys of {what}");
}

/// Whole traces: every row, once, with its parent.
pub(super) fn check_traces(sources: &[Source], rows: &[Row], context: ScanContext, what: &str) {
    let scan = Scan { columns: vec![ColumnRef::Field(field::SPAN_ID)], ..Scan::default() };
    let prepared = Prepared::new(sources, Signal::Spans, &scan, context).unwrap();
    let mut reader = TraceReader::new(&prepared);
    let mut of_trace: BTreeMap<u8, BTreeMap<u64, &Row>> = BTreeMap::new();
    for row in rows {
        of_trace.entry(row.trace).or_default().insert(row.id, row);
    }
    for (trace, expected) in of_trace.into_iter().step_by(7) {
        let places = reader.rows_of(trace_hash(&[trace; 16])).unwrap();
        let ids = reader.span_ids(&places).unwrap().unwrap();
        let links = reader.links(&places, &ids).unwrap().unwrap();
        let ids: Vec<u64> = ids.into_iter().map(u64::from_be_bytes).collect();
        let found: BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!(found, expected.keys().copied().collect(), "rows of {trace} in {what}");
        assert_eq!(found.len(), ids.len(), "a row twice in {trace} in {what}");
        for (nth, link) in links.into_iter().enumerate() {
            let (id, parent) = (ids[nth], expected[&ids[nth]].parent);
            let is_there = parent.is_some_and(|parent| found.contains(&parent) && parent != id);
            match link {
                Link::Root => assert_eq!(parent, None, "{id} of {trace} in {what}"),
                Link::Row(row) => assert_eq!(Some(ids[row as usize]), parent, "{id} in {what}"),
                Link::Missing => assert!(parent.is_some() && !is_there, "{id} in {what}"),
            }
        }
        let bytes = std::cell::Cell::new(0);
        let batches = reader.read(&places, &mut |read| {
            bytes.set(read);
            Ok(())
        });
        let read: usize = batches.unwrap().unwrap().iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(read, ids.len());
        assert!(bytes.get() >= 8 * ids.len());
    }
}
