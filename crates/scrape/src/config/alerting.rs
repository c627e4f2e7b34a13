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
//! Nothing here tells anybody of alerts; that is what rules are for. It is read here since its keys
//! are those of scrape jobs: how to ask over HTTP, and relabeling. Refused although Prometheus knows
//! them: discovery by anything but lists, the first version of the API, SigV4, and what jobs may not
//! have.

use std::time::Duration;

use serde_saphyr::{Location, Spanned};

use super::check::{Source, scheme};
use super::error::ConfigError;
use super::http::HttpSettings;
use super::{StaticTargets, raw, relabel, targets};
use crate::relabel::RelabelRule;

/// How long a receiver may take, where it is not said.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Webhooks are told of an alert that goes on firing after this time.
const REPEAT_INTERVAL: Duration = Duration::from_secs(4 * 3_600);

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
#[derive(Clone, PartialEq)]
pub struct WebhookSettings {
    /// Where it is. Often a secret.
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

impl std::fmt::Debug for WebhookSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = crate::shown::origin(&self.url);
        f.debug_struct("WebhookSettings").field("url", &url).finish_non_exhaustive()
    }
}

/// Checks what a file says about receivers.
pub(super) fn settings(
    source: &Source<'_>,
    found: Option<raw::Alerting>,
) -> Result<AlertingSettings, ConfigError> {
    let found = found.unwrap_or_default();
    let alertmanagers = found.alertmanagers.into_iter().flatten();
    let webhooks = found.webhooks.into_iter().flatten();
    Ok(AlertingSettings {
        alert_relabel_rules: rules(source, found.alert_relabel_configs)?,
        alertmanagers: alertmanagers
            .map(|found| alertmanager(source, found))
            .collect::<Result<_, _>>()?,
        webhooks: webhooks.map(|found| webhook(source, found)).collect::<Result<_, _>>()?,
    })
}

fn alertmanager(
    source: &Source<'_>,
    found: Spanned<raw::Alertmanager>,
) -> Result<AlertmanagerSettings, ConfigError> {
    let mut found = found.value;
    if let Some(key) = &found.sigv4 {
        let message = "sigv4 is not supported; use authorization or basic_auth";
        return Err(source.refuse(key.referenced, message));
    }
    if let Some(key) = found.api_version.as_ref().filter(|key| key.value != "v2") {
        let version = &key.value;
        let message =
            format!("expected Alertmanager api version to be one of [v2] but got {version}");
        return Err(source.refuse(key.referenced, message));
    }
    Ok(AlertmanagerSettings {
        scheme: scheme(source, &found.scheme)?,
        path_prefix: found.path_prefix.take().unwrap_or_default(),
        timeout: time(source, &found.timeout, SEND_TIMEOUT)?,
        static_configs: targets::lists(source, found.static_configs.take())?,
        relabel_rules: rules(source, found.relabel_configs.take())?,
        alert_relabel_rules: rules(source, found.alert_relabel_configs.take())?,
        http: HttpSettings::from_raw(source.file, source.directory, found.http())?,
    })
}

fn webhook(
    source: &Source<'_>,
    found: Spanned<raw::Webhook>,
) -> Result<WebhookSettings, ConfigError> {
    let (at, mut found) = (found.referenced, found.value);
    let (url, url_at): (String, Location) =
        found.url.take().map_or((String::new(), at), |url| (url.value, url.referenced));
    // It may be a secret, so it is not quoted.
    let parsed = reqwest::Url::parse(&url);
    if !parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
        let message = "url is missing or wrong; expected such as http://host/path";
        return Err(source.refuse(url_at, message));
    }
    Ok(WebhookSettings {
        url,
        timeout: time(source, &found.timeout, SEND_TIMEOUT)?,
        send_resolved: found.send_resolved.unwrap_or(true),
        repeat_interval: time(source, &found.repeat_interval, REPEAT_INTERVAL)?,
        alert_relabel_rules: rules(source, found.alert_relabel_configs.take())?,
        http: HttpSettings::from_raw(source.file, source.directory, found.http())?,
    })
}

/// Labels of alerts may be any text, whatever those of scraped samples may be.
fn rules(
    source: &Source<'_>,
    found: Option<Vec<Spanned<raw::Relabel>>>,
) -> Result<Vec<RelabelRule>, ConfigError> {
    relabel::rules(source.file, found, false)
}

/// A time; zero is the default.
fn time(
    source: &Source<'_>,
    found: &Option<Spanned<String>>,
    default: Duration,
) -> Result<Duration, ConfigError> {
    let given = source.duration(found)?.filter(|given| !given.is_zero());
    Ok(given.unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Credentials, ScrapeSettings, SecretSource};

    fn parse(yaml: &str) -> Result<AlertingSettings, String> {
        let settings = ScrapeSettings::from_yaml(yaml, Path::new("p.yml"));
        settings.map(|settings| settings.alerting).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place() {
        assert_eq!(parse("").unwrap(), AlertingSettings::default());
        assert_eq!(parse("global: {}\nrule_files: [a]\n").unwrap(), AlertingSettings::default());
        let base = "alerting:\n  alertmanagers:\n    - ";
        for (keys, expected) in [
            ("tiemout: 1s", "p.yml:3:7: tiemout is not a known key; did you mean timeout?"),
            (
                "dns_sd_configs: []",
                "p.yml:3:7: dns_sd_configs is not supported; use static_configs",
            ),
            (
                "api_version: v1",
                "p.yml:3:20: expected Alertmanager api version to be one of [v2] but got v1",
            ),
            (
                "timeout: soon",
                "p.yml:3:16: not a valid duration string: \"soon\"; expected such as 15s",
            ),
            ("scheme: ftp", "p.yml:3:15: unknown scheme \"ftp\"; expected http or https"),
            ("sigv4: {}", "p.yml:3:14: sigv4 is not supported; use authorization or basic_auth"),
            (
                "alert_relabel_configs: [{action: nope}]",
                "p.yml:3:40: unknown relabel action \"nope\"; known are",
            ),
        ] {
            let found = parse(&format!("{base}{keys}\n")).unwrap_err();
            assert!(found.starts_with(expected), "{keys}: {found}");
        }
        let error = parse("alerting: {webhook: []}").unwrap_err();
        assert!(error.contains("webhook is not a known key; did you mean webhooks?"), "{error}");
        let error = parse("alerting:\n  webhooks:\n    - url: secret/x\n").unwrap_err();
        assert_eq!(
            error, "p.yml:3:12: url is missing or wrong; expected such as http://host/path",
            "a secret is not quoted"
        );
    }

    #[test]
    fn texts_are_kept_as_they_are_written() {
        let full = parse(
            "alerting:\n  alertmanagers:\n    - static_configs: [{targets: [a:1], labels: {on: \
             no, zip: 0012345}}]\n      basic_auth: {username: 007, password: 1e3}\n      \
             alert_relabel_configs: [{target_label: x, replacement: yes}]\n",
        )
        .unwrap();
        let alertmanager = &full.alertmanagers[0];
        let labels = &alertmanager.static_configs[0].labels;
        assert_eq!((labels["on"].as_str(), labels["zip"].as_str()), ("no", "0012345"));
        assert_eq!(alertmanager.alert_relabel_rules[0].replacement, "yes");
        let Some(Credentials::Basic { username, password }) = &alertmanager.http.credentials else {
            panic!("{:?}", alertmanager.http)
        };
        for (source, expected) in [(Some(username), "007"), (password.as_ref(), "1e3")] {
            let Some(SecretSource::Inline(secret)) = source else { panic!("{source:?}") };
            assert_eq!(secret.expose(), expected);
        }
    }

    #[test]
    fn a_webhook_is_read_with_all_its_keys_and_shown_without_its_secrets() {
        let full = parse(
            "alerting: {webhooks: [{url: 'http://h/s3cret', send_resolved: false, repeat_interval: \
             1h, timeout: 3s, authorization: {credentials: c}}]}",
        )
        .unwrap();
        let webhook = &full.webhooks[0];
        assert_eq!((webhook.send_resolved, webhook.timeout), (false, Duration::from_secs(3)));
        assert_eq!(webhook.repeat_interval, Duration::from_secs(3_600));
        assert!(webhook.http.credentials.is_some());
        assert!(!format!("{full:?}").contains("s3cret"));
    }
}
