//! What a session did: recordings, their analysis, and pages for people.
//!
//! ```text
//!  requests of OTLP ──> Recording ──> Session ──> Analysis ──> text, Markdown, JSON, HTML
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`recording`] | sessions, put together from spans, events and metrics |
//! | [`analysis`] | their figures |
//! | [`render`] | the figures as a page |
//! | [`limits`] | every bound, with its reason |
//! | [`units`], [`spark`] | numbers and texts as people read them, and as drawings of a line |
//!
//! No input makes it panic, and memory is bounded. Nothing is asked of the network; the page of
//! HTML asks for nothing either.

pub mod analysis;
mod error;
#[cfg(test)]
mod fixture;
pub mod limits;
pub mod recording;
pub mod render;
pub mod spark;
mod times;
pub mod units;

pub use analysis::{Analysis, Comparison, compare};
pub use error::ReportError;
pub use recording::{Found, Recording, Session};
pub use units::Unit;
