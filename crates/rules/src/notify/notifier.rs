//! All receivers of a configuration.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kymo_scrape::Labels;
use kymo_scrape::config::StaticTargets;
use kymo_scrape::relabel::{RelabelRule, relabel};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::alert::{AlertmanagerTarget, Alertmanagers, Notify, OutgoingAlert};
use super::client::Client;
use super::config::{AlertingSettings, AlertmanagerSettings};
use super::sender::{Language, Queue, Receiver, run};
use crate::limits::FIRST_RETRY;
use crate::state::lock;

/// What is not in the settings.
#[derive(Debug, Clone, PartialEq)]
pub struct NotifierOptions {
    /// Labels that alerts get which have no such label.
    pub external_labels: BTreeMap<String, String>,
    /// Where this server is reached, for webhooks.
    pub external_url: String,
    /// The pause after the first attempt that failed.
    pub first_retry: Duration,
}

impl Default for NotifierOptions {
    fn default() -> Self {
        let (external_labels, external_url) = Default::default();
        Self { external_labels, external_url, first_retry: FIRST_RETRY }
    }
}

/// What became of the alerts for a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverStats {
    /// The receiver.
    pub url: String,
    /// Alerts that it took.
    pub sent: u64,
    /// Alerts that it will never get: too many waited, or it did not take them.
    pub dropped: u64,
    /// Requests that failed.
    pub failed_requests: u64,
    /// Alerts that wait for it.
    pub queued: usize,
}

/// Tells receivers of alerts until it is shut down or dropped.
#[derive(Debug)]
pub struct Notifier {
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    settings: AlertingSettings,
    options: NotifierOptions,
    receivers: Vec<Handle>,
    dropped: Vec<AlertmanagerTarget>,
}

#[derive(Debug)]
struct Handle {
    url: String,
    is_alertmanager: bool,
    relabel_rules: Vec<RelabelRule>,
    queue: Arc<Queue>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Notifier {
    /// Starts a task for each receiver. It must be called on a tokio runtime with timers and I/O.
    /// An error names certificates that cannot be read.
    pub fn start(settings: AlertingSettings, options: NotifierOptions) -> Result<Self, String> {
        let running = Running::start(settings, options)?;
        Ok(Self { running: Mutex::new(running) })
    }

    /// Takes over changed settings. What waits for receivers that were there before is given a
    /// moment to leave. On an error everything stays as it was.
    pub async fn reload(
        &self,
        settings: AlertingSettings,
        options: NotifierOptions,
    ) -> Result<(), String> {
        let is_same = {
            let running = lock(&self.running);
            running.settings == settings && running.options == options
        };
        if is_same {
            return Ok(());
        }
        let running = Running::start(settings, options)?;
        let before = std::mem::replace(&mut *lock(&self.running), running);
        before.stop().await;
        Ok(())
    }

    /// Stops; what waits is given a moment to leave.
    pub async fn shutdown(&self) {
        let before = std::mem::take(&mut *lock(&self.running));
        before.stop().await;
    }

    /// What became of alerts, receiver by receiver.
    #[must_use]
    pub fn stats(&self) -> Vec<ReceiverStats> {
        let running = lock(&self.running);
        let stats = running.receivers.iter().map(|receiver| ReceiverStats {
            url: receiver.url.clone(),
            sent: receiver.queue.sent.load(Ordering::Relaxed),
            dropped: receiver.queue.dropped.load(Ordering::Relaxed),
            failed_requests: receiver.queue.failed_requests.load(Ordering::Relaxed),
            queued: receiver.queue.len(),
        });
        stats.collect()
    }
}

impl Notify for Notifier {
    fn notify(&self, alerts: Vec<OutgoingAlert>) {
        let running = lock(&self.running);
        let rules = &running.settings.alert_relabel_rules;
        let external = &running.options.external_labels;
        let alerts: Vec<Arc<OutgoingAlert>> = alerts
            .into_iter()
            .filter_map(|mut alert| {
                for (name, value) in external {
                    alert.labels.entry(name.clone()).or_insert_with(|| value.clone());
                }
                relabeled(Arc::new(alert), rules)
            })
            .collect();
        for receiver in &running.receivers {
            let rules = &receiver.relabel_rules;
            let own: Vec<_> =
                alerts.iter().filter_map(|alert| relabeled(alert.clone(), rules)).collect();
            if !own.is_empty() {
                receiver.queue.push(own);
            }
        }
    }

    fn alertmanagers(&self) -> Alertmanagers {
        let running = lock(&self.running);
        let active = running.receivers.iter().filter(|receiver| receiver.is_alertmanager);
        Alertmanagers {
            active_alertmanagers: active
                .map(|receiver| AlertmanagerTarget { url: receiver.url.clone() })
                .collect(),
            dropped_alertmanagers: running.dropped.clone(),
        }
    }
}

/// An alert with its labels changed; `None` if the rules drop it.
fn relabeled(alert: Arc<OutgoingAlert>, rules: &[RelabelRule]) -> Option<Arc<OutgoingAlert>> {
    if rules.is_empty() {
        return Some(alert);
    }
    let mut labels: Labels =
        alert.labels.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    if !relabel(&mut labels, rules) {
        return None;
    }
    let labels = labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Some(Arc::new(OutgoingAlert { labels, ..(*alert).clone() }))
}

impl Running {
    fn start(settings: AlertingSettings, options: NotifierOptions) -> Result<Self, String> {
        // First everything that can fail.
        let mut prepared = Vec::new();
        let mut dropped = Vec::new();
        let (external_url, first_retry) = (&options.external_url, options.first_retry);
        for alertmanager in &settings.alertmanagers {
            let (urls, without) = targets(alertmanager);
            dropped.extend(without.into_iter().map(|url| AlertmanagerTarget { url }));
            for url in urls {
                prepared.push(Receiver {
                    client: Client::new(&alertmanager.http)
                        .map_err(|problem| format!("alertmanager {url}: {problem}"))?,
                    url,
                    language: Language::Alertmanager,
                    timeout: alertmanager.timeout,
                    relabel_rules: alertmanager.alert_relabel_rules.clone(),
                    external_url: external_url.clone(),
                    first_retry,
                });
            }
        }
        for webhook in &settings.webhooks {
            let (send_resolved, repeat_interval) = (webhook.send_resolved, webhook.repeat_interval);
            prepared.push(Receiver {
                client: Client::new(&webhook.http)
                    .map_err(|problem| format!("webhook {}: {problem}", webhook.url))?,
                url: webhook.url.clone(),
                language: Language::Webhook { send_resolved, repeat_interval },
                timeout: webhook.timeout,
                relabel_rules: webhook.alert_relabel_rules.clone(),
                external_url: external_url.clone(),
                first_retry,
            });
        }
        let receivers = prepared.into_iter().map(Handle::start).collect();
        Ok(Self { settings, options, receivers, dropped })
    }

    async fn stop(self) {
        for receiver in &self.receivers {
            // A task that is gone needs no word.
            let _ = receiver.stop.send(true);
        }
        for receiver in self.receivers {
            let _ = receiver.task.await;
        }
    }
}

impl Handle {
    fn start(receiver: Receiver) -> Self {
        let queue = Arc::new(Queue::default());
        let (stop, stopped) = watch::channel(false);
        Self {
            url: receiver.url.clone(),
            is_alertmanager: receiver.language == Language::Alertmanager,
            relabel_rules: receiver.relabel_rules.clone(),
            queue: queue.clone(),
            stop,
            task: tokio::spawn(run(receiver, queue, stopped)),
        }
    }
}

/// Where alerts are posted to, and where not since relabeling dropped it.
fn targets(settings: &AlertmanagerSettings) -> (Vec<String>, Vec<String>) {
    let path = format!("/{}/api/v2/alerts", settings.path_prefix.trim_matches('/'));
    let path = path.replace("//", "/");
    let (mut active, mut dropped) = (Vec::new(), Vec::new());
    for StaticTargets { targets, labels: shared } in &settings.static_configs {
        for target in targets {
            let mut labels: Labels =
                shared.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            labels.set("__address__", target.clone());
            labels.set("__scheme__", settings.scheme.clone());
            labels.set("__alerts_path__", path.clone());
            let url = |labels: &Labels| {
                let [scheme, address, path] =
                    ["__scheme__", "__address__", "__alerts_path__"].map(|name| labels.get(name));
                format!("{scheme}://{address}{path}")
            };
            let before = url(&labels);
            match relabel(&mut labels, &settings.relabel_rules) && labels.contains("__address__") {
                true => active.push(url(&labels)),
                false => dropped.push(before),
            }
        }
    }
    // The same one is told once.
    let mut seen = std::collections::HashSet::new();
    active.retain(|url| seen.insert(url.clone()));
    (active, dropped)
}
