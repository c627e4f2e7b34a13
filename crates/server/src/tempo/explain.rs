//! `GET /api/traceql/explain`: how a query would be answered, as text for people.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{Request, StatusCode};

use super::asked::{self, Asked};
use super::range;
use crate::reply::plain;
use crate::router::Shared;

pub(super) async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let explained = async |asked: Asked| {
        let text = asked.parameters.get("q").unwrap_or("{ }").to_owned();
        let time = range::of_search(&asked.parameters)?;
        let say = |error| format!("invalid TraceQL query: {error}");
        let query = asked::parse(&shared, text, say).await?;
        let text = shared.engine.explain_traceql(&asked.tenants, query, time).await?;
        Ok(plain(StatusCode::OK, text))
    };
    asked::answer(&shared, "explain", request, explained).await
}
