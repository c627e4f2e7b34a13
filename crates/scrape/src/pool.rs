//! The task of one job: it keeps a worker for each target that discovery and relabeling give.
//!
//! When a target goes away, its series end, but not at once: it may come back with the next
//! discovery, or continue as another with the same labels. So what is left of it is kept for a
//! little more than two intervals; a target with its labels takes it over, otherwise all its
//! series get their end, at the time of the first scrape that was missing.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cache::SeriesCache;
use crate::client::HttpClient;
use crate::config::JobSettings;
use crate::discovery::{Discovery, Source, Update};
use crate::labels::Labels;
use crate::sink::Sink;
use crate::state::{DroppedTarget, Shared, lock};
use crate::target::{Resolved, Target, resolve};
use crate::worker::{self, Plan, Remains};

/// Updates that wait for the pool; each has all targets of its discovery.
const WAITING_UPDATES: usize = 16;

/// What the API shows of a job.
#[derive(Debug)]
pub(crate) struct PoolView {
    pub(crate) name: String,
    pub(crate) targets: Mutex<Vec<Arc<Shared>>>,
    pub(crate) dropped: Mutex<Dropped>,
}

/// Targets that relabeling dropped.
#[derive(Debug, Default, Clone)]
pub(crate) struct Dropped {
    /// As many as are to be kept.
    pub(crate) targets: Vec<DroppedTarget>,
    /// How many there were.
    pub(crate) count: usize,
}

/// A job that can be started: its certificates are there.
#[derive(Debug)]
pub(crate) struct PreparedJob {
    pub(crate) job: Arc<JobSettings>,
    pub(crate) client: Arc<HttpClient>,
    /// Those of its HTTP discoveries, in their order.
    pub(crate) discovery_clients: Vec<Arc<HttpClient>>,
}

/// What a pool is told.
enum Command {
    Reconfigure { prepared: PreparedJob, done: oneshot::Sender<()> },
    Stop { with_ends: bool, done: oneshot::Sender<()> },
}

/// What all pools share.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) offset_seed: u64,
    pub(crate) file_poll: Duration,
    /// Turns at reading large answers.
    pub(crate) parsing: Arc<Semaphore>,
}

/// A running pool. It ends when this is dropped, without the ends of its series.
pub(crate) struct PoolHandle {
    pub(crate) job: Arc<JobSettings>,
    pub(crate) view: Arc<PoolView>,
    commands: mpsc::Sender<Command>,
}

impl PoolHandle {
    pub(crate) fn start(prepared: PreparedJob, surroundings: Surroundings) -> Self {
        let job = prepared.job.clone();
        let (commands, receiver) = mpsc::channel(1);
        let (update_sender, updates) = mpsc::channel(WAITING_UPDATES);
        let view = Arc::new(PoolView {
            name: job.job_name.clone(),
            targets: Mutex::default(),
            dropped: Mutex::default(),
        });
        let pool = Pool {
            prepared,
            surroundings,
            view: view.clone(),
            discoveries: Vec::new(),
            next_discovery: 0,
            update_sender,
            workers: HashMap::new(),
            departed: Vec::new(),
        };
        tokio::spawn(pool.run(receiver, updates));
        Self { job, view, commands }
    }

    /// Takes over new settings, or the same with clients that have read their files again; targets
    /// that stay the same go on.
    pub(crate) async fn reconfigure(&mut self, mut prepared: PreparedJob) {
        // Equal settings stay the same ones, by which workers know that their memory is good.
        if self.job == prepared.job {
            prepared.job = self.job.clone();
        }
        self.job = prepared.job.clone();
        self.tell(|done| Command::Reconfigure { prepared, done }).await;
    }

    /// Stops scraping, and ends the series if asked to.
    pub(crate) async fn stop(self, with_ends: bool) {
        self.tell(|done| Command::Stop { with_ends, done }).await;
    }

    async fn tell(&self, command: impl FnOnce(oneshot::Sender<()>) -> Command) {
        let (done, is_done) = oneshot::channel();
        // A pool that is gone has nothing left to do.
        if self.commands.send(command(done)).await.is_ok() {
            let _ = is_done.await;
        }
    }
}

struct Pool {
    prepared: PreparedJob,
    surroundings: Surroundings,
    view: Arc<PoolView>,
    discoveries: Vec<Discovery>,
    next_discovery: u64,
    update_sender: mpsc::Sender<Update>,
    workers: HashMap<u64, Worker>,
    departed: Vec<Departed>,
}

struct Worker {
    plans: watch::Sender<Arc<Plan>>,
    stop: watch::Sender<bool>,
    shared: Arc<Shared>,
    task: JoinHandle<Remains>,
}

/// A target that is gone, and whose series have not ended yet.
struct Departed {
    remains: Remains,
    end_millis: i64,
    deadline: Instant,
}

impl Pool {
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut updates: mpsc::Receiver<Update>,
    ) {
        self.set_discoveries();
        self.sync().await;
        loop {
            let deadline = self.departed.iter().map(|departed| departed.deadline).min();
            tokio::select! {
                command = commands.recv() => match command {
                    Some(Command::Reconfigure { prepared, done }) => {
                        self.prepared = prepared;
                        self.set_discoveries();
                        self.sync().await;
                        // Whoever asked may have gone away.
                        let _ = done.send(());
                    }
                    Some(Command::Stop { with_ends, done }) => {
                        self.stop(with_ends).await;
                        let _ = done.send(());
                        return;
                    }
                    None => return self.stop(false).await,
                },
                Some(update) = updates.recv() => {
                    let mut discoveries = self.discoveries.iter_mut();
                    if let Some(discovery) = discoveries.find(|d| d.id == update.discovery) {
                        discovery.groups = update.groups;
                        self.sync().await;
                    }
                }
                () = sleep_until(deadline) => self.end_departed(Instant::now()).await,
            }
        }
    }

    /// Starts discoveries that are new and ends those that are no longer there. Those that stay ask
    /// with the new clients.
    fn set_discoveries(&mut self) {
        let mut before = std::mem::take(&mut self.discoveries);
        for (source, client) in Source::of(&self.prepared.job, &self.prepared.discovery_clients) {
            if let Some(at) = before.iter().position(|discovery| discovery.source == source) {
                let discovery = before.swap_remove(at);
                discovery.set_client(client);
                self.discoveries.push(discovery);
                continue;
            }
            self.next_discovery += 1;
            let (id, updates) = (self.next_discovery, self.update_sender.clone());
            let file_poll = self.surroundings.file_poll;
            self.discoveries.push(Discovery::start(id, source, client, updates, file_poll));
        }
    }

    /// All targets that are there now, each once.
    fn targets(&self) -> Vec<Arc<Target>> {
        let mut seen = HashSet::new();
        let mut targets = Vec::new();
        let mut dropped = Dropped::default();
        let job = &self.prepared.job;
        let max_kept = match job.limits.dropped_targets {
            0 => usize::MAX,
            limit => limit,
        };
        for group in self.discoveries.iter().flat_map(|discovery| &discovery.groups) {
            for (index, address) in group.targets.iter().enumerate() {
                match resolve(job, group, address) {
                    Ok(Resolved::Active(target)) => {
                        if seen.insert(target.id) {
                            targets.push(Arc::from(target));
                        }
                    }
                    Ok(Resolved::Dropped(discovered_labels)) => {
                        dropped.count += 1;
                        if dropped.targets.len() < max_kept {
                            let scrape_pool = job.job_name.clone();
                            dropped.targets.push(DroppedTarget { discovered_labels, scrape_pool });
                        }
                    }
                    Err(error) => tracing::error!(
                        job = job.job_name,
                        "instance {index} in group {}: {error}",
                        group.source
                    ),
                }
            }
        }
        *lock(&self.view.dropped) = dropped;
        targets
    }

    /// Makes the workers those of the targets.
    async fn sync(&mut self) {
        let targets = self.targets();
        let limit = self.prepared.job.limits.targets;
        let forced_error = (limit > 0 && targets.len() > limit).then(|| {
            let count = targets.len();
            format!("target_limit exceeded (number of targets: {count}, limit: {limit})")
        });
        let wanted: HashSet<u64> = targets.iter().map(|target| target.id).collect();
        self.retire(|id| !wanted.contains(&id)).await;
        let mut shown = Vec::with_capacity(targets.len());
        for target in targets {
            let id = target.id;
            let plan = Arc::new(Plan {
                job: self.prepared.job.clone(),
                target: target.clone(),
                client: self.prepared.client.clone(),
                forced_error: forced_error.clone(),
            });
            let worker = match self.workers.get(&id) {
                Some(worker) => {
                    worker.shared.set_target(target);
                    // A worker that is gone has no use for a plan.
                    let _ = worker.plans.send(plan);
                    worker.shared.clone()
                }
                None => {
                    let worker = self.start(plan);
                    let shared = worker.shared.clone();
                    self.workers.insert(id, worker);
                    shared
                }
            };
            shown.push(worker);
        }
        *lock(&self.view.targets) = shown;
    }

    /// Starts a worker, with what is left of one whose series it goes on with.
    fn start(&mut self, plan: Arc<Plan>) -> Worker {
        let cache = self.inherited(&plan.target.labels).unwrap_or_default();
        let shared = Arc::new(Shared::new(plan.target.clone()));
        let (plans, plan_receiver) = watch::channel(plan);
        let (stop, stop_receiver) = watch::channel(false);
        let surroundings = self.surroundings.clone();
        let task = worker::run(plan_receiver, stop_receiver, shared.clone(), surroundings, cache);
        Worker { plans, stop, shared, task: tokio::spawn(task) }
    }

    fn inherited(&mut self, labels: &Labels) -> Option<SeriesCache> {
        let is_same = |departed: &Departed| departed.remains.plan.target.labels == *labels;
        let at = self.departed.iter().position(is_same)?;
        let mut cache = self.departed.swap_remove(at).remains.cache;
        // The settings may be others.
        cache.forget_lines();
        Some(cache)
    }

    /// Stops workers and keeps what is left of them.
    async fn retire(&mut self, is_gone: impl Fn(u64) -> bool) {
        let gone: Vec<u64> = self.workers.keys().copied().filter(|id| is_gone(*id)).collect();
        let workers: Vec<Worker> = gone.iter().filter_map(|id| self.workers.remove(id)).collect();
        for worker in &workers {
            // One that has ended already needs no telling.
            let _ = worker.stop.send(true);
        }
        for worker in workers {
            let Ok(remains) = worker.task.await else { continue };
            // What was never scraped, nor went on with another's series, has nothing to end.
            let Some(last_millis) = remains.cache.last_scrape_millis else { continue };
            let interval = remains.plan.target.interval;
            let interval_millis = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
            let end_millis = last_millis.saturating_add(interval_millis);
            let deadline = Instant::now() + interval * 21 / 10;
            self.departed.push(Departed { remains, end_millis, deadline });
        }
    }

    /// Ends the series of targets that did not come back by `now`.
    async fn end_departed(&mut self, now: Instant) {
        let mut at = 0;
        while at < self.departed.len() {
            if self.departed[at].deadline > now {
                at += 1;
                continue;
            }
            let mut departed = self.departed.swap_remove(at);
            let labels = &departed.remains.plan.target.labels;
            // Another target with the same labels writes the same series on.
            if self.workers.values().any(|worker| worker.plans.borrow().target.labels == *labels) {
                continue;
            }
            let batch = departed.remains.ends(departed.end_millis);
            if let Err(error) = self.surroundings.sink.send(batch).await {
                let job = &self.prepared.job.job_name;
                tracing::error!(job, "ends of series were not taken: {error}");
            }
        }
    }

    async fn stop(&mut self, with_ends: bool) {
        self.discoveries.clear();
        self.retire(|_| true).await;
        lock(&self.view.targets).clear();
        if !with_ends {
            return;
        }
        let now = Instant::now();
        let now_millis = unix_millis(SystemTime::now());
        for departed in &mut self.departed {
            departed.deadline = now;
            departed.end_millis = departed.end_millis.min(now_millis);
        }
        self.end_departed(now).await;
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn unix_millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
