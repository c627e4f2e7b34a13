//! Asking a server over HTTP, or a directory by the engine.

use std::io::{Cursor, Read};
use std::ops::Range;

use kymo_engine::traceql::{Found, MetricsQuery, Search, Sort};
use kymo_server::format::Format;
use kymo_traceql::ast::Query;
use kymo_traceql::metrics::Series;
use reqwest::Url;
use reqwest::blocking::Response;
use serde::de::DeserializeOwned;

use super::answers::{SearchResponse, SeriesResponse};
use super::traces::Trace;
use crate::client::{Client, broken};
use crate::failure::Failure;
use crate::output;
use crate::source::{Directory, Source};
use crate::sql::answer::Answer;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// Bytes of an answer in JSON that are taken: traces and series, which people look at.
const MAX_ANSWER_BYTES: u64 = 1 << 30;
/// Headers of a server: where an answer goes on, and what it lacks.
const NEXT_CURSOR: &str = "x-kymo-next-cursor";
const DAMAGED_BLOCKS: &str = "x-kymo-damaged-blocks";

/// Whoever answers.
pub(super) struct Asker<'a>(&'a Source);

/// Traces that were found.
#[derive(Debug)]
pub(super) struct FoundTraces {
    pub(super) traces: Vec<Trace>,
    pub(super) has_more: bool,
}

impl<'a> Asker<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self(source)
    }

    /// How an answer would be found, as text.
    pub(super) fn explain(
        &self,
        query: Query,
        time: Option<Range<i64>>,
    ) -> Result<String, Failure> {
        let client = match self.0 {
            Source::Server(client) => client,
            Source::Directory(directory) => {
                let Directory { engine, runtime, tenant, .. } = &**directory;
                return Ok(runtime.block_on(engine.explain_traceql(tenant, query, time))?);
            }
        };
        let mut parameters = vec![("q", query.to_string())];
        parameters.extend(time.iter().flat_map(seconds_around));
        let path = path("/api/traceql/explain", &parameters);
        let response = client.get(&path, "text/plain").map_err(|failure| match failure {
            Failure::Status { status: 404, .. } => {
                Failure::Other(format!("{} does not explain queries", client.name()))
            }
            other => other,
        })?;
        Ok(String::from_utf8_lossy(&read(response)?).into_owned())
    }

    /// Traces with what is known of them.
    pub(super) fn traces(&self, search: Search) -> Result<FoundTraces, Failure> {
        match self.0 {
            Source::Server(client) => {
                let response = client.get(&search_path(&search), "application/json")?;
                warn_of_damage(&response);
                let has_more = response.headers().contains_key(NEXT_CURSOR);
                let found: SearchResponse = json(response)?;
                Ok(FoundTraces { traces: found.traces(), has_more })
            }
            Source::Directory(directory) => {
                let found = find(directory, search)?;
                let has_more = found.next.is_some();
                let traces = found.traces.into_iter().map(Trace::from).collect();
                Ok(FoundTraces { traces, has_more })
            }
        }
    }

    /// Spans as rows.
    pub(super) fn spans(&self, search: Search) -> Result<Answer<'a>, Failure> {
        match self.0 {
            Source::Server(client) => {
                let response = client.get(&search_path(&search), Format::ARROW_STREAM)?;
                warn_of_damage(&response);
                Answer::of_stream(response)
            }
            Source::Directory(directory) => {
                let found = find(directory, search)?;
                let pieces = kymo_server::spans_table(&found.traces, Format::Arrow);
                let pieces = pieces.map_err(|error| {
                    Failure::Other(format!("the spans cannot be made into a table: {error}"))
                })?;
                Answer::of_stream(Cursor::new(pieces.concat()))
            }
        }
    }

    /// Series of numbers.
    pub(super) fn series(&self, query: MetricsQuery) -> Result<Vec<Series>, Failure> {
        match self.0 {
            Source::Server(client) => ask_series(client, &query),
            Source::Directory(directory) => {
                let Directory { engine, runtime, tenant, .. } = &**directory;
                let answer = runtime.block_on(engine.metrics(tenant, query))?;
                warn(answer.stats.damaged_blocks);
                Ok(answer.series)
            }
        }
    }
}

fn find(directory: &Directory, search: Search) -> Result<Found, Failure> {
    let Directory { engine, runtime, tenant, .. } = directory;
    let found = runtime.block_on(async { engine.search(tenant, search).await?.all().await })?;
    warn(found.stats.damaged_blocks);
    Ok(found)
}

fn ask_series(client: &Client, query: &MetricsQuery) -> Result<Vec<Series>, Failure> {
    let mut parameters = vec![
        ("q", query.query.to_string()),
        ("start", nanos(query.start_nanos)),
        ("end", nanos(query.end_nanos)),
        ("exemplars", query.exemplars.to_string()),
    ];
    let (place, instant_nanos) = match query.step_nanos {
        Some(step) => {
            parameters.push(("step", format!("{step}ns")));
            ("/tempo/api/metrics/query_range", None)
        }
        None => ("/tempo/api/metrics/query", Some(query.end_nanos)),
    };
    let answer: SeriesResponse = json(client.get(&path(place, &parameters), "application/json")?)?;
    if let Some(missing) = answer.missing() {
        output::warning(missing);
    }
    Ok(answer.series(instant_nanos))
}

/// A moment so long that it is taken for nanoseconds.
fn nanos(nanos: i64) -> String {
    format!("{:019}", nanos.max(0))
}

fn search_path(search: &Search) -> String {
    let sort = match search.sort {
        Sort::Newest => "newest",
        Sort::Start => "start",
        Sort::Duration => "duration",
        Sort::Spans => "spans",
    };
    let mut parameters = vec![
        ("q", search.query.to_string()),
        ("limit", search.limit.to_string()),
        ("sort", sort.to_owned()),
    ];
    if search.spans_per_set != usize::MAX {
        parameters.push(("spss", search.spans_per_set.to_string()));
    }
    parameters.extend(search.time.iter().flat_map(seconds_around));
    path("/tempo/api/search", &parameters)
}

/// Start and end in whole seconds, around what is asked for.
fn seconds_around(time: &Range<i64>) -> [(&'static str, String); 2] {
    let start = time.start.div_euclid(NANOS_PER_SECOND);
    let end = time.end.div_euclid(NANOS_PER_SECOND);
    let end = end + i64::from(time.end.rem_euclid(NANOS_PER_SECOND) > 0);
    [("start", start.to_string()), ("end", end.to_string())]
}

/// A path with parameters, encoded.
fn path(place: &str, parameters: &[(&str, String)]) -> String {
    // Only its query is used.
    let Ok(url) = Url::parse_with_params("http://localhost/", parameters) else {
        return place.to_owned();
    };
    format!("{place}?{}", url.query().unwrap_or_default())
}

fn warn_of_damage(response: &Response) {
    let header = response.headers().get(DAMAGED_BLOCKS).and_then(|value| value.to_str().ok());
    warn(header.and_then(|count| count.parse().ok()).unwrap_or(0));
}

fn warn(damaged_blocks: usize) {
    match damaged_blocks {
        0 => {}
        1 => output::warning("1 damaged block is left out; spans may be missing"),
        count => {
            output::warning(&format!("{count} damaged blocks are left out; spans may be missing"));
        }
    }
}

fn read(response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let read = response.take(MAX_ANSWER_BYTES + 1).read_to_end(&mut body);
    read.map_err(|error| broken(Some(&error)))?;
    if body.len() as u64 > MAX_ANSWER_BYTES {
        let most = crate::units::bytes(MAX_ANSWER_BYTES);
        return Err(Failure::Other(format!(
            "the answer has more than {most}: ask for less time, fewer traces or fewer groups"
        )));
    }
    Ok(body)
}

fn json<T: DeserializeOwned>(response: Response) -> Result<T, Failure> {
    let body = read(response)?;
    serde_json::from_slice(&body).map_err(|error| {
        Failure::Other(format!("the answer of the server cannot be understood: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(time: Option<Range<i64>>) -> Search {
        Search {
            query: kymo_traceql::parse("{ name = \"a b&c\" }").unwrap(),
            time,
            limit: 5,
            spans_per_set: usize::MAX,
            sort: Sort::Duration,
            after: None,
        }
    }

    #[test]
    fn a_search_is_a_path_with_all_encoded() {
        let path = search_path(&search(None));
        let (place, query) = path.split_once('?').unwrap();
        assert_eq!(place, "/tempo/api/search");
        assert!(query.starts_with("q=%7B"), "{query}");
        assert!(query.contains("a+b%26c") && query.ends_with("&limit=5&sort=duration"), "{query}");
    }

    #[test]
    fn times_are_whole_seconds_around_what_was_asked() {
        let path = search_path(&search(Some(1_500_000_000..2_000_000_001)));
        assert!(path.ends_with("&start=1&end=3"), "{path}");
        let path = search_path(&search(Some(1_000_000_000..2_000_000_000)));
        assert!(path.ends_with("&start=1&end=2"), "{path}");
        assert_eq!(nanos(5), "0000000000000000005");
    }
}
