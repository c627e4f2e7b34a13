//! Traces of a subject, and the exceptions in them.

use kymo_engine::traceql::{FoundTrace, Search, Sort};
use kymo_engine::{Engine, EngineError, Tenants};
use kymo_traceql::ast::{Literal, Name, Scope};

use super::answer::{Exception, Trace};
use super::question::{Question, Subject};
use crate::limits::CORRELATE_MAX_EXCEPTIONS;
use kymo_engine::table::{Table, hex};

/// A question, and who answers it for whom.
pub(super) struct Asked<'a> {
    pub(super) engine: &'a Engine,
    pub(super) tenants: &'a Tenants,
    pub(super) question: &'a Question,
}

impl Asked<'_> {
    /// Traces that the subject is, lies in, or is named in.
    pub(super) async fn traces(&self) -> Result<Vec<Trace>, EngineError> {
        let text = match &self.question.subject {
            // Ids are hexadecimal digits.
            Subject::Trace { trace } => format!("{{ trace:id = \"{trace}\" }}"),
            Subject::Span { trace, span } => {
                let of_trace = trace.as_ref().map(|id| format!("trace:id = \"{id}\" && "));
                format!("{{ {}span:id = \"{span}\" }}", of_trace.unwrap_or_default())
            }
            Subject::Key { key, value } => format!("{{ {} }}", attribute_is(key, value)),
            Subject::Hosts { .. } => return Ok(Vec::new()),
        };
        let query = kymo_traceql::parse(&text).map_err(|error| {
            EngineError::Invalid(format!("no share key that can be looked for: {error}").into())
        })?;
        let is_any = self.question.is_of_any_time();
        let search = Search {
            query,
            time: (!is_any).then(|| self.question.time.clone()),
            limit: self.question.max_traces,
            spans_per_set: 1,
            sort: Sort::Newest,
            after: None,
        };
        let found = self.engine.search(self.tenants, search).await?.all().await?;
        Ok(found.traces.iter().map(trace).collect())
    }

    /// Events of some traces that are exceptions, or of the span that is asked about.
    pub(super) async fn exceptions(&self, ids: &[String]) -> Result<Vec<Exception>, EngineError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let of_span = match &self.question.subject {
            Subject::Span { span, .. } => format!(" AND span_id = '{span}'"),
            _ => String::new(),
        };
        let query = format!(
            "SELECT trace_id, span_id, time, attributes FROM events \
             WHERE name = 'exception' AND trace_id IN ({}){of_span} \
             ORDER BY time LIMIT {CORRELATE_MAX_EXCEPTIONS}",
            listed(ids)
        );
        let table = Table::ask(self.engine, self.tenants, &query).await?;
        let (traces, spans) = (table.texts("trace_id")?, table.texts("span_id")?);
        let (times, attributes) = (table.integers("time")?, table.texts("attributes")?);
        let rows = traces.into_iter().zip(spans).zip(times).zip(attributes);
        Ok(rows
            .map(|(((trace, span), time), attributes)| Exception {
                trace_id: trace.unwrap_or_default(),
                span_id: span.unwrap_or_default(),
                time_unix_nano: time.unwrap_or(0).to_string(),
                attributes: attributes
                    .and_then(|text| serde_json::from_str(&text).ok())
                    .unwrap_or_default(),
            })
            .collect())
    }
}

fn trace(found: &FoundTrace) -> Trace {
    Trace {
        trace_id: hex(&found.trace_id),
        root_service_name: found.root_service.clone(),
        root_trace_name: found.root_name.clone(),
        start_time_unix_nano: found.start_nanos.to_string(),
        duration_nanos: found.duration_nanos,
        services: found.services.iter().map(|s| (s.service.clone(), s.spans)).collect(),
        errors: found.services.iter().map(|service| service.errors).sum(),
        matched: found.span_sets.iter().map(|set| set.matched).sum(),
        start_nanos: found.start_nanos,
        matched_nanos: found
            .span_sets
            .first()
            .and_then(|set| set.spans.first())
            .map(|span| span.start_nanos..end(span.start_nanos, span.duration_nanos)),
    }
}

/// When something ended; where clocks went back, not before it began.
pub(super) fn end(start_nanos: i64, duration_nanos: i64) -> i64 {
    start_nanos.saturating_add(duration_nanos.max(0))
}

/// The condition that an attribute has a value, whichever type it was sent with.
fn attribute_is(key: &str, value: &str) -> String {
    let name = Name::Keyed { scope: Scope::Any, key: key.to_owned() };
    let is_number = value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'.'));
    let typed = match (value.parse::<bool>(), value.parse::<i64>(), value.parse::<f64>()) {
        (Ok(truth), ..) => Some(Literal::Bool(truth)),
        (_, Ok(number), _) if is_number => Some(Literal::Int(number)),
        (_, _, Ok(number)) if is_number => Some(Literal::Float(number)),
        _ => None,
    };
    let literals = [Some(Literal::Text(value.to_owned())), typed];
    let conditions = literals.iter().flatten().map(|literal| format!("{name} = {literal}"));
    conditions.collect::<Vec<_>>().join(" || ")
}

/// Ids as a list of SQL. They are hexadecimal digits.
pub(super) fn listed(ids: &[String]) -> String {
    ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_key_is_looked_for_in_every_type_that_it_may_have() {
        for (value, expected) in [
            ("a\"b\\c\nd", r#".k = "a\"b\\c\nd""#),
            ("17", r#".k = "17" || .k = 17"#),
            ("-1.5", r#".k = "-1.5" || .k = -1.5"#),
            ("5.", r#".k = "5." || .k = 5.0"#),
            ("true", r#".k = "true" || .k = true"#),
            ("1e9", r#".k = "1e9""#),
            ("+5", r#".k = "+5""#),
            ("-", r#".k = "-""#),
            // Ids of so many digits are no whole number of 64 bits.
            (
                "12345678901234567890",
                r#".k = "12345678901234567890" || .k = 1.2345678901234567e19"#,
            ),
        ] {
            let condition = attribute_is("k", value);
            assert_eq!(condition, expected);
            kymo_traceql::parse(&format!("{{ {condition} }}")).unwrap();
        }
        for key in ["session.id", "a b", "q\"\\", "9"] {
            kymo_traceql::parse(&format!("{{ {} }}", attribute_is(key, "x"))).unwrap();
        }
    }
}
