//! Traces and logs as they were sent.

use std::io::{BufReader, Write};
use std::ops::Range;

use arrow_array::cast::AsArray;
use kymo_engine::EngineError;
use kymo_engine::traceql::Search;
use kymo_wire::Signal;

use super::Format;
use super::file::Output;
use crate::client::{Client, broken};
use crate::failure::Failure;
use crate::files;
use crate::query::Asker;
use crate::source::{Directory, Source};
use crate::sql::answer::Answer;
use crate::trace;

/// Bytes that are read from a connection at once.
const READ_BYTES: usize = 128 << 10;

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

/// Writes log records; says in how many requests, and what is missing because it is damaged.
pub(super) fn logs(
    source: &Source,
    time: Option<Range<i64>>,
    format: Format,
    out: &mut Output,
) -> Result<(u64, Option<String>), Failure> {
    let (mut count, mut missing) = (0, None);
    let mut take = |request: Result<Vec<u8>, Failure>| {
        write(Signal::Logs, &request?, format, out)?;
        count += 1;
        out.has(count, "requests");
        Ok::<(), Failure>(())
    };
    match source {
        Source::Server(client) => requests_of(client, time)?.try_for_each(&mut take)?,
        Source::Directory(directory) => {
            let Directory { engine, runtime, tenants, .. } = &**directory;
            let mut requests = runtime.block_on(engine.export_logs(tenants, time))?;
            while let Some(request) = runtime.block_on(requests.recv()) {
                match request {
                    Err(damaged @ EngineError::Damaged { .. }) => {
                        missing = Some(damaged.to_string());
                    }
                    request => take(request.map_err(Failure::from))?,
                }
            }
        }
    }
    Ok((count, missing))
}

/// Requests of logs that a server has. A time is in whole seconds.
fn requests_of(
    client: &Client,
    time: Option<Range<i64>>,
) -> Result<impl Iterator<Item = Result<Vec<u8>, Failure>>, Failure> {
    let seconds = |nanos: i64| (nanos / 1_000_000_000).to_string();
    let parameters = time.map(|time| [("start", seconds(time.start)), ("end", seconds(time.end))]);
    let parameters = parameters.as_ref().map_or(&[][..], |both| &both[..]);
    let response = client.ask("/api/export/logs", parameters, "application/x-protobuf")?;
    let stream = BufReader::with_capacity(READ_BYTES, response);
    Ok(files::framed(stream)
        .map(|request| request.map_err(|fault| broken(Some(&std::io::Error::other(fault.why))))))
}

fn write(signal: Signal, body: &[u8], format: Format, out: &mut Output) -> Result<(), Failure> {
    let encoded = match format {
        Format::OtlpJson => {
            let mut json = Vec::with_capacity(body.len());
            kymo_wire::json::encode(signal, body, &mut json)
                .map_err(|error| Failure::Other(format!("a record cannot be read: {error}")))?;
            json.push(b'\n');
            json
        }
        _ => kymo_server::delimited(body),
    };
    let written = out.write_all(&encoded);
    written.map_err(|source| Failure::Io { act: "write", what: "the export".into(), source })
}
