//! Traces that are kept when retention deletes the rest.

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Uri};
use serde::Serialize;

use super::envelope::{self, NOT_FOUND};
use super::failed::Failed;
use super::ids;
use super::legacy::{Asked, reply};
use super::reader::TraceId;
use crate::router::Shared;
use crate::tenant;

/// One trace of one tenant.
struct Named<'h> {
    tenant: &'h str,
    id: TraceId,
    is_pretty: bool,
}

impl<'h> Named<'h> {
    fn new(shared: &Shared, id: &str, uri: &Uri, headers: &'h HeaderMap) -> Result<Self, Failed> {
        let Asked { is_pretty, .. } = Asked::new(shared, uri, headers)?;
        let tenant = tenant::of(headers).map_err(Failed::Invalid)?;
        Ok(Self { tenant, id: ids::parse(id).map_err(Failed::Invalid)?, is_pretty })
    }
}

/// Keeps a trace.
pub(super) async fn keep(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let Named { tenant, id, is_pretty } = Named::new(&shared, &id, &uri, &headers)?;
        let archived = shared.engine.archive(tenant, id).await?;
        let archived = archived.ok_or(Failed::Unknown(NOT_FOUND))?;
        if archived.spans == 0 {
            let message = "nothing is archived: blocks that may have the trace are damaged";
            return Err(Failed::Damaged(message));
        }
        Ok(envelope::archived(&id, archived.damaged_blocks, is_pretty))
    };
    reply(answered.await)
}

/// Deletes a trace from the archive, and only there.
pub(super) async fn give_up(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let Named { tenant, id, is_pretty } = Named::new(&shared, &id, &uri, &headers)?;
        match shared.engine.unarchive(tenant, id).await? {
            true => Ok(envelope::archived(&id, 0, is_pretty)),
            false => Err(Failed::Unknown("the trace is not archived")),
        }
    };
    reply(answered.await)
}

/// What is archived, the latest first.
pub(super) async fn list(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Shown {
        #[serde(rename = "traceID")]
        trace_id: String,
        /// In microseconds, as all times of this API.
        archived_at: i64,
        size_bytes: u64,
    }
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        let tenant = tenant::of(&headers).map_err(Failed::Invalid)?;
        let archived = shared.engine.archived(tenant).await?;
        let shown = archived.into_iter().map(|trace| Shown {
            trace_id: ids::trace(&trace.trace_id),
            archived_at: trace.archived_nanos / 1000,
            size_bytes: trace.size_bytes,
        });
        Ok(asked.list(shown.collect()).await)
    };
    reply(answered.await)
}
