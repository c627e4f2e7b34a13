//! Traces and logs as they were sent.

use std::io::Write;
use std::ops::Range;

use arrow_array::cast::AsArray;
use kymo_engine::traceql::Search;
use kymo_wire::Signal;

use super::Format;
use super::file::Output;
use crate::failure::Failure;
use crate::query::Asker;
use crate::source::{Directory, Source};
use crate::sql::answer::Answer;
use crate::trace;

/// Traces that a search finds.
pub(super) fn found(source: &Source, search: Search) -> Result<Vec<[u8; 16]>, Failure> {
    let limit = search.limit;
    let traces = Asker::new(source).ids(search)?;
    if traces.has_more {
        let message = format!("more than {limit} traces are found: ask for less time");
        return Err(Failure::Other(message));
    }
    Ok(traces.found)
}

/// All traces that have a span in a time.
pub(super) fn all(source: &Source, time: Option<Range<i64>>) -> Result<Vec<[u8; 16]>, Failure> {
    let condition = time.map(|time| {
        format!(
            " WHERE start_time >= to_timestamp_nanos({}) AND start_time < to_timestamp_nanos({})",
            time.start, time.end
        )
    });
    let query = format!("SELECT DISTINCT trace_id FROM spans{}", condition.unwrap_or_default());
    let mut ids = Vec::new();
    for batch in Answer::ask(source, &query)?.batches {
        let batch = batch?;
        let column = batch.column(0).as_fixed_size_binary_opt();
        let column = column.ok_or_else(|| Failure::Other("ids of traces are no ids".into()))?;
        ids.extend(column.iter().flatten().filter_map(|id| <[u8; 16]>::try_from(id).ok()));
    }
    Ok(ids)
}

/// Writes traces, whole; says how many.
pub(super) fn traces(
    source: &Source,
    ids: Vec<[u8; 16]>,
    format: Format,
    out: &mut Output,
) -> Result<u64, Failure> {
    let mut count = 0;
    for id in ids {
        // One that retention took meanwhile is gone.
        let Some(body) = trace::find(source, &id)? else { continue };
        write(Signal::Traces, &body, format, out)?;
        count += 1;
        out.has(count, "traces");
    }
    Ok(count)
}

/// Writes log records; says in how many requests.
pub(super) fn logs(
    source: &Source,
    time: Option<Range<i64>>,
    format: Format,
    out: &mut Output,
) -> Result<u64, Failure> {
    let Source::Directory(directory) = source else {
        let message = "a server has no OTLP of logs: read its directory with --data, or write rows";
        return Err(Failure::Usage(message.to_owned()));
    };
    let Directory { engine, runtime, tenants, .. } = &**directory;
    let mut requests = runtime.block_on(engine.export_logs(tenants, time))?;
    let mut count = 0;
    while let Some(request) = runtime.block_on(requests.recv()) {
        write(Signal::Logs, &request?, format, out)?;
        count += 1;
        out.has(count, "requests");
    }
    Ok(count)
}

fn write(signal: Signal, body: &[u8], format: Format, out: &mut Output) -> Result<(), Failure> {
    let mut encoded = Vec::with_capacity(body.len() + 10);
    if format == Format::OtlpJson {
        kymo_wire::json::encode(signal, body, &mut encoded)
            .map_err(|error| Failure::Other(format!("a record cannot be read: {error}")))?;
        encoded.push(b'\n');
    } else {
        let mut length = body.len();
        while length >= 0x80 {
            encoded.push(length as u8 | 0x80);
            length >>= 7;
        }
        encoded.push(length as u8);
        encoded.extend_from_slice(body);
    }
    let written = out.write_all(&encoded);
    written.map_err(|source| Failure::Io { act: "write", what: "the export".into(), source })
}
