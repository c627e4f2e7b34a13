//! The server: OTLP in, SQL and traces out.
//!
//! ```text
//!  gRPC  ─┐                        ┌──────────┐ synced   answer
//!  HTTP  ─┼─> Receiver ─> admit ─> │ journal  │ ───────> to the sender
//!  JSON  ─┘   (receive)            └────┬─────┘
//!                                       │ upkeep: apply, flush, compact, delete
//!                                   store ──> engine ──> /api/sql, /tempo/api/traces
//! ```
//!
//! A request is read with a limit on bytes and time, admitted, appended to the journal, and
//! answered when the journal has it on disk. Threads of its own carry it on into the store
//! (`upkeep`); queries run on the engine's threads. So neither a flush nor a scan stands between
//! a sender and its answer.
//!
//! # Layout
//! | module | what it holds |
//! |---|---|
//! | [`server`], [`options`] | starting, stopping, settings |
//! | `listen`, `heads` | sockets, connections, their limits; clients that begin to ask and never end |
//! | [`access`] | who may connect and ask |
//! | `start`, `admin`, `demo` | what the page begins with and follows; what admins look at; living data |
//! | `audience`, `durable` | who is recorded; documents that change while the server runs |
//! | `deletion` | records that are to go for good |
//! | `bound`, `alias` | all ports together, and those that other systems had |
//! | `router` | which path goes where |
//! | `receive` | one request from bytes to acknowledgement |
//! | `otlp` | the protocols around it: gRPC, HTTP with protobuf and JSON |
//! | [`inlet`] | OTLP taken in without a server behind it, for `kymo run` |
//! | `grpc`, `jsonpb` | what all gRPC methods share; JSON as protobuf maps it |
//! | `sql`, `tempo`, `jaeger`, `prometheus`, `loki`, `reply` | query APIs, and how they say what went wrong |
//! | `sessions`, `live` | what programs tell of their runs; requests as they come, for those who watch |
//! | `ci` | webhooks of GitHub |
//! | `flight` | Flight SQL among the other paths of gRPC |
//! | `postgres` | who may ask by PostgreSQL's protocol |
//! | `page`, `page_api` | pages for browsers, and links of other systems; what pages ask for |
//! | `mcp` | queries as tools of language models |
//! | `correlate` | what belongs together, over all signals |
//! | `export` | log records as they were sent |
//! | `question` | what questions of Prometheus', Loki's and Tempo's APIs have in common |
//! | `parameters`, `times` | what stands in URLs and forms: values, moments, durations |
//! | [`mod@format`] | batches as JSON, CSV and Arrow |
//! | [`collect`] | what the server gathers itself: the machine, targets that it scrapes |
//! | [`derive`] | metrics that are made of spans |
//! | `upkeep` | threads that apply, flush, compact and delete |
//! | `telemetry` | the server's own metrics |
//! | [`limits`] | bounds, each with its reason |

pub mod access;
mod admin;
mod alias;
mod answer;
mod audience;
mod body;
mod bound;
mod ci;
pub mod collect;
mod correlate;
mod deletion;
mod demo;
pub mod derive;
mod durable;
mod error;
mod export;
mod flight;
pub mod format;
mod grpc;
mod heads;
pub mod inlet;
mod jaeger;
mod jsonpb;
pub mod limits;
mod listen;
mod live;
mod loki;
mod mcp;
pub mod options;
mod otlp;
mod page;
mod page_api;
mod parameters;
mod postgres;
mod prometheus;
mod question;
mod receive;
mod reply;
mod router;
pub mod server;
mod sessions;
mod sql;
mod start;
mod telemetry;
mod tempo;
mod tenant;
mod times;
mod upkeep;

pub use collect::CollectOptions;
pub use correlate::{Correlated, Part, Question, Subject, correlate};
pub use derive::DeriveOptions;
pub use error::ServerError;
pub use export::delimited;
pub use loki::loki_json;
pub use options::{Parts, RetentionOptions, ServerOptions};
pub use prometheus::prometheus_json;
pub use server::{Addresses, Server};
pub use tempo::{DAMAGED_BLOCKS, NEXT_CURSOR, NO_ROOT, spans_table};
pub use tenant::joined_tenants;
