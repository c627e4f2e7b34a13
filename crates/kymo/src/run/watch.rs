//! What the command's processes use, looked at from its start to its end.
//!
//! Looks are close together at first and then as far apart as `--poll` says, so that a short command
//! has some too. Each is an event `kymo.ProcessUpdate`; the totals are for the session's span.
//!
//! | what | of whom |
//! |---|---|
//! | processor time, memory, disks | all processes below this one, with those that have ended |
//! | network | the network namespace of the command: the kernel does not count by process |
//! | GPU | its processes, where the driver tells them apart; else the whole node (`gpu_scope`) |

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kymo_ci::command::Usage;
use kymo_probe::node::{NodeOptions, NodeProbe, NodeUsage};
use kymo_probe::process::{NetworkProbe, TreeProbe, TreeUsage, Waited};
use kymo_session::{Event, EventName, KeyValue, Session};
use rustix::time::{ClockId, clock_gettime};

use super::instruments::Instruments;
use super::limits::{FIRST_POLL, LAST_LOOK_TIMEOUT, POLL_COST_FACTOR};

/// Blocks of `getrusage`.
const BLOCK_BYTES: u64 = 512;

/// Values of `gpu_scope`.
const OF_PROCESS: &str = "process";
const OF_NODE: &str = "node";

/// What was used in all.
#[derive(Debug, Clone, Default)]
pub(super) struct Used {
    /// Processor time, memory, disks.
    pub(super) tree: TreeUsage,
    /// The most processes at a look.
    pub(super) most_processes: usize,
    /// Bytes of the network namespace.
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    /// The most memory of GPUs, if a process of the tree used one.
    pub(super) most_gpu_memory_bytes: Option<u64>,
    /// Shares of GPUs that are the tree's own.
    own_gpu: Shares,
    /// Those of the whole node, at looks that had none of the tree's own.
    node_gpu: Shares,
}

impl Used {
    /// How busy the busiest GPU was, over all looks, and of whom that is: of the tree if it was ever
    /// told, as the two are not to be mixed.
    pub(super) fn mean_gpu_percent(&self) -> Option<(f64, &'static str)> {
        let own = self.own_gpu.mean().map(|mean| (mean, OF_PROCESS));
        own.or_else(|| Some((self.node_gpu.mean()?, OF_NODE)))
    }
}

/// Shares at looks.
#[derive(Debug, Clone, Copy, Default)]
struct Shares {
    sum: f64,
    count: u32,
}

impl Shares {
    fn add(&mut self, share: f64) {
        self.sum += share;
        self.count += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// A command that is watched.
pub(super) struct Watch {
    /// Until it begins.
    looker: Mutex<Option<Looker>>,
    running: Mutex<Option<(Sender<()>, Receiver<Used>)>>,
}

impl Watch {
    /// Made before the command is started, so that what this process had before does not count.
    pub(super) fn new(session: Session, every: Duration) -> Self {
        let looker = Looker {
            instruments: Instruments::new(&session),
            session,
            every,
            tree: TreeProbe::below(std::process::id()),
            before: Usage::of_children(),
            network: None,
            node: None,
            last: (Instant::now(), TreeUsage::default()),
            used: Used::default(),
        };
        Self { looker: Mutex::new(Some(looker)), running: Mutex::new(None) }
    }

    /// The command runs.
    pub(super) fn begin(&self, pid: u32) {
        let looker = self.looker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut looker) = looker else { return };
        let (stop, stopped) = channel();
        let (tell, told) = channel();
        let work = move || {
            looker.begin(pid);
            let mut pause = FIRST_POLL.min(looker.every);
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let cost = looker.look();
                pause = (pause * 2).min(looker.every).max(cost * POLL_COST_FACTOR);
            }
            // Nobody may wait for it any more.
            let _ = tell.send(looker.end());
        };
        let thread = std::thread::Builder::new().name("kymo-watch".to_owned()).spawn(work);
        match thread {
            Ok(_) => {
                let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                *running = Some((stop, told));
            }
            Err(error) => tracing::warn!(%error, "processes are not measured: no thread for it"),
        }
    }

    /// The command has ended: what it used, if that is known. A look that hangs, as with a driver
    /// that does not answer, is not waited for.
    pub(super) fn end(&self) -> Option<Used> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (stop, told) = running?;
        drop(stop);
        let used = told.recv_timeout(LAST_LOOK_TIMEOUT);
        used.map_err(|error| tracing::warn!(%error, "what the command used is not all recorded"))
            .ok()
    }
}

struct Looker {
    session: Session,
    instruments: Instruments,
    every: Duration,
    tree: TreeProbe,
    /// What this process had waited for before.
    before: Usage,
    network: Option<NetworkProbe>,
    node: Option<NodeProbe>,
    /// The last look.
    last: (Instant, TreeUsage),
    used: Used,
}

impl Looker {
    fn begin(&mut self, pid: u32) {
        let mut network = NetworkProbe::of(pid);
        network.poll();
        self.network = Some(network);
        self.node =
            Some(NodeProbe::new(&NodeOptions { gpu_processes: true, ..NodeOptions::default() }));
    }

    /// Looks, and tells. The processor time that it took.
    fn look(&mut self) -> Duration {
        let began = cpu_time();
        let now = Instant::now();
        let tree = self.tree.poll(&self.waited());
        let (last_at, last) = std::mem::replace(&mut self.last, (now, tree.clone()));
        let (received, sent) = (self.used.received_bytes, self.used.sent_bytes);
        if let Some(network) = &mut self.network {
            (self.used.received_bytes, self.used.sent_bytes) = network.poll();
        }
        let mut fields = of_tree(&tree, &last, now.duration_since(last_at));
        fields.push(bytes("net_recv_bytes", self.used.received_bytes - received));
        fields.push(bytes("net_sent_bytes", self.used.sent_bytes - sent));
        if let Some(node) = &mut self.node {
            fields.extend(self.used.gpu(&node.poll(), &tree.pids));
        }
        self.used.most_processes = self.used.most_processes.max(tree.pids.len());
        self.used.tree = tree;
        let event = EventName::Custom("kymo.ProcessUpdate".into());
        self.session.emit(Event { attributes: fields, ..Event::new(event) });
        self.instruments.tell(&self.used);
        cpu_time().saturating_sub(began)
    }

    fn end(mut self) -> Used {
        self.look();
        // What was missing at the last look is known to be lost at the next.
        self.used.tree = self.tree.poll(&self.waited());
        self.instruments.tell(&self.used);
        self.used
    }

    fn waited(&self) -> Waited {
        let usage = Usage::of_children().since(&self.before);
        Waited {
            cpu_user_secs: usage.user_seconds,
            cpu_system_secs: usage.system_seconds,
            read_bytes: usage.blocks_read * BLOCK_BYTES,
            written_bytes: usage.blocks_written * BLOCK_BYTES,
        }
    }
}

impl Used {
    /// What the tree does with GPUs, as fields of an event.
    fn gpu(&mut self, node: &NodeUsage, pids: &[u32]) -> Vec<KeyValue> {
        let mut fields = Vec::new();
        // Without processes, what the node does is not theirs.
        if node.gpus.is_empty() || pids.is_empty() {
            return fields;
        }
        let is_own = |pid: u32| pids.binary_search(&pid).is_ok();
        let own: Vec<_> = node.gpu_processes.iter().filter(|process| is_own(process.pid)).collect();
        let memory = own.iter().filter_map(|process| process.memory_used_bytes);
        if let Some(memory) = memory.reduce(u64::saturating_add) {
            fields.push(bytes("gpu_memory_used_bytes", memory));
            self.most_gpu_memory_bytes = self.most_gpu_memory_bytes.max(Some(memory));
        }
        let of_gpu = |id: u32| {
            let shares = own.iter().filter(|process| process.gpu_id == id);
            shares.filter_map(|process| process.percent).reduce(|a, b| a + b)
        };
        let by_process = node.gpus.iter().filter_map(|gpu| of_gpu(gpu.id)).reduce(f64::max);
        let own = by_process.map(|percent| (percent.min(100.0), OF_PROCESS, &mut self.own_gpu));
        let found =
            own.or_else(|| node.gpu_percent.map(|percent| (percent, OF_NODE, &mut self.node_gpu)));
        if let Some((percent, scope, shares)) = found {
            fields.push(KeyValue::new("gpu_percent", percent));
            fields.push(KeyValue::new("gpu_scope", scope));
            shares.add(percent);
        }
        fields
    }
}

/// What a tree uses, as fields of an event.
fn of_tree(now: &TreeUsage, last: &TreeUsage, elapsed: Duration) -> Vec<KeyValue> {
    let cpu_secs = |usage: &TreeUsage| usage.cpu_user_secs + usage.cpu_system_secs;
    let mut fields = vec![
        bytes("process_memory_bytes", now.resident_bytes),
        bytes("processes", now.pids.len() as u64),
        bytes("threads", now.threads),
        bytes("disk_read_bytes", now.read_bytes.saturating_sub(last.read_bytes)),
        bytes("disk_write_bytes", now.written_bytes.saturating_sub(last.written_bytes)),
    ];
    if !elapsed.is_zero() {
        let percent = (cpu_secs(now) - cpu_secs(last)) / elapsed.as_secs_f64() * 100.0;
        // Two digits are more than the kernel counts.
        let percent = (percent * 100.0).round() / 100.0;
        fields.insert(0, KeyValue::new("process_cpu_percent", percent));
    }
    fields
}

fn bytes(name: &'static str, count: u64) -> KeyValue {
    KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX))
}

/// Processor time of this thread.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
    Duration::new(now.tv_sec.unsigned_abs(), nanos)
}

#[cfg(test)]
mod tests {
    use kymo_probe::node::{GpuProcess, GpuUsage};

    use super::*;

    fn number(fields: &[KeyValue], name: &str) -> Option<String> {
        let field = fields.iter().find(|field| field.key.as_str() == name)?;
        Some(field.value.to_string())
    }

    #[test]
    fn an_update_tells_what_was_added_since_the_last() {
        let last = TreeUsage { cpu_user_secs: 1.0, read_bytes: 100, ..TreeUsage::default() };
        let now = TreeUsage {
            cpu_user_secs: 2.0,
            cpu_system_secs: 0.5,
            read_bytes: 150,
            pids: vec![1, 2],
            threads: 3,
            ..TreeUsage::default()
        };
        let fields = of_tree(&now, &last, Duration::from_secs(1));
        assert_eq!(number(&fields, "process_cpu_percent").as_deref(), Some("150"));
        assert_eq!(number(&fields, "disk_read_bytes").as_deref(), Some("50"));
        assert_eq!(number(&fields, "processes").as_deref(), Some("2"));
    }

    #[test]
    fn a_look_that_hangs_is_not_waited_for_and_tells_nothing() {
        let (stop, _stopped) = channel();
        let (_tell, told) = channel();
        let watch = Watch { looker: Mutex::new(None), running: Mutex::new(Some((stop, told))) };
        assert!(watch.end().is_none());
    }

    #[test]
    fn gpus_are_those_of_the_tree_where_the_driver_tells_and_else_of_the_node() {
        let gpu = |id| GpuUsage { id, percent: Some(70.0), ..GpuUsage::default() };
        let process =
            |pid, percent| GpuProcess { gpu_id: 0, pid, memory_used_bytes: Some(10), percent };
        let mut node = NodeUsage {
            gpu_percent: Some(70.0),
            gpus: vec![gpu(0), gpu(1)],
            gpu_processes: vec![process(5, Some(20.0)), process(6, Some(25.0)), process(9, None)],
            ..NodeUsage::default()
        };
        let mut used = Used::default();
        let fields = used.gpu(&node, &[5, 6]);
        assert_eq!(number(&fields, "gpu_percent").as_deref(), Some("45"));
        assert_eq!(number(&fields, "gpu_scope").as_deref(), Some("process"));
        assert_eq!(number(&fields, "gpu_memory_used_bytes").as_deref(), Some("20"));
        assert_eq!(used.most_gpu_memory_bytes, Some(20));
        assert_eq!(used.mean_gpu_percent(), Some((45.0, "process")));
        // The last look is after the end, or at a process that has no GPU yet.
        assert!(used.gpu(&node, &[]).is_empty());
        assert_eq!(number(&used.gpu(&node, &[1]), "gpu_scope").as_deref(), Some("node"));
        assert_eq!(used.mean_gpu_percent(), Some((45.0, "process")));

        let fields = Used::default().gpu(&node, &[9]);
        assert_eq!(number(&fields, "gpu_scope").as_deref(), Some("node"));
        assert_eq!(number(&fields, "gpu_memory_used_bytes").as_deref(), Some("10"));
        let fields = Used::default().gpu(&node, &[1]);
        assert_eq!(number(&fields, "gpu_memory_used_bytes"), None);
        node.gpus.clear();
        assert!(Used::default().gpu(&node, &[5]).is_empty());
    }
}
