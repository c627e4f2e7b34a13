//! Recording and alerting rules: Prometheus' rule files, from evaluation to notification.
//!
//! ```text
//! rules/*.yml ── RuleFiles ──> groups ──> Manager ── a task for each group
//!                                            │
//!          Evaluate (PromQL, TraceQL) <── rule ──> samples, ends of series ──> Sink
//!                                            │
//!                                  alerts, templates ──> Notify: Notifier ──┬─> Alertmanagers
//!                                                                           └─> webhooks
//! ```
//!
//! A [`Manager`] is given groups and evaluates each in its interval, its rules one after another,
//! so that a rule sees what those before it wrote. What it needs from outside are three traits:
//! [`Evaluate`] answers queries, [`Sink`] writes, [`Notify`] tells receivers; [`Notifier`] is the
//! one that does so over HTTP.
//!
//! It promises: states of alerts, series about them, ends of series, restoring after a restart,
//! templates, limits and messages are those of Prometheus; a rule that fails stops no other; a
//! file with an error is refused with its line and changes nothing.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use kymo_rules::notify::{Notifier, NotifierOptions};
//! use kymo_rules::{Evaluate, Manager, RuleFiles, RuleOptions, Sink};
//! use kymo_scrape::ScrapeSettings;
//!
//! async fn run(
//!     evaluate: Arc<dyn Evaluate>,
//!     sink: Arc<dyn Sink>,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let groups = RuleFiles::load(&["rules/*.yml"])?;
//!     let settings = ScrapeSettings::from_file(Path::new("prometheus.yml"))?;
//!     let notifier = Arc::new(Notifier::start(settings.alerting, NotifierOptions::default())?);
//!     let options = RuleOptions::default();
//!     let manager = Manager::start(groups, evaluate, sink, notifier.clone(), options);
//!     println!("{} groups", manager.groups().len());
//!     manager.reload_files(&["rules/*.yml"]).await?;
//!     manager.shutdown().await;
//!     notifier.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`file`](mod@file), [`error`] | rule files, groups, and what is wrong with them |
//! | [`template`] | texts of labels and annotations |
//! | [`evaluate`] | what is needed from outside |
//! | `alert`, `restore` | states of alerts, and after a restart |
//! | `rule`, `group`, [`manager`] | one rule, one group, all groups |
//! | [`notify`] | telling Alertmanagers and webhooks |
//! | [`state`] | what the API shows |
//! | `options`, [`limits`] | settings, and every limit with its reason |
//! | `time`, `url` | times and links as text |

mod alert;
pub mod error;
pub mod evaluate;
pub mod file;
mod group;
pub mod limits;
pub mod manager;
pub mod notify;
mod options;
mod restore;
mod rule;
pub mod state;
pub mod template;
#[cfg(test)]
mod tests;
mod time;
mod url;

pub use alert::AlertState;
pub use error::RuleError;
pub use evaluate::{BoxFuture, Evaluate, RuleSample, Sink, SinkError, VectorSample};
pub use file::{Group, RuleFiles};
pub use manager::Manager;
pub use notify::{Notifier, Notify};
pub use options::RuleOptions;
