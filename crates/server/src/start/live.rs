//! What comes in, each second, as server-sent events.
//!
//! ```text
//!  event: rates
//!  data: {"per_second":{"traces":81,"metrics":60,"logs":12},"refused_per_second":0,…}
//! ```
//!
//! Numbers are those of the whole server, without names. Who comes again after a break gets the next
//! second; nothing is repeated, since totals are told each time. Those who listen are bounded, over all
//! and for each tenant, and end with the server.

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
use kymo_engine::Tenants;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::has_data;
use crate::limits::{
    LIVE_RATES_EVERY, MAX_LIVE_PAGES, MAX_TENANT_LIVE_PAGES, RUNNING_SESSIONS_EVERY,
    UNAVAILABLE_RETRY,
};
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
    /// Places that are taken, by tenant.
    taken: Arc<Mutex<BTreeMap<String, usize>>>,
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
        let places = Arc::new(Semaphore::new(MAX_LIVE_PAGES));
        Self { places, taken: Arc::default(), sessions: Arc::default() }
    }
}

/// The place of one who listens; until it is dropped.
#[derive(Debug)]
struct Place {
    tenants: Tenants,
    taken: Arc<Mutex<BTreeMap<String, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for name in self.tenants.names() {
            if let Some(count) = taken.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    taken.remove(name);
                }
            }
        }
    }
}

impl Listeners {
    /// Lets in one who listens for these tenants, or says why not.
    fn enter(&self, tenants: Tenants) -> Result<Place, String> {
        let permit = self.places.clone().try_acquire_owned();
        let permit = permit
            .map_err(|_| format!("{MAX_LIVE_PAGES} pages are watching already: try again later"))?;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full =
            |name: &str| taken.get(name).is_some_and(|count| *count >= MAX_TENANT_LIVE_PAGES);
        if tenants.names().any(is_full) {
            return Err(format!(
                "{MAX_TENANT_LIVE_PAGES} pages are watching for this tenant already: try again later"
            ));
        }
        for name in tenants.names() {
            *taken.entry(name.to_owned()).or_default() += 1;
        }
        drop(taken);
        Ok(Place { tenants, taken: self.taken.clone(), _permit: permit })
    }

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
    _place: Place,
}

pub(super) async fn watch(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let tenants = match tenant::readable(request.headers()) {
        Ok(tenants) => tenants,
        Err(why) => return json_error(StatusCode::BAD_REQUEST, &why),
    };
    let place = match shared.listeners.enter(tenants) {
        Ok(place) => place,
        Err(why) => {
            let response = json_error(StatusCode::SERVICE_UNAVAILABLE, &why);
            return retry(response, UNAVAILABLE_RETRY);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenant::joined_tenants;

    #[test]
    fn one_tenant_leaves_places_to_others() {
        let listeners = Listeners::default();
        let enter = |names: &str| listeners.enter(joined_tenants(names).unwrap());
        let mut places: Vec<Place> =
            (0..MAX_TENANT_LIVE_PAGES).map(|_| enter("a").unwrap()).collect();
        for full in ["a", "a|b"] {
            assert!(enter(full).unwrap_err().contains("this tenant"), "{full}");
        }
        let left = MAX_LIVE_PAGES - MAX_TENANT_LIVE_PAGES;
        places.extend((0..left).map(|_| enter("b").unwrap()));
        assert!(enter("c").unwrap_err().contains("watching already"));
        places.clear();
        assert!(listeners.taken.lock().unwrap().is_empty());
        let _again = enter("a|b").unwrap();
        assert_eq!(listeners.taken.lock().unwrap().len(), 2);
    }
}
