//! `GET /tempo/api/search`: traces, by TraceQL or by tags.
//!
//! Beyond Tempo: `sort` chooses which traces come first, `cursor` goes on behind another answer,
//! and the whole result can be had as a table of spans.

use std::cmp::Reverse;
use std::ops::Range;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use kymo_engine::traceql::{Cursor, Found, Search, Sort};

use super::asked::{self, Asked, Form, Unanswered};
use super::tag_search::{TagSearch, logfmt};
use super::{json, messages, range, table};
use crate::format::Format;
use crate::limits::{
    DEFAULT_SEARCH_TRACES, DEFAULT_SPANS_PER_SET, MAX_SEARCH_TRACES, MAX_SPANS_PER_SET, MAX_TAGS,
};
use crate::parameters::{Parameters, invalid};
use crate::reply::{plain, streamed};
use crate::router::Shared;
use crate::times::{self, DURATION};

/// Where an answer goes on, to be sent back as `cursor`.
pub const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-kymo-next-cursor");
/// Blocks that an answer lacks because they are damaged; there is no field for it.
pub const DAMAGED_BLOCKS: HeaderName = HeaderName::from_static("x-kymo-damaged-blocks");

/// Parameters of a search. As in Tempo of old, others are tags where there is neither query nor
/// tags; otherwise they mean nothing.
const NAMES: [&str; 10] =
    ["q", "tags", "minDuration", "maxDuration", "limit", "spss", "start", "end", "sort", "cursor"];

/// A search as it was asked for, over HTTP or gRPC.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// TraceQL; if there is none, `tags` say what is looked for.
    pub(super) query: Option<String>,
    pub(super) tags: TagSearch,
    pub(super) time: Option<Range<i64>>,
    pub(super) limit: Option<usize>,
    pub(super) spans_per_set: Option<usize>,
    pub(super) sort: Sort,
    pub(super) after: Option<Cursor>,
}

impl Wanted {
    fn of(parameters: &Parameters) -> Result<Self, String> {
        let query = parameters.get("q").map(str::to_owned);
        if query.is_some() && parameters.get("tags").is_some() {
            return Err("invalid request: can't specify tags and q in the same query".to_owned());
        }
        let duration = |name| {
            let parse = |text: &str| times::duration(text).filter(|nanos| *nanos >= 0);
            parameters.read(name, DURATION, parse)
        };
        let tags = match parameters.get("tags") {
            Some(tags) => logfmt(tags)?,
            None if query.is_none() => parameters.others(&NAMES),
            None => Vec::new(),
        };
        let tags = TagSearch {
            tags,
            min_duration_nanos: duration("minDuration")?,
            max_duration_nanos: duration("maxDuration")?,
        };
        if tags.max_duration_nanos.is_some_and(|max| tags.min_duration_nanos > Some(max)) {
            return Err("invalid maxDuration: must be greater than minDuration".to_owned());
        }
        let limit: Option<usize> = parameters.number("limit")?;
        if limit == Some(0) {
            return Err("invalid limit: must be a positive number".to_owned());
        }
        Ok(Self {
            query,
            tags,
            time: range::of_search(parameters)?,
            limit,
            // As in Tempo, 0 is as many as there may be.
            spans_per_set: parameters.number("spss")?.map(|spans| match spans {
                0 => MAX_SPANS_PER_SET,
                spans => spans,
            }),
            sort: parameters.get("sort").map_or(Ok(Sort::default()), sort_of)?,
            after: parameters.get("cursor").map(cursor_of).transpose()?,
        })
    }

    /// What the engine is asked. `defaults` are traces and spans where none are asked for.
    pub(super) async fn search(
        self,
        shared: &Shared,
        defaults: (usize, usize),
    ) -> Result<Search, Unanswered> {
        let limit = self.limit.unwrap_or(defaults.0);
        if limit > MAX_SEARCH_TRACES {
            return Err(format!("limit {limit} exceeds max limit {MAX_SEARCH_TRACES}").into());
        }
        let spans_per_set = self.spans_per_set.unwrap_or(defaults.1);
        if spans_per_set > MAX_SPANS_PER_SET && self.spans_per_set.is_some() {
            let message =
                format!("spans per span set exceeds {MAX_SPANS_PER_SET}. received {spans_per_set}");
            return Err(message.into());
        }
        let query = match self.query {
            Some(text) => {
                asked::parse(shared, text, |error| format!("invalid TraceQL query: {error}"))
                    .await?
            }
            None if self.tags.tags.len() > MAX_TAGS => {
                return Err(format!("invalid tags: more than {MAX_TAGS} are too many").into());
            }
            None => self.tags.query(),
        };
        let (time, sort, after) = (self.time, self.sort, self.after);
        Ok(Search { query, time, limit, spans_per_set, sort, after })
    }
}

/// Traces and spans of each spanset where none are asked for.
pub(super) const DEFAULTS: (usize, usize) = (DEFAULT_SEARCH_TRACES, DEFAULT_SPANS_PER_SET);
/// The same for a table: all.
const TABLE_DEFAULTS: (usize, usize) = (MAX_SEARCH_TRACES, usize::MAX);

fn sort_of(text: &str) -> Result<Sort, String> {
    match text {
        "newest" => Ok(Sort::Newest),
        "start" => Ok(Sort::Start),
        "duration" => Ok(Sort::Duration),
        "spans" => Ok(Sort::Spans),
        other => Err(invalid("sort", "newest, start, duration or spans", other)),
    }
}

fn cursor_of(text: &str) -> Result<Cursor, String> {
    Cursor::parse(text).ok_or_else(|| invalid("cursor", &format!("what {NEXT_CURSOR} gave"), text))
}

pub(super) async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    asked::answer(&shared, "search", request, |asked| found(&shared, asked)).await
}

async fn found(shared: &Shared, asked: Asked) -> Result<Response, Unanswered> {
    let wanted = Wanted::of(&asked.parameters)?;
    let has_sets = wanted.query.is_some();
    let defaults = match asked.form {
        Form::Table(_) => TABLE_DEFAULTS,
        Form::Json | Form::Llm | Form::Protobuf => DEFAULTS,
    };
    let search = wanted.search(shared, defaults).await?;
    let sort = search.sort;
    let mut found = shared.engine.search(&asked.tenants, search).await?.all().await?;
    let (next, damaged_blocks) = (found.next, found.stats.damaged_blocks);
    let mut response = match asked.form {
        Form::Table(format) => shared.encode(move || spans_table(&found, format)).await,
        form => {
            order(&mut found, sort);
            let json = move |found: &Found| json::search(found, has_sets);
            let message = move |found| messages::SearchResponse::of(found, has_sets);
            asked::encode(shared, form, found, json, message).await
        }
    };
    let headers = response.headers_mut();
    if let Some(next) = next.and_then(|next| HeaderValue::from_str(&next.to_string()).ok()) {
        headers.insert(NEXT_CURSOR, next);
    }
    if damaged_blocks > 0 {
        headers.insert(DAMAGED_BLOCKS, HeaderValue::from(damaged_blocks));
    }
    Ok(response)
}

fn spans_table(found: &Found, format: Format) -> Response {
    match table::pieces(&found.traces, format) {
        Ok(pieces) => {
            let pieces = pieces.into_iter().map(Ok);
            streamed(format.content_type(), futures::stream::iter(pieces))
        }
        Err(error) => {
            let message = format!("cannot write the answer: {error}");
            plain(StatusCode::INTERNAL_SERVER_ERROR, message)
        }
    }
}

/// As in Tempo, traces are shown by their start, the last first, unless another order was asked
/// for.
fn order(found: &mut Found, sort: Sort) {
    if sort == Sort::Newest {
        found.traces.sort_by_key(|trace| Reverse(trace.start_nanos));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Result<Wanted, String> {
        Wanted::of(&Parameters::parse(text).unwrap())
    }

    #[test]
    fn a_search_has_a_query_or_tags() {
        let query = wanted("q=%7B%7D&limit=7&spss=0&start=1&end=2&sort=duration").unwrap();
        assert_eq!(query.query.as_deref(), Some("{}"));
        assert_eq!((query.limit, query.spans_per_set), (Some(7), Some(MAX_SPANS_PER_SET)));
        assert_eq!(query.sort, Sort::Duration);
        let tags = wanted("tags=a%3Db&minDuration=1s&maxDuration=2s&q=").unwrap();
        assert!(tags.query.is_none());
        assert_eq!(tags.tags.tags, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(tags.tags.min_duration_nanos, Some(1_000_000_000));
    }

    #[test]
    fn other_parameters_are_tags_if_there_is_neither_query_nor_tags() {
        let pairs = |text| wanted(text).unwrap().tags.tags;
        let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let found = pairs("service.name=shop&limit=5&a=1&a=2&b=&start=1&q=");
        assert_eq!(found, [tag("service.name", "shop"), tag("a", "1")]);
        assert_eq!(pairs("tags=x%3Dy&a=1"), [tag("x", "y")]);
        assert_eq!(pairs("q=%7B%7D&a=1"), []);
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, word) in [
            ("q=%7B%7D&tags=a%3Db", "q in the same query"),
            ("limit=0", "must be a positive number"),
            ("limit=-1", "invalid limit"),
            ("limit=ten", "invalid limit"),
            ("spss=x", "invalid spss"),
            ("start=5&end=4", "start must be before end"),
            ("start=-5", "invalid start"),
            ("minDuration=5", "invalid minDuration"),
            ("minDuration=2s&maxDuration=1s", "invalid maxDuration"),
            ("sort=size", "newest, start, duration or spans"),
            ("cursor=abc", "invalid cursor"),
            ("tags=%22", "invalid tags"),
        ] {
            let error = wanted(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
