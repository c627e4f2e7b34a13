//! Living data without a command: a demo that runs inside the server.
//!
//! | question | answer |
//! |---|---|
//! | `GET /api/demo` | whether one runs, since when, what it sent |
//! | `POST /api/demo` | starts one; `{"history": "30m"}` says how much lies behind |
//! | `DELETE /api/demo` | ends it |
//!
//! Its records go the way of any sender's: limits, rules and the audience hold for them. There is one
//! at a time, and it ends with the server. What it sent stays, marked by `kymo.demo`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{Request, StatusCode};
use kymo_admit::{Compression, Format};
use kymo_demo::{Demo, Detail};
use kymo_identity::{Grant, Role};
use kymo_wire::Limits;
use kymo_wire::inspect::inspect;
use kymo_yaml::amounts;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::limits::{
    DEMO_DEFAULT_HISTORY, DEMO_MAX_HISTORY, DEMO_MAX_REQUEST_BYTES, DEMO_TELLS_EVERY,
};
use crate::receive::{Content, Incoming};
use crate::reply::{json_error, typed};
use crate::router::Shared;
use crate::telemetry::Protocol;
use crate::{body, tenant};

/// The demo of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Demos(Arc<Mutex<Option<Arc<Running>>>>);

/// One that runs, or has.
#[derive(Debug)]
struct Running {
    tenant: String,
    started_millis: u64,
    records: AtomicU64,
    refused: AtomicU64,
    /// Nanoseconds since 1970 until which everything is told.
    told_nanos: AtomicU64,
    is_stopped: AtomicBool,
    stopping: tokio::sync::Notify,
}

/// What may be said of one that is to start.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// How much lies behind, such as `30m`.
    history: Option<String>,
    /// Another world.
    seed: Option<u64>,
}

/// The paths.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new().route("/api/demo", get(show).post(start).delete(stop))
}

impl Demos {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<Running>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.lock().as_ref().is_some_and(|running| !running.is_over())
    }

    /// How it stands.
    pub(crate) fn state(&self) -> Value {
        match &*self.lock() {
            None => json!({ "running": false }),
            Some(running) => json!({
                "running": !running.is_over(),
                "started_millis": running.started_millis,
                "records": running.records.load(Ordering::Relaxed),
                "refused": running.refused.load(Ordering::Relaxed),
                "told_until_millis": running.told_nanos.load(Ordering::Relaxed) / 1_000_000,
            }),
        }
    }
}

impl Running {
    fn is_over(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.stopping.notify_waiters();
    }
}

async fn show(State(shared): State<Shared>) -> Response {
    answer(StatusCode::OK, &shared.demo.state())
}

/// Ends it, for an admin of the tenant that gets its records, whichever he names.
async fn stop(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let grant = request.extensions().get::<Grant>().cloned().unwrap_or_else(Grant::open);
    if let Some(running) = &*shared.demo.lock() {
        if !running.is_over() && !grant.may(Role::Admin, &running.tenant) {
            let message = "the demo runs for another tenant: who looks after that can end it";
            return json_error(StatusCode::FORBIDDEN, message);
        }
        running.end();
    }
    answer(StatusCode::OK, &shared.demo.state())
}

async fn start(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let wrong = |why: &str| json_error(StatusCode::BAD_REQUEST, why);
    let tenant = match tenant::of(request.headers()) {
        Ok(tenant) => tenant.to_owned(),
        Err(why) => return wrong(&why),
    };
    let body = match body::small(request.into_body(), DEMO_MAX_REQUEST_BYTES).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let (history, seed) = match asked(&body) {
        Ok(asked) => asked,
        Err(why) => return wrong(&why),
    };
    let now = now_nanos();
    let running = Arc::new(Running {
        tenant,
        started_millis: now / 1_000_000,
        records: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        told_nanos: AtomicU64::new(0),
        is_stopped: AtomicBool::new(false),
        stopping: tokio::sync::Notify::new(),
    });
    {
        let mut demo = shared.demo.lock();
        if demo.as_ref().is_some_and(|running| !running.is_over()) {
            let message = "a demo runs already: end it with DELETE /api/demo first";
            return json_error(StatusCode::CONFLICT, message);
        }
        *demo = Some(running.clone());
    }
    let start_nanos = now.saturating_sub(nanos(history));
    let demo = Demo::new(seed, start_nanos);
    tokio::spawn(live(shared.clone(), running, demo, seed, now));
    answer(StatusCode::ACCEPTED, &shared.demo.state())
}

fn asked(body: &[u8]) -> Result<(Duration, u64), String> {
    let asked: Asked = match body.trim_ascii() {
        b"" => Asked::default(),
        body => serde_json::from_slice(body)
            .map_err(|error| format!("{error}: expected {{\"history\": \"30m\", \"seed\": 1}}"))?,
    };
    let history = match asked.history.as_deref() {
        None => DEMO_DEFAULT_HISTORY,
        Some(text) => amounts::duration(text)
            .filter(|history| *history <= DEMO_MAX_HISTORY)
            .ok_or_else(|| format!("history is {text:?}: expected a duration of at most 24h"))?,
    };
    Ok((history, asked.seed.unwrap_or(1)))
}

/// Tells what happens until somebody stops it.
async fn live(shared: Shared, running: Arc<Running>, demo: Demo, seed: u64, began_nanos: u64) {
    let went = tell(&shared, &running, demo, seed, began_nanos);
    tokio::select! {
        () = went => {}
        () = running.stopping.notified() => {}
        () = shared.receiver.live.ended() => {}
    }
    running.end();
}

async fn tell(shared: &Shared, running: &Running, mut demo: Demo, seed: u64, began_nanos: u64) {
    while !running.is_over() {
        let to_nanos = now_nanos();
        let behind_nanos = to_nanos.saturating_sub(demo.now_nanos());
        if demo.now_nanos() >= began_nanos && behind_nanos > nanos(DEMO_MAX_HISTORY) {
            // The machine slept for longer than any history is.
            demo = Demo::new(seed, to_nanos);
        }
        // It may have been stopped before anybody waited to be told.
        while demo.now_nanos() < to_nanos && !running.is_over() {
            let detail = match demo.now_nanos() < began_nanos {
                true => Detail::Coarse,
                false => Detail::of(demo.now_nanos(), to_nanos),
            };
            let requests = tokio::task::block_in_place(|| demo.advance(to_nanos, detail));
            for request in requests {
                receive(shared, running, request).await;
            }
            running.told_nanos.store(demo.now_nanos(), Ordering::Relaxed);
        }
        tokio::time::sleep(DEMO_TELLS_EVERY).await;
    }
}

/// Sends a request as anybody would: what is refused for now is sent again once.
async fn receive(shared: &Shared, running: &Running, request: kymo_demo::Request) {
    let inspected = inspect(request.signal, &request.body, &Limits::default());
    let records = inspected.map_or(0, |inspected| inspected.items);
    let signal = request.signal;
    let incoming = Incoming {
        tenant: &running.tenant,
        signal,
        protocol: Protocol::Demo,
        content: Content::Otlp(Format::Protobuf),
        compression: Compression::None,
        body: request.body.into(),
    };
    let mut received = shared.receiver.receive(incoming.clone()).await;
    if let Err(failure) = &received
        && let Some(after) = failure.retry_after
    {
        tokio::time::sleep(after).await;
        received = shared.receiver.receive(incoming).await;
    }
    match received {
        Ok(_) => running.records.fetch_add(records, Ordering::Relaxed),
        Err(failure) => {
            shared.receiver.refused(&running.tenant, signal, &failure);
            running.refused.fetch_add(records, Ordering::Relaxed)
        }
    };
}

fn answer(status: StatusCode, document: &Value) -> Response {
    typed(status, "application/json", document.to_string())
}

fn now_nanos() -> u64 {
    nanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::tests::shared;

    #[test]
    fn what_is_asked_is_a_bounded_history() {
        assert_eq!(asked(b"").unwrap(), (DEMO_DEFAULT_HISTORY, 1));
        let half = asked(br#"{"history": "30m", "seed": 7}"#).unwrap();
        assert_eq!(half, (Duration::from_secs(1_800), 7));
        assert!(asked(br#"{"history": "90d"}"#).unwrap_err().contains("at most"));
        assert!(asked(br#"{"hist": 1}"#).unwrap_err().contains("expected"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_demo_runs_at_a_time_and_ends_when_it_is_told_to() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        let ask = || Request::builder().body(Body::from(r#"{"history": "1m"}"#)).unwrap();
        let first = start(State(shared.clone()), ask()).await;
        assert_eq!(first.status(), StatusCode::ACCEPTED);
        let second = start(State(shared.clone()), ask()).await;
        assert_eq!(second.status(), StatusCode::CONFLICT);
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while shared.demo.state()["records"].as_u64().unwrap() == 0 {
            assert!(tokio::time::Instant::now() < deadline, "{}", shared.demo.state());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let stop = async |grant: Grant| {
            let mut request = Request::new(Body::empty());
            request.extensions_mut().insert(grant);
            super::stop(State(shared.clone()), request).await.status()
        };
        let of_other = kymo_identity::Tenants::Named(["other".to_owned()].into());
        let other = Grant { tenants: of_other, ..Grant::open() };
        assert_eq!(stop(other).await, StatusCode::FORBIDDEN);
        assert!(shared.demo.is_running());
        assert!(shared.demo.state()["tenant"].is_null(), "names of tenants are not for everybody");
        assert_eq!(stop(Grant::open()).await, StatusCode::OK);
        assert!(!shared.demo.is_running());
        let third = start(State(shared.clone()), ask()).await;
        assert_eq!(third.status(), StatusCode::ACCEPTED);
        shared.receiver.live.close();
        while shared.demo.is_running() {
            assert!(tokio::time::Instant::now() < deadline, "it ends with the server");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
