//! How a session comes to be: ids, resource, file, threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use kymo_service::{Outlet, OutletOptions};
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::LogProcessor;
use opentelemetry_sdk::trace::SpanProcessor;

use crate::checkpoint::file::{CheckpointFile, Progress};
use crate::checkpoint::{Lines, VERSION, Writer};
use crate::clock::Clock;
use crate::error::SessionError;
use crate::export::Exporting;
use crate::limits::LONGEST_WAIT;
use crate::once::Once;
use crate::options::{Parent, SessionOptions};
use crate::poll::node_name;
use crate::queue::Queue;
use crate::session::Shared;
use crate::subscribe::Subscribers;
use crate::worker::Worker;
use crate::worker::instruments::{Instruments, Lost, Meters};
use crate::worker::record::SpanRecord;
use crate::worker::state::State;
use crate::{fork, ids};

const VERSION_OF_CRATE: &str = env!("CARGO_PKG_VERSION");

/// Everything but the first event and the thread that polls.
pub(crate) fn start(
    mut options: SessionOptions,
) -> Result<(Arc<Shared>, Option<Duration>), SessionError> {
    options.check()?;
    let longest = |time: Duration| time.min(LONGEST_WAIT);
    options.flush_every = longest(options.flush_every);
    options.metrics_every = longest(options.metrics_every);
    options.poll_every = options.poll_every.map(longest);
    let generation = fork::generation();
    let clock = Clock::new();
    let started_nanos = clock.now();
    let id = options.id.clone().unwrap_or_else(|| format!("{}.{}", options.name, ids::short()));
    let (trace_id, parent) = trace_of(&options.parent)?;
    let span_id = ids::span_id();
    let resource = resource(&options, &id);
    let attributes: Vec<KeyValue> =
        resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let scope = InstrumentationScope::builder("kymograph").with_version(VERSION_OF_CRATE).build();

    let outlet = match &options.export {
        Some(settings) if !settings.is_nowhere() => {
            Some(Outlet::start(settings, &resource, OutletOptions::default())?)
        }
        _ => None,
    };
    let sending = outlet.as_ref().zip(options.export.as_ref());
    let meters = Meters::new(resource.clone(), sending, options.metrics_every, options.meter)?;
    let mut spans: Vec<Box<dyn SpanProcessor>> = options.span_processors;
    let mut logs: Vec<Box<dyn LogProcessor>> = options.log_processors;
    if let Some(outlet) = &outlet {
        spans.push(Box::new(outlet.span_processor()));
        logs.push(Box::new(outlet.log_processor()));
    }
    let backend: Option<Arc<str>> = options.backend.as_deref().map(Into::into);
    let lost = Lost::default();
    let instruments = Instruments::new(&meters.meter(scope.clone()), backend.clone(), &lost);
    let exporting = Exporting::new(&resource, scope, trace_id, spans, logs);

    let mut lines = Lines::new(&attributes, VERSION_OF_CRATE, trace_id);
    lines.header(&serde_json::json!({
        "kymo": "checkpoint", "version": VERSION, "session_id": id, "name": options.name,
        "trace_id": trace_id.to_string(), "span_id": span_id.to_string(),
        "started_unix_nano": started_nanos.to_string(),
    }));
    // The file says when it is synced, to a session that is made of it.
    let known: Arc<Mutex<Weak<Shared>>> = Arc::default();
    let synced = {
        let known = known.clone();
        move |count| {
            let shared = known.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
            if let Some(shared) = shared {
                shared.queue.stored(count);
            }
        }
    };
    let (file, error) = match CheckpointFile::create(&options.checkpoint, &id, synced) {
        Ok(file) => (file, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let checkpoint_path = file.as_ref().map(|file| file.path().to_owned());
    let progress = file.as_ref().map(CheckpointFile::progress);
    let mut writer = Writer::new(file, lines, options.flush_every);
    if let Some(error) = &error {
        writer.give_up(error);
    }
    let checkpoint =
        progress.unwrap_or_else(|| Arc::new(Mutex::new(Progress { error, ..Progress::default() })));
    writer.added(0);

    let mut state = State::new(options.keep_spans);
    let mut attributes = vec![KeyValue::new("session.name", options.name.clone())];
    attributes.extend(backend.map(|backend| KeyValue::new("backend", backend)));
    let session = SpanRecord {
        name: "session".into(),
        span_id,
        parent,
        attributes,
        annotations: Vec::new(),
        begin: started_nanos,
        end: 0,
        error: None,
    };
    state.spans.insert(span_id, session);

    let shared = Arc::new(Shared {
        id,
        name: options.name,
        trace_id,
        span_id,
        parent,
        started_nanos,
        checkpoint_path,
        checkpoint,
        queue: Queue::new(options.queue_events, lost.dropped.clone()),
        when_full: options.when_full,
        around_wait: options.around_wait,
        clock,
        state: Mutex::new(state),
        subscribers: Subscribers::default(),
        enrichers: RwLock::default(),
        enricher_panics: AtomicU64::new(0),
        lost,
        next_task: AtomicU64::new(0),
        meters,
        outlet,
        generation,
        sent: Once::default(),
    });
    *known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&shared);
    let worker = Worker::new(shared.clone(), writer, exporting, instruments, options.metrics_every);
    let thread = std::thread::Builder::new().name("kymo-session".to_owned());
    let left = shared.clone();
    let work = move || {
        left.queue.become_worker();
        if catch_unwind(AssertUnwindSafe(|| worker.run())).is_err() {
            // A processor of the program's own panicked. The program goes on without the session.
            tracing::error!(session = left.id, "a session ends early: its thread panicked");
            // Those that the worker had went with it.
            left.subscribers.end(&mut Vec::new());
            left.queue.abandon();
        }
    };
    thread.spawn(work).map_err(SessionError::Thread)?;
    Ok((shared, options.poll_every))
}

/// The trace of a session, and the span that it lies in.
fn trace_of(parent: &Parent) -> Result<(TraceId, Option<SpanId>), SessionError> {
    match parent {
        Parent::None => Ok((ids::trace_id(), None)),
        Parent::Traceparent(text) => {
            ids::parse_traceparent(text).map(|(trace, span)| (trace, Some(span)))
        }
        Parent::Environment => {
            let text = std::env::var("TRACEPARENT").ok().filter(|text| !text.is_empty());
            match text.map(|text| ids::parse_traceparent(&text)) {
                Some(Ok((trace, span))) => Ok((trace, Some(span))),
                Some(Err(error)) => {
                    tracing::warn!("TRACEPARENT is ignored: {error}");
                    Ok((ids::trace_id(), None))
                }
                None => Ok((ids::trace_id(), None)),
            }
        }
    }
}

/// What everything of the session has in common. What the program says wins over the environment.
fn resource(options: &SessionOptions, id: &str) -> Resource {
    let from_environment = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let service = options.service_name.clone().or(from_environment);
    let service = service.unwrap_or_else(|| options.name.clone());
    let own = [
        KeyValue::new("session_id", id.to_owned()),
        KeyValue::new("session.name", options.name.clone()),
        KeyValue::new("host.name", node_name()),
        KeyValue::new("process.pid", i64::from(std::process::id())),
        KeyValue::new("telemetry.sdk.name", "kymograph"),
        KeyValue::new("telemetry.sdk.language", options.language),
        KeyValue::new("telemetry.sdk.version", VERSION_OF_CRATE),
    ];
    // The builder reads OTEL_RESOURCE_ATTRIBUTES.
    Resource::builder()
        .with_service_name(service)
        .with_attributes(own)
        .with_attributes(options.attributes.clone())
        .build()
}
