//! Being written.

use axum::Router;

use crate::Page;

pub(crate) fn over_http() -> Router<Page> {
    Router::new()
}
