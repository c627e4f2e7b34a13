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
//! | `table`, `access`, `metrics`, `setting` | every setting, once: key, kind, what it does, the field it sets |
//! | `value` | how values are written |
//! | `flags` | the table as arguments of a command |
//! | `variables` | environment and files of variables |
//! | `resolve`, `file`, `sections`, `tenants` | from all of these to a configuration, or to all that is wrong |
//! | `graphistry` | names of another system's file of variables |
//! | `log` | what is logged, and how it looks |
//! | `check` | settings that do not fit together |
//! | `command`, `show`, `docs` | `kymo config` |

mod access;
mod check;
pub(crate) mod command;
mod derived;
mod docs;
mod file;
mod flags;
mod graphistry;
pub(crate) mod log;
mod loki;
mod metrics;
mod resolve;
mod sections;
mod setting;
pub(crate) mod show;
mod table;
mod tenants;
mod value;
mod variables;

use std::collections::BTreeMap;

use kymo_admit::Limits;
use kymo_admit::rules::RuleSettings;
use kymo_server::ServerOptions;
use kymo_yaml::Secret;

use sections::Sections;

pub(crate) use flags::ConfigArgs;
pub(crate) use resolve::resolve;
pub(crate) use sections::url_without_secrets;

/// All that can be set.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// What the server is told.
    pub(crate) server: ServerOptions,
    /// What tenants may send; part of `server` once all is resolved.
    pub(crate) limits: Limits,
    /// The same for tenants with limits of their own.
    pub(crate) tenant_limits: BTreeMap<String, Limits>,
    /// What becomes of records before they are kept; part of `server` once all is resolved.
    pub(crate) rules: Vec<RuleSettings>,
    /// What rules mix into values that they hash.
    pub(crate) rules_hash_salt: Option<Secret>,
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
            rules: Vec::new(),
            rules_hash_salt: None,
            log_level: "info".to_owned(),
            log_format: log::LogFormat::default(),
        }
    }
}

impl Config {
    /// Takes what a file has of lists and other shapes.
    fn take(&mut self, sections: Sections) {
        let Sections {
            destinations,
            rules,
            listeners,
            users,
            client_certificates,
            oidc,
            security_headers,
        } = sections;
        self.rules = rules;
        self.server.destinations = destinations;
        let access = &mut self.server.access;
        access.listeners = listeners;
        access.users = users;
        access.client_certificates = client_certificates;
        access.oidc = oidc;
        access.security_headers = security_headers;
    }
}
