//! The question over HTTP, and how it ends.
//!
//! | status | when |
//! |---|---|
//! | 400 | the body is not a question |
//! | 404 | a trace is not known |
//! | 422 | a trace lacks spans because blocks are damaged, both are too large together, or the answer would be |

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{Request, StatusCode};
use kymo_engine::{EngineError, Tenants};
use kymo_store::otlp::TraceResult;

use super::formats::{Undone, differences};
use super::request::Wanted;
use crate::limits::{DIFF_MAX_REQUEST_BYTES, DIFF_MAX_SPANS, DIFF_MAX_TRACES_BYTES};
use crate::question;
use crate::reply::typed;
use crate::router::Shared;
use crate::tempo::asked::{self, Asked, Failed};
use crate::tempo::json::damaged;

impl From<Undone> for Failed {
    fn from(undone: Undone) -> Self {
        let status = match undone {
            Undone::TooLarge { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Undone::Unreadable(_) | Undone::Unwritable(_) => {
                tracing::error!(error = %undone, "traces cannot be compared");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Self::Refused(status, undone.to_string())
    }
}

pub(in crate::tempo) async fn answer(
    State(shared): State<Shared>,
    request: Request<Body>,
) -> Response {
    // The body is JSON whatever it says that it is: curl calls everything a form.
    let (head, body) = request.into_parts();
    let bare = Request::from_parts(head, Body::empty());
    let compared = |asked| async {
        let compared = compared(&shared, asked, body).await;
        let shown = |document| typed(StatusCode::OK, "application/json", document);
        compared.map(shown).or_else(Failed::told)
    };
    asked::answer(&shared, "trace_diff", bare, compared).await
}

async fn compared(shared: &Shared, asked: Asked, body: Body) -> Result<Vec<u8>, Failed> {
    let (text, reservation) = question::read_body(shared, body, DIFF_MAX_REQUEST_BYTES).await?;
    let wanted = Wanted::read(&text)?;
    drop((text, reservation));
    // Who waits holds nothing.
    let turn = shared.comparing.clone().acquire_owned().await;
    let turn = turn.map_err(|_| EngineError::Cancelled)?;
    let base = fetched(shared, &asked.tenants, "base", wanted.base).await?;
    check_size("the base trace alone has", &[&base])?;
    let compare = fetched(shared, &asked.tenants, "compare", wanted.compare).await?;
    check_size("both traces have", &[&base, &compare])?;
    let made = shared.engine.blocking(move || {
        let _turn = turn;
        differences(&base.body, &compare.body, wanted.format)
    });
    Ok(made.await??)
}

/// A trace of which nothing is missing.
async fn fetched(
    shared: &Shared,
    tenants: &Tenants,
    side: &str,
    id: [u8; 16],
) -> Result<TraceResult, Failed> {
    let found = shared.engine.trace(tenants, id).await?;
    whole(found).map_err(|(status, reason)| {
        let id = u128::from_be_bytes(id);
        Failed::Refused(status, format!("the {side} trace {id:032x} {reason}"))
    })
}

fn whole(found: Option<TraceResult>) -> Result<TraceResult, (StatusCode, String)> {
    let trace = found.ok_or_else(|| (StatusCode::NOT_FOUND, "is not known".to_owned()))?;
    match damaged(trace.damaged_blocks) {
        Some(missing) => {
            let reason = format!("is not compared: {missing}");
            Err((StatusCode::UNPROCESSABLE_ENTITY, reason))
        }
        None => Ok(trace),
    }
}

fn check_size(have: &str, traces: &[&TraceResult]) -> Result<(), Failed> {
    let size_bytes: usize = traces.iter().map(|trace| trace.body.len()).sum();
    let spans: usize = traces.iter().map(|trace| trace.spans).sum();
    if size_bytes <= DIFF_MAX_TRACES_BYTES && spans <= DIFF_MAX_SPANS {
        return Ok(());
    }
    let message = format!(
        "{have} {size_bytes} bytes and {spans} spans, and traces of at most \
         {DIFF_MAX_TRACES_BYTES} bytes and {DIFF_MAX_SPANS} spans together are compared"
    );
    Err(Failed::Refused(StatusCode::UNPROCESSABLE_ENTITY, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(size_bytes: usize, spans: usize, damaged_blocks: usize) -> TraceResult {
        TraceResult { body: vec![0; size_bytes], spans, damaged_blocks }
    }

    #[test]
    fn traces_that_are_not_there_or_not_whole_are_told_apart() {
        assert!(whole(Some(trace(1, 1, 0))).is_ok());
        assert_eq!(whole(None).unwrap_err().0, StatusCode::NOT_FOUND);
        let (status, reason) = whole(Some(trace(0, 0, 2))).unwrap_err();
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        let expected = "is not compared: 2 damaged blocks are left out; spans may be missing";
        assert_eq!(reason, expected);
    }

    #[test]
    fn both_traces_count_together() {
        let half = trace(DIFF_MAX_TRACES_BYTES / 2, DIFF_MAX_SPANS / 2, 0);
        assert!(check_size("x", &[&half, &half]).is_ok());
        for more in [trace(1, 0, 0), trace(0, 1, 0)] {
            let refused = check_size("all have", &[&half, &half, &more]).unwrap_err();
            let Failed::Refused(status, message) = refused else { panic!("{refused:?}") };
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
            let bytes = DIFF_MAX_TRACES_BYTES + more.body.len();
            assert!(message.starts_with(&format!("all have {bytes} bytes and ")), "{message}");
        }
    }
}
