//! Log records of a request as entries, for those who follow what comes.
//!
//! They are the entries that a query would read of the same records once they are stored, but for
//! their sequence, which counts from 0 in each request.

use std::borrow::Cow;

use kymo_logql::entry::Entry;
use kymo_store::origin::Origin;
use kymo_store::scan::shown_text;
use kymo_wire::{AnyValueView, LogRecordView, LogsView, View as _, WireError, text};

use super::level;
use super::names::each_label;
use super::streams::{Belonging, Streams};
use crate::engine::Engine;

type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

impl Engine {
    /// Hands over each log record of a request of OTLP in protobuf as an entry of its stream.
    /// `received_nanos` is the time of those that have none.
    ///
    /// # Errors
    ///
    /// The request is not well-formed. What came before the fault has been handed over.
    pub fn each_log_entry(
        &self,
        otlp: &[u8],
        received_nanos: i64,
        each: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<(), WireError> {
        let options = self.logql_options();
        let mut streams = Streams::new(&options.index_labels);
        let mut sequence = 0;
        for group in LogsView::parse(otlp)?.resources {
            let group = group?;
            for scope in group.scopes {
                let scope = scope?;
                let belonging = streams.make(&Origin::of(&group, &scope));
                for log in scope.items {
                    let log = log?;
                    let line = line(&log.body);
                    let mut metadata = metadata(&log, &belonging);
                    if options.detects_level {
                        level::add(&mut metadata, &belonging.stream, &line);
                    }
                    let pairs: Vec<(&str, &str)> =
                        metadata.iter().map(|(name, value)| (&**name, &**value)).collect();
                    each(&Entry {
                        time_nanos: time_nanos(&log).unwrap_or(received_nanos),
                        sequence,
                        line: &line,
                        stream: &belonging.stream,
                        metadata: &pairs,
                    });
                    sequence += 1;
                }
            }
        }
        Ok(())
    }
}

/// When it happened, else when it was seen.
fn time_nanos(log: &LogRecordView<'_>) -> Option<i64> {
    let sent = [log.time_unix_nano, log.observed_time_unix_nano].into_iter().find(|at| *at != 0)?;
    i64::try_from(sent).ok()
}

fn line<'v>(body: &AnyValueView<'v>) -> Cow<'v, str> {
    match shown_text(body) {
        Some(Cow::Borrowed(bytes)) => text(bytes),
        Some(Cow::Owned(bytes)) => Cow::Owned(text(&bytes).into_owned()),
        None => Cow::Borrowed(""),
    }
}

/// Structured metadata: what the record says itself, then what its origin says.
fn metadata<'a>(log: &LogRecordView<'a>, belonging: &'a Belonging) -> Vec<Pair<'a>> {
    let mut found: Vec<Pair<'a>> = Vec::new();
    for attribute in log.attributes.iter().flatten() {
        each_label(&text(attribute.key), &attribute.value, &mut |name, value| {
            found.push((Cow::Owned(name.to_owned()), Cow::Owned(value.into_owned())));
        });
    }
    let mut add = |name: &'static str, value: String| {
        if !value.is_empty() {
            found.push((Cow::Borrowed(name), Cow::Owned(value)));
        }
    };
    add("trace_id", hex(log.trace_id));
    add("span_id", hex(log.span_id));
    if !belonging.is_pushed {
        let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
        let has_both = log.time_unix_nano != 0 && log.observed_time_unix_nano != 0;
        add("severity_number", count(u64::try_from(log.severity_number).unwrap_or(0)));
        add("severity_text", text(log.severity_text).into_owned());
        add("flags", count(log.flags.into()));
        add("event_name", text(log.event_name).into_owned());
        add("dropped_attributes_count", count(log.dropped_attributes_count.into()));
        add("observed_timestamp", count(if has_both { log.observed_time_unix_nano } else { 0 }));
    }
    for (name, value) in belonging.metadata.iter() {
        if !found.iter().any(|(known, _)| **known == **name) {
            found.push((Cow::Borrowed(name), Cow::Borrowed(value)));
        }
    }
    // Each name once: the first counts.
    let mut known: Vec<String> = Vec::with_capacity(found.len());
    found.retain(|(name, _)| {
        let is_new = !known.iter().any(|seen| *seen == **name);
        if is_new {
            known.push(name.to_string());
        }
        is_new
    });
    found
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
