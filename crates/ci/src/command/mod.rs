//! Running a command, with a span around it.
//!
//! What the command does comes first: its output is passed on as it comes, signals reach it, and its
//! status is ours, whatever happens to the span.
//!
//! | module | what is there |
//! |---|---|
//! | `run` | the process: output, signals, status, what it used |
//! | `describe` | the span |

mod describe;
mod run;

pub use describe::{describe, parent_of};
pub use run::{Listen, Outcome, Output, Stream, Usage, run, run_watched};
