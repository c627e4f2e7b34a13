//! The configuration of `kymo serve`.
//!
//! ```text
//!  flags ─────────┐
//!  environment ───┤
//!  --env-file ────┼──> resolve: the first that has a value wins ──> Config ──> ServerOptions
//!  --config ──────┤             (and which one it was)
//!  defaults ──────┘
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `table`, `metrics`, `setting` | every setting, once: key, kind, what it does, the field it sets |
//! | `value`, `amounts` | how values are written |
//! | `flags` | the table as arguments of a command |
//! | `variables` | environment and files of variables |
//! | `yaml` | a YAML file as a tree with places |
//! | `resolve`, `file`, `tenants` | from all of these to a configuration, or to all that is wrong |
//! | `log` | what is logged, and how it looks |
//! | `check` | settings that do not fit together |
//! | `nearest` | what was probably meant |
//! | `command`, `show`, `docs` | `kymo config` |

pub(crate) mod amounts;
mod check;
pub(crate) mod command;
mod docs;
mod file;
mod flags;
pub(crate) mod log;
mod metrics;
mod nearest;
mod resolve;
mod setting;
mod show;
mod table;
mod tenants;
mod value;
mod variables;
mod yaml;

use std::collections::BTreeMap;

use kymo_admit::Limits;
use kymo_server::ServerOptions;

pub(crate) use flags::ConfigArgs;
pub(crate) use resolve::resolve;
pub(crate) use show::without_secrets;

/// All that can be set.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// What the server is told.
    pub(crate) server: ServerOptions,
    /// What tenants may send; part of `server` once all is resolved.
    pub(crate) limits: Limits,
    /// The same for tenants with limits of their own.
    pub(crate) tenant_limits: BTreeMap<String, Limits>,
    /// What is logged.
    pub(crate) log_level: String,
    /// How log lines look.
    pub(crate) log_format: log::LogFormat,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: ServerOptions::default(),
            limits: Limits::default(),
            tenant_limits: BTreeMap::new(),
            log_level: "info".to_owned(),
            log_format: log::LogFormat::default(),
        }
    }
}
