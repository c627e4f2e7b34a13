//! Sessions: telemetry inside a program, with nothing to install beside it.
//!
//! A session is a trace. Its tasks are spans, what happens to them is events, what the machine does
//! is measured while it lasts. All of it goes to a [checkpoint] file, to subscribers inside the
//! program, and, if an endpoint is named, to a server.
//!
//! ```text
//!  Session, Task, Scope ──┐                          ┌─> checkpoint: OTLP/JSON lines, synced
//!  Session::emit ─────────┼─> queue ──> worker ──────┼─> instruments, spans ──> exporters
//!  poll: node and GPUs ───┘  (bounded)  (one thread) ├─> subscribers
//!                                                    └─> summary, the last spans
//! ```
//!
//! ```
//! use kymo_session::{Checkpoint, KeyValue, Session, SessionOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let place = tempfile::tempdir()?;
//! let mut options = SessionOptions::new("train");
//! options.checkpoint = Checkpoint::Directory(place.path().to_owned());
//! let session = Session::start(options)?;
//!
//! let task = session.task("epoch").attribute(KeyValue::new("epoch", 1)).create();
//! task.submitted();
//! task.started();
//! task.completed();
//!
//! let loss: Result<f64, String> = session.run("evaluate", || Ok(0.25));
//! assert_eq!(loss, Ok(0.25));
//! session.end(std::time::Duration::from_secs(5));
//! assert_eq!(session.task_count().completed, 2);
//! # Ok(())
//! # }
//! ```
//!
//! What it promises: a call costs well under a microsecond and never waits for a file or a network.
//! Only a full queue can make it wait, and only if the program chose that ([`WhenFull`]). Nothing
//! that goes wrong here (a disk that is full, a server that is gone, a subscriber that panics)
//! reaches the program: it is counted ([`Session::stats`]) and said once. In the child of a fork a
//! session that was started before is inert.
//!
//! | module | what it is for |
//! |---|---|
//! | [`session`], [`options`], `start` | starting, asking, ending |
//! | [`task`], [`scope`] | what has a beginning and an end: tasks, spans of the program's own |
//! | [`event`], [`define`] | what happens; events that programs declare |
//! | [`subscribe`] | callbacks, channels, streams |
//! | [`summary`] | what is known at the moment |
//! | [`checkpoint`] | the file |
//! | `queue`, `worker` | the way from calls to everything else |
//! | `poll` | node and GPUs, again and again |
//! | `export` | spans, events and metrics for exporters of the ecosystem |
//! | `clock`, [`ids`], `fork`, `once` | time that does not step back; random ids; children; what is done once |
//! | [`limits`] | bounds, each with its reason |

pub mod checkpoint;
mod clock;
pub mod define;
mod error;
pub mod event;
mod export;
mod fork;
pub mod ids;
pub mod limits;
mod once;
pub mod options;
mod poll;
mod queue;
pub mod scope;
pub mod session;
mod start;
pub mod subscribe;
pub mod summary;
pub mod task;
mod worker;

pub use define::{EventKind, FieldKind};
pub use error::SessionError;
pub use event::{Event, EventName, Opening};
pub use fork::forked_in_child;
pub use kymo_wire::Signal;
pub use opentelemetry::metrics;
pub use opentelemetry::trace::{SpanId, TraceId};
pub use opentelemetry::{Array, Key, KeyValue, StringValue, Value};
pub use options::{AroundWait, Checkpoint, Parent, SessionOptions, WhenFull};
pub use scope::{OpenSpan, Scope};
pub use session::Session;
pub use subscribe::{EventStream, Subscription};
pub use summary::{
    FinishedSpan, Metric, Point, ResourceUse, SpanStatus, Stats, Summary, TaskCount,
};
pub use task::{Task, TaskBuilder};

/// What the guide shows is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sessions/quickstart.md")]
struct Quickstart;
