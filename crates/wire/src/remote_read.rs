//! Prometheus' remote-read: what is asked, as views, and a writer of the answer.
//!
//! The answer is the plain one, `SAMPLES`: one message with all samples of all series. A server may
//! always give it to those who also accept chunks, but not to those who accept only chunks
//! ([`ReadRequestView::accepts_samples`]).
//!
//! ```
//! use kymo_wire::remote_read::ResponseWriter;
//!
//! let mut response = ResponseWriter::new();
//! response.result(|result| {
//!     result.series([("__name__", "up"), ("job", "node")], |series| {
//!         series.sample(1.0, 1_700_000_000_000);
//!     });
//! });
//! let body = response.finish();
//! ```
//!
//! Bytes are snappy-compressed on the wire, which is not the business of this module. Nothing is
//! checked beyond framing: whether names are UTF-8 and a regular expression is one, whoever answers
//! finds out.

use crate::encode::Writer;
use crate::numbers::{Numbers, Varint};
use crate::proto::{Reader, WireError};
use crate::remote_write::NativeHistogram;
use crate::remote_write::writer::{write_histogram, write_label, write_sample};
use crate::repeated::{Repeated, View};
use crate::tags::{
    read_matcher, read_query, read_request, read_response, read_result, write1_series,
};

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct ReadRequestView<'a> {
    /// The queries; the answer has a result for each, in their order.
    pub queries: Repeated<'a, QueryView<'a>>,
    /// The forms of answers that are accepted, the most welcome first: 0 samples, 1 chunks.
    pub response_types: Numbers<'a, Varint>,
}

impl ReadRequestView<'_> {
    /// Whether an answer with samples is accepted, as it is where nothing is said.
    #[must_use]
    pub fn accepts_samples(&self) -> bool {
        const SAMPLES: u64 = 0;
        self.response_types.is_empty() || self.response_types.iter().any(|kind| kind == SAMPLES)
    }
}

impl<'a> View<'a> for ReadRequestView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { queries: Repeated::new(), response_types: Numbers::new() };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                read_request::QUERIES => view.queries.push(tail, tag, &mut reader)?,
                read_request::RESPONSE_TYPES | read_request::RESPONSE_TYPES_PACKED => {
                    view.response_types.push(tail, tag, &mut reader)?;
                }
                _ => reader.skip_other(tag, read_request::KNOWN)?,
            }
        }
    }
}

/// One query: series by their labels, and a range of times.
#[derive(Debug, Clone, Copy)]
pub struct QueryView<'a> {
    /// The first time asked for, in milliseconds since 1970.
    pub start_time_millis: i64,
    /// The last time asked for, in milliseconds since 1970.
    pub end_time_millis: i64,
    /// What labels must be; all of it must hold.
    pub matchers: Repeated<'a, MatcherView<'a>>,
}

impl<'a> View<'a> for QueryView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { start_time_millis: 0, end_time_millis: 0, matchers: Repeated::new() };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                read_query::START_TIME => view.start_time_millis = reader.varint()? as i64,
                read_query::END_TIME => view.end_time_millis = reader.varint()? as i64,
                read_query::MATCHERS => view.matchers.push(tail, tag, &mut reader)?,
                // Hints tell what becomes of the answer, which changes nothing about it.
                read_query::HINTS => reader.skip(tag)?,
                _ => reader.skip_other(tag, read_query::KNOWN)?,
            }
        }
    }
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatcherType {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`
    Matches,
    /// `!~`
    MatchesNot,
    /// A number that stands for none of these.
    Unknown(u64),
}

/// What a label must be.
#[derive(Debug, Clone, Copy)]
pub struct MatcherView<'a> {
    /// How it is compared.
    pub matcher_type: MatcherType,
    /// The label's name.
    pub name: &'a [u8],
    /// What it is compared with.
    pub value: &'a [u8],
}

impl<'a> View<'a> for MatcherView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { matcher_type: MatcherType::Equal, name: &[], value: &[] };
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                read_matcher::TYPE => {
                    view.matcher_type = match reader.varint()? {
                        0 => MatcherType::Equal,
                        1 => MatcherType::NotEqual,
                        2 => MatcherType::Matches,
                        3 => MatcherType::MatchesNot,
                        other => MatcherType::Unknown(other),
                    }
                }
                read_matcher::NAME => view.name = reader.bytes()?,
                read_matcher::VALUE => view.value = reader.bytes()?,
                _ => reader.skip_other(tag, read_matcher::KNOWN)?,
            }
        }
        Ok(view)
    }
}

/// Writes an answer with samples.
#[derive(Debug, Clone, Default)]
pub struct ResponseWriter {
    writer: Writer,
}

impl ResponseWriter {
    /// An answer without results.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the result of a query; `content` writes its series.
    pub fn result<R>(&mut self, content: impl FnOnce(&mut ResultWriter<'_>) -> R) -> R {
        self.writer
            .message(read_response::RESULTS >> 3, |writer| content(&mut ResultWriter { writer }))
    }

    /// Bytes that the answer has so far.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.writer.as_slice().len()
    }

    /// The answer, not compressed.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.writer.into_bytes()
    }
}

/// Writes the result of one query.
#[derive(Debug)]
pub struct ResultWriter<'w> {
    writer: &'w mut Writer,
}

impl ResultWriter<'_> {
    /// Appends a series, whose labels must be in order of name; `content` writes its samples and
    /// histograms, which must be in order of time.
    pub fn series<'l, R>(
        &mut self,
        labels: impl IntoIterator<Item = (&'l str, &'l str)>,
        content: impl FnOnce(&mut ReadSeriesWriter<'_>) -> R,
    ) -> R {
        self.writer.message(read_result::SERIES >> 3, |writer| {
            for (name, value) in labels {
                write_label(name.as_bytes(), value.as_bytes(), writer);
            }
            content(&mut ReadSeriesWriter { writer })
        })
    }
}

/// Writes what one series of an answer has.
#[derive(Debug)]
pub struct ReadSeriesWriter<'w> {
    writer: &'w mut Writer,
}

impl ReadSeriesWriter<'_> {
    /// Appends a sample.
    pub fn sample(&mut self, value: f64, time_millis: i64) {
        write_sample(write1_series::SAMPLES >> 3, value, time_millis, 0, self.writer);
    }

    /// Appends a histogram.
    pub fn histogram(&mut self, histogram: &NativeHistogram<'_>, time_millis: i64) {
        let times_millis = [time_millis, 0];
        write_histogram(write1_series::HISTOGRAMS >> 3, histogram, times_millis, self.writer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote_write::SeriesView;

    #[test]
    fn what_is_asked_is_read() {
        let mut w = Writer::new();
        w.message(1, |w| {
            w.varint_field(1, -5i64 as u64);
            w.varint_field(2, 7);
            for (kind, name) in [(0, b"__name__"), (3, b"instance"), (9, b"whatever")] {
                w.message(3, |w| {
                    w.varint_field(1, kind);
                    w.bytes_field(2, name);
                    w.bytes_field(3, b"up.*");
                });
            }
            w.message(4, |w| w.varint_field(1, 1000));
        });
        assert!(ReadRequestView::parse(w.as_slice()).unwrap().accepts_samples());
        w.bytes_field(2, &[1]);
        assert!(!ReadRequestView::parse(w.as_slice()).unwrap().accepts_samples());
        w.varint_field(2, 0);
        let request = ReadRequestView::parse(w.as_slice()).unwrap();
        assert!(request.accepts_samples());
        let query = request.queries.into_iter().next().unwrap().unwrap();
        assert_eq!((query.start_time_millis, query.end_time_millis), (-5, 7));
        let matchers: Vec<_> = query.matchers.into_iter().map(Result::unwrap).collect();
        let types: Vec<_> = matchers.iter().map(|matcher| matcher.matcher_type).collect();
        assert_eq!(types, [MatcherType::Equal, MatcherType::MatchesNot, MatcherType::Unknown(9)]);
        assert_eq!((matchers[1].name, matchers[1].value), (&b"instance"[..], &b"up.*"[..]));
    }

    #[test]
    fn an_answer_holds_series_of_remote_write() {
        let mut response = ResponseWriter::new();
        response.result(|_| ());
        response.result(|result| {
            result.series([("__name__", "up")], |series| {
                series.sample(1.5, 10);
                series.sample(f64::NAN, 20);
            });
        });
        let body = response.finish();
        let mut reader = Reader::new(&body);
        assert_eq!(reader.tag(), Ok(Some(read_response::RESULTS)));
        assert_eq!(reader.bytes(), Ok(&b""[..]));
        assert_eq!(reader.tag(), Ok(Some(read_response::RESULTS)));
        let mut result = reader.message().unwrap();
        assert_eq!(result.tag(), Ok(Some(read_result::SERIES)));
        let series = SeriesView::parse(result.bytes().unwrap()).unwrap();
        assert_eq!((series.labels.count(), series.samples.count()), (1, 2));
        let times = series.samples.into_iter().map(|sample| sample.unwrap().time_millis);
        assert_eq!(times.collect::<Vec<_>>(), [10, 20]);
    }
}
