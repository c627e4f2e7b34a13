//! What can be asked: about a trace, a span, a share key, or some hosts.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;

use crate::limits::{
    CORRELATE_LOGS, CORRELATE_MAX_HOSTS, CORRELATE_MAX_LOGS, CORRELATE_MAX_TRACES, CORRELATE_TRACES,
};
use crate::parameters::{Parameters, invalid};
use crate::times;

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    /// A trace, by its id in hexadecimal.
    Trace {
        /// The id: 32 digits.
        #[serde(rename = "traceID")]
        trace: String,
    },
    /// A span of a trace.
    Span {
        /// The trace's id; `None` if only the span is known.
        #[serde(rename = "traceID", skip_serializing_if = "Option::is_none")]
        trace: Option<String>,
        /// The span's id: 16 digits.
        #[serde(rename = "spanID")]
        span: String,
    },
    /// A share key.
    Key {
        /// The attribute's key.
        key: String,
        /// Its value.
        value: String,
    },
    /// Hosts in some time. It tells what machines did while something ran that is not stored here.
    Hosts {
        /// Their names.
        hosts: Vec<String>,
    },
}

/// A kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Traces.
    Traces,
    /// Events that are exceptions.
    Exceptions,
    /// Log records.
    Logs,
    /// Exemplars of metrics.
    Exemplars,
    /// Metrics of hosts.
    Host,
    /// Metrics of GPUs.
    Gpu,
}

impl Part {
    const ALL: [(&str, Self); 6] = [
        ("traces", Self::Traces),
        ("exceptions", Self::Exceptions),
        ("logs", Self::Logs),
        ("exemplars", Self::Exemplars),
        ("host", Self::Host),
        ("gpu", Self::Gpu),
    ];

    /// The part of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, part)| *part)
    }

    /// All names, for whoever has to be told.
    pub fn names() -> String {
        Self::ALL.map(|(name, _)| name).join(", ")
    }
}

/// A question.
#[derive(Debug, Clone)]
pub struct Question {
    /// About what.
    pub subject: Subject,
    /// Which kinds of answers; all if there are none.
    pub parts: Vec<Part>,
    /// Nanoseconds since 1970: what is asked for lies within.
    pub time: Range<i64>,
    /// Traces at most.
    pub max_traces: usize,
    /// Log records at most.
    pub max_logs: usize,
}

const ANY_TIME: Range<i64> = 0..i64::MAX;
/// Names of parameters that are no keys.
const NAMES: [&str; 10] =
    ["trace", "span", "key", "value", "hosts", "start", "end", "with", "limit", "logs"];

impl Question {
    /// Everything about a subject, at any time.
    pub fn about(subject: Subject) -> Self {
        Self {
            subject,
            parts: Vec::new(),
            time: ANY_TIME,
            max_traces: CORRELATE_TRACES,
            max_logs: CORRELATE_LOGS,
        }
    }

    /// Whether a kind of answer is wanted.
    pub fn wants(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    /// Whether no time was named.
    pub(super) fn is_of_any_time(&self) -> bool {
        self.time == ANY_TIME
    }

    /// What parameters ask for.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, String> {
        let mut question = Self::about(subject(parameters)?);
        for names in parameters.all("with") {
            for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let part = Part::from_name(name)
                    .ok_or_else(|| invalid("with", &format!("some of {}", Part::names()), name))?;
                question.parts.push(part);
            }
        }
        let moment = |name: &str| parameters.read(name, times::TIME, times::timestamp);
        question.time =
            moment("start")?.unwrap_or(ANY_TIME.start)..moment("end")?.unwrap_or(ANY_TIME.end);
        let is_open = question.time.start == ANY_TIME.start || question.time.end == ANY_TIME.end;
        if matches!(question.subject, Subject::Hosts { .. }) && is_open {
            return Err("hosts are asked about with a time: add start=TIME and end=TIME".to_owned());
        }
        if question.time.end < question.time.start {
            return Err("end is before start".to_owned());
        }
        let bounded = |name: &str, default: usize, most: usize| {
            let given = parameters.number::<usize>(name)?.unwrap_or(default);
            if !(1..=most).contains(&given) {
                return Err(format!("{name} is {given}: between 1 and {most} are given at once"));
            }
            Ok(given)
        };
        question.max_traces = bounded("limit", CORRELATE_TRACES, CORRELATE_MAX_TRACES)?;
        question.max_logs = bounded("logs", CORRELATE_LOGS, CORRELATE_MAX_LOGS)?;
        Ok(question)
    }
}

/// The one subject of a question.
fn subject(parameters: &Parameters) -> Result<Subject, String> {
    let trace =
        parameters.read("trace", "an id of a trace: 1 to 32 hexadecimal digits", trace_id)?;
    let keys = keys(parameters)?;
    let span = match parameters.get("span") {
        None => None,
        Some(text) => {
            let (of_trace, span) = match text.rsplit_once(':') {
                Some((trace, span)) => (Some(trace), span),
                None => (None, text),
            };
            let expected = "an id of a span: 16 hexadecimal digits, or TRACE:SPAN";
            let of_trace = match of_trace.map(trace_id) {
                Some(None) => return Err(invalid("span", expected, text)),
                known => known.flatten(),
            };
            let span = hex_id(span, 16).ok_or_else(|| invalid("span", expected, text))?;
            Some((of_trace.or_else(|| trace.clone()), span))
        }
    };
    match (trace, span, &keys[..], hosts(parameters)?) {
        (None, None, [], Some(hosts)) => Ok(Subject::Hosts { hosts }),
        (_, Some((trace, span)), [], None) => Ok(Subject::Span { trace, span }),
        (Some(trace), None, [], None) => Ok(Subject::Trace { trace }),
        (None, None, [(key, value)], None) => {
            Ok(Subject::Key { key: key.clone(), value: value.clone() })
        }
        (None, None, [], None) => Err("say what to look for: trace=ID, span=ID, or a share key \
                                       such as session.id=VALUE"
            .to_owned()),
        _ => Err("one trace, one span or one share key is looked for at a time".to_owned()),
    }
}

/// Hosts that are named, each once, if any are.
fn hosts(parameters: &Parameters) -> Result<Option<Vec<String>>, String> {
    let named = parameters.all("hosts").flat_map(|names| names.split(',')).map(str::trim);
    let hosts: BTreeSet<&str> = named.filter(|name| !name.is_empty()).collect();
    if hosts.len() > CORRELATE_MAX_HOSTS {
        let given = hosts.len();
        return Err(format!("{given} hosts are named: at most {CORRELATE_MAX_HOSTS} are told of"));
    }
    Ok((!hosts.is_empty()).then(|| hosts.into_iter().map(str::to_owned).collect()))
}

/// Share keys: `key=NAME&value=TEXT`, `key=NAME=TEXT`, or a name of their own.
fn keys(parameters: &Parameters) -> Result<Vec<(String, String)>, String> {
    let mut keys = parameters.others(&NAMES);
    if let Some(key) = parameters.get("key") {
        match (key.split_once('='), parameters.get("value")) {
            (_, Some(value)) => keys.push((key.to_owned(), value.to_owned())),
            (Some((key, value)), None) => keys.push((key.to_owned(), value.to_owned())),
            (None, None) => {
                return Err(format!("the share key {key} has no value: add value=TEXT"));
            }
        }
    }
    Ok(keys)
}

/// A trace's id with all its digits.
fn trace_id(text: &str) -> Option<String> {
    let is_short = (1..=32).contains(&text.len());
    is_short.then(|| format!("{text:0>32}")).and_then(|text| hex_id(&text, 32))
}

fn hex_id(text: &str, digits: usize) -> Option<String> {
    let is_id = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Result<Question, String> {
        Parameters::parse(query).and_then(|parameters| Question::of(&parameters))
    }

    #[test]
    fn traces_spans_and_keys_are_subjects() {
        let trace = format!("{:0>32}", "ab12");
        let subject = |query: &str| asked(query).unwrap().subject;
        assert_eq!(subject("trace=AB12"), Subject::Trace { trace: trace.clone() });
        let span = Subject::Span { trace: Some(trace), span: "00000000000000ff".to_owned() };
        assert_eq!(subject("trace=ab12&span=00000000000000ff"), span);
        assert_eq!(subject("span=ab12:00000000000000FF"), span);
        let key = Subject::Key { key: "tuft.session_id".to_owned(), value: "s 1".to_owned() };
        assert_eq!(subject("tuft.session_id=s+1"), key);
        assert_eq!(subject("key=tuft.session_id&value=s+1"), key);
        assert_eq!(subject("key=tuft.session_id%3Ds+1&limit=5"), key);
    }

    #[test]
    fn hosts_are_subjects_each_once() {
        let found = asked("hosts=b,a&hosts=+a+,&start=10&end=20").unwrap();
        let hosts = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(found.subject, Subject::Hosts { hosts });
        assert_eq!(found.time, 10_000_000_000..20_000_000_000);
    }

    #[test]
    fn what_is_unclear_is_refused_with_what_to_do() {
        for (query, part) in [
            ("", "say what to look for"),
            ("trace=xyz", "hexadecimal"),
            ("span=12", "TRACE:SPAN"),
            ("trace=1&a=b", "one trace, one span or one share key"),
            ("a=b&c=d", "one trace, one span or one share key"),
            ("key=session.id", "add value=TEXT"),
            ("trace=1&with=lgos", "some of traces"),
            ("trace=1&logs=99999999", "between 1 and"),
            ("trace=1&limit=0", "between 1 and"),
            ("trace=1&start=20&end=10", "end is before start"),
            ("trace=1&start=yesterday", "start"),
            ("trace=1&hosts=a&start=1&end=2", "one trace, one span or one share key"),
            ("hosts=a", "add start=TIME and end=TIME"),
            ("hosts=a&start=1", "add start=TIME and end=TIME"),
        ] {
            let error = asked(query).unwrap_err();
            assert!(error.contains(part), "{query}: {error}");
        }
        let names: Vec<String> = (0..=CORRELATE_MAX_HOSTS).map(|host| host.to_string()).collect();
        let error = asked(&format!("hosts={}&start=1&end=2", names.join(","))).unwrap_err();
        assert!(error.contains("at most"), "{error}");
    }
}
