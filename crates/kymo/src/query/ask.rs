//! Asking a server over HTTP, or a directory by the engine.

use std::io::{BufReader, Cursor};
use std::ops::Range;

use kymo_engine::traceql::{Found, MetricsQuery, Points, Search, Sort};
use kymo_server::format::Format;
use kymo_server::{DAMAGED_BLOCKS, NEXT_CURSOR};
use kymo_traceql::ast::Query;
use kymo_traceql::metrics::Series;
use reqwest::blocking::Response;

use super::answers::{SearchResponse, SeriesResponse};
use super::traces::Trace;
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::output;
use crate::source::{Directory, Source};
use crate::sql::answer::Answer;
use crate::times::nanos;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Whoever answers.
pub(crate) struct Asker<'a>(&'a Source);

/// What was found, and whether there may be more than was asked for.
pub(crate) struct Limited<T> {
    pub(crate) found: T,
    pub(crate) has_more: bool,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(source: &'a Source) -> Self {
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
                let Directory { engine, runtime, tenants, .. } = &**directory;
                return Ok(runtime.block_on(engine.explain_traceql(tenants, query, time))?);
            }
        };
        let mut parameters = vec![("q", query.to_string())];
        parameters.extend(time.iter().flat_map(seconds));
        let response = client.ask("/api/traceql/explain", &parameters, "text/plain");
        let response = response.map_err(|failure| match failure {
            Failure::Status { status: 404, .. } => {
                Failure::Other(format!("{} does not explain queries", client.name()))
            }
            other => other,
        })?;
        Ok(String::from_utf8_lossy(&client::body(response)?).into_owned())
    }

    /// Traces with what is known of them.
    pub(super) fn traces(&self, search: Search) -> Result<Limited<Vec<Trace>>, Failure> {
        match self.0 {
            Source::Server(client) => {
                let response = ask_search(client, &search, "application/json")?;
                let has_more = response.headers().contains_key(NEXT_CURSOR);
                let found: SearchResponse = client::json(response)?;
                Ok(Limited { found: found.traces(), has_more })
            }
            Source::Directory(directory) => {
                let found = find(directory, search)?;
                let has_more = found.next.is_some();
                let traces = found.traces.into_iter().map(Trace::from).collect();
                Ok(Limited { found: traces, has_more })
            }
        }
    }

    /// Ids of traces.
    pub(crate) fn ids(&self, search: Search) -> Result<Limited<Vec<[u8; 16]>>, Failure> {
        let Limited { found, has_more } = self.traces(Search { spans_per_set: 1, ..search })?;
        let found = found.iter().map(|trace| trace.id.to_be_bytes()).collect();
        Ok(Limited { found, has_more })
    }

    /// Spans as rows.
    pub(crate) fn spans(&self, search: Search) -> Result<Limited<Answer<'a>>, Failure> {
        match self.0 {
            Source::Server(client) => {
                let response = ask_search(client, &search, Format::ARROW_STREAM)?;
                let has_more = response.headers().contains_key(NEXT_CURSOR);
                let found = Answer::of_stream(BufReader::new(response))?;
                Ok(Limited { found, has_more })
            }
            Source::Directory(directory) => {
                let found = find(directory, search)?;
                let has_more = found.next.is_some();
                let pieces = kymo_server::spans_table(&found.traces, Format::Arrow);
                let pieces = pieces.map_err(|error| {
                    Failure::Other(format!("the spans cannot be made into a table: {error}"))
                })?;
                let found = Answer::of_stream(Cursor::new(pieces.concat()))?;
                Ok(Limited { found, has_more })
            }
        }
    }

    /// Series of numbers.
    pub(crate) fn series(&self, query: MetricsQuery) -> Result<Vec<Series>, Failure> {
        match self.0 {
            Source::Server(client) => ask_series(client, &query),
            Source::Directory(directory) => {
                let Directory { engine, runtime, tenants, .. } = &**directory;
                let answer = runtime.block_on(engine.metrics(tenants, query))?;
                warn(answer.stats.damaged_blocks);
                Ok(answer.series)
            }
        }
    }
}

fn find(directory: &Directory, search: Search) -> Result<Found, Failure> {
    let Directory { engine, runtime, tenants, .. } = directory;
    let found = runtime.block_on(async { engine.search(tenants, search).await?.all().await })?;
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
    let (place, instant_nanos) = match query.points {
        Points::One => ("/tempo/api/metrics/query", Some(query.end_nanos)),
        Points::Every(step) => {
            parameters.push(("step", format!("{step}ns")));
            ("/tempo/api/metrics/query_range", None)
        }
        Points::Sliding { .. } => {
            let message = "sliding windows cannot be asked for over Tempo's API";
            return Err(Failure::Other(message.to_owned()));
        }
    };
    let answer: SeriesResponse =
        client::json(client.ask(place, &parameters, "application/json")?)?;
    if let Some(missing) = answer.missing() {
        output::warning(missing);
    }
    Ok(answer.series(instant_nanos))
}

fn ask_search(client: &Client, search: &Search, accept: &str) -> Result<Response, Failure> {
    let response = client.ask("/tempo/api/search", &search_parameters(search), accept)?;
    warn_of_damage(&response);
    Ok(response)
}

fn search_parameters(search: &Search) -> Vec<(&'static str, String)> {
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
    parameters.extend(search.time.iter().flat_map(seconds));
    parameters
}

/// Start and end, which are whole seconds already.
fn seconds(time: &Range<i64>) -> [(&'static str, String); 2] {
    let seconds = |nanos: i64| nanos.div_euclid(NANOS_PER_SECOND).to_string();
    [("start", seconds(time.start)), ("end", seconds(time.end))]
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
    fn a_search_is_parameters_with_all_encoded() {
        let query = client::encoded(&search_parameters(&search(None)));
        assert!(query.starts_with("q=%7B"), "{query}");
        assert!(query.contains("a+b%26c") && query.ends_with("&limit=5&sort=duration"), "{query}");
    }

    #[test]
    fn searches_have_times_in_seconds_and_series_in_nanoseconds() {
        let query =
            client::encoded(&search_parameters(&search(Some(1_000_000_000..2_000_000_000))));
        assert!(query.ends_with("&start=1&end=2"), "{query}");
        assert_eq!(nanos(5), "0000000000000000005");
    }
}
