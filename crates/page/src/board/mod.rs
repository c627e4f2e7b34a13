//! Sessions as they run, and as they ran.

mod stored;

use axum::Router;

use crate::Page;

pub use stored::{StoredError, StoredSession};

pub(crate) fn over_http() -> Router<Page> {
    Router::new()
}
