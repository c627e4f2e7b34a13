//! What the worker knows: open tasks and spans, the last ones that ended, sums.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use opentelemetry::Value;
use opentelemetry::trace::SpanId;

use super::record::{SpanRecord, TaskRecord, TaskState};
use crate::event::Event;
use crate::limits::{ENDED_IDS, MAX_NODES};
use crate::summary::{Durations, ResourceUse, TaskCount};

/// Backend, node and GPU.
type Place = (Option<Arc<str>>, Arc<str>, Option<i64>);

/// A span that has ended.
pub(crate) enum Finished {
    Task(Box<TaskRecord>),
    Span(Box<SpanRecord>),
}

pub(crate) struct State {
    /// Tasks that are open, by id, and their ids by span.
    pub(crate) tasks: HashMap<Arc<str>, Box<TaskRecord>>,
    pub(crate) task_of_span: HashMap<SpanId, Arc<str>>,
    /// Scopes that are open, and the session.
    pub(crate) spans: HashMap<SpanId, SpanRecord>,
    /// Ids of tasks that have ended, the oldest first. Who holds a task knows by himself, so those
    /// that are held are remembered only once somebody tells of tasks by their ids.
    ended: HashSet<Arc<str>>,
    ended_order: VecDeque<Arc<str>>,
    are_told_by_id: bool,
    pub(crate) finished: VecDeque<Finished>,
    keep_spans: usize,
    pub(crate) spans_forgotten: u64,
    pub(crate) count: TaskCount,
    pub(crate) durations: Durations,
    resources: BTreeMap<Place, ResourceUse>,
    pub(crate) events: u64,
    pub(crate) attributes_dropped: u64,
    pub(crate) ended_nanos: Option<u64>,
}

impl State {
    pub(crate) fn new(keep_spans: usize) -> Self {
        Self {
            tasks: HashMap::new(),
            task_of_span: HashMap::new(),
            spans: HashMap::new(),
            ended: HashSet::new(),
            ended_order: VecDeque::new(),
            are_told_by_id: false,
            finished: VecDeque::new(),
            keep_spans,
            spans_forgotten: 0,
            count: TaskCount::default(),
            durations: Durations::default(),
            resources: BTreeMap::new(),
            events: 0,
            attributes_dropped: 0,
            ended_nanos: None,
        }
    }

    /// Whether a task of that id has ended, as far as is remembered.
    pub(crate) fn has_ended(&self, task_id: &str) -> bool {
        self.ended.contains(task_id)
    }

    /// Counts a task that ends, and remembers that it did.
    pub(crate) fn count_end(&mut self, task: &TaskRecord, duration_seconds: f64) {
        match task.state {
            TaskState::Completed => self.count.completed += 1,
            TaskState::Failed => self.count.failed += 1,
            TaskState::Canceled => self.count.canceled += 1,
            TaskState::Open | TaskState::Unfinished => {}
        }
        if task.started > 0 {
            self.count.running = self.count.running.saturating_sub(1);
        }
        if !task.is_incomplete {
            self.durations.add(duration_seconds);
        }
        if !task.is_held || self.are_told_by_id {
            self.remember(task.id.clone());
        }
    }

    /// Somebody tells of tasks by their ids: from now on all ends are remembered.
    pub(crate) fn told_by_id(&mut self) {
        if std::mem::replace(&mut self.are_told_by_id, true) {
            return;
        }
        let task_id = |finished: &Finished| match finished {
            Finished::Task(task) => Some(task.id.clone()),
            Finished::Span(_) => None,
        };
        let ids: Vec<Arc<str>> = self.finished.iter().filter_map(task_id).collect();
        ids.into_iter().for_each(|id| self.remember(id));
    }

    fn remember(&mut self, id: Arc<str>) {
        if self.ended_order.len() >= ENDED_IDS
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
        if self.ended.insert(id.clone()) {
            self.ended_order.push_back(id);
        }
    }

    /// Keeps a span that has ended, and forgets the oldest if there are too many.
    pub(crate) fn keep(&mut self, span: Finished) {
        if self.keep_spans == 0 {
            self.spans_forgotten += 1;
            return;
        }
        if self.finished.len() >= self.keep_spans {
            self.finished.pop_front();
            self.spans_forgotten += 1;
        }
        self.finished.push_back(span);
    }

    /// The last word on a node or GPU.
    pub(crate) fn resource(&mut self, event: &Event) {
        let Some(node_id) = event.node_id.clone() else { return };
        let gpu_id = match event.attribute("gpu_id") {
            Some(Value::I64(id)) => Some(*id),
            _ => None,
        };
        let key = (event.backend.clone(), node_id.clone(), gpu_id);
        if self.resources.len() >= MAX_NODES && !self.resources.contains_key(&key) {
            return;
        }
        let number = |value: &Value| match value {
            Value::F64(number) => Some(*number),
            Value::I64(number) => Some(*number as f64),
            _ => None,
        };
        let values = event.attributes.iter().filter(|attribute| attribute.key.as_str() != "gpu_id");
        let values = values.filter_map(|attribute| {
            Some((attribute.key.as_str().to_owned(), number(&attribute.value)?))
        });
        let values = values.collect();
        let latest = ResourceUse {
            time_nanos: event.time_nanos,
            backend: event.backend.as_deref().map(str::to_owned),
            node_id: node_id.to_string(),
            gpu_id,
            values,
        };
        self.resources.insert(key, latest);
    }

    /// Nodes and GPUs, in order.
    pub(crate) fn resources(&self) -> Vec<ResourceUse> {
        self.resources.values().cloned().collect()
    }
}
