//! What Loki's API answers to log queries.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;

use crate::failure::Failure;

/// Labels by name.
pub(super) type Labels = BTreeMap<String, String>;

/// An answer to a query for lines.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    data: Data,
    #[serde(default)]
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Data {
    result: Vec<Stream>,
}

/// What comes over the WebSocket of who follows.
#[derive(Debug, Deserialize)]
pub(super) struct News {
    #[serde(default)]
    streams: Vec<Stream>,
    /// Lines that were left out.
    #[serde(default)]
    pub(super) dropped_entries: Vec<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Stream {
    stream: Labels,
    values: Vec<Value>,
}

/// Nanoseconds since 1970, the line, and labels of it that are not its stream's.
#[derive(Debug, Deserialize)]
struct Value(String, String, #[serde(default)] Others);

/// Labels that a line has itself.
#[derive(Debug, Default, Hash, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Others {
    structured_metadata: Labels,
    parsed: Labels,
}

/// A line.
#[derive(Debug, Hash)]
pub(super) struct Line {
    pub(super) time_nanos: i64,
    pub(super) text: String,
    pub(super) stream: Rc<Labels>,
    others: Others,
}

impl Line {
    /// The value of a label, whatever its kind.
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.kinds().into_iter().find_map(|labels| labels.get(name)).map(String::as_str)
    }

    /// All labels: those of the stream, structured metadata, what the query found.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.kinds().into_iter().flatten();
        labels.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn kinds(&self) -> [&Labels; 3] {
        [&*self.stream, &self.others.structured_metadata, &self.others.parsed]
    }
}

impl Answer {
    /// Its lines, the oldest first. It has the newest first in each stream.
    pub(super) fn lines(self) -> Result<Vec<Line>, Failure> {
        let mut lines = lines(self.data.result)?;
        lines.reverse();
        lines.sort_by_key(|line| line.time_nanos);
        Ok(lines)
    }
}

impl News {
    /// Its lines, the oldest first.
    pub(super) fn lines(self) -> Result<Vec<Line>, Failure> {
        let mut lines = lines(self.streams)?;
        lines.sort_by_key(|line| line.time_nanos);
        Ok(lines)
    }
}

fn lines(streams: Vec<Stream>) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for Stream { stream, values } in streams {
        let stream = Rc::new(stream);
        for Value(time, text, others) in values {
            let time_nanos = time.parse().map_err(|_| {
                Failure::Other(format!(
                    "the answer of the server has {time:?} where a time in nanoseconds is expected"
                ))
            })?;
            lines.push(Line { time_nanos, text, stream: stream.clone(), others });
        }
    }
    Ok(lines)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A line with labels of its stream and with structured metadata.
    pub(in crate::logs) fn line(
        time_nanos: i64,
        text: &str,
        stream: &[(&str, &str)],
        metadata: &[(&str, &str)],
    ) -> Line {
        let labels = |pairs: &[(&str, &str)]| -> Labels {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Line {
            time_nanos,
            text: text.to_owned(),
            stream: Rc::new(labels(stream)),
            others: Others { structured_metadata: labels(metadata), parsed: Labels::new() },
        }
    }

    #[test]
    fn lines_of_all_streams_come_in_the_order_of_time() {
        let text = r#"{"status":"success","warnings":["w"],"data":{"resultType":"streams",
            "encodingFlags":["categorize-labels"],"result":[
            {"stream":{"app":"a"},"values":[
                ["30","d",{"structuredMetadata":{"level":"warn"},"parsed":{"step":"4"}}],
                ["10","b",{}],["10","a",{}]]},
            {"stream":{"app":"b"},"values":[["20","c"]]}],"stats":{}}}"#;
        let answer: Answer = serde_json::from_str(text).unwrap();
        assert_eq!(answer.warnings, ["w"]);
        let lines = answer.lines().unwrap();
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "d"]);
        let labels: Vec<(&str, &str)> = lines[3].labels().collect();
        assert_eq!(labels, [("app", "a"), ("level", "warn"), ("step", "4")]);
        assert_eq!((lines[3].label("step"), lines[2].label("step")), (Some("4"), None));
    }

    #[test]
    fn news_have_lines_and_count_what_was_left_out() {
        let text = r#"{"streams":[{"stream":{"app":"a"},"values":[["2","b"],["1","a"]]}],
            "dropped_entries":[{"labels":{},"timestamp":"1"}]}"#;
        let news: News = serde_json::from_str(text).unwrap();
        assert_eq!(news.dropped_entries.len(), 1);
        let lines = news.lines().unwrap();
        assert_eq!(lines.iter().map(|line| line.time_nanos).collect::<Vec<_>>(), [1, 2]);
        let bad = r#"{"streams":[{"stream":{},"values":[["soon","a"]]}]}"#;
        let news: News = serde_json::from_str(bad).unwrap();
        assert!(news.lines().unwrap_err().to_string().contains("\"soon\""));
    }
}
