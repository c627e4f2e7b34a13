//! Telling Alertmanagers and webhooks.
//!
//! ```text
//! alerts ─> external labels ─> relabel ─┬─> relabel ─> queue ─> batches of 64 ─> Alertmanager
//!                                       └─> relabel ─> queue ─> what changed ──> webhook
//! ```
//!
//! Each receiver has a queue and a task of its own, so that one that hangs holds up no other. What
//! a receiver cannot take now is sent again after a while; what it refuses is dropped and counted;
//! where more waits than the queue holds, the oldest is dropped and counted. The URL of a webhook is
//! often a secret: logs, errors and numbers show its scheme and host alone.

mod alert;
mod client;
mod message;
mod notifier;
mod sender;
#[cfg(test)]
mod tests;

pub use alert::{AlertmanagerTarget, Alertmanagers, Notify, OutgoingAlert, Silent};
pub use kymo_scrape::config::{AlertingSettings, AlertmanagerSettings, WebhookSettings};
pub use notifier::{Notifier, NotifierOptions, PreparedReceivers, ReceiverStats};
