//! Tokens over our API: made, listed, revoked.
//!
//! | question | who may | answer |
//! |---|---|---|
//! | `GET /api/tokens` | an admin | those of the tenants that are his |
//! | `POST /api/tokens` | an admin, for roles and tenants that are his | the token, which is told once |
//! | `DELETE /api/tokens/{id}` | an admin, if it is of tenants that are his | |

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{delete, get};
use http::header::{CACHE_CONTROL, HeaderValue};
use http::{Request, StatusCode};
use kymo_engine::Engine;
use kymo_identity::{Action, Grant, NewToken, TokenBook};
use kymo_store::settings::Setting;
use serde_json::json;

use super::record;
use crate::limits::TOKEN_MAX_REQUEST_BYTES;
use crate::reply::{json_error, typed};
use crate::router::Shared;
use crate::{body, durable};

/// The paths.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new()
        .route("/api/tokens", get(list).post(make))
        .route("/api/tokens/{id}", delete(revoke))
}

/// Tokens as they were last made durable, and their version.
pub(crate) async fn load(engine: &Engine) -> Result<(u64, TokenBook), String> {
    let (version, document) =
        durable::get(engine, Setting::Tokens).await.map_err(|error| error.to_string())?;
    Ok((version, read(document.as_deref())?))
}

/// The book of a document; an empty one if there is none.
pub fn read(document: Option<&[u8]>) -> Result<TokenBook, String> {
    let book = document.map(TokenBook::from_json).transpose();
    let book = book.map_err(|error| format!("the tokens cannot be read: {error}"))?;
    Ok(book.unwrap_or_default())
}

fn now_unix_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Who asks; where nobody is asked who he is, everybody may everything.
fn grant_of(request: &Request<Body>) -> Grant {
    request.extensions().get::<Grant>().cloned().unwrap_or_else(Grant::open)
}

async fn list(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let grant = grant_of(&request);
    let book = shared.identity.tokens();
    let seen = book.list().into_iter().filter(|token| grant.tenants.covers(&token.tenants));
    let tokens: Vec<_> = seen.collect();
    answer(StatusCode::OK, &json!({ "tokens": tokens }))
}

async fn make(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let (grant, address) = (grant_of(&request), record::address_of(&request));
    let body = match body::small(request.into_body(), TOKEN_MAX_REQUEST_BYTES).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let asked: NewToken = match serde_json::from_slice(&body) {
        Ok(asked) => asked,
        Err(error) => {
            let message = format!(
                "{error}: expected {{\"name\": \"…\", \"roles\": [\"write\"], \"tenants\": [\"…\"], \
                 \"expires_unix_secs\": …}}, the last two if needed"
            );
            return json_error(StatusCode::BAD_REQUEST, &message);
        }
    };
    if !grant.may_give(&asked.roles, &asked.tenants) {
        let message = "an admin can give roles and tenants that are his own, and no others";
        return json_error(StatusCode::FORBIDDEN, message);
    }
    durable::apart(async move {
        let _turn = shared.changing.lock().await;
        let made = durable::change(&shared.engine, Setting::Tokens, |document| {
            let mut book = kept(document)?;
            let made = book.make(asked.clone(), now_unix_secs());
            let (text, record) = made.map_err(|error| {
                Box::new(json_error(StatusCode::BAD_REQUEST, &error.to_string()))
            })?;
            Ok((written(&book)?, (book, text, record)))
        });
        match made.await {
            Ok((book, text, record)) => {
                shared.identity.set_tokens(Arc::new(book));
                let made = Action::TokenMade { id: record.id.clone(), name: record.name.clone() };
                record::done(made, &grant, address);
                answer(StatusCode::CREATED, &json!({ "token": text.reveal(), "record": record }))
            }
            Err(response) => *response,
        }
    })
    .await
}

async fn revoke(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let (grant, address) = (grant_of(&request), record::address_of(&request));
    durable::apart(async move {
        let _turn = shared.changing.lock().await;
        let revoked = durable::change(&shared.engine, Setting::Tokens, |document| {
            let mut book = kept(document)?;
            let token = book.revoke(&id).filter(|token| grant.tenants.covers(&token.tenants));
            let Some(record) = token else {
                let message = "there is no token of this id";
                return Err(Box::new(json_error(StatusCode::NOT_FOUND, message)));
            };
            Ok((written(&book)?, (book, record)))
        });
        match revoked.await {
            Ok((book, record)) => {
                shared.identity.set_tokens(Arc::new(book));
                record::done(Action::TokenRevoked { id }, &grant, address);
                answer(StatusCode::OK, &json!({ "revoked": record }))
            }
            Err(response) => *response,
        }
    })
    .await
}

fn kept(document: Option<&[u8]>) -> Result<TokenBook, Box<Response>> {
    read(document).map_err(|why| Box::new(json_error(StatusCode::SERVICE_UNAVAILABLE, &why)))
}

fn written(book: &TokenBook) -> Result<Vec<u8>, Box<Response>> {
    book.to_json()
        .map_err(|error| Box::new(json_error(StatusCode::BAD_REQUEST, &error.to_string())))
}

/// What nobody between is to keep.
fn answer(status: StatusCode, document: &serde_json::Value) -> Response {
    let mut response = typed(status, "application/json", document.to_string());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
