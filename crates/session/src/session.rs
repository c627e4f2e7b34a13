//! A session: starting, telling, asking, ending.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use kymo_service::Outlet;
use kymo_wire::Signal;
use opentelemetry::metrics::Meter;
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry::{InstrumentationScope, KeyValue};

use crate::checkpoint::file::Progress;
use crate::clock::{Clock, Deadline};
use crate::define::check_event_name;
use crate::error::SessionError;
use crate::event::{Event, EventName, Opening};
use crate::limits::{END_TIMEOUT, MAX_SUBSCRIBERS};
use crate::once::Once;
use crate::options::{AroundWait, SessionOptions, WhenFull};
use crate::poll::Polling;
use crate::queue::{Log, Message, Queue};
use crate::scope::{OpenSpan, Scope, current_span};
use crate::subscribe::{EventStream, Subscribers, Subscription};
use crate::summary::{FinishedSpan, Metric, ResourceUse, Stats, Summary, TaskCount};
use crate::task::{Task, TaskBuilder};
use crate::worker::instruments::{Lost, Meters};
use crate::worker::state::{Finished, State};
use crate::{fork, ids};

/// How long a question waits for what was told before it.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);

type Enricher = Arc<dyn Fn(&Event) -> Vec<KeyValue> + Send + Sync>;

/// A session. Clones are the same session; it ends with the last of them, if nobody ended it before.
#[derive(Clone)]
pub struct Session {
    handle: Arc<Handle>,
}

/// What ends the session when nobody has it any more. Its threads do not count.
struct Handle {
    shared: Arc<Shared>,
    polling: Mutex<Option<Polling>>,
}

/// What callers and threads share.
pub(crate) struct Shared {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) trace_id: TraceId,
    pub(crate) span_id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) started_nanos: u64,
    pub(crate) checkpoint_path: Option<PathBuf>,
    /// What became of the file; without an error if there should be none.
    pub(crate) checkpoint: Arc<Mutex<Progress>>,
    pub(crate) queue: Queue,
    pub(crate) when_full: WhenFull,
    pub(crate) around_wait: Option<AroundWait>,
    pub(crate) clock: Clock,
    pub(crate) state: Mutex<State>,
    pub(crate) subscribers: Subscribers,
    pub(crate) enrichers: RwLock<Vec<Enricher>>,
    pub(crate) enricher_panics: AtomicU64,
    pub(crate) lost: Lost,
    pub(crate) next_task: AtomicU64,
    pub(crate) meters: Meters,
    pub(crate) outlet: Option<Outlet>,
    /// In which process it was started.
    pub(crate) generation: u32,
    /// Everything that is left is sent at the end.
    pub(crate) sent: Once,
}

impl Shared {
    /// Takes an event in.
    pub(crate) fn emit(&self, mut event: Event) {
        if event.time_nanos == 0 || event.emitted_nanos == 0 {
            let now = self.clock.now();
            if event.time_nanos == 0 {
                event.time_nanos = now;
                event.emitted_nanos = now;
            } else {
                event.emitted_nanos = now;
            }
        }
        self.push(Message::Event(event));
    }

    fn push(&self, message: Message) {
        if fork::generation() == self.generation {
            self.queue.push(message, self.when_full, self.around_wait);
        } else {
            self.queue.count_dropped();
        }
    }

    pub(crate) fn enrichers(&self) -> RwLockReadGuard<'_, Vec<Enricher>> {
        self.enrichers.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count_enricher_panic(&self) {
        if self.enricher_panics.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("an enricher of a session panicked; it is called again");
        }
    }

    /// A state of a task came after its end.
    pub(crate) fn count_after_end(&self) {
        self.lost.after_end.fetch_add(1, Ordering::Relaxed);
    }

    fn checkpoint(&self) -> MutexGuard<'_, Progress> {
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there should be a file and is none.
    fn has_lost_file(&self) -> bool {
        self.checkpoint().error.is_some()
    }

    /// Whether nothing is lost of what the worker was to do.
    fn is_whole(&self) -> bool {
        !self.queue.is_abandoned() && !self.has_lost_file()
    }

    /// Has everything so far written to the file and synced, if there is one.
    fn store(&self, timeout: Duration) -> bool {
        self.push(Message::Flush);
        self.queue.wait_stored(timeout) && self.is_whole()
    }

    /// Whether there are threads that could answer.
    fn is_inert(&self) -> bool {
        fork::generation() != self.generation
    }

    /// Whether who calls could wait for the threads: they are there, and it is not the worker.
    fn can_wait(&self) -> bool {
        !self.is_inert() && !self.queue.is_worker()
    }

    /// Waits until everything that was told is known, unless it is the worker itself that asks.
    fn settle(&self) {
        if self.can_wait() {
            self.queue.wait_handled(QUESTION_TIMEOUT);
        }
    }

    /// Asks what is known. In the child of a fork nothing is: a thread that is not there may have the
    /// lock. An enricher that asks gets no answer either, since the worker is at work.
    fn ask<T: Default>(&self, question: impl FnOnce(&State) -> T) -> T {
        if self.is_inert() {
            return T::default();
        }
        self.settle();
        if self.queue.is_worker() {
            return self.state.try_lock().map_or_else(|_| T::default(), |state| question(&state));
        }
        question(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    /// Starts one: its threads, and its file.
    ///
    /// A file that cannot be written is no error: the session goes on without, says so once, and
    /// [`Session::stats`] tells why.
    pub fn start(options: SessionOptions) -> Result<Self, SessionError> {
        let (shared, poll_every) = crate::start::start(options)?;
        let session = Self { handle: Arc::new(Handle { shared, polling: Mutex::new(None) }) };
        session.shared().emit(Event::new(EventName::SessionStarted));
        if let Some(every) = poll_every {
            match Polling::start(session.shared(), every) {
                Ok(polling) => *session.polling() = Some(polling),
                Err(error) => {
                    tracing::warn!(%error, "node and GPUs are not measured: no thread for it");
                }
            }
        }
        Ok(session)
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    fn polling(&self) -> MutexGuard<'_, Option<Polling>> {
        self.handle.polling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared().id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared().name
    }

    /// Its trace.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.shared().trace_id
    }

    /// Its own span.
    #[must_use]
    pub fn span_id(&self) -> SpanId {
        self.shared().span_id
    }

    /// Its own span as a W3C traceparent, for processes and messages.
    #[must_use]
    pub fn traceparent(&self) -> String {
        ids::traceparent(self.trace_id(), self.span_id())
    }

    /// A meter for instruments of the program's own: they go where the session's own go.
    #[must_use]
    pub fn meter(&self, name: &'static str) -> Meter {
        self.shared().meters.meter(InstrumentationScope::builder(name).build())
    }

    /// Its file, if there is one.
    #[must_use]
    pub fn checkpoint_path(&self) -> Option<&Path> {
        self.shared().checkpoint_path.as_deref()
    }

    /// Now, as the session counts, in nanoseconds since 1970.
    #[must_use]
    pub fn now_nanos(&self) -> u64 {
        self.shared().clock.now()
    }

    /// A task that is about to be created.
    pub fn task(&self, name: impl Into<Cow<'static, str>>) -> TaskBuilder {
        TaskBuilder::new(self.clone(), name.into())
    }

    pub(crate) fn next_task_id(&self) -> Arc<str> {
        let number = self.shared().next_task.fetch_add(1, Ordering::Relaxed) + 1;
        // Without `format!`: this is on the way of every task.
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number);
        let mut text = String::with_capacity(32);
        text.push_str("task.");
        text.push_str(&"000000"[digits.len().min(6)..]);
        text.push_str(digits);
        text.into()
    }

    /// Runs something as a task, with its whole life. An error is a failure, and so is a panic,
    /// which goes on.
    pub fn run<T, E: Debug>(
        &self,
        name: impl Into<Cow<'static, str>>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let task: Task = self.task(name).create();
        task.submitted();
        task.started();
        let current = task.context().attach();
        let result = catch_unwind(AssertUnwindSafe(work));
        drop(current);
        match result {
            Ok(Ok(value)) => {
                task.completed();
                Ok(value)
            }
            Ok(Err(error)) => {
                let kind = std::any::type_name::<E>();
                let kind = kind.rsplit("::").next().unwrap_or(kind);
                task.failed(kind, format!("{error:?}"));
                Err(error)
            }
            Err(panic) => {
                let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
                task.failed("panic", said.unwrap_or_default());
                resume_unwind(panic);
            }
        }
    }

    /// A span of the program's own, the current one of this thread until it is dropped.
    #[must_use = "a scope ends when it is dropped"]
    pub fn scope(&self, name: impl Into<Cow<'static, str>>, attributes: Vec<KeyValue>) -> Scope {
        Scope::new(self.start_span(name, None, attributes))
    }

    /// A span of the program's own that somebody ends. Unless a parent is given, it lies in the
    /// scope around this call.
    pub fn start_span(
        &self,
        name: impl Into<Cow<'static, str>>,
        parent: Option<SpanId>,
        attributes: Vec<KeyValue>,
    ) -> OpenSpan {
        let span_id = ids::span_id();
        let mut event = Event::new(EventName::SpanStarted);
        event.span_id = Some(span_id);
        let parent = parent.or_else(|| current_span(self.trace_id()));
        event.opens = Some(Box::new(Opening { name: name.into(), parent }));
        event.attributes = attributes;
        self.emit(event);
        OpenSpan::new(self.clone(), span_id)
    }

    /// Something happened in the scope around this call, else in the session.
    pub fn annotate(&self, name: impl Into<String>, attributes: Vec<KeyValue>) {
        let span = current_span(self.trace_id()).unwrap_or(self.span_id());
        self.annotate_span(span, name.into(), attributes);
    }

    /// Something happened in a span of the session.
    pub fn annotate_span(&self, span: SpanId, name: String, attributes: Vec<KeyValue>) {
        let time_nanos = self.now_nanos();
        self.push(Message::Annotate { span, time_nanos, name, attributes });
    }

    /// Records an event, whatever it is. Events of the program's own should be declared
    /// ([`crate::EventKind`]). Beginning and end of the session are for the session to tell: they are
    /// refused, and counted as lost.
    pub fn emit(&self, event: Event) {
        match event.name {
            EventName::SessionStarted | EventName::SessionEnded => {
                self.shared().queue.count_dropped();
            }
            _ => self.shared().emit(event),
        }
    }

    /// Records an event of the program's own by its name, which needs a namespace.
    pub fn emit_named(&self, name: &str, attributes: Vec<KeyValue>) -> Result<(), SessionError> {
        check_event_name(name)?;
        self.emit(Event { attributes, ..Event::new(EventName::Custom(name.into())) });
        Ok(())
    }

    /// A line of a log, in the session's trace. Severities are those of OpenTelemetry, 1 to 24.
    pub fn log(&self, severity: u8, body: impl Into<String>, attributes: Vec<KeyValue>) {
        let span = current_span(self.trace_id()).unwrap_or(self.span_id());
        let (time_nanos, body) = (self.now_nanos(), body.into());
        self.push(Message::Log(Box::new(Log { time_nanos, severity, body, span, attributes })));
    }

    /// A request of others, in OTLP's protobuf, as a line of the file.
    pub fn add_request(&self, signal: Signal, request: Vec<u8>) {
        self.push(Message::Request(signal, request));
    }

    /// More is known of the session.
    pub fn set_attributes(&self, attributes: Vec<KeyValue>) {
        self.push(Message::SetAttributes { span: self.span_id(), attributes });
    }

    /// The session ends with an error.
    pub fn fail(&self, message: impl Into<String>) {
        self.push(Message::Fail(message.into()));
    }

    pub(crate) fn push(&self, message: Message) {
        self.shared().push(message);
    }

    pub(crate) fn count_after_end(&self) {
        self.shared().count_after_end();
    }

    /// Calls a function with all events from now on, on the session's thread, a batch at a time.
    pub fn subscribe(&self, callback: impl FnMut(&[Event]) + Send + 'static) -> Subscription {
        self.shared().subscribers.callback(Box::new(callback))
    }

    /// All events from now on, as a channel. What it has no room for is lost for its reader.
    #[must_use]
    pub fn channel(&self, capacity: usize) -> Receiver<Event> {
        self.shared().subscribers.channel(capacity)
    }

    /// All events from now on, as an asynchronous stream. What it has no room for is lost for its
    /// reader.
    #[must_use]
    pub fn stream(&self, capacity: usize) -> EventStream {
        self.shared().subscribers.stream(capacity)
    }

    /// Asks a function for more attributes of every task, when its span begins. It runs on the
    /// session's thread.
    pub fn enrich(&self, enricher: impl Fn(&Event) -> Vec<KeyValue> + Send + Sync + 'static) {
        let mut enrichers = self.shared().enrichers.write().unwrap_or_else(PoisonError::into_inner);
        if enrichers.len() < MAX_SUBSCRIBERS {
            enrichers.push(Arc::new(enricher));
        }
    }

    /// Tasks by state.
    #[must_use]
    pub fn task_count(&self) -> TaskCount {
        self.shared().ask(|state| state.count)
    }

    /// What happened so far, in few numbers.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let shared = self.shared();
        let (ended, tasks, duration, resources) = shared
            .ask(|state| (state.ended_nanos, state.count, state.durations, state.resources()));
        let until = ended.unwrap_or_else(|| shared.clock.now());
        let duration_seconds = until.saturating_sub(shared.started_nanos) as f64 / 1e9;
        Summary { session_id: shared.id.clone(), duration_seconds, tasks, duration, resources }
    }

    /// Spans that have ended, the oldest first; as many as are kept.
    #[must_use]
    pub fn spans(&self) -> Vec<FinishedSpan> {
        let trace_id = self.trace_id();
        let span = |finished: &Finished| match finished {
            Finished::Task(task) => task.to_span(trace_id),
            Finished::Span(span) => span.to_span(trace_id),
        };
        self.shared().ask(|state| state.finished.iter().map(span).collect())
    }

    /// The instruments as they stand, with all that was told before.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        if self.shared().is_inert() {
            return Vec::new();
        }
        self.shared().settle();
        self.shared().meters.read().map(crate::summary::metrics_of).unwrap_or_default()
    }

    /// Nodes and GPUs, as they were last.
    #[must_use]
    pub fn resources(&self) -> Vec<ResourceUse> {
        self.shared().ask(State::resources)
    }

    /// What became of events, files and what was sent.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let shared = self.shared();
        let known = shared.ask(|state| {
            let file = shared.checkpoint();
            Stats {
                events: state.events,
                attributes_dropped: state.attributes_dropped,
                spans_forgotten: state.spans_forgotten,
                checkpoint_bytes: file.whole_bytes,
                checkpoint_error: file.error.clone(),
                ..Stats::default()
            }
        });
        Stats {
            dropped: shared.lost.dropped.load(Ordering::Relaxed),
            after_end: shared.lost.after_end.load(Ordering::Relaxed),
            subscribers_missed: shared.subscribers.missed(),
            panics: shared.subscribers.panics() + shared.enricher_panics.load(Ordering::Relaxed),
            export: shared.outlet.as_ref().map(Outlet::counts),
            ..known
        }
    }

    /// Waits until everything so far is in the file, synced, and sent. False if that takes longer, or
    /// the file could not be written. On the session's own thread, as in a callback, it waits for
    /// nothing and is false.
    pub fn flush(&self, timeout: Duration) -> bool {
        let shared = self.shared();
        if !shared.can_wait() {
            return false;
        }
        let until = Deadline::after(timeout);
        let is_stored = shared.store(timeout);
        let is_sent = shared.outlet.as_ref().is_none_or(|outlet| outlet.flush(until.left()));
        is_stored && is_sent
    }

    /// Waits until everything so far is in the file and synced, be it sent or not: a server that is
    /// gone holds up [`Session::flush`], and not this. False if it takes longer, or the file could
    /// not be written; true at once if there should be no file. On the session's own thread it waits
    /// for nothing and is false.
    pub fn flush_file(&self, timeout: Duration) -> bool {
        let shared = self.shared();
        if !shared.can_wait() {
            return false;
        }
        match shared.checkpoint_path {
            Some(_) => shared.store(timeout),
            None => !shared.has_lost_file(),
        }
    }

    /// Ends the session: what is told later is lost. Waits until everything is in the file and sent;
    /// false if that takes longer or something of it failed. A second call only waits, and says the
    /// same.
    pub fn end(&self, timeout: Duration) -> bool {
        self.handle.end(timeout)
    }

    /// Whether its work is done: it was ended, and nothing waits any more, be it sent or not.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        let shared = self.shared();
        if shared.is_inert() || !shared.queue.has_finished() {
            return false;
        }
        shared.outlet.is_none() || shared.sent.is_done()
    }
}

impl Handle {
    fn end(&self, timeout: Duration) -> bool {
        let shared = &self.shared;
        if shared.is_inert() {
            return false;
        }
        let until = Deadline::after(timeout);
        drop(self.polling.lock().unwrap_or_else(PoisonError::into_inner).take());
        let now = shared.clock.now();
        let last =
            Event { time_nanos: now, emitted_nanos: now, ..Event::new(EventName::SessionEnded) };
        shared.queue.close(Message::Event(last));
        if shared.queue.is_worker() || !shared.queue.wait_finished(timeout) {
            return false;
        }
        let is_sent = match &shared.outlet {
            Some(outlet) => shared.sent.run(until, || self.send_the_rest(outlet, until)),
            None => true,
        };
        is_sent && shared.is_whole()
    }

    /// Has everything sent that is not.
    fn send_the_rest(&self, outlet: &Outlet, until: Deadline) -> bool {
        // On a thread of its own: the SDK waits for a server as long as it pleases.
        let (told, heard) = std::sync::mpsc::channel();
        let (metrics, time) = (self.shared.clone(), until.left());
        let work = move || {
            // Nobody may wait for it any more.
            let _ = told.send(metrics.meters.shutdown(time));
        };
        let thread = std::thread::Builder::new().name("kymo-metrics".to_owned()).spawn(work);
        let are_records_sent = outlet.shutdown(until.left());
        let are_metrics_sent = thread.is_ok() && heard.recv_timeout(until.left()).unwrap_or(false);
        are_records_sent && are_metrics_sent
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end(END_TIMEOUT);
    }
}

// A panic of the program leaves nothing half done here: it is not on the session's thread, and locks
// are taken whole.
impl std::panic::UnwindSafe for Session {}
impl std::panic::RefUnwindSafe for Session {}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).finish_non_exhaustive()
    }
}
