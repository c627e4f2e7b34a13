//! What every answer of the JSON API is wrapped in.

use axum::response::Response;
use http::StatusCode;
use serde::Serialize;

use super::document::{self, Frame};
use super::failed::Failed;
use super::ids;
use super::reader::TraceId;

/// `{"data": …, "total": n, "limit": 0, "offset": 0, "errors": null}`.
#[derive(Debug, Serialize)]
pub(super) struct Envelope<T> {
    data: T,
    total: usize,
    limit: usize,
    offset: usize,
    errors: Option<Vec<Problem>>,
}

/// What was wrong, or missing.
#[derive(Debug, Serialize)]
struct Problem {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    msg: String,
    #[serde(rename = "traceID", skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
}

/// The words of Jaeger, which clients look for.
pub(super) const NOT_FOUND: &str = "trace not found";

/// A list.
pub(super) fn list<T: Serialize>(data: &[T], is_pretty: bool) -> Response {
    let envelope = Envelope { data, total: data.len(), limit: 0, offset: 0, errors: None };
    document::whole(StatusCode::OK, &envelope, is_pretty)
}

/// No traces, of which some were looked for by id.
pub(super) fn nothing(missing: &[TraceId], is_pretty: bool) -> Response {
    let data: [(); 0] = [];
    let envelope = Envelope { data, total: 0, limit: 0, offset: 0, errors: problems(missing) };
    document::whole(StatusCode::OK, &envelope, is_pretty)
}

/// That the archive was changed as asked for. Of a trace that lies in damaged blocks too, what is
/// missing is told.
pub(super) fn archived(id: &TraceId, damaged_blocks: usize, is_pretty: bool) -> Response {
    let errors = match damaged_blocks {
        0 => Vec::new(),
        _ => vec![Problem {
            code: None,
            msg: format!("damaged blocks are left out ({damaged_blocks}); spans may be missing"),
            trace_id: Some(ids::trace(id)),
        }],
    };
    let data: [(); 0] = [];
    let envelope = Envelope { data, total: 0, limit: 0, offset: 0, errors: Some(errors) };
    document::whole(StatusCode::OK, &envelope, is_pretty)
}

/// An error.
pub(super) fn error(failed: &Failed) -> Response {
    failed.response(|status, msg| {
        let problem = Problem { code: Some(status.as_u16()), msg, trace_id: None };
        let errors = Some(vec![problem]);
        let envelope = Envelope { data: (), total: 0, limit: 0, offset: 0, errors };
        document::whole(status, &envelope, false)
    })
}

/// What stands around traces that are streamed.
pub(super) const TRACES: Frame = Frame {
    begin: "{\"data\":[",
    end: |count, missing| {
        let errors = serde_json::to_string(&problems(missing)).unwrap_or_else(|_| "null".into());
        format!("],\"total\":{count},\"limit\":0,\"offset\":0,\"errors\":{errors}}}")
    },
};

fn problems(missing: &[TraceId]) -> Option<Vec<Problem>> {
    let problem = |id: &TraceId| Problem {
        code: None,
        msg: NOT_FOUND.to_owned(),
        trace_id: Some(ids::trace(id)),
    };
    (!missing.is_empty()).then(|| missing.iter().map(problem).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    async fn body(response: Response) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_members_are_those_of_jaeger_in_their_order() {
        let services = body(list(&["a", "b"], false)).await;
        let expected = r#"{"data":["a","b"],"total":2,"limit":0,"offset":0,"errors":null}"#;
        assert_eq!(services, expected);
        let response = error(&Failed::Unknown(NOT_FOUND));
        assert_eq!(response.status(), 404);
        assert_eq!(
            body(response).await,
            r#"{"data":null,"total":0,"limit":0,"offset":0,"errors":[{"code":404,"msg":"trace not found"}]}"#
        );
        let streamed = (TRACES.end)(0, &[[7; 16]]);
        let missing = body(nothing(&[[7; 16]], false)).await;
        assert_eq!(format!("{}{streamed}", TRACES.begin), missing);
        assert!(missing.contains(r#""traceID":"07070707070707070707070707070707""#), "{missing}");
    }
}
