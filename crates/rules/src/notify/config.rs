//! `alerting:` in Prometheus' own YAML, and webhooks beside it.
//!
//! ```yaml
//! alerting:
//!   alert_relabel_configs: [...]
//!   alertmanagers:
//!     - static_configs: [{targets: ["alertmanager:9093"]}]
//!   webhooks:
//!     - url: http://host/hook
//! ```
//!
//! [`AlertingSettings::from_yaml`] reads a whole file of Prometheus and looks at nothing else in
//! it. How to ask over HTTP, and relabeling, are read by `kymo_scrape`, whose keys they are. An
//! error has the line of the entry that it is in. Refused although Prometheus knows them:
//! discovery by anything but lists, the first version of the API, SigV4, and what `kymo_scrape`
//! refuses.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kymo_scrape::ScrapeSettings;
use kymo_scrape::config::{HttpSettings, JobSettings, StaticTargets, parse_duration};
use kymo_scrape::relabel::RelabelRule;
use serde::Deserialize;
use serde_json::{Value, json};
use serde_saphyr::{Location, Spanned};

use crate::error::{RuleError, unknown};
use crate::limits::DEFAULT_SEND_TIMEOUT;

/// Webhooks are told of an alert that goes on firing after this time.
const REPEAT_INTERVAL: Duration = Duration::from_secs(4 * 3_600);

/// Keys that say how to ask over HTTP.
const HTTP_KEYS: [&str; 13] = [
    "basic_auth",
    "authorization",
    "bearer_token",
    "bearer_token_file",
    "oauth2",
    "tls_config",
    "follow_redirects",
    "enable_http2",
    "http_headers",
    "proxy_url",
    "no_proxy",
    "proxy_from_environment",
    "proxy_connect_header",
];

/// Who is told of alerts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlertingSettings {
    /// What is done to the labels of all alerts.
    pub alert_relabel_rules: Vec<RelabelRule>,
    /// Alertmanagers.
    pub alertmanagers: Vec<AlertmanagerSettings>,
    /// Webhooks.
    pub webhooks: Vec<WebhookSettings>,
}

/// An entry of `alertmanagers`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertmanagerSettings {
    /// `http` or `https`.
    pub scheme: String,
    /// What stands before `/api/v2/alerts`.
    pub path_prefix: String,
    /// How long a request may take.
    pub timeout: Duration,
    /// Where they are.
    pub static_configs: Vec<StaticTargets>,
    /// What is done to the labels of targets.
    pub relabel_rules: Vec<RelabelRule>,
    /// What is done to the labels of alerts.
    pub alert_relabel_rules: Vec<RelabelRule>,
    /// How to ask.
    pub http: HttpSettings,
}

/// An entry of `webhooks`.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookSettings {
    /// Where it is.
    pub url: String,
    /// How long a request may take.
    pub timeout: Duration,
    /// Whether it is told of resolved alerts.
    pub send_resolved: bool,
    /// How long after a message it is told again of an alert that goes on firing.
    pub repeat_interval: Duration,
    /// What is done to the labels of alerts.
    pub alert_relabel_rules: Vec<RelabelRule>,
    /// How to ask.
    pub http: HttpSettings,
}

type Entry = BTreeMap<String, Value>;

/// A file of Prometheus. Other keys are none of our business.
#[derive(Debug, Default, Deserialize)]
struct File {
    alerting: Option<Alerting>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Alerting {
    alert_relabel_configs: Option<Spanned<Value>>,
    alertmanagers: Option<Vec<Spanned<Entry>>>,
    webhooks: Option<Vec<Spanned<Entry>>>,
}

impl AlertingSettings {
    /// Reads the text of a file. `path` is what errors name, and its directory is what the paths
    /// in the file are relative to.
    pub fn from_yaml(text: &str, path: &Path) -> Result<Self, RuleError> {
        let found: Option<File> =
            serde_saphyr::from_str(text).map_err(|error| RuleError::from_yaml(path, &error))?;
        let found = found.unwrap_or_default().alerting.unwrap_or_default();
        let alert_relabel_rules = match found.alert_relabel_configs {
            Some(rules) => {
                let reader = Reader { path, at: rules.referenced };
                reader.job(json!({ "metric_relabel_configs": rules.value }))?.metric_relabel_rules
            }
            None => Vec::new(),
        };
        let entries = |found: Option<Vec<Spanned<Entry>>>| found.into_iter().flatten();
        let alertmanagers = entries(found.alertmanagers).map(|entry| alertmanager(path, entry));
        let webhooks = entries(found.webhooks).map(|entry| webhook(path, entry));
        Ok(Self {
            alert_relabel_rules,
            alertmanagers: alertmanagers.collect::<Result<_, _>>()?,
            webhooks: webhooks.collect::<Result<_, _>>()?,
        })
    }

    /// Reads a file.
    pub fn from_file(path: &Path) -> Result<Self, RuleError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| RuleError::new(path, format!("cannot be read: {error}")))?;
        Self::from_yaml(&text, path)
    }
}

/// Where an entry stands.
struct Reader<'a> {
    path: &'a Path,
    at: Location,
}

impl Reader<'_> {
    fn wrong(&self, message: impl Into<String>) -> RuleError {
        RuleError::at(self.path, self.at, message)
    }

    fn check_keys(&self, entry: &Entry, own: &[&'static str]) -> Result<(), RuleError> {
        let known: Vec<&str> = own.iter().copied().chain(HTTP_KEYS).collect();
        match entry.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.wrong(unknown(key, &known))),
            None => Ok(()),
        }
    }

    fn text(&self, entry: &Entry, key: &str) -> Result<Option<String>, RuleError> {
        match entry.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(self.wrong(format!("{key} must be a text"))),
        }
    }

    fn duration(&self, entry: &Entry, key: &str, default: Duration) -> Result<Duration, RuleError> {
        let Some(text) = self.text(entry, key)? else { return Ok(default) };
        let wrong = || {
            self.wrong(format!(
                "{key}: not a valid duration string: {text:?}; expected such as 10s"
            ))
        };
        parse_duration(&text).filter(|found| !found.is_zero()).ok_or_else(wrong)
    }

    /// Has keys read as those of a scrape job, which they are among.
    fn job(&self, keys: Value) -> Result<JobSettings, RuleError> {
        let mut job = json!({ "job_name": "alerting" });
        if let (Some(job), Value::Object(keys)) = (job.as_object_mut(), keys) {
            job.extend(keys);
        }
        // JSON is YAML, too.
        let text = json!({ "scrape_configs": [job] }).to_string();
        let settings = ScrapeSettings::from_yaml(&text, self.path)
            .map_err(|error| self.wrong(error.message))?;
        let job = settings.jobs.first().map(|job| (**job).clone());
        job.ok_or_else(|| self.wrong("expected an entry with keys"))
    }

    /// The keys of an entry that a scrape job has, too.
    fn shared_keys(&self, entry: &Entry, more: &[(&str, &str)]) -> Value {
        let http = HTTP_KEYS.iter().map(|key| (*key, *key));
        let keys = http.chain(more.iter().copied());
        let found = keys.filter_map(|(from, to)| Some((to.to_owned(), entry.get(from)?.clone())));
        Value::Object(found.collect())
    }
}

fn alertmanager(path: &Path, entry: Spanned<Entry>) -> Result<AlertmanagerSettings, RuleError> {
    let (reader, entry) = (Reader { path, at: entry.referenced }, entry.value);
    let own = [
        "scheme",
        "path_prefix",
        "timeout",
        "api_version",
        "static_configs",
        "relabel_configs",
        "alert_relabel_configs",
    ];
    if entry.contains_key("sigv4") {
        return Err(reader.wrong("sigv4 is not supported; use authorization or basic_auth"));
    }
    reader.check_keys(&entry, &own)?;
    if let Some(version) = reader.text(&entry, "api_version")?.filter(|version| version != "v2") {
        let message =
            format!("expected Alertmanager api version to be one of [v2] but got {version}");
        return Err(reader.wrong(message));
    }
    let shared = [
        ("scheme", "scheme"),
        ("static_configs", "static_configs"),
        ("relabel_configs", "relabel_configs"),
        ("alert_relabel_configs", "metric_relabel_configs"),
    ];
    let job = reader.job(reader.shared_keys(&entry, &shared))?;
    Ok(AlertmanagerSettings {
        scheme: job.scheme,
        path_prefix: reader.text(&entry, "path_prefix")?.unwrap_or_default(),
        timeout: reader.duration(&entry, "timeout", DEFAULT_SEND_TIMEOUT)?,
        static_configs: job.static_configs,
        relabel_rules: job.relabel_rules,
        alert_relabel_rules: job.metric_relabel_rules,
        http: job.http,
    })
}

fn webhook(path: &Path, entry: Spanned<Entry>) -> Result<WebhookSettings, RuleError> {
    let (reader, entry) = (Reader { path, at: entry.referenced }, entry.value);
    let own = ["url", "timeout", "send_resolved", "repeat_interval", "alert_relabel_configs"];
    reader.check_keys(&entry, &own)?;
    let url = reader.text(&entry, "url")?.unwrap_or_default();
    let parsed = reqwest::Url::parse(&url);
    if !parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
        return Err(reader.wrong("url is missing or wrong; expected such as http://host/path"));
    }
    let send_resolved = match entry.get("send_resolved") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(value)) => *value,
        Some(_) => return Err(reader.wrong("send_resolved must be true or false")),
    };
    let shared = [("alert_relabel_configs", "metric_relabel_configs")];
    let job = reader.job(reader.shared_keys(&entry, &shared))?;
    Ok(WebhookSettings {
        url,
        timeout: reader.duration(&entry, "timeout", DEFAULT_SEND_TIMEOUT)?,
        send_resolved,
        repeat_interval: reader.duration(&entry, "repeat_interval", REPEAT_INTERVAL)?,
        alert_relabel_rules: job.metric_relabel_rules,
        http: job.http,
    })
}
