//! Remote read: `POST /api/v1/read`. Series with their samples, as they are stored.
//!
//! Answers are samples, which every client accepts; none insists on chunks.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_ENCODING, HeaderValue};
use http::{Request, StatusCode};
use kymo_promql::matcher::{LabelMatcher, MatchOp};
use kymo_promql::sample::Samples;
use kymo_promql::source::{Select, Series};
use kymo_wire::remote_read::{MatcherType, ReadRequestView, ReadSeriesWriter, ResponseWriter};
use kymo_wire::{View, text};

use super::asked::{Unanswered, ask_with};
use crate::collect::with_native;
use crate::limits::MAX_QUERY_BYTES;
use crate::reply::typed;
use crate::router::Shared;

/// Answers the path.
pub(super) async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask_with(shared, request, "prometheus_read", async |shared, tenants, body| {
        let mut decoder = snap::raw::Decoder::new();
        let length = snap::raw::decompress_len(&body).map_err(wrong)?;
        if length > MAX_QUERY_BYTES {
            let why = format!("the request has more than {MAX_QUERY_BYTES} bytes");
            return Err(Unanswered::Wrong(why));
        }
        let plain = decoder.decompress_vec(&body).map_err(wrong)?;
        let selects = selects(&plain)?;
        let ranges: Vec<(i64, i64)> = selects.iter().map(|s| (s.start, s.end)).collect();
        let found = shared.engine.prom_select(tenants, selects).await?;
        Ok(shared.encode(move || respond(&found, &ranges)).await)
    })
    .await
}

fn wrong(error: impl std::fmt::Display) -> Unanswered {
    Unanswered::Wrong(error.to_string())
}

fn selects(body: &[u8]) -> Result<Vec<Select>, Unanswered> {
    let request = ReadRequestView::parse(body).map_err(wrong)?;
    if !request.accepts_samples() {
        let why = "only answers with samples are given: accept the response type SAMPLES";
        return Err(Unanswered::Wrong(why.to_owned()));
    }
    let mut selects = Vec::new();
    for query in request.queries {
        let query = query.map_err(wrong)?;
        let mut matchers = Vec::new();
        for matcher in query.matchers {
            let matcher = matcher.map_err(wrong)?;
            let op = match matcher.matcher_type {
                MatcherType::Equal => MatchOp::Equal,
                MatcherType::NotEqual => MatchOp::NotEqual,
                MatcherType::Matches => MatchOp::Matches,
                MatcherType::MatchesNot => MatchOp::NotMatches,
                MatcherType::Unknown(number) => {
                    return Err(Unanswered::Wrong(format!("matcher type {number} is not known")));
                }
            };
            let (name, value) = (text(matcher.name), text(matcher.value));
            matchers.push(LabelMatcher::new(&name, op, &value).map_err(wrong)?);
        }
        selects.push(Select {
            matchers,
            start: query.start_time_millis,
            end: query.end_time_millis,
            only_totals: false,
        });
    }
    Ok(selects)
}

fn respond(found: &[Vec<Series>], ranges: &[(i64, i64)]) -> Response {
    let mut writer = ResponseWriter::new();
    for (series, range) in found.iter().zip(ranges) {
        writer.result(|result| {
            for series in series.iter().filter(|series| has_some(&series.samples, *range)) {
                let labels = series.labels.iter().map(|label| (&*label.name, &*label.value));
                result.series(labels, |out| write_samples(&series.samples, *range, out));
            }
        });
    }
    let packed = snap::raw::Encoder::new().compress_vec(&writer.finish());
    match packed {
        Ok(packed) => {
            let mut response = typed(StatusCode::OK, "application/x-protobuf", packed);
            let snappy = HeaderValue::from_static("snappy");
            response.headers_mut().insert(CONTENT_ENCODING, snappy);
            response
        }
        Err(error) => typed(StatusCode::UNPROCESSABLE_ENTITY, "text/plain", error.to_string()),
    }
}

/// Whether there is a sample in a time: sources may give others.
fn has_some(samples: &Samples, (start, end): (i64, i64)) -> bool {
    let times = samples.histograms.iter().map(|sample| &sample.time).chain(&samples.times);
    times.into_iter().any(|time| (start..=end).contains(time))
}

fn write_samples(samples: &Samples, (start, end): (i64, i64), out: &mut ReadSeriesWriter<'_>) {
    let is_inside = |time: i64| (start..=end).contains(&time);
    for (time, value) in samples.times.iter().zip(&samples.values) {
        if is_inside(*time) {
            out.sample(*value, *time);
        }
    }
    for sample in samples.histograms.iter().filter(|sample| is_inside(sample.time)) {
        with_native(&sample.value, |native| out.histogram(native, sample.time));
    }
}
