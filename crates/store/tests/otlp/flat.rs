//! Requests as lists of records, each with its resource and scope, in a form
//! that can be compared: NaN equals itself, and the order of groups is gone.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

/// Resource, its schema URL, scope, its schema URL, and record, each encoded.
pub(crate) type Flat = (Option<Vec<u8>>, String, Option<Vec<u8>>, String, Vec<u8>);

/// Spans by trace id.
pub(crate) fn spans(request: &ExportTraceServiceRequest) -> BTreeMap<Vec<u8>, Vec<Flat>> {
    let mut traces: BTreeMap<Vec<u8>, Vec<Flat>> = BTreeMap::new();
    for group in &request.resource_spans {
        for scope in &group.scope_spans {
            for span in &scope.spans {
                traces.entry(span.trace_id.clone()).or_default().push((
                    group.resource.as_ref().map(Message::encode_to_vec),
                    group.schema_url.clone(),
                    scope.scope.as_ref().map(Message::encode_to_vec),
                    scope.schema_url.clone(),
                    span.encode_to_vec(),
                ));
            }
        }
    }
    traces
}

/// Log records, sorted.
pub(crate) fn logs(request: &ExportLogsServiceRequest) -> Vec<Flat> {
    let mut records = Vec::new();
    for group in &request.resource_logs {
        for scope in &group.scope_logs {
            for record in &scope.log_records {
                records.push((
                    group.resource.as_ref().map(Message::encode_to_vec),
                    group.schema_url.clone(),
                    scope.scope.as_ref().map(Message::encode_to_vec),
                    scope.schema_url.clone(),
                    record.encode_to_vec(),
                ));
            }
        }
    }
    records.sort();
    records
}
