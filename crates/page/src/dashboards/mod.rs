//! Dashboards: kept, imported, provisioned, laid out, asked. See `docs/dashboards.md`.
//!
//! ```text
//! request ─> asked: the dashboard, its time ─> resolve: variables ─┬─> layout: panels and places
//!                                                                   ├─> query: targets ─> transformations ─> fields
//!                                                                   └─> annotations: targets ─> marks
//! ```
//!
//! | path | what |
//! |---|---|
//! | `GET, POST /api/dashboards` | the list; save one |
//! | `GET, DELETE /api/dashboards/{uid}` | one as it is written and as it is understood; delete it |
//! | `GET /api/dashboards/{uid}/versions[/{version}]`, `…/export` | its history, its JSON |
//! | `GET /api/dashboards/units` | how numbers are written in each unit |
//! | `POST /api/dashboards/report`, `…/import` | what of a file works; keep what is in it |
//! | `POST /api/dashboards/layout`, `…/query` | variables and panels; data |
//! | `POST /api/dashboards/annotations`, `…/adhoc` | marks over panels; conditions to choose |
//!
//! | module | what it holds |
//! |---|---|
//! | `kept`, `provisioned`, `find` | dashboards of the store, of folders, of the program |
//! | `saved`, `listed`, `import` | handlers that keep and show them |
//! | `asked`, `range` | what a question is about: which dashboard, when |
//! | `resolve`, `answers` | variables, and what the engine says to them |
//! | `layout`, `query`, `annotations`, `adhoc` | handlers that answer |
//! | `targets` | queries of panels, in each language, to frames |

mod adhoc;
mod annotations;
mod answers;
mod asked;
mod find;
mod import;
mod kept;
mod layout;
mod limits;
mod listed;
mod provisioned;
mod query;
mod range;
mod resolve;
mod saved;
mod targets;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use crate::Page;

pub use find::Dashboards;

/// What stands where ids stand in paths, so that no dashboard can have it as its id.
const WORDS: [&str; 7] = ["report", "import", "layout", "query", "annotations", "adhoc", "units"];

pub(crate) fn over_http() -> Router<Page> {
    Router::new()
        .route("/api/dashboards", get(listed::list).post(saved::save))
        .route("/api/dashboards/report", post(import::report).layer(files()))
        .route("/api/dashboards/import", post(import::import).layer(files()))
        .route("/api/dashboards/layout", post(layout::layout))
        .route("/api/dashboards/query", post(query::query))
        .route("/api/dashboards/annotations", post(annotations::annotations))
        .route("/api/dashboards/adhoc", post(adhoc::adhoc).layer(conditions()))
        .route("/api/dashboards/units", get(listed::units))
        .route("/api/dashboards/{uid}", get(listed::one).delete(saved::delete))
        .route("/api/dashboards/{uid}/export", get(listed::export))
        .route("/api/dashboards/{uid}/versions", get(listed::versions))
        .route("/api/dashboards/{uid}/versions/{version}", get(listed::version))
        .layer(DefaultBodyLimit::max(limits::MAX_QUESTION_BYTES))
}

/// Conditions are asked for in few words.
fn conditions() -> DefaultBodyLimit {
    DefaultBodyLimit::max(limits::MAX_CONDITION_BYTES)
}

/// Files of dashboards may be larger than questions.
fn files() -> DefaultBodyLimit {
    DefaultBodyLimit::max(limits::MAX_BODY_BYTES)
}
