//! Who may connect and ask.
//!
//! ```text
//!  connection ─ TLS ─> Peer ─┐
//!                            ▼
//!  request ──> gate: origin, base path ─> no secret in the URL ─> who is it ─> may he ─> router
//!                            │                                      │
//!                            └── headers that make browsers careful ◄┘ 400, 401, 403, 429
//! ```
//!
//! Behind the gate nobody asks again: a request there is allowed, and its header `X-Scope-OrgID` names
//! tenants that are open to its sender. Who that is stands in its extensions, as a `Grant`.
//!
//! | module | what is there |
//! |---|---|
//! | `options` | what is configured, and what it means for each listener |
//! | `gate` | the decision on a request |
//! | `needs` | which role a path needs |
//! | `record` | what is written down of it |
//! | `request_id` | how a request is called, in its answer and in what is written down |
//! | `tokens` | tokens over our API |
//! | `provider` | keys of an identity provider, over HTTP |

mod gate;
mod needs;
mod options;
mod provider;
pub(crate) mod record;
pub(crate) mod request_id;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;

pub(crate) use gate::{Behind, Entrance, guarded};
pub use options::{AccessOptions, LISTENERS, ListenerOptions, TlsOptions};
pub(crate) use options::{Doors, is_local};
pub(crate) use provider::Provider;
pub(crate) use record::Failures;
pub use tokens::read as read_tokens;
