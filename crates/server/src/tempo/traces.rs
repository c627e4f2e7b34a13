//! `GET /tempo/api/traces/{id}` and `/tempo/api/v2/traces/{id}`.
//!
//! | | found | unknown |
//! |---|---|---|
//! | v1 protobuf | `Trace` | 404 |
//! | v1 JSON | `{"batches":[…]}` | 404 |
//! | v2 protobuf | `TraceByIDResponse` | 200, an empty trace |
//! | v2 JSON | `{"trace":{"resourceSpans":[…]},"metrics":{}}` | 200, `{"trace":{},"metrics":{}}` |
//! | v2 for language models (`llm`) | `{"trace":{"traceId":"…","services":[…]},"status":"COMPLETE"}` | 200, `{}` |
//!
//! JSON is protobuf's own mapping: ids in base64, enumerations by name. A trace is always whole,
//! whatever `start` and `end` say; `q` of the second version keeps a part of it (`subset`), and
//! `span_pruning` puts summaries in place of spans that are alike (`prune`).

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{Request, StatusCode};
use kymo_store::otlp::TraceResult;
use kymo_wire::encode::Writer;
use kymo_wire::json::{Style, encode_styled};
use kymo_wire::{Signal, WireError};

use super::asked::{self, Asked, Form, Unanswered};
use super::complete::complete;
use super::json::damaged;
use super::llm;
use super::prune::{Pruned, Pruning};
use super::subset::Subset;
use crate::reply::{plain, typed};
use crate::router::Shared;

/// What `resourceSpans` alone looks like in front of its list.
const JSON_LIST: &[u8] = b"{\"resourceSpans\":";

/// What is said about a trace that was cut.
const CUT: &str =
    "Trace cut: the spans that pass q are here, with the relatives that were asked for";

/// What is said about a trace that was pruned for this answer.
const PRUNED: &str = "Trace pruned, summaries stand for similar spans; without span_pruning all \
                      of them are returned";

/// What is said about a trace that came with summaries.
const PRUNED_BEFORE: &str = "Trace was pruned before it was received, nothing else of it is stored";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

pub(crate) async fn by_id(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let found = |asked| whole(&shared, &id, asked);
    asked::answer(&shared, "trace", request, found).await
}

async fn whole(shared: &Shared, id: &str, asked: Asked) -> Result<Response, Unanswered> {
    match shared.engine.trace(&asked.tenants, parse_id(id)?).await? {
        None => Ok(plain(StatusCode::NOT_FOUND, String::new())),
        Some(trace) => {
            let wanted = Wanted::whole(Version::One, asked.form);
            Ok(shared.encode(move || write(Some(trace), wanted)).await)
        }
    }
}

pub(crate) async fn by_id_v2(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let found = |asked| whole_or_part(&shared, &id, asked);
    asked::answer(&shared, "trace", request, found).await
}

async fn whole_or_part(shared: &Shared, id: &str, asked: Asked) -> Result<Response, Unanswered> {
    let id = parse_id(id)?;
    let pruning = Pruning::of(&asked.parameters)?;
    let part = match Subset::of(&asked.parameters)? {
        None => None,
        Some(subset) => {
            let matching = subset.matching(shared, &asked.tenants, id).await?;
            Some((subset, matching))
        }
    };
    let trace = shared.engine.trace(&asked.tenants, id).await?;
    let wanted = Wanted { part, pruning, ..Wanted::whole(Version::Two, asked.form) };
    Ok(shared.encode(move || write(trace, wanted)).await)
}

type Part = Option<(Subset, std::collections::HashSet<Vec<u8>>)>;

/// How a trace is to be written, and what of it.
struct Wanted {
    version: Version,
    form: Form,
    part: Part,
    pruning: Option<Pruning>,
}

impl Wanted {
    fn whole(version: Version, form: Form) -> Self {
        Self { version, form, part: None, pruning: None }
    }

    fn content_type(&self) -> &'static str {
        match (self.form, self.version) {
            (Form::Protobuf, _) => "application/protobuf",
            (Form::Llm, Version::Two) => llm::CONTENT_TYPE,
            (Form::Json | Form::Llm | Form::Table(_), _) => "application/json",
        }
    }
}

fn write(trace: Option<TraceResult>, wanted: Wanted) -> Response {
    let content_type = wanted.content_type();
    match written(trace, wanted) {
        Ok(body) => typed(StatusCode::OK, content_type, body),
        Err(error) => {
            tracing::error!(%error, "a stored trace cannot be read");
            let message = format!("the stored trace cannot be read: {error}");
            plain(StatusCode::INTERNAL_SERVER_ERROR, message)
        }
    }
}

fn written(trace: Option<TraceResult>, wanted: Wanted) -> Result<Vec<u8>, WireError> {
    let mut missing: Vec<String> =
        trace.as_ref().and_then(|trace| damaged(trace.damaged_blocks)).into_iter().collect();
    let mut body = trace.map(|trace| complete(&trace.body)).transpose()?.unwrap_or_default();
    if let Some((subset, matching)) = wanted.part {
        let is_cut;
        (body, is_cut) = subset.cut(&body, &matching)?;
        missing.extend(is_cut.then(|| CUT.to_owned()));
    }
    match wanted.pruning.map(|pruning| pruning.prune(&body)).transpose()? {
        None | Some(Pruned::Nothing) => {}
        Some(Pruned::Before) => missing.push(PRUNED_BEFORE.to_owned()),
        Some(Pruned::Now(pruned)) => {
            body = pruned;
            missing.push(PRUNED.to_owned());
        }
    }
    let missing = missing.join("; ");
    match (wanted.form, wanted.version) {
        (Form::Protobuf, Version::One) => Ok(body),
        (Form::Protobuf, Version::Two) => Ok(response_v2(&body, &missing)),
        (Form::Llm, Version::Two) => llm::trace(&body, &missing),
        (Form::Json | Form::Llm | Form::Table(_), version) => json(&body, version, &missing),
    }
}

/// `TraceByIDResponse`: `trace` = 1, `metrics` = 2, `status` = 3, `message` = 4.
fn response_v2(trace: &[u8], missing: &str) -> Vec<u8> {
    const PARTIAL: u64 = 1;
    let mut writer = Writer::with_capacity(trace.len() + 16);
    writer.bytes_field(1, trace);
    writer.bytes_field(2, &[]);
    if !missing.is_empty() {
        writer.varint_field(3, PARTIAL);
        writer.bytes_field(4, missing.as_bytes());
    }
    writer.into_bytes()
}

fn json(trace: &[u8], version: Version, missing: &str) -> Result<Vec<u8>, WireError> {
    let mut document = Vec::with_capacity(trace.len() * 3);
    encode_styled(Signal::Traces, trace, Style::Protobuf, &mut document)?;
    Ok(match version {
        Version::One => match document.strip_prefix(JSON_LIST) {
            Some(list) => [b"{\"batches\":", list].concat(),
            None => document,
        },
        Version::Two => {
            let mut out = b"{\"trace\":".to_vec();
            out.append(&mut document);
            out.extend_from_slice(b",\"metrics\":{}");
            if !missing.is_empty() {
                out.extend_from_slice(
                    format!(",\"status\":\"PARTIAL\",\"message\":\"{missing}\"").as_bytes(),
                );
            }
            out.push(b'}');
            out
        }
    })
}

/// A trace id in hexadecimal; leading zeros may be missing.
pub(super) fn parse_id(text: &str) -> Result<[u8; 16], String> {
    const EXPECTED: &str = "1 to 32 hexadecimal digits are expected";
    let mut characters = text.chars().enumerate();
    if let Some((at, wrong)) = characters.find(|(_, found)| !found.is_ascii_hexdigit()) {
        return Err(format!(
            "trace IDs can only contain hex characters: invalid character {wrong:?} at position \
             {}; {EXPECTED}",
            at + 1
        ));
    }
    match u128::from_str_radix(text, 16) {
        Ok(id) if text.len() <= 32 => Ok(id.to_be_bytes()),
        Ok(_) | Err(_) if text.is_empty() => Err(format!("please provide a traceID: {EXPECTED}")),
        Ok(_) | Err(_) => Err(format!("trace IDs can't be larger than 128 bits: {EXPECTED}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_may_lack_leading_zeros_and_nothing_else() {
        assert_eq!(parse_id("ff"), Ok(u128::to_be_bytes(255)));
        assert_eq!(parse_id("5B8EFFF798038103d269b633813fc60c").map(|id| id[0]), Ok(0x5b));
        for (bad, word) in [
            ("", "please provide"),
            ("+1", "invalid character '+' at position 1"),
            ("0x1", "invalid character 'x' at position 2"),
            ("123456789012345678901234567890123", "128 bits"),
            ("000000000000000000000000000000001", "128 bits"),
        ] {
            assert!(parse_id(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
