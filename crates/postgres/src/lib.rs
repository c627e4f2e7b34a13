//! PostgreSQL's protocol over the engine: for `psql`, drivers, and programs that know no other.
//!
//! ```text
//!  TCP ─> startup (TLS, login) ─> session ─┬─ statement: SET, BEGIN, … answered here
//!                                          └─ portal: engine.ask ─> rows ─> values (text, binary)
//!  TCP ─> cancel request ─────────> cancels ──┘
//! ```
//!
//! Promised: a message of a client is read within bounds, whatever it says of its length; an answer
//! is sent as the client takes it, and its query ends when the client goes away or cancels it; nothing
//! is written, whoever asks.
//!
//! Refused: COPY, LISTEN, replication, function calls; what the engine refuses. Transactions are
//! accepted and mean nothing: each query sees what was acknowledged before it.
//!
//! Messages to clients and their layout are those of the crate `pgwire`. Messages of clients are read
//! here: it trusts the counts in them, and panics on one that lies.
//!
//! | module | what it holds |
//! |---|---|
//! | `server` | what all connections share, and their beginning |
//! | `door` | who is let in, decided by whoever listens |
//! | `startup` | TLS and login |
//! | `session` | a connection that may ask: simple and extended protocol |
//! | `portal` | a query that is being answered |
//! | `statement` | which statements there are in a text, and what they are |
//! | `settings` | settings of a session |
//! | `values` | values as text and as bytes, both ways |
//! | `message`, `wire` | messages of clients; reading and writing |
//! | `cancel` | queries that can be cancelled from elsewhere |
//! | `error` | what went wrong, with its SQLSTATE |
//! | [`limits`] | bounds, each with its reason |

mod cancel;
mod door;
mod error;
pub mod limits;
mod message;
mod portal;
mod server;
mod session;
mod settings;
mod startup;
mod statement;
mod values;
mod wire;

pub use door::{Admitted, Door, Login, Refused};
pub use server::Postgres;
