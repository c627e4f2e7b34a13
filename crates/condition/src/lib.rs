//! Conditions on telemetry as it comes, without a store: TraceQL's field expressions on spans, log
//! records, data points and series, and requests written again without what does not meet them.
//!
//! ```text
//! text ─> Condition ──┐
//!                     ├─> matches ─> true or false
//! bytes ─> Record ────┘        │
//!   │                          ▼
//!   └────────────────> edit: the same request without some records, or with other attributes
//! ```
//!
//! What it promises:
//! - A condition means what it means in a query, as far as one record alone can tell. What it cannot
//!   tell (the trace's root, its duration, a span's parent) is refused when the text is read.
//! - A request is walked, not decoded. What stays is copied as it came, fields that nobody here knows
//!   included.
//! - No bytes make it panic.
//!
//! ```
//! use kymo_condition::{Condition, ConditionError, edit};
//! use kymo_wire::{Signal, WireError};
//!
//! fn of_service(request: &[u8]) -> Result<edit::Retained, WireError> {
//!     let condition = Condition::parse(r#"resource.service.name =~ "etl-.*""#).unwrap();
//!     edit::retain(Signal::Traces, request, &mut |record| condition.matches(record))
//! }
//! # assert_eq!(of_service(&[]), Ok(edit::Retained::All));
//!
//! let error = Condition::parse("span.size >").unwrap_err();
//! assert_eq!(error.to_string(), "column 12: unexpected end of the condition, expected a value");
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`Condition`] | one condition |
//! | [`Conditions`], [`Reading`] | several that look at a record once |
//! | [`Record`] | what they look at: a record with its resource and scope |
//! | `plan`, `value` | which values are read where, and what they are compared as |
//! | `shortcut` | conditions that are answered by what is missing |
//! | [`edit`] | requests written again |
//! | [`limits`] | every limit, with its reason |
//! | `error` | what can be wrong with the text |

mod condition;
mod conditions;
pub mod edit;
mod error;
pub mod limits;
mod plan;
mod reading;
mod record;
mod shortcut;
mod value;

pub use condition::Condition;
pub use conditions::Conditions;
pub use error::ConditionError;
pub use reading::Reading;
pub use record::{Label, Part, PointKind, Record};
