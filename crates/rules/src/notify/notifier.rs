//! All receivers of a configuration.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kymo_scrape::Labels;
use kymo_scrape::config::{AlertingSettings, AlertmanagerSettings, HttpSettings, StaticTargets};
use kymo_scrape::relabel::{RelabelRule, relabel};
use kymo_scrape::shown::{origin, without_userinfo};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::alert::{AlertmanagerTarget, Alertmanagers, Notify, OutgoingAlert};
use super::client::Client;
use super::sender::{Language, Memory, Queue, Receiver, Sender, run};
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
    /// The receiver; of a webhook, scheme and host.
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
    alert_relabel_rules: Vec<RelabelRule>,
    external_labels: BTreeMap<String, String>,
    receivers: Vec<Handle>,
    dropped: Vec<AlertmanagerTarget>,
}

#[derive(Debug)]
struct Handle {
    receiver: Receiver,
    queue: Arc<Queue>,
    memory: Arc<Mutex<Memory>>,
    clients: watch::Sender<Arc<Client>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Receivers that can be started: their certificates are there.
#[derive(Debug)]
pub struct PreparedReceivers {
    alert_relabel_rules: Vec<RelabelRule>,
    external_labels: BTreeMap<String, String>,
    receivers: Vec<(Receiver, Arc<Client>)>,
    dropped: Vec<AlertmanagerTarget>,
}

impl Notifier {
    /// Starts a task for each receiver. It must be called on a tokio runtime with timers and I/O.
    /// An error names certificates that cannot be read.
    pub fn start(settings: AlertingSettings, options: NotifierOptions) -> Result<Self, String> {
        let mut running = Running::default();
        running.take_over(Self::prepare(settings, options)?);
        Ok(Self { running: Mutex::new(running) })
    }

    /// Does what can fail in taking over settings: reads the certificates that they name.
    pub fn prepare(
        settings: AlertingSettings,
        options: NotifierOptions,
    ) -> Result<PreparedReceivers, String> {
        let mut receivers = Vec::new();
        let mut dropped = Vec::new();
        for alertmanager in &settings.alertmanagers {
            let (urls, without) = targets(alertmanager);
            let shown = |url: String| AlertmanagerTarget { url: without_userinfo(&url) };
            dropped.extend(without.into_iter().map(shown));
            for url in urls {
                let shown_url = without_userinfo(&url);
                let client = client(&alertmanager.http, "alertmanager", &shown_url)?;
                let receiver = Receiver {
                    url,
                    shown_url,
                    language: Language::Alertmanager,
                    timeout: alertmanager.timeout,
                    relabel_rules: alertmanager.alert_relabel_rules.clone(),
                    external_url: options.external_url.clone(),
                    first_retry: options.first_retry,
                };
                receivers.push((receiver, client));
            }
        }
        for webhook in settings.webhooks {
            let shown_url = origin(&webhook.url);
            let client = client(&webhook.http, "webhook", &shown_url)?;
            let (send_resolved, repeat_interval) = (webhook.send_resolved, webhook.repeat_interval);
            let receiver = Receiver {
                url: webhook.url,
                shown_url,
                language: Language::Webhook { send_resolved, repeat_interval },
                timeout: webhook.timeout,
                relabel_rules: webhook.alert_relabel_rules,
                external_url: options.external_url.clone(),
                first_retry: options.first_retry,
            };
            receivers.push((receiver, client));
        }
        let alert_relabel_rules = settings.alert_relabel_rules;
        let external_labels = options.external_labels;
        Ok(PreparedReceivers { alert_relabel_rules, external_labels, receivers, dropped })
    }

    /// Takes over changed settings. Receivers that are the same go on, with certificates as they are
    /// now; what waits for those that are gone is given a moment to leave. What a webhook was told is
    /// known to the one that has its URL from now on.
    pub async fn apply(&self, prepared: PreparedReceivers) {
        let gone = lock(&self.running).take_over(prepared);
        stop(gone).await;
    }

    /// Takes over changed settings, as [`apply`](Self::apply) does. On an error everything stays as
    /// it was.
    pub async fn reload(
        &self,
        settings: AlertingSettings,
        options: NotifierOptions,
    ) -> Result<(), String> {
        self.apply(Self::prepare(settings, options)?).await;
        Ok(())
    }

    /// Stops; what waits is given a moment to leave.
    pub async fn shutdown(&self) {
        let before = std::mem::take(&mut *lock(&self.running));
        stop(before.receivers).await;
    }

    /// What became of alerts, receiver by receiver.
    #[must_use]
    pub fn stats(&self) -> Vec<ReceiverStats> {
        let running = lock(&self.running);
        let stats = running.receivers.iter().map(|receiver| ReceiverStats {
            url: receiver.receiver.shown_url.clone(),
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
        let rules = &running.alert_relabel_rules;
        let external = &running.external_labels;
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
            let rules = &receiver.receiver.relabel_rules;
            let own = alerts.iter().filter(|alert| receiver.is_told_of(alert));
            let own: Vec<_> = own.filter_map(|alert| relabeled(alert.clone(), rules)).collect();
            if !own.is_empty() {
                receiver.queue.push(own);
            }
        }
    }

    fn alertmanagers(&self) -> Alertmanagers {
        let running = lock(&self.running);
        let active = running.receivers.iter().filter(|receiver| receiver.is_alertmanager());
        Alertmanagers {
            active_alertmanagers: active
                .map(|receiver| AlertmanagerTarget { url: receiver.receiver.shown_url.clone() })
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
    /// Makes the receivers those that were prepared. Gives those that have to stop.
    fn take_over(&mut self, prepared: PreparedReceivers) -> Vec<Handle> {
        let mut before = std::mem::take(&mut self.receivers);
        // First those that go on as they are, so that none of them hands its memory to another.
        let mut kept: Vec<Option<Handle>> = Vec::new();
        for (receiver, client) in &prepared.receivers {
            let at = before.iter().position(|handle| handle.receiver == *receiver);
            let handle = at.map(|at| before.swap_remove(at));
            if let Some(handle) = &handle {
                handle.clients.send_replace(client.clone());
            }
            kept.push(handle);
        }
        let mut memories: Vec<(String, Arc<Mutex<Memory>>)> =
            before.iter().map(|old| (old.receiver.url.clone(), old.memory.clone())).collect();
        for ((receiver, client), kept) in prepared.receivers.into_iter().zip(kept) {
            let handle = kept.unwrap_or_else(|| {
                let at = memories.iter().position(|(url, _)| *url == receiver.url);
                let memory = at.map(|at| memories.swap_remove(at).1).unwrap_or_default();
                Handle::start(receiver, client, memory)
            });
            self.receivers.push(handle);
        }
        self.alert_relabel_rules = prepared.alert_relabel_rules;
        self.external_labels = prepared.external_labels;
        self.dropped = prepared.dropped;
        before
    }
}

/// Stops receivers; what waits for them is given a moment to leave.
async fn stop(receivers: Vec<Handle>) {
    for receiver in &receivers {
        // A task that is gone needs no word.
        let _ = receiver.stop.send(true);
    }
    for receiver in receivers {
        let _ = receiver.task.await;
    }
}

impl Handle {
    fn start(receiver: Receiver, client: Arc<Client>, memory: Arc<Mutex<Memory>>) -> Self {
        let queue = Arc::new(Queue::default());
        let (clients, client) = watch::channel(client);
        let (stop, stopped) = watch::channel(false);
        let sender = Sender {
            receiver: receiver.clone(),
            queue: queue.clone(),
            memory: memory.clone(),
            clients: client,
        };
        let task = tokio::spawn(run(sender, stopped));
        Self { receiver, queue, memory, clients, stop, task }
    }

    fn is_alertmanager(&self) -> bool {
        self.receiver.language == Language::Alertmanager
    }

    /// An Alertmanager takes what it hears no more of for resolved by itself, with annotations that
    /// are not known here any more.
    fn is_told_of(&self, alert: &OutgoingAlert) -> bool {
        let is_bare = alert.is_restored && alert.is_resolved && alert.annotations.is_empty();
        !(self.is_alertmanager() && is_bare)
    }
}

fn client(settings: &HttpSettings, what: &str, shown_url: &str) -> Result<Arc<Client>, String> {
    let client = Client::new(settings);
    client.map(Arc::new).map_err(|problem| format!("{what} {shown_url}: {problem}"))
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
