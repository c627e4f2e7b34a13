//! What comes in, each second, as server-sent events.
//!
//! ```text
//!  event: rates
//!  data: {"per_second":{"traces":81,"metrics":60,"logs":12},"refused_per_second":0,…}
//! ```
//!
//! Numbers are those of the whole server, without names. Who comes again after a break gets the next
//! second; nothing is repeated, since totals are told each time. Those who listen are bounded, and
//! end with the server.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use http::{HeaderMap, Request, StatusCode};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::has_data;
use crate::limits::{LIVE_RATES_EVERY, MAX_LIVE_PAGES, RUNNING_SESSIONS_EVERY, UNAVAILABLE_RETRY};
use crate::reply::{json_error, retry, streamed};
use crate::router::Shared;
use crate::telemetry::Totals;
use crate::{sessions, tenant};

/// Asks proxies to pass on what comes as it comes.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Those who listen, and what is looked up for all of them.
#[derive(Debug, Clone)]
pub(crate) struct Listeners {
    places: Arc<Semaphore>,
    /// Sessions that run, by the tenants that a request named.
    sessions: Arc<Mutex<BTreeMap<String, Counted>>>,
}

/// A count, and when it was begun. While it is counted again, the last one holds.
#[derive(Debug)]
struct Counted {
    begun: Instant,
    count: Option<usize>,
}

impl Default for Listeners {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_LIVE_PAGES)), sessions: Arc::default() }
    }
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Counted>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who listens.
struct Listening {
    shared: Shared,
    headers: HeaderMap,
    before: Totals,
    at: Instant,
    is_first: bool,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn watch(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let Ok(place) = shared.listeners.places.clone().try_acquire_owned() else {
        let message = format!("{MAX_LIVE_PAGES} pages are watching already: try again later");
        let response = json_error(StatusCode::SERVICE_UNAVAILABLE, &message);
        return retry(response, UNAVAILABLE_RETRY);
    };
    let listening = Listening {
        before: shared.telemetry.totals().read(),
        headers: request.headers().clone(),
        at: Instant::now(),
        is_first: true,
        _place: place,
        shared,
    };
    let pieces = futures::stream::unfold(listening, |mut listening| async move {
        let piece = listening.next().await?;
        Some((Ok::<_, io::Error>(piece), listening))
    });
    let mut response = streamed("text/event-stream", pieces);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

impl Listening {
    /// What is told next; nothing when the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::take(&mut self.is_first) {
            tokio::select! {
                () = tokio::time::sleep(LIVE_RATES_EVERY) => {}
                () = self.shared.receiver.live.ended() => return None,
            }
        }
        let sessions_running = self.sessions();
        // A store that cannot be read is told by everything else.
        let has_data = has_data(&self.shared).await.unwrap_or(true);
        let now = self.shared.telemetry.totals().read();
        let seconds = self.at.elapsed().max(Duration::from_millis(1)).as_secs_f64();
        let rate = |now: u64, before: u64| {
            (now.saturating_sub(before) as f64 / seconds * 10.0).round() / 10.0
        };
        let records = |of: &dyn Fn(usize) -> serde_json::Value| json!({ "traces": of(0), "metrics": of(1), "logs": of(2) });
        let document = json!({
            "per_second": records(&|n| rate(now.records[n], self.before.records[n]).into()),
            "received": records(&|n| now.records[n].into()),
            "refused_per_second": rate(now.refused, self.before.refused),
            "refused": now.refused,
            "sessions_running": sessions_running,
            "has_data": has_data,
            "demo": self.shared.demo.is_running(),
        });
        (self.before, self.at) = (now, Instant::now());
        Some(Bytes::from(format!("event: rates\ndata: {document}\n\n")))
    }

    /// Sessions that run, as they were last counted: nobody waits for a query here.
    fn sessions(&self) -> Option<usize> {
        let about = &self.shared.about;
        if !about.has_store || !about.parts.sessions {
            return None;
        }
        let whose = self.headers.get(tenant::HEADER);
        let whose = whose.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let mut all = self.shared.listeners.lock();
        if all.len() > MAX_LIVE_PAGES {
            all.clear();
        }
        let known = all.get(&whose);
        let (count, is_due) = match known {
            Some(counted) => (counted.count, counted.begun.elapsed() >= RUNNING_SESSIONS_EVERY),
            None => (None, true),
        };
        if is_due {
            all.insert(whose.clone(), Counted { begun: Instant::now(), count });
            let (shared, headers) = (self.shared.clone(), self.headers.clone());
            let counting = async move {
                let count = sessions::running(&shared, &headers).await;
                if let Some(counted) = shared.listeners.lock().get_mut(&whose) {
                    counted.count = count;
                }
            };
            // An engine that stops answers nobody any more.
            let _ = self.shared.engine.spawn(counting);
        }
        count
    }
}
