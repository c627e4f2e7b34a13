//! All hosts and GPUs of a time, with their figures at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use kymo_engine::EngineError;
use serde::Serialize;

use super::ask::{Asking, Labels};
use crate::machines::{OF_GPUS, OF_HOSTS, hosts_of_gpu, without_port};
use crate::times::NANOS_PER_MILLI;

/// Hosts of an answer: a page that shows more tells nothing.
const MAX_HOSTS: usize = 2_000;

/// What there is.
#[derive(Debug, Serialize)]
pub(super) struct Fleet {
    hosts: Vec<Host>,
    /// Whether there are more.
    truncated: bool,
    /// Milliseconds since 1970 that the figures are of.
    at: i64,
}

/// A host.
#[derive(Debug, Default, Serialize)]
pub(super) struct Host {
    name: String,
    /// The labels `instance` that belong to it.
    instances: BTreeSet<String>,
    /// Its kernel and the like, as `node_uname_info` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    figures: BTreeMap<&'static str, f64>,
    gpus: Vec<Gpu>,
}

/// A GPU.
#[derive(Debug, Default, Serialize)]
struct Gpu {
    gpu: String,
    uuid: String,
    model: String,
    figures: BTreeMap<&'static str, f64>,
}

/// A host, and its GPUs by number and UUID.
type Machine = (Host, BTreeMap<(u64, String), Gpu>);

/// Hosts by name.
#[derive(Default)]
struct Found {
    hosts: BTreeMap<String, Machine>,
}

impl Found {
    fn host(&mut self, labels: &Labels) -> Option<&mut Machine> {
        let instance = labels.get("instance").map(String::as_str).unwrap_or_default();
        self.named(without_port(instance), labels)
    }

    fn named(&mut self, name: &str, labels: &Labels) -> Option<&mut Machine> {
        if name.is_empty() {
            return None;
        }
        let instance = labels.get("instance").map(String::as_str).unwrap_or_default();
        let entry = self.hosts.entry(name.to_owned()).or_default();
        let host = &mut entry.0;
        name.clone_into(&mut host.name);
        if !instance.is_empty() && !host.instances.contains(instance) {
            host.instances.insert(instance.to_owned());
        }
        Some(entry)
    }

    fn gpu(&mut self, labels: &Labels) -> Option<&mut Gpu> {
        let text = |name: &str| labels.get(name).cloned().unwrap_or_default();
        let (number, uuid) = (text("gpu"), text("UUID"));
        let key = (number.parse().unwrap_or(u64::MAX), format!("{number} {uuid}"));
        let names = hosts_of_gpu(labels);
        // Where metrics of the host itself have a name that is not the machine's own, that counts.
        let known = names.iter().find(|name| self.hosts.contains_key(**name));
        let (_, gpus) = self.named(known.or(names.first())?, labels)?;
        let gpu = gpus.entry(key).or_default();
        (gpu.gpu, gpu.uuid, gpu.model) = (number, uuid, text("modelName"));
        Some(gpu)
    }
}

pub(super) async fn fleet(asking: &Asking<'_>, range: &Range<i64>) -> Result<Fleet, EngineError> {
    let at = range.end / NANOS_PER_MILLI;
    let mut found = Found::default();
    // Who was heard of in that time, though perhaps not at its end.
    let seconds = ((range.end - range.start) / 1_000_000_000).max(60);
    let heard = format!("last_over_time(node_uname_info[{seconds}s])");
    for (labels, _) in asking.values(&heard, at).await? {
        let system = ["sysname", "release", "machine"].iter().filter_map(|key| labels.get(*key));
        let system = system.cloned().collect::<Vec<_>>().join(" ");
        if let Some((host, _)) = found.host(&labels) {
            host.system = Some(system).filter(|system| !system.is_empty());
        }
    }
    for measure in &OF_HOSTS {
        for (labels, value) in asking.values(&measure.of_all(), at).await? {
            if let Some((host, _)) = found.host(&labels) {
                host.figures.insert(measure.name, value);
            }
        }
    }
    for measure in &OF_GPUS {
        for (labels, value) in asking.values(&measure.of_all(), at).await? {
            if let Some(gpu) = found.gpu(&labels) {
                gpu.figures.insert(measure.name, value);
            }
        }
    }
    let truncated = found.hosts.len() > MAX_HOSTS;
    let hosts = found.hosts.into_values().take(MAX_HOSTS);
    let hosts = hosts.map(|(mut host, gpus)| {
        host.gpus = gpus.into_values().collect();
        host
    });
    Ok(Fleet { hosts: hosts.collect(), truncated, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_host_is_known_without_its_ports() {
        let mut found = Found::default();
        found.host(&labels(&[("instance", "gpu-7:9100")]));
        found.gpu(&labels(&[("instance", "10.0.0.1:9400"), ("Hostname", "gpu-7"), ("gpu", "1")]));
        found.gpu(&labels(&[("instance", "gpu-7:9400"), ("gpu", "0")]));
        assert_eq!(found.hosts.len(), 1);
        let (host, gpus) = &found.hosts["gpu-7"];
        let instances: Vec<&String> = host.instances.iter().collect();
        assert_eq!(instances, ["10.0.0.1:9400", "gpu-7:9100", "gpu-7:9400"]);
        assert_eq!(gpus.values().map(|gpu| gpu.gpu.as_str()).collect::<Vec<_>>(), ["0", "1"]);
    }

    #[test]
    fn a_gpu_is_with_the_metrics_of_its_host_whatever_the_machine_is_called() {
        let mut found = Found::default();
        found.host(&labels(&[("instance", "node-a")]));
        found.gpu(&labels(&[("instance", "node-a"), ("hostname", "box"), ("gpu", "0")]));
        found.gpu(&labels(&[("instance", "10.0.0.2:9400"), ("hostname", "box-2"), ("gpu", "0")]));
        assert_eq!(found.hosts.keys().collect::<Vec<_>>(), ["box-2", "node-a"]);
        assert_eq!(found.hosts["node-a"].1.len(), 1);
    }

    #[test]
    fn what_names_nobody_is_left_out() {
        let mut found = Found::default();
        assert!(found.host(&labels(&[("job", "x")])).is_none());
    }
}
