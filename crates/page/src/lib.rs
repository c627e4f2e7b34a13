//! What the page asks for, over the engine: documents and columns that are ready to be drawn.
//!
//! Logic lives here and in the crates below; the page (`web/app`) draws. Whose data is meant is decided
//! before: the server puts [`Tenants`](kymo_engine::Tenants) into the extensions of every request.
//!
//! | path | module | what |
//! |---|---|---|
//! | `/api/trace/{id}`, … | `trace` | one trace: columns, details, flame, comparison, export, upload |
//! | `/api/traces/…` | `traces` | searches as they find, facets, flame over a result |
//! | `/api/ci/…` | `ci` | pipelines, runs, runners, caches |
//! | `/api/board/…` | `board` | sessions as they run, and as they ran |
//! | `/api/fleet…` | `fleet` | hosts and GPUs |
//! | `/api/metrics/filled` | `metrics` | intervals in a query of PromQL |
//! | `/api/links…` | `links` | short links to pages |
//! | `/api/runs…` | `runs` | trainings and the like, overlaid |
//! | `/api/dashboards…` | `dashboards` | dashboards: kept, imported, asked |
//!
//! | module | what all of them use |
//! |---|---|
//! | `answer`, `times` | answers and failures, moments and ranges as requests name them |
//! | `sql` | texts, names and moments as SQL has them |
//! | `machines`, `paces` | what is asked of hosts and GPUs; how often metrics come |
//! | `aging` | what is kept in memory for a while, and let go of |

mod aging;
mod answer;
mod board;
mod ci;
mod dashboards;
mod fleet;
mod links;
pub mod machines;
mod metrics;
mod paces;
mod runs;
mod sql;
#[cfg(test)]
mod tested;
mod times;
mod trace;
mod traces;

use axum::Router;
use kymo_engine::Engine;

pub use answer::{Asker, retry, status_of, typed};
pub use board::{StoredError, StoredSession};
pub use dashboards::Dashboards;
pub use trace::{UPLOAD_MAX_BYTES, UPLOAD_PATH};

/// What handlers share.
#[derive(Clone)]
pub struct Page {
    /// What is asked.
    pub engine: Engine,
    /// Where dashboards come from, beside the store.
    pub dashboards: Dashboards,
}

/// Every path.
pub fn over_http<S: Clone + Send + Sync + 'static>(page: Page) -> Router<S> {
    Router::new()
        .merge(trace::over_http())
        .merge(traces::over_http())
        .merge(ci::over_http())
        .merge(board::over_http())
        .merge(fleet::over_http())
        .merge(metrics::over_http())
        .merge(links::over_http())
        .merge(runs::over_http())
        .merge(dashboards::over_http())
        .with_state(page)
}
