//! What the page asks for: `kymo_page`, which is told whose data is meant and who asks.
//!
//! Bodies are read before they come there, as everywhere: within the budget, within their time, and no
//! longer than one stops coming. Questions take their room from what is being received, files to look at
//! from a budget of their own.

use std::path::PathBuf;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::{Request, StatusCode};
use kymo_identity::Grant;
use kymo_page::{UPLOAD_MAX_BYTES, UPLOAD_PATH};

use crate::body::{self, BodyError, Bounds};
use crate::limits::{PAGE_FILE_TIMEOUT, PAGE_QUESTION_BYTES, PAGE_QUESTION_TIMEOUT};
use crate::reply::{self, json_error};
use crate::router::Shared;
use crate::tenant;

/// Every path, with dashboards of some folders beside those of the store.
pub(crate) fn over_http(shared: &Shared, dashboard_paths: Vec<PathBuf>) -> Router<Shared> {
    let dashboards = kymo_page::Dashboards::provisioned(dashboard_paths);
    let page = kymo_page::Page { engine: shared.engine.clone(), dashboards };
    kymo_page::over_http(page).layer(from_fn_with_state(shared.clone(), pass))
}

/// Says whose data a request means and who asks, and reads its body.
async fn pass(State(shared): State<Shared>, mut request: Request<Body>, next: Next) -> Response {
    let tenants = match tenant::readable(request.headers()) {
        Ok(tenants) => tenants,
        Err(why) => return json_error(StatusCode::BAD_REQUEST, &why),
    };
    request.extensions_mut().insert(tenants);
    if let Some(grant) = request.extensions().get::<Grant>() {
        let asker = kymo_page::Asker(grant.name.clone());
        request.extensions_mut().insert(asker);
    }
    match received(&shared, request).await {
        Ok(request) => next.run(request).await,
        Err(response) => *response,
    }
}

/// The request with its body, or what is answered instead.
async fn received(shared: &Shared, request: Request<Body>) -> Result<Request<Body>, Box<Response>> {
    let is_file = request.uri().path() == UPLOAD_PATH;
    let (bounds, budget) = match is_file {
        true => (Bounds::new(UPLOAD_MAX_BYTES, PAGE_FILE_TIMEOUT), &shared.files),
        false => {
            let bounds = Bounds::new(PAGE_QUESTION_BYTES, PAGE_QUESTION_TIMEOUT);
            (bounds, &shared.receiver.budget)
        }
    };
    body::received(request, bounds, budget).await.map_err(|error| {
        let too_large = |what: String| json_error(StatusCode::PAYLOAD_TOO_LARGE, &what);
        Box::new(match error {
            BodyError::TooLarge { limit_bytes } if is_file => {
                let mebibytes = limit_bytes >> 20;
                let why = "`kymo import` stores any size";
                too_large(format!("the file has more than {mebibytes} MiB: {why}"))
            }
            BodyError::TooLarge { limit_bytes } => {
                too_large(format!("the body is larger than the {limit_bytes} bytes that are read"))
            }
            error => reply::refused(error.into(), |status, why| json_error(status, &why)),
        })
    })
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use http::header::{CONTENT_TYPE, RETRY_AFTER};
    use tower::ServiceExt;

    use super::*;
    use crate::body::Reservation;
    use crate::router::tests::shared;

    async fn post(shared: &Shared, path: &str, body: Body) -> (Response, usize) {
        let router = over_http(shared, Vec::new()).with_state(shared.clone());
        let request = Request::post(path).header(CONTENT_TYPE, "application/json").body(body);
        let response = router.oneshot(request.unwrap()).await.unwrap();
        (response, shared.files.used_bytes() + shared.receiver.budget.used_bytes())
    }

    async fn text(response: Response) -> String {
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn what_is_posted_to_the_page_is_refused_while_there_is_no_room_for_it() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        let (files, receiving) = (&shared.files, &shared.receiver.budget);
        for (path, budget, other) in [
            (UPLOAD_PATH, files, receiving),
            ("/api/links", receiving, files),
            ("/api/traces/search", receiving, files),
            ("/api/dashboards", receiving, files),
            ("/api/dashboards/import", receiving, files),
            ("/api/dashboards/layout", receiving, files),
            ("/api/dashboards/query", receiving, files),
        ] {
            let full = Reservation::of(budget, 1 << 40);
            let (refused, _) = post(&shared, path, Body::from("{}")).await;
            assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
            assert!(refused.headers().contains_key(RETRY_AFTER), "{path}");
            drop(full);
            let others = Reservation::of(other, 1 << 40);
            let (taken, _) = post(&shared, path, Body::from("{}")).await;
            assert_ne!(taken.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
            drop((taken, others));
            let used_bytes = files.used_bytes() + receiving.used_bytes();
            assert_eq!(used_bytes, 0, "{path} gives back what it took");
        }
    }

    #[tokio::test]
    async fn what_is_too_large_is_refused_with_the_limit_and_takes_no_room() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        for (path, bytes, word) in [
            (UPLOAD_PATH, UPLOAD_MAX_BYTES, "256 MiB: `kymo import`"),
            ("/api/dashboards/import", PAGE_QUESTION_BYTES, "16777216 bytes"),
        ] {
            let (refused, used_bytes) = post(&shared, path, Body::from(vec![0; bytes + 1])).await;
            assert_eq!((refused.status(), used_bytes), (StatusCode::PAYLOAD_TOO_LARGE, 0));
            let why = text(refused).await;
            assert!(why.contains(word), "{why}");
        }
    }

    #[tokio::test]
    async fn a_file_of_dashboards_as_large_as_the_page_takes_gets_there() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        // A list of JSON that does not end.
        let mut file = vec![b' '; PAGE_QUESTION_BYTES];
        file[0] = b'[';
        let (refused, _) = post(&shared, "/api/dashboards/report", Body::from(file)).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    }
}
