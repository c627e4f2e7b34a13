//! One interface to both decoders, ours and prost's, for all signals.
//!
//! The fuzz target includes this file too.

use kymo_wire::inspect::{Inspected, inspect};
use kymo_wire::limits::{MAX_NESTING, MAX_TIME_UNIX_NANOS};
use kymo_wire::{Limits, Signal, WireError, WireErrorKind};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::{DecodeError, Message};

use super::rebuild;

/// Limits that nearly every request meets.
const TIGHT: Limits = Limits {
    max_nesting: MAX_NESTING,
    max_time_unix_nanos: MAX_TIME_UNIX_NANOS,
    min_point_time_unix_nanos: 0,
    max_attributes: 2,
    max_value_bytes: 5,
};

/// Decodes with prost and encodes again, which gives equal requests equal bytes, also where they
/// hold a NaN.
pub(crate) fn by_prost(signal: Signal, body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    Ok(match signal {
        Signal::Traces => ExportTraceServiceRequest::decode(body)?.encode_to_vec(),
        Signal::Logs => ExportLogsServiceRequest::decode(body)?.encode_to_vec(),
        Signal::Metrics => ExportMetricsServiceRequest::decode(body)?.encode_to_vec(),
    })
}

/// Walks with views, builds the structs of prost, and encodes those.
pub(crate) fn by_views(signal: Signal, body: &[u8]) -> Result<Vec<u8>, WireError> {
    Ok(match signal {
        Signal::Traces => rebuild::traces(body)?.encode_to_vec(),
        Signal::Logs => rebuild::logs(body)?.encode_to_vec(),
        Signal::Metrics => rebuild::metrics(body)?.encode_to_vec(),
    })
}

/// Holds arbitrary bytes against prost. Both must accept or refuse them, except that
/// - we repair text that is not UTF-8, prost refuses it;
/// - prost merges a sub-message that occurs twice, we refuse it;
/// - prost steps over groups, we refuse them;
/// - our limit on nesting is the lower one.
///
/// What both accept has the same content.
pub(crate) fn assert_agreement(signal: Signal, body: &[u8]) {
    let ours = inspect(signal, body, &Limits::default());
    assert_limited(signal, body, &ours);
    let prost = by_prost(signal, body);
    match (&ours, &prost) {
        (Ok(inspected), Ok(expected)) => {
            let found = by_views(signal, body).expect("what was inspected can be walked");
            assert_eq!(&found, expected, "views and prost read the same");
            assert_kept(signal, inspected, &Limits::default());
        }
        (Ok(inspected), Err(error)) => {
            assert!(error.to_string().contains("UTF-8"), "only prost refuses: {error}");
            assert_kept(signal, inspected, &Limits::default());
        }
        (Err(error), Ok(_)) => {
            use WireErrorKind::{Duplicate, TooDeep, WireType};
            let is_exception = matches!(error.kind, Duplicate(_) | TooDeep(_) | WireType(3));
            assert!(is_exception, "only we refuse: {error}");
        }
        (Err(_), Err(_)) => {}
    }
}

/// Limits on attributes and values refuse no request, and no record but data points.
fn assert_limited(signal: Signal, body: &[u8], ours: &Result<Inspected<'_>, WireError>) {
    match (inspect(signal, body, &TIGHT), ours) {
        (Ok(limited), Ok(ours)) => {
            let records = |inspected: &Inspected<'_>| inspected.items + inspected.refused_items();
            assert_eq!(records(&limited), records(ours));
            assert!(signal == Signal::Metrics || limited.items == ours.items);
            assert_kept(signal, &limited, &TIGHT);
        }
        (limited, ours) => assert_eq!(limited.err(), ours.clone().err()),
    }
}

/// What is kept of a request can be read by everybody and is not found wanting again.
fn assert_kept(signal: Signal, inspected: &Inspected<'_>, limits: &Limits) {
    by_prost(signal, &inspected.body).expect("prost reads what was kept");
    let again = inspect(signal, &inspected.body, limits).expect("is still well-formed");
    assert_eq!(again.items, inspected.items, "nothing more was dropped or kept");
    assert!(again.refused.is_empty() && again.repaired.is_empty(), "one repair suffices");
    assert_eq!(again.body, inspected.body);
}
