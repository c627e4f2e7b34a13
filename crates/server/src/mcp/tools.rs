//! The tools. Names and arguments are Tempo's; `sql`, and what is marked as ours, come besides.

use serde_json::{Map, Value, json};

use super::arguments::{Argument, Given, Kind, schema, whole_seconds};
use super::ask::{Ask, Caller, percent_encoded};
use super::guide;
use crate::times;

const START: Argument = Argument::optional(
    "start",
    Kind::Time,
    "Begin of the time to look at, RFC 3339, such as 2026-01-02T03:04:05Z. Must be before end. \
     Without it: one hour before end.",
);
const END: Argument =
    Argument::optional("end", Kind::Time, "End of the time to look at, RFC 3339. Without it: now.");
const METRICS_QUERY: Argument = Argument::required(
    "query",
    Kind::Text,
    "TraceQL that ends in a metrics function, such as \
     { status = error } | rate() by (resource.service.name)",
);

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    Ask(Ask),
    /// The same, if this query is a search.
    Search(Ask, String),
    /// The same, of a trace that may not be there.
    Trace(Ask),
    /// The answer is known.
    Say(String),
}

type Made = Result<Action, String>;

pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    about: &'static str,
    arguments: &'static [Argument],
    /// What the answer is, how it is written, and in which version of that: as Tempo marks it.
    marks: [&'static str; 3],
    make: fn(&Given) -> Made,
}

impl Tool {
    /// As clients are told of it.
    pub(super) fn listed(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.about,
            "inputSchema": schema(self.arguments),
            "annotations": {
                "title": self.title,
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
        })
    }

    /// What is said about an answer besides.
    pub(super) fn meta(&self) -> Value {
        let [kind, encoding, version] = self.marks;
        json!({ "type": kind, "encoding": encoding, "version": version })
    }

    /// Its answer, or what is wrong, for the model to read.
    pub(super) async fn call(
        &self,
        caller: &mut Caller,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        match (self.make)(&Given::read(self.arguments, arguments)?)? {
            Action::Say(text) => Ok(text),
            Action::Ask(ask) => caller.ask(ask).await,
            Action::Search(ask, query) => {
                caller.check_search(&query).await?;
                caller.ask(ask).await
            }
            Action::Trace(ask) => match caller.ask(ask).await? {
                nothing if nothing.trim() == "{}" => Err(NO_TRACE.to_owned()),
                trace => Ok(trace),
            },
        }
    }
}

pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "traceql-search",
        title: "Search traces",
        about: "Search for traces with TraceQL. Answers with the newest matching traces: their ids, \
                root service and name, start, duration, and a few of the spans that match.",
        arguments: &[
            Argument::required(
                "query",
                Kind::Text,
                "TraceQL, such as { resource.service.name = \"checkout\" && status = error }",
            ),
            START,
            END,
            Argument::optional("limit", Kind::Count, "Traces to show. Without it: 20."),
        ],
        marks: ["search-results", "json", "1"],
        make: search,
    },
    Tool {
        name: "traceql-metrics-instant",
        title: "Measure spans",
        about: "Compute one number for each group of spans over a time, with a TraceQL metrics query: \
                how many, how slow, how often. Most questions about numbers are answered by this.",
        arguments: &[METRICS_QUERY, START, END],
        marks: ["metrics-instant", "json", "1"],
        make: |given| metrics("/tempo/api/metrics/query", given),
    },
    Tool {
        name: "traceql-metrics-range",
        title: "Measure spans over time",
        about: "Compute series of numbers over time with a TraceQL metrics query, to see how \
                something changes between start and end.",
        arguments: &[
            METRICS_QUERY,
            START,
            END,
            Argument::optional(
                "step",
                Kind::Text,
                "Time between two points, such as 5m. Without it: about 240 points.",
            ),
        ],
        marks: ["metrics-range", "json", "1"],
        make: |given| metrics("/tempo/api/metrics/query_range", given),
    },
    Tool {
        name: "get-trace",
        title: "Get a trace",
        about: "Get one trace by its id, with all of its spans.",
        arguments: &[
            Argument::required("trace_id", Kind::Text, "Id of the trace, hexadecimal"),
            Argument::optional(
                "q",
                Kind::Text,
                "Keep only spans that match one { … } filter of TraceQL, for long traces: \
                 { status = error }",
            ),
            Argument::optional(
                "span_pruning",
                Kind::Switch,
                "Show groups of similar spans as one each, for long traces.",
            ),
        ],
        marks: ["trace", "json", "2"],
        make: trace,
    },
    Tool {
        name: "trace-diff",
        title: "Compare two traces",
        about: "Compare two traces: what one has and the other lacks, and what became slower or \
                faster. Answers with a summary, and with every changed span if that is not long.",
        arguments: &[
            Argument::required("base_trace_id", Kind::Text, "Id of the trace to compare with"),
            Argument::required("compare_trace_id", Kind::Text, "Id of the trace that is compared"),
            Argument::optional("base_start", Kind::Time, "Where the first lies; with base_end"),
            Argument::optional("base_end", Kind::Time, "Where the first lies; with base_start"),
            Argument::optional(
                "compare_start",
                Kind::Time,
                "Where the second lies; with compare_end",
            ),
            Argument::optional(
                "compare_end",
                Kind::Time,
                "Where the second lies; with compare_start",
            ),
            Argument::optional(
                "format",
                Kind::Choice(DIFF_FORMATS),
                "A summary with changed spans if they are few (trace-summary-v0-composed, the \
                 default), the summary alone, or all changed spans, however many.",
            ),
        ],
        marks: ["trace-diff", "json", "2"],
        make: diff,
    },
    Tool {
        name: "get-attribute-names",
        title: "List attributes",
        about: "List names of attributes that TraceQL can ask for, by scope. Use it to learn what the \
                data has before writing a query.",
        arguments: &[Argument::optional(
            "scope",
            Kind::Choice(&["span", "resource", "event", "link", "instrumentation", "intrinsic"]),
            "Only names of this scope. Without it: all.",
        )],
        marks: ["attribute-names", "json", "2"],
        make: |given| {
            let parameters = [("scope", given.text("scope"))];
            Ok(Action::Ask(Ask::get("/tempo/api/v2/search/tags", &parameters)))
        },
    },
    Tool {
        name: "get-attribute-values",
        title: "List values of an attribute",
        about: "List values of an attribute. resource.service.name lists all services; \
                span.http.route with a filter lists routes of one of them.",
        arguments: &[
            Argument::required(
                "name",
                Kind::Text,
                "Name of the attribute with its scope, such as resource.service.name",
            ),
            Argument::optional(
                "filter-query",
                Kind::Text,
                "Only values on spans that match one { … } filter of TraceQL, such as \
                 { resource.service.name = \"checkout\" }",
            ),
        ],
        marks: ["attribute-values", "json", "2"],
        make: |given| {
            let name = percent_encoded(given.text("name"));
            let path = format!("/tempo/api/v2/search/tag/{name}/values");
            Ok(Action::Ask(Ask::get(&path, &[("q", given.text("filter-query"))])))
        },
    },
    Tool {
        name: "sql",
        title: "Ask in SQL",
        about: "Ask in SQL (Apache DataFusion's dialect, read-only) over spans, events, links, logs \
                and points (of metrics). Attributes are columns, in quotes: \"span.http.route\", \
                \"resource.service.name\", \"log.user\", \"label.code\". Times: start_time of spans, \
                time of logs, events and points; always narrow them, as in \
                start_time > now() - INTERVAL '1 hour'. Also duration_nanos, status = 'error', \
                kind = 'server', trace_id = '<hex>', body and severity of logs, metric and value of \
                points. DESCRIBE spans lists columns; LIMIT keeps answers short.",
        arguments: &[Argument::required(
            "query",
            Kind::Text,
            "One statement, such as SELECT \"resource.service.name\", count(*) FROM spans WHERE \
             start_time > now() - INTERVAL '1 hour' GROUP BY 1",
        )],
        marks: ["rows", "json", "1"],
        make: |given| {
            Ok(Action::Ask(Ask::json("/api/sql", &json!({ "query": given.text("query") }))))
        },
    },
    Tool {
        name: "docs-traceql",
        title: "Read about TraceQL",
        about: "Documentation of TraceQL with examples. Read basic before the first query, metrics \
                before the first metrics query.",
        arguments: &[Argument::required(
            "name",
            Kind::Choice(&["basic", "aggregates", "structural", "metrics", "reference"]),
            "basic: attributes, operators, filters. aggregates: count() > 2 and the like, by(). \
             structural: parents, children, siblings. metrics: rate() and the like. reference: all \
             in short, and where it differs from Tempo's.",
        )],
        marks: ["documentation", "markdown", "1"],
        make: |given| guide::say("docs://traceql/", given),
    },
    Tool {
        name: "docs-config",
        title: "Read about settings",
        about: "Documentation of the settings of this server, for questions about running it.",
        arguments: &[Argument::required(
            "name",
            Kind::Choice(&["overview", "reference"]),
            "overview: where settings are made. reference: every setting with its default.",
        )],
        marks: ["documentation", "markdown", "1"],
        make: |given| guide::say("docs://config/", given),
    },
];

/// What is said where the API answers with an empty trace.
const NO_TRACE: &str = "there is no trace of that id, or none of its spans passes q";

/// Tempo's names, the one that holds if none is given first.
const DIFF_FORMATS: &[&str] =
    &["trace-summary-v0-composed", "trace-summary-v0-native", "trace-patch-v0"];

fn search(given: &Given) -> Made {
    let (start, end) = given.range(times::now_nanos())?;
    let (start, end) = whole_seconds(start, end);
    let query = given.text("query");
    let parameters = [
        ("q", query),
        ("start", &start.to_string()),
        ("end", &end.to_string()),
        ("limit", given.text("limit")),
    ];
    Ok(Action::Search(Ask::form("/tempo/api/search", &parameters), query.to_owned()))
}

fn metrics(path: &str, given: &Given) -> Made {
    let (start, end) = given.range(times::now_nanos())?;
    let parameters = [
        ("q", given.text("query")),
        ("start", &start.to_string()),
        ("end", &end.to_string()),
        ("step", given.text("step")),
    ];
    Ok(Action::Ask(Ask::form(path, &parameters)))
}

fn trace(given: &Given) -> Made {
    let path = format!("/tempo/api/v2/traces/{}", percent_encoded(given.text("trace_id")));
    let parameters = [("q", given.text("q")), ("span_pruning", given.text("span_pruning"))];
    Ok(Action::Trace(Ask::get(&path, &parameters)))
}

fn diff(given: &Given) -> Made {
    let side = |id: &str, start: &str, end: &str| {
        let mut side = json!({ "traceId": given.text(id) });
        if let Some((start, end)) = given.seconds(start, end)? {
            side["start"] = json!(start);
            side["end"] = json!(end);
        }
        Ok::<_, String>(side)
    };
    let document = json!({
        "base": side("base_trace_id", "base_start", "base_end")?,
        "compare": side("compare_trace_id", "compare_start", "compare_end")?,
        "format": given.get("format").unwrap_or(DIFF_FORMATS[0]),
    });
    Ok(Action::Ask(Ask::json("/tempo/api/v2/traces/diff", &document)))
}

#[cfg(test)]
mod tests;
