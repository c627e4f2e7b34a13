//! All groups, each in a task of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kymo_promql::labels::Labels;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::alert::AlertState;
use crate::error::RuleError;
use crate::evaluate::{Evaluate, RuleSample, Sink};
use crate::file::{Group, RuleFiles};
use crate::group::{Context, GroupRun, Shared, end};
use crate::notify::{Alertmanagers, Notify};
use crate::options::RuleOptions;
use crate::state::{ActiveAlert, GroupState, RuleState, lock};
use crate::time::{millis, nanos, now_nanos};

/// Evaluates groups until it is shut down or dropped.
pub struct Manager {
    evaluate: Arc<dyn Evaluate>,
    sink: Arc<dyn Sink>,
    notify: Arc<dyn Notify>,
    /// Held while groups change.
    running: tokio::sync::Mutex<Running>,
    /// The same for the API, which does not wait for changes; by file and name.
    views: Views,
    /// Tells tasks that wait to end series that there is no time left.
    closed: watch::Sender<bool>,
}

type Views = Arc<Mutex<Vec<Arc<Shared>>>>;

struct Running {
    options: Arc<RuleOptions>,
    groups: Vec<Handle>,
}

struct Handle {
    group: Arc<Group>,
    interval: Duration,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    task: JoinHandle<GroupRun>,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager").field("groups", &lock(&self.views).len()).finish_non_exhaustive()
    }
}

impl Manager {
    /// Starts a task for each group. It must be called on a tokio runtime with timers. The state of
    /// alerts is restored from what the last server wrote.
    #[must_use]
    pub fn start(
        groups: Vec<Group>,
        evaluate: Arc<dyn Evaluate>,
        sink: Arc<dyn Sink>,
        notify: Arc<dyn Notify>,
        options: RuleOptions,
    ) -> Self {
        let options = Arc::new(options);
        let (closed, _) = watch::channel(false);
        let running = Running { options: options.clone(), groups: Vec::new() };
        let mut manager = Self {
            evaluate,
            sink,
            notify,
            running: tokio::sync::Mutex::new(running),
            views: Views::default(),
            closed,
        };
        let runs = groups.into_iter().map(|group| GroupRun::new(Arc::new(group), &options, true));
        let handles: Vec<Handle> = runs.map(|run| manager.spawn(run, &options)).collect();
        manager.publish(&handles);
        manager.running.get_mut().groups = handles;
        manager
    }

    /// Takes over changed groups. Those that are the same are not touched; in those that changed,
    /// rules with the same name and labels keep their alerts; series of rules that are gone end.
    pub async fn reload(&self, groups: Vec<Group>) {
        let options = self.running.lock().await.options.clone();
        self.reload_with(groups, (*options).clone()).await;
    }

    /// Reads files and takes over what they say. If one has an error, everything stays as it was.
    pub async fn reload_files<P: AsRef<std::path::Path>>(
        &self,
        patterns: &[P],
    ) -> Result<(), RuleError> {
        let groups = RuleFiles::load(patterns)?;
        self.reload(groups).await;
        Ok(())
    }

    /// Takes over changed groups and options. With other options all groups begin anew, with what
    /// is known of their rules. After a shutdown nothing happens.
    pub async fn reload_with(&self, groups: Vec<Group>, options: RuleOptions) {
        let mut running = self.running.lock().await;
        if *self.closed.borrow() {
            return;
        }
        let has_same_options = *running.options == options;
        let options = if has_same_options { running.options.clone() } else { Arc::new(options) };
        running.options = options.clone();
        let mut before = std::mem::take(&mut running.groups);
        for group in groups {
            let at = before
                .iter()
                .position(|old| old.group.file == group.file && old.group.name == group.name);
            let handle = match at.map(|at| before.swap_remove(at)) {
                Some(old) if has_same_options && *old.group == group => old,
                Some(old) => {
                    let mut run = GroupRun::new(Arc::new(group), &options, false);
                    if let Some(old) = old.stop().await {
                        run.inherit(old);
                    }
                    self.spawn(run, &options)
                }
                None => self.spawn(GroupRun::new(Arc::new(group), &options, false), &options),
            };
            running.groups.push(handle);
        }
        self.publish(&running.groups);
        for old in before {
            let interval = old.interval;
            if let Some(old) = old.stop().await {
                self.end_later(old.into_series(), interval);
            }
        }
    }

    /// Stops and waits for what is being evaluated. Series do not end by this: whoever starts
    /// again goes on with them.
    pub async fn shutdown(&self) {
        self.closed.send_replace(true);
        let groups = std::mem::take(&mut self.running.lock().await.groups);
        lock(&self.views).clear();
        for group in &groups {
            // A task that is gone needs no word.
            let _ = group.stop.send(true);
        }
        for group in groups {
            group.stop().await;
        }
    }

    /// What `/api/v1/rules` shows: all groups by file and name.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupState> {
        lock(&self.views).iter().map(|shared| lock(&shared.state).clone()).collect()
    }

    /// What `/api/v1/alerts` shows: all alerts that are pending or firing.
    #[must_use]
    pub fn alerts(&self) -> Vec<ActiveAlert> {
        let alerts =
            self.groups().into_iter().flat_map(|group| group.rules).flat_map(|rule| match rule {
                RuleState::Alerting(rule) => rule.alerts,
                RuleState::Recording(_) => Vec::new(),
            });
        alerts.filter(|alert| alert.state > AlertState::Inactive).collect()
    }

    /// What `/api/v1/alertmanagers` shows.
    #[must_use]
    pub fn alertmanagers(&self) -> Alertmanagers {
        self.notify.alertmanagers()
    }

    fn spawn(&self, run: GroupRun, options: &Arc<RuleOptions>) -> Handle {
        let context = Context {
            evaluate: self.evaluate.clone(),
            sink: self.sink.clone(),
            notify: self.notify.clone(),
            options: options.clone(),
        };
        let (stop, stopped) = watch::channel(false);
        Handle {
            group: run.group.clone(),
            interval: run.interval,
            shared: run.shared.clone(),
            stop,
            task: tokio::spawn(keep_evaluating(run, context, stopped)),
        }
    }

    fn publish(&self, groups: &[Handle]) {
        let mut views: Vec<_> = groups.iter().collect();
        views.sort_by_key(|handle| (handle.group.file.clone(), handle.group.name.clone()));
        let views = views.into_iter().map(|handle| handle.shared.clone()).collect();
        *lock(&self.views) = views;
    }

    /// Ends the series of a group that is gone, unless another group goes on with them: it is
    /// given two intervals to do so.
    fn end_later(&self, series: Vec<Labels>, interval: Duration) {
        if series.is_empty() {
            return;
        }
        let (sink, views, mut closed) =
            (self.sink.clone(), self.views.clone(), self.closed.subscribe());
        let time_millis = millis(now_nanos());
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(interval * 2) => {}
                _ = closed.changed() => return,
            }
            let ends: Vec<RuleSample> = {
                let views = lock(&views).clone();
                let is_over = |labels: &Labels| {
                    !views.iter().any(|shared| lock(&shared.series).contains(labels))
                };
                let over = series.into_iter().filter(is_over);
                over.map(|labels| end(labels, time_millis)).collect()
            };
            if ends.is_empty() {
                return;
            }
            if let Err(error) = sink.write(ends).await {
                tracing::warn!(%error, "ends of series cannot be written");
            }
        });
    }
}

impl Handle {
    /// Stops the task; `None` if it died, of which the runtime has told.
    async fn stop(self) -> Option<GroupRun> {
        let _ = self.stop.send(true);
        self.task.await.ok()
    }
}

/// Evaluates a group in its rhythm.
async fn keep_evaluating(
    mut run: GroupRun,
    context: Context,
    mut stop: watch::Receiver<bool>,
) -> GroupRun {
    let mut slot = run.next_slot(now_nanos());
    let mut evaluations = 0;
    loop {
        let wait = u64::try_from(slot.saturating_sub(now_nanos())).unwrap_or(0);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_nanos(wait)) => {}
            _ = stop.changed() => return run,
        }
        let watched = stop.clone();
        // A sender that is gone is a manager that was dropped.
        let is_stopped = move || *watched.borrow() || watched.has_changed().is_err();
        run.evaluate(&context, slot, &is_stopped).await;
        evaluations += 1;
        if run.should_restore && evaluations > 1 && !is_stopped() {
            run.restore(&context, now_nanos()).await;
        }
        if is_stopped() {
            return run;
        }
        // What was missed meanwhile is not made up for, but the last of it is.
        let interval = nanos(run.interval).max(1);
        let passed = now_nanos().saturating_sub(slot) / interval;
        if passed > 1 {
            let (group, missed) = (&run.group.name, passed - 1);
            tracing::warn!(group, missed, "evaluating a group takes longer than its interval");
        }
        slot = slot.saturating_add(passed.max(1).saturating_mul(interval));
    }
}
