//! The audience: who is recorded.
//!
//! A [`Flag`] says of whom records are kept: of nobody, of everybody, or of selected users. It is
//! decided at admission, before anything is kept, and can be changed at any time. A record is kept
//! only if every enabled flag that is about it allows its user; with no flag, everybody is recorded.
//!
//! ```text
//! API, command line, page ─> FlagBook ─> durable ─> Audience::replace
//!                               │                          │
//!       OFREP: may I send? <────┘      request ─> Audience::gate ─> learn, records ─> kept or not
//! ```
//!
//! What it promises:
//! - From the first request after [`Audience::replace`], no record of an excluded user is kept, and
//!   none of a trace that is known to be theirs.
//! - A trace is decided by one user, the one named first. Until one is named, `unknown` decides.
//! - A client that asks over OFREP is told what admission will do.
//! - Memory is bounded, however many traces and users there are: see [`limits`].
//! - `Debug` of nothing here names a user.
//!
//! What it does not do: it takes nothing back that was recorded before a change, and it does not
//! remember over a restart whose a trace is. Users are looked for in attributes of a record, of its
//! scope and of its resource. Those of events, links and exemplars name nobody as the user, but have to
//! be allowed too.
//!
//! ```
//! use kymo_admit::audience::{Audience, AudienceSettings, Author, FlagBook, api, ofrep};
//!
//! let mut book = FlagBook::default();
//! let author = Author { by: "root", at_millis: 1_767_323_045_000 };
//! let new = br#"{"key": "flag_ot_traces", "attributes": ["user.id"]}"#;
//! assert_eq!(api::create(&mut book, new, &AudienceSettings::default(), &author).status, 201);
//!
//! // A new flag starts as nobody.
//! let question = br#"{"context": {"targetingKey": "ada"}}"#;
//! let answer = ofrep::evaluate(&book, "flag_ot_traces", question);
//! assert!(String::from_utf8_lossy(&answer.body).contains(r#""value":false"#));
//!
//! let change = br#"{"mode": "selected", "add_users": ["ada"]}"#;
//! assert!(api::patch(&mut book, "flag_ot_traces", change, &author).is_success());
//! let answer = ofrep::evaluate(&book, "flag_ot_traces", question);
//! assert!(String::from_utf8_lossy(&answer.body).contains(r#""value":true"#));
//!
//! let audience = Audience::default();
//! assert!(audience.gate("default").is_none());
//! audience.replace(book);
//! assert!(audience.gate("default").is_some());
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`flag`], [`patch`] | a flag, and what is said to make or change one |
//! | [`book`], [`audit`] | all flags as one document, and who changed them |
//! | [`rule`] | whether one flag allows a user |
//! | [`Audience`] | the flags in force |
//! | [`gate`] | the decision on the records of a request |
//! | `rule_set`, `memory` | flags arranged for that, and whose traces are |
//! | [`ofrep`], [`api`] | what is answered over HTTP |
//! | [`settings`] | how a new flag starts |
//! | [`limits`] | every bound, with its reason |

mod answer;
pub mod api;
pub mod audit;
pub mod book;
pub mod flag;
pub mod gate;
mod handle;
pub mod limits;
mod memory;
pub mod ofrep;
pub mod patch;
pub mod rule;
mod rule_set;
pub mod settings;

pub use answer::Answer;
pub use audit::{Action, AuditEntry};
pub use book::{Author, Change, FlagBook};
pub use flag::{Flag, FlagError, Mode, Unknown};
pub use gate::Gate;
pub use handle::Audience;
pub use patch::FlagPatch;
pub use settings::AudienceSettings;
