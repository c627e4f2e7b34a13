//! One trace: as columns to be drawn, and all that can be asked about it.
//!
//! `{id}` is a trace id in hexadecimal, or the id that an upload was given. Rows are those of
//! `docs/formats/trace-columns.md`; answers with rows have `revision`, by which a reader can tell that
//! they mean the spans it has.
//!
//! | path | what |
//! |---|---|
//! | `GET /api/trace/{id}` | columns: `docs/formats/trace-columns.md` |
//! | `GET /api/trace/{id}/spans?rows=1,2` or `ids=` in hex | details: `kymo_traceview::details` |
//! | `GET /api/trace/{id}/keys` | `{"keys":[{"key","type","spans"}]}`: which attributes there are |
//! | `GET /api/trace/{id}/column?key=span.http.route` | `{"revision","type","values":[…],"rows":[…],"truncated"}`: an attribute of all rows |
//! | `GET /api/trace/{id}/find?q=` | `{"revision","rows":[…],"total","truncated"}`: `kymo_traceview::find` |
//! | `GET /api/trace/{id}/stats?by=operation` | groups by `operation`, `service`, `name`, `kind` or an attribute |
//! | `GET /api/trace/{id}/flame` | spans merged by path: `kymo_traceview::flame` |
//! | `GET /api/trace/{id}/events?offset=&limit=` | events of all spans by time |
//! | `GET /api/trace/{id}/compare?with={id}` | this trace as A beside another as B: `kymo_traceview::compare` |
//! | `GET /api/trace/{id}/export?format=otlp\|perfetto` | a file |
//! | `POST /api/trace/upload` | a file to look at; kept in memory for a while |
//!
//! | module | what it holds |
//! |---|---|
//! | `load`, `kept` | from an id to a trace; what is kept in memory |
//! | `answers` | the answers |
//! | `upload` | files to look at |
//! | `limits` | every limit, with its reason |

mod answers;
mod kept;
mod limits;
mod load;
#[cfg(test)]
mod tests;
mod upload;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequestParts};
use axum::routing::{get, post};
use axum::{Extension, Router};
use http::request::Parts;

use crate::Page;
use crate::answer::{Failed, Whose};
use kept::Kept;
use load::Traces;

pub use limits::UPLOAD_MAX_BYTES;

/// Where files to look at are posted.
pub const UPLOAD_PATH: &str = "/api/trace/upload";

pub(crate) fn over_http() -> Router<Page> {
    keeping(Arc::default())
}

/// Paths that keep in memory what they need again.
fn keeping(kept: Arc<Kept>) -> Router<Page> {
    Router::new()
        .route("/api/trace/{id}", get(answers::columns))
        .route("/api/trace/{id}/spans", get(answers::spans))
        .route("/api/trace/{id}/keys", get(answers::keys))
        .route("/api/trace/{id}/column", get(answers::column))
        .route("/api/trace/{id}/find", get(answers::find))
        .route("/api/trace/{id}/stats", get(answers::stats))
        .route("/api/trace/{id}/flame", get(answers::flame))
        .route("/api/trace/{id}/events", get(answers::events))
        .route("/api/trace/{id}/compare", get(answers::compare))
        .route("/api/trace/{id}/export", get(answers::export))
        .route(UPLOAD_PATH, post(upload::upload).layer(DefaultBodyLimit::max(UPLOAD_MAX_BYTES)))
        .layer(Extension(kept))
}

impl FromRequestParts<Page> for Traces {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, page: &Page) -> Result<Self, Failed> {
        let Whose(tenants) = Whose::from_request_parts(parts, page).await?;
        let kept = parts.extensions.get::<Arc<Kept>>().cloned();
        let kept = kept.ok_or_else(|| Failed::Internal("nothing keeps traces".into()))?;
        Ok(Self { page: page.clone(), kept, tenants })
    }
}
