//! Running a command, with a span around it.
//!
//! What the command does comes first: its output is passed on as it comes, signals reach it, and its
//! status is ours, whatever happens to the span.
//!
//! | module | what is there |
//! |---|---|
//! | `run` | the process: status, what it used |
//! | `copying` | its output |
//! | `signals` | whose they are |
//! | `describe` | the span |

mod copying;
mod describe;
mod run;
mod signals;

pub use describe::{describe, parent_of};
pub use run::{Listen, Outcome, Output, Stream, Usage, run, run_watched};
pub use signals::is_ignored;
