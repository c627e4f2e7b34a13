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
use tokio::sync::mpsc;
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
    /// The discoveries of a job.
    pub(crate) fn of(job: &JobSettings) -> Vec<Self> {
        let lists =
            (!job.static_configs.is_empty()).then(|| Self::Static(job.static_configs.clone()));
        let files = job.file_discoveries.iter().cloned().map(Self::File);
        let servers =
            job.http_discoveries.iter().cloned().map(|server| Self::Http(Box::new(server)));
        lists.into_iter().chain(files).chain(servers).collect()
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
        updates: mpsc::Sender<Update>,
        file_poll: Duration,
    ) -> Result<Self, String> {
        let (groups, task) = match &source {
            Source::Static(lists) => (static_groups(lists), None),
            Source::File(settings) => {
                let task = file::run(id, settings.clone(), updates, file_poll);
                (Vec::new(), Some(tokio::spawn(task)))
            }
            Source::Http(settings) => {
                let client = Arc::new(HttpClient::new(&settings.http)?);
                let task = http::run(id, (**settings).clone(), client, updates);
                (Vec::new(), Some(tokio::spawn(task)))
            }
        };
        Ok(Self { id, source, groups, task })
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
