//! Node and GPUs, again and again, as events.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kymo_probe::node::{GpuUsage, NodeOptions, NodeProbe, NodeUsage};
use opentelemetry::KeyValue;

use crate::event::{Event, EventName};
use crate::session::Shared;

/// The first update comes after so long: percentages need two looks.
const FIRST_LOOK: Duration = Duration::from_millis(100);

/// The thread that looks; ends when this is dropped. It is not waited for: a driver may hang.
pub(crate) struct Polling {
    _stop: Sender<()>,
}

impl Polling {
    /// Begins to look. The session is not kept alive by it.
    pub(crate) fn start(shared: &Arc<Shared>, every: Duration) -> std::io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let shared = Arc::downgrade(shared);
        let work = move || {
            let mut probe = NodeProbe::new(&NodeOptions::default());
            // Deltas and percentages begin here.
            probe.poll();
            let node_id: Arc<str> = node_name().into();
            let mut next = Instant::now() + FIRST_LOOK.min(every);
            loop {
                let pause = next.saturating_duration_since(Instant::now());
                if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                if !tell(&shared, &node_id, &probe.poll()) {
                    return;
                }
                // One that was held up does not catch up.
                next = (next + every).max(Instant::now());
            }
        };
        std::thread::Builder::new().name("kymo-poll".to_owned()).spawn(work)?;
        Ok(Self { _stop: stop })
    }
}

/// The name of this machine.
pub(crate) fn node_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn tell(shared: &Weak<Shared>, node_id: &Arc<str>, usage: &NodeUsage) -> bool {
    let Some(shared) = shared.upgrade() else { return false };
    if shared.queue.is_closed() {
        return false;
    }
    let update = |attributes| Event {
        node_id: Some(node_id.clone()),
        attributes,
        ..Event::new(EventName::ResourceUpdate)
    };
    shared.emit(update(of_node(usage)));
    for gpu in &usage.gpus {
        shared.emit(update(of_gpu(gpu)));
    }
    true
}

fn of_node(usage: &NodeUsage) -> Vec<KeyValue> {
    let mut fields = vec![KeyValue::new("resource_scope", "per_node")];
    let percents = [
        ("cpu_percent", usage.cpu_percent),
        ("memory_percent", usage.memory_percent),
        ("gpu_percent", usage.gpu_percent),
    ];
    let bytes = [
        ("memory_used_bytes", usage.memory_used_bytes),
        ("memory_total_bytes", usage.memory_total_bytes),
        ("disk_read_bytes", usage.disk_read_bytes),
        ("disk_write_bytes", usage.disk_write_bytes),
        ("net_sent_bytes", usage.net_sent_bytes),
        ("net_recv_bytes", usage.net_recv_bytes),
    ];
    add(&mut fields, &percents, &bytes);
    fields
}

fn of_gpu(gpu: &GpuUsage) -> Vec<KeyValue> {
    let mut fields = vec![
        KeyValue::new("resource_scope", "per_gpu"),
        KeyValue::new("gpu_id", i64::from(gpu.id)),
    ];
    let bytes = [
        ("gpu_memory_used_bytes", gpu.memory_used_bytes),
        ("gpu_memory_total_bytes", gpu.memory_total_bytes),
    ];
    add(&mut fields, &[("gpu_percent", gpu.percent)], &bytes);
    fields
}

fn add(
    fields: &mut Vec<KeyValue>,
    percents: &[(&'static str, Option<f64>)],
    bytes: &[(&'static str, Option<u64>)],
) {
    for (name, percent) in percents {
        // Two digits are more than anybody measures.
        let shown = percent.map(|percent| (percent * 100.0).round() / 100.0);
        fields.extend(shown.map(|percent| KeyValue::new(*name, percent)));
    }
    for (name, count) in bytes {
        let count = count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        fields.extend(count.map(|count| KeyValue::new(*name, count)));
    }
}
