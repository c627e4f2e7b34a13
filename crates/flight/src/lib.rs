//! Arrow Flight SQL over the engine: answers as Arrow, column by column, for programs that compute.
//!
//! ```text
//!  GetFlightInfo(query) ─> describe ─> schema, ticket = the query itself
//!  DoGet(ticket) ────────> engine.ask ─> batches ─> FlightData, as the client takes them
//! ```
//!
//! Nothing is remembered between calls: a ticket is the query, the handle of a prepared statement is
//! the query with its values. So any server that has the data answers it, and there is nothing to
//! clean up. A client that goes away ends its query.
//!
//! Refused: updates, ingestion, transactions, Substrait.
//!
//! | module | what it holds |
//! |---|---|
//! | `service` | the methods |
//! | `handle` | prepared statements as bytes |
//! | `values` | parameters of a batch |
//! | `answer` | rows as a stream, errors as statuses |
//! | `about` | what the server says of itself, its tables and types |
//! | [`limits`] | bounds, each with its reason |

mod about;
mod answer;
mod handle;
pub mod limits;
mod service;
mod values;

pub use service::{Ended, FlightSql};
