//! `/tempo/api/overrides`: what a tenant sets for itself.
//!
//! Off unless it is switched on, as in Tempo. What is set is kept by the store, version by version.
//! Who replaces or deletes it says which version he has seen, so that nobody undoes what he does
//! not know of; a patch changes what it names in whatever holds.
//!
//! | module | what it holds |
//! |---|---|
//! | `answer` | the questions over HTTP |
//! | `document` | what can be set |
//! | `rules` | which values make sense |
//! | `patch` | one document changed by another |

mod answer;
mod document;
mod patch;
mod rules;

use axum::Router;
use axum::response::Response;
use axum::routing::{any, get};
use http::StatusCode;

use crate::reply::plain;
use crate::router::Shared;

const PATH: &str = "/tempo/api/overrides";

/// The path.
pub(super) fn over_http(is_on: bool) -> Router<Shared> {
    if !is_on {
        return Router::new().route(PATH, any(switched_off));
    }
    let methods =
        get(answer::get).post(answer::replace).patch(answer::change).delete(answer::delete);
    Router::new().route(PATH, methods)
}

async fn switched_off() -> Response {
    let message = "overrides are switched off here; tempo.overrides: true in the configuration, \
                   --tempo-overrides true or KYMO_TEMPO_OVERRIDES=true switches them on\n";
    plain(StatusCode::NOT_FOUND, message.to_owned())
}
