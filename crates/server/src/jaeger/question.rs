//! What a search asks for, in the three spellings of Jaeger's APIs, and as a TraceQL query.

use std::collections::BTreeMap;
use std::ops::Range;

use http::Uri;
use kymo_engine::traceql::{Search, Sort};
use kymo_traceql::ast::{
    BinaryOp, Body, Expr, Intrinsic, Literal, Pipeline, Query, Spansets, Stage,
};

use super::tags::{self, compare, intrinsic};
use super::{service, units};
use crate::limits::{JAEGER_DEFAULT_TRACES, JAEGER_LOOKBACK, JAEGER_MAX_TRACES, MAX_TAGS};
use crate::parameters::{Parameters, invalid};
use crate::times::{self, DURATION, TIME};

/// What a search asks for: traces with a span that is all of this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// Empty for any.
    pub(super) service: String,
    /// Empty for any.
    pub(super) operation: String,
    /// Keys and values that the span, its process or one of its logs has.
    pub(super) tags: BTreeMap<String, String>,
    /// Nanoseconds since 1970.
    pub(super) time: Range<i64>,
    /// The span takes so long at least, if not zero.
    pub(super) shortest_nanos: i64,
    /// The span takes so long at most, if not zero.
    pub(super) longest_nanos: i64,
    /// Traces to find.
    pub(super) limit: usize,
}

impl Question {
    /// Of the JSON API: `service`, `tags`, `start` in microseconds and so on.
    pub(super) fn legacy(parameters: &Parameters) -> Result<Self, String> {
        let now = times::now_nanos();
        let end = units::micros(parameters, "end")?.unwrap_or(now);
        let start = units::micros(parameters, "start")?;
        let start = start.unwrap_or(now - JAEGER_LOOKBACK.as_nanos() as i64);
        // What is raw is not adjusted for clocks that differ; nothing is here.
        parameters.switch("raw")?;
        let question = Self {
            service: parameters.text("service"),
            operation: parameters.text("operation"),
            tags: tags::of_parameters(parameters)?,
            time: start..end,
            shortest_nanos: parameters.duration("minDuration")?.unwrap_or(0),
            longest_nanos: parameters.duration("maxDuration")?.unwrap_or(0),
            limit: limit(parameters.number("limit")?)?,
        };
        question.checked(["start", "end", "minDuration", "maxDuration", "tags"])
    }

    /// Of the third version over HTTP: `query.serviceName` and so on, also as `query.service_name`.
    pub(super) fn v3(uri: &Uri) -> Result<Self, String> {
        let parameters = Parameters::of(uri)?;
        if parameters.get("query.filter").is_some() {
            return Err(NO_FILTER.to_owned());
        }
        let spelled = |name, other| parameters.either(name, other);
        let start = parameters.time(spelled("query.startTimeMin", "query.start_time_min"))?;
        let end = parameters.time(spelled("query.startTimeMax", "query.start_time_max"))?;
        let depth = spelled("query.search_depth", "query.num_traces");
        let depth = spelled("query.searchDepth", depth);
        parameters.switch(spelled("query.rawTraces", "query.raw_traces"))?;
        let shortest = parameters.duration(spelled("query.durationMin", "query.duration_min"))?;
        let longest = parameters.duration(spelled("query.durationMax", "query.duration_max"))?;
        let question = Self {
            service: parameters.text(spelled("query.serviceName", "query.service_name")),
            operation: parameters.text(spelled("query.operationName", "query.operation_name")),
            tags: match parameters.get("query.attributes") {
                Some(json) => tags::of_json("query.attributes", json)?,
                None => BTreeMap::new(),
            },
            time: required(start, "query.startTimeMin")?..required(end, "query.startTimeMax")?,
            shortest_nanos: shortest.unwrap_or(0),
            longest_nanos: longest.unwrap_or(0),
            limit: limit(parameters.number(depth)?)?,
        };
        question.checked(V3_NAMES)
    }

    /// Of the third version, as the body of a request: `{"query": {"serviceName": "…"}}`.
    pub(super) fn of_body(body: &[u8]) -> Result<Self, String> {
        let Request { query } = serde_json::from_slice(body).map_err(|error| {
            let expected = "an object such as {\"query\": {\"serviceName\": \"shop\", …}}";
            format!("{}: {error}", invalid("body", expected, &String::from_utf8_lossy(body)))
        })?;
        if query.filter.is_some() {
            return Err(NO_FILTER.to_owned());
        }
        let time = |name: &str, text: &str| match text {
            "" => Ok(None),
            _ => times::rfc3339(text).map(Some).ok_or_else(|| invalid(name, TIME, text)),
        };
        let duration = |name: &str, text: &str| match text {
            "" => Ok(0),
            _ => times::duration(text).ok_or_else(|| invalid(name, DURATION, text)),
        };
        let start = time("startTimeMin", &query.start_time_min)?;
        let end = time("startTimeMax", &query.start_time_max)?;
        let question = Self {
            time: required(start, "startTimeMin")?..required(end, "startTimeMax")?,
            shortest_nanos: duration("durationMin", &query.duration_min)?,
            longest_nanos: duration("durationMax", &query.duration_max)?,
            limit: limit(query.search_depth)?,
            service: query.service_name,
            operation: query.operation_name,
            tags: query.attributes,
        };
        let names = ["startTimeMin", "startTimeMax", "durationMin", "durationMax", "attributes"];
        question.checked(names)
    }

    /// Refuses what cannot have an answer; `names` are those of start, end, durations and tags.
    pub(super) fn checked(self, names: [&str; 5]) -> Result<Self, String> {
        let [start, end, shortest, longest, tags] = names;
        let count = self.tags.len();
        if count > MAX_TAGS {
            let what = tags.rsplit('.').next().unwrap_or(tags);
            return Err(format!("invalid {tags}: expected at most {MAX_TAGS} {what}, not {count}"));
        }
        if self.time.start >= self.time.end {
            return Err(format!("{start} must be before {end}"));
        }
        if self.longest_nanos != 0 && self.longest_nanos < self.shortest_nanos {
            return Err(format!("{longest} must not be less than {shortest}"));
        }
        Ok(self)
    }

    /// The search for it, newest traces first.
    pub(super) fn search(&self) -> Search {
        let filter = Stage::Spansets(Spansets::Filter(self.filter()));
        let body = Body::Spans(Pipeline { stages: vec![filter] });
        Search {
            query: Query { body, hints: Vec::new() },
            time: Some(self.time.clone()),
            limit: self.limit,
            spans_per_set: 1,
            sort: Sort::Newest,
            after: None,
        }
    }

    /// What a span must be.
    fn filter(&self) -> Expr {
        let mut parts = Vec::new();
        let equal = BinaryOp::Equal;
        if !self.service.is_empty() {
            parts.push(service::filter(&self.service));
        }
        if !self.operation.is_empty() {
            let operation = Literal::Text(self.operation.clone());
            parts.push(compare(intrinsic(Intrinsic::Name), equal, operation));
        }
        let durations = [
            (BinaryOp::GreaterEqual, self.shortest_nanos),
            (BinaryOp::LessEqual, self.longest_nanos),
        ];
        for (op, nanos) in durations.into_iter().filter(|(_, nanos)| *nanos != 0) {
            parts.push(compare(intrinsic(Intrinsic::Duration), op, Literal::Duration(nanos)));
        }
        parts.extend(self.tags.iter().map(|(key, value)| tags::filter(key, value)));
        Expr::all(parts)
    }
}

/// Names of the third version.
pub(super) const V3_NAMES: [&str; 5] = [
    "query.startTimeMin",
    "query.startTimeMax",
    "query.durationMin",
    "query.durationMax",
    "query.attributes",
];

/// Never left out silently: without it more traces would be answered than were asked for.
pub(super) const NO_FILTER: &str =
    "query.filter is not understood here: use query.attributes, or TraceQL at /tempo/api/search";

fn required(time: Option<i64>, name: &str) -> Result<i64, String> {
    time.ok_or_else(|| format!("{name} is required: a time such as 2026-01-02T03:04:05Z"))
}

/// How many traces are looked for.
fn limit(asked: Option<i64>) -> Result<usize, String> {
    match asked {
        None => Ok(JAEGER_DEFAULT_TRACES),
        Some(asked) => usize::try_from(asked)
            .ok()
            .filter(|limit| (1..=JAEGER_MAX_TRACES).contains(limit))
            .ok_or_else(|| format!("the limit is {asked}: 1 to {JAEGER_MAX_TRACES} is expected")),
    }
}

/// A request of the third version as JSON. What is not known is an error, since it may be a
/// condition.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    query: Asked,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Asked {
    #[serde(alias = "service_name")]
    service_name: String,
    #[serde(alias = "operation_name")]
    operation_name: String,
    attributes: BTreeMap<String, String>,
    #[serde(alias = "start_time_min")]
    start_time_min: String,
    #[serde(alias = "start_time_max")]
    start_time_max: String,
    #[serde(alias = "duration_min")]
    duration_min: String,
    #[serde(alias = "duration_max")]
    duration_max: String,
    #[serde(alias = "search_depth")]
    search_depth: Option<i64>,
    #[serde(alias = "raw_traces")]
    #[allow(dead_code, reason = "traces are always as they were sent")]
    raw_traces: bool,
    filter: Option<serde::de::IgnoredAny>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: &str =
        "query.startTimeMin=2026-01-02T00:00:00Z&query.startTimeMax=2026-01-03T00:00:00.000000001Z";
    const DAY: Range<i64> = 1_767_312_000_000_000_000..1_767_398_400_000_000_001;

    fn uri(query: &str) -> Uri {
        format!("/x?{query}").parse().unwrap()
    }

    fn legacy(query: &str) -> Result<Question, String> {
        Question::legacy(&Parameters::of(&uri(query)).unwrap())
    }

    fn question() -> Question {
        Question {
            service: "shop".to_owned(),
            operation: "GET /".to_owned(),
            tags: [("k".to_owned(), "v".to_owned())].into(),
            time: DAY,
            shortest_nanos: 1_000_000,
            longest_nanos: 2_000_000_000,
            limit: 7,
        }
    }

    #[test]
    fn the_same_question_is_asked_in_three_ways() {
        let one = legacy(
            "service=shop&operation=GET%20/&tags=%7B%22k%22:%22v%22%7D&start=1767312000000000\
             &end=1767398400000000&minDuration=1ms&maxDuration=2s&limit=7",
        );
        let micros = Question { time: DAY.start..DAY.end - 1, ..question() };
        assert_eq!(one, Ok(micros));
        for query in [
            "query.serviceName=shop&query.operationName=GET%20/&query.attributes=%7B%22k%22:%22v%22%7D\
             &query.durationMin=1ms&query.durationMax=2s&query.searchDepth=7",
            "query.service_name=shop&query.operation_name=GET+/&query.attributes=%7B%22k%22:%22v%22%7D\
             &query.duration_min=1ms&query.duration_max=2s&query.num_traces=7",
        ] {
            assert_eq!(Question::v3(&uri(&format!("{TIMES}&{query}"))), Ok(question()));
        }
        let body = r#"{"query": {"service_name": "shop", "operationName": "GET /",
            "attributes": {"k": "v"}, "startTimeMin": "2026-01-02T00:00:00Z",
            "start_time_max": "2026-01-03T00:00:00.000000001Z", "durationMin": "0.001s",
            "durationMax": "2s", "searchDepth": 7, "rawTraces": true}}"#;
        assert_eq!(Question::of_body(body.as_bytes()), Ok(question()));
    }

    #[test]
    fn nothing_need_be_said_but_the_time_of_the_third_version() {
        let any = legacy("lookback=1h&raw=true").unwrap();
        assert_eq!((any.service.as_str(), any.limit), ("", 100));
        assert_eq!(any.time.end - any.time.start, 48 * 3600 * 1_000_000_000);
        assert_eq!(any.filter(), Expr::Literal(Literal::Bool(true)));
        assert!(Question::v3(&uri("query.serviceName=a")).unwrap_err().contains("required"));
    }

    #[test]
    fn what_cannot_be_answered_is_refused() {
        for (query, word) in [
            ("start=x", "microseconds"),
            ("start=5&end=5", "start must be before end"),
            ("minDuration=5", "duration such as"),
            ("minDuration=5s&maxDuration=1s", "maxDuration"),
            ("limit=0", "1 to 10000"),
            ("limit=10001", "1 to 10000"),
            ("tags=x", "tags"),
            ("tag=x", "key:value"),
            ("raw=maybe", "true or false"),
        ] {
            let message = legacy(query).unwrap_err();
            assert!(message.contains(word), "{query}: {message}");
        }
        for query in ["query.filter=%7B%7D", "query.attributes=5", "query.searchDepth=-1"] {
            assert!(Question::v3(&uri(&format!("{TIMES}&{query}"))).is_err(), "{query}");
        }
        for body in ["", "{}", r#"{"query":{"unknown":1}}"#, r#"{"query":5}"#] {
            let message = Question::of_body(body.as_bytes()).unwrap_err();
            let expected = "invalid body: expected an object such as {\"query\": ";
            assert!(message.starts_with(expected), "{message}");
            assert!(message.contains(&format!("not {body:?}: ")), "{message}");
        }
        assert_eq!(Question::of_body(br#"{"query":{"filter":{}}}"#), Err(NO_FILTER.to_owned()));
    }

    #[test]
    fn a_search_has_no_more_tags_than_its_bound() {
        let tagged = |count: usize| {
            let tags = (0..count).map(|nth| (nth.to_string(), String::new())).collect();
            Question { tags, ..question() }.checked(V3_NAMES)
        };
        let most = tagged(MAX_TAGS).unwrap().filter();
        let tree = format!("{most:#?}");
        let depth = tree.lines().map(|line| line.len() - line.trim_start().len());
        assert!(depth.max().unwrap() < 200, "the tree is low");
        let message = "invalid query.attributes: expected at most 100 attributes, not 101";
        assert_eq!(tagged(MAX_TAGS + 1), Err(message.to_owned()));
    }

    #[test]
    fn a_search_has_all_conditions() {
        let Search { query, limit, spans_per_set, .. } = question().search();
        assert_eq!((limit, spans_per_set), (7, 1));
        let text = format!("{query:?}");
        for part in ["service.name", "GET /", "Duration(1000000)", "Duration(2000000000)", "\"k\""]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
