//! Flight SQL among the other paths of gRPC: behind the same gate, for the tenants that a call names.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::post;
use http::Request;
use kymo_flight::FlightSql;

use crate::grpc::{self, Status};
use crate::router::Shared;
use crate::tenant;

/// Paths of the service.
pub(crate) fn over_grpc(shared: &Shared) -> Router<Shared> {
    let telemetry = shared.telemetry.clone();
    let asked = move |outcome, took| telemetry.query("flight_sql", outcome, took);
    let service = FlightSql::new(shared.engine.clone(), Arc::new(asked));
    let answer = move |request: Request<Body>| answer(service.clone(), request);
    Router::new().route(&format!("{}/{{method}}", FlightSql::PATH), post(answer))
}

async fn answer(service: FlightSql, mut request: Request<Body>) -> Response {
    let tenants = match tenant::readable(request.headers()) {
        Ok(tenants) => tenants,
        Err(message) => return grpc::fail(&Status::invalid(message)),
    };
    request.extensions_mut().insert(tenants);
    service.call(request).await.map(Body::new)
}
