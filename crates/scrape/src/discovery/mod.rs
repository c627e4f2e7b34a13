//! Where targets come from: lists, files, servers.
//!
//! Each discovery of a job runs as a task of its own and tells the job's pool all of its targets
//! whenever they changed. A discovery that fails keeps what it had.

mod file;
mod http;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::client::HttpClient;
use crate::config::{FileDiscovery, HttpDiscovery, JobSettings, StaticTargets};
use crate::target::TargetGroup;

/// What a discovery is made of. Two that are equal find the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    Static(Vec<StaticTargets>),
    File(FileDiscovery),
    Http(Box<HttpDiscovery>),
}

impl Source {
    /// The discoveries of a job; those that ask a server with the client to do so.
    pub(crate) fn of(
        job: &JobSettings,
        clients: &[Arc<HttpClient>],
    ) -> Vec<(Self, Option<Arc<HttpClient>>)> {
        let lists =
            (!job.static_configs.is_empty()).then(|| Self::Static(job.static_configs.clone()));
        let files = job.file_discoveries.iter().cloned().map(Self::File);
        let servers =
            job.http_discoveries.iter().zip(clients).map(|(server, client)| {
                (Self::Http(Box::new(server.clone())), Some(client.clone()))
            });
        lists.into_iter().chain(files).map(|source| (source, None)).chain(servers).collect()
    }
}

/// What a discovery found: all of it, each time.
#[derive(Debug)]
pub(crate) struct Update {
    /// Which discovery.
    pub(crate) discovery: u64,
    pub(crate) groups: Vec<TargetGroup>,
}

/// A running discovery. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Discovery {
    pub(crate) id: u64,
    pub(crate) source: Source,
    pub(crate) groups: Vec<TargetGroup>,
    /// How a server is asked.
    clients: Option<watch::Sender<Arc<HttpClient>>>,
    task: Option<JoinHandle<()>>,
}

impl Drop for Discovery {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Discovery {
    /// Starts a discovery. A list is known at once and needs no task.
    pub(crate) fn start(
        id: u64,
        source: Source,
        client: Option<Arc<HttpClient>>,
        updates: mpsc::Sender<Update>,
        file_poll: Duration,
    ) -> Self {
        let (clients, client) = client.map(watch::channel).unzip();
        let (groups, task) = match (&source, client) {
            (Source::Static(lists), _) => (static_groups(lists), None),
            (Source::File(settings), _) => {
                let task = file::run(id, settings.clone(), updates, file_poll);
                (Vec::new(), Some(tokio::spawn(task)))
            }
            (Source::Http(settings), Some(client)) => {
                let task = http::run(id, (**settings).clone(), client, updates);
                (Vec::new(), Some(tokio::spawn(task)))
            }
            // Each server has its client.
            (Source::Http(_), None) => (Vec::new(), None),
        };
        Self { id, source, groups, clients, task }
    }

    /// From now on a server is asked with this client.
    pub(crate) fn set_client(&self, client: Option<Arc<HttpClient>>) {
        if let (Some(clients), Some(client)) = (&self.clients, client) {
            clients.send_replace(client);
        }
    }
}

fn static_groups(lists: &[StaticTargets]) -> Vec<TargetGroup> {
    let group = |(index, list): (usize, &StaticTargets)| TargetGroup {
        source: index.to_string(),
        targets: list.targets.clone(),
        labels: list.labels.clone(),
    };
    lists.iter().enumerate().map(group).collect()
}

/// A group as files and servers write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGroup {
    #[serde(default)]
    targets: Vec<String>,
    labels: Option<BTreeMap<String, String>>,
}

/// Groups with the label that says where they are from.
fn groups(found: Vec<RawGroup>, source: &str, label: &str) -> Vec<TargetGroup> {
    let group = |(index, raw): (usize, RawGroup)| {
        let mut labels = raw.labels.unwrap_or_default();
        labels.insert(label.to_owned(), source.to_owned());
        TargetGroup { source: format!("{source}:{index}"), targets: raw.targets, labels }
    };
    found.into_iter().enumerate().map(group).collect()
}
