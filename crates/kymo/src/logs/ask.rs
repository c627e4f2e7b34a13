//! Asking a server over HTTP, or a directory by the engine.

use std::ops::Range;

use kymo_logql::ast::Expr;
use kymo_logql::request::Request;
use serde::de::DeserializeOwned;

use super::answer;
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::promql::{self, Moments};
use crate::source::{Directory, Source};
use crate::times::nanos;

const NANOS_PER_MILLI: i64 = 1_000_000;
const JSON: &str = "application/json";
/// Asks for labels by their kinds.
pub(super) const BY_KIND: (&str, &str) = ("x-loki-response-encoding-flags", "categorize-labels");

/// The newest lines of a time.
pub(super) fn lines(
    source: &Source,
    query: &str,
    expr: Expr,
    time: &Range<i64>,
    limit: usize,
) -> Result<answer::Answer, Failure> {
    match source {
        Source::Server(client) => {
            let mut parameters = range(query, time);
            parameters.push(("limit", limit.to_string()));
            let path = "/loki/api/v1/query_range";
            client::json(client.ask_with(path, &parameters, JSON, &[BY_KIND])?)
        }
        Source::Directory(directory) => {
            let mut request = Request::range(time.start, time.end, 1);
            request.limit = limit;
            of_directory(directory, expr, request)
        }
    }
}

/// Numbers, at one time or over time.
pub(super) fn numbers(
    source: &Source,
    query: &str,
    expr: Expr,
    moments: &Moments,
) -> Result<promql::Answer, Failure> {
    let (start, end) = moments.bounds_nanos();
    let step_nanos = moments.step_nanos();
    match source {
        Source::Server(client) if moments.is_one() => {
            let parameters = [("query", query.to_owned()), ("time", nanos(start))];
            ask(client, "/loki/api/v1/query", &parameters)
        }
        Source::Server(client) => {
            let mut parameters = range(query, &(start..end));
            parameters.push(("step", format!("{}ms", step_nanos / NANOS_PER_MILLI)));
            ask(client, "/loki/api/v1/query_range", &parameters)
        }
        Source::Directory(directory) => {
            let request = match moments.is_one() {
                true => Request::instant(start),
                false => Request::range(start, end, step_nanos),
            };
            of_directory(directory, expr, request)
        }
    }
}

fn ask<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    parameters: &[(&str, String)],
) -> Result<T, Failure> {
    client::json(client.ask(path, parameters, JSON)?)
}

fn of_directory<T: DeserializeOwned>(
    directory: &Directory,
    expr: Expr,
    request: Request,
) -> Result<T, Failure> {
    let Directory { engine, runtime, tenants, .. } = directory;
    let answer = runtime.block_on(engine.logql(tenants, expr, request))?;
    let json = kymo_server::loki_json(&answer);
    serde_json::from_str(&json)
        .map_err(|error| Failure::Other(format!("the answer cannot be understood: {error}")))
}

fn range(query: &str, time: &Range<i64>) -> Vec<(&'static str, String)> {
    vec![("query", query.to_owned()), ("start", nanos(time.start)), ("end", nanos(time.end))]
}
