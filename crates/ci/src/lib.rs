//! GitHub Actions runs as traces.
//!
//! ```text
//!  files, REST API, webhooks ── input ──> Run, Jobs, Steps ──┐
//!  what jobs left behind ────── stash ──> attributes, spans ─┼─> summary | rapids ──> Trace ── encode ──> send
//!  GITHUB_…, OTEL_…, TRACEPARENT ────────> identity ─────────┘                                           (gRPC, HTTP,
//!  a command ── command ──────────────────────────────────────────────────────────> Trace ───────────>  spool)
//! ```
//!
//! Nothing here may break a build. What is odd becomes a warning, and everything else is sent.
//!
//! | module | what it is for |
//! |---|---|
//! | [`model`], [`input`] | runs, jobs and steps, in all forms in which GitHub tells them |
//! | [`identity`], [`ids`] | which run it is; ids that everybody can compute |
//! | [`summary`] | a run as a trace |
//! | [`rapids`] | the same, exactly as the existing system makes it |
//! | [`stash`], [`steps`] | files that jobs left behind, and the steps that they are of |
//! | [`variables`] | what jobs tell each other through their environment |
//! | [`command`], [`redact`] | running a command with a span around it; secrets in its line |
//! | [`github`] | GitHub's REST API |
//! | [`webhook`] | payloads that GitHub sends |
//! | [`shift`] | moving the times of a saved run |
//! | [`report`] | what a person wants to know of a run |
//! | [`span`], [`attributes`], [`encode`], [`send`] | spans on their way to a server |
//! | [`environment`], [`resource_attributes`], [`text`], [`times`], [`warnings`] | small things that all share |
//! | [`limits`] | bounds, each with its reason |

pub mod attributes;
pub mod command;
pub mod encode;
pub mod environment;
pub mod github;
pub mod identity;
pub mod ids;
pub mod input;
pub mod limits;
pub mod model;
pub mod rapids;
pub mod redact;
pub mod report;
pub mod resource_attributes;
pub mod send;
pub mod shift;
pub mod span;
pub mod stash;
pub mod steps;
pub mod summary;
pub mod text;
pub mod times;
pub mod variables;
pub mod warnings;
pub mod webhook;
