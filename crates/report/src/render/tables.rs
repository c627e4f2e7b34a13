//! The tables of a report, the same for every kind of page. Cells are not escaped.

use crate::analysis::{Analysis, Comparison, Distribution, Flow, Gauge, Groups};
use crate::recording::Process;
use crate::units::{bytes, change, count, number, percent, seconds};

/// A table: texts on the left, numbers on the right.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) title: String,
    /// Headings, and whether their cells are numbers.
    pub(super) columns: Vec<(&'static str, bool)>,
    pub(super) rows: Vec<Vec<String>>,
    /// What is said below it.
    pub(super) after: Option<String>,
}

impl Table {
    fn new(title: impl Into<String>, columns: &[(&'static str, bool)]) -> Self {
        Self { title: title.into(), columns: columns.to_vec(), ..Self::default() }
    }
}

const NONE: &str = "–";
/// Headings of a distribution.
const FIGURES: [(&str, bool); 8] = [
    ("count", true),
    ("mean", true),
    ("min", true),
    ("p50", true),
    ("p90", true),
    ("p95", true),
    ("p99", true),
    ("max", true),
];

fn figures(of: &Distribution) -> Vec<String> {
    let mut cells = vec![count(of.count)];
    let values = [of.mean, of.min, of.p50, of.p90, of.p95, of.p99, of.max];
    match of.is_empty() {
        true => cells.extend(values.map(|_| NONE.to_owned())),
        false => cells.extend(values.map(seconds)),
    }
    cells
}

/// Facts about the session, name and value.
pub(super) fn facts(of: &Analysis) -> Vec<(&'static str, String)> {
    let about = &of.session;
    let mut facts = vec![("session", about.id.clone())];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("name", (about.name != about.id).then(|| about.name.clone()));
    add("started", about.started.as_ref().map(|_| crate::times::for_people(of.window.start_nanos)));
    add("took", Some(format!("{} ({})", seconds(about.duration_seconds), about.state)));
    add("host", about.host.clone());
    add("service", about.service.clone().filter(|service| *service != about.name));
    add("backend", about.backend.clone());
    add("trace", about.trace_id.clone());
    add("error", about.error.clone());
    if let Some(process) = &about.process {
        facts_of_process(process, &mut add);
    }
    let errors = match about.span_errors {
        0 => String::new(),
        errors => format!(", {} with errors", count(errors)),
    };
    add("spans", (about.spans > 0).then(|| format!("{}{errors}", count(about.spans))));
    add("events", (about.events > 0).then(|| count(about.events)));
    facts
}

fn facts_of_process(process: &Process, add: &mut impl FnMut(&'static str, Option<String>)) {
    add("command", process.command.clone());
    // Other ends are errors, which tell it.
    add("exit", process.exit_code.filter(|code| *code == 0).map(|code| code.to_string()));
    if let (Some(user), Some(system)) = (process.cpu_user_seconds, process.cpu_system_seconds) {
        let cores = process.cores_busy.map(|cores| format!(", {cores:.2} cores busy"));
        let (user, system, cores) = (seconds(user), seconds(system), cores.unwrap_or_default());
        add("cpu", Some(format!("{user} user, {system} system{cores}")));
    }
    add(
        "memory",
        process.peak_resident_bytes.map(|most| {
            let processes = process.most_processes.filter(|processes| *processes > 1.0);
            let of = processes.map(|processes| format!(", up to {processes:.0} processes"));
            format!("{} at most{}", bytes(most), of.unwrap_or_default())
        }),
    );
    let both = |one: Option<f64>, first, other: Option<f64>, second| {
        let (one, other) = (one.unwrap_or(0.0), other.unwrap_or(0.0));
        (one + other > 0.0).then(|| format!("{} {first}, {} {second}", bytes(one), bytes(other)))
    };
    add("disk", both(process.disk_read_bytes, "read", process.disk_write_bytes, "written"));
    add("network", both(process.net_recv_bytes, "received", process.net_sent_bytes, "sent"));
    add(
        "gpu",
        process.gpu_percent.map(|mean| {
            let most =
                process.gpu_memory_max_bytes.map(|most| format!(", {} at most", bytes(most)));
            format!("{} in the mean{}", percent(mean), most.unwrap_or_default())
        }),
    );
}

/// Tasks by state: state, how many.
pub(super) fn states(of: &Analysis) -> Vec<(&'static str, u64)> {
    let tasks = &of.tasks;
    let open = if of.session.state == "ended" {
        [("unfinished", tasks.unfinished), ("", 0)]
    } else {
        [("running", tasks.running), ("waiting", tasks.waiting)]
    };
    let ended =
        [("completed", tasks.completed), ("failed", tasks.failed), ("canceled", tasks.canceled)];
    ended.into_iter().chain(open).filter(|(_, count)| *count > 0).collect()
}

/// Every table that has rows.
pub(super) fn all(of: &Analysis) -> Vec<Table> {
    let mut tables = vec![times(of)];
    tables.extend(of.by.iter().map(groups));
    tables.extend([
        nodes(of),
        traffic(of),
        gpus(of),
        stragglers(of),
        failures(of),
        open_tasks(of),
        fields(of),
        events(of),
        counters(of),
    ]);
    tables.retain(|table| !table.rows.is_empty());
    tables
}

pub(super) fn times(of: &Analysis) -> Table {
    let mut columns = vec![("", false)];
    columns.extend(FIGURES);
    let mut table = Table::new("Times of tasks", &columns);
    let rows = [
        ("duration (started to ended)", &of.duration),
        ("routing (submitted to queued)", &of.waits.routing),
        ("queue wait (queued to started)", &of.waits.queue),
        ("start wait (submitted to started)", &of.waits.start),
        ("end to end (submitted to ended)", &of.waits.end_to_end),
        ("lifetime (span)", &of.lifetime),
        ("emit latency (of events)", &of.waits.emit),
    ];
    for (name, distribution) in rows {
        if !distribution.is_empty() {
            let mut row = vec![name.to_owned()];
            row.extend(figures(distribution));
            table.rows.push(row);
        }
    }
    table
}

pub(super) fn groups(of: &Groups) -> Table {
    let mut columns = vec![
        (of.field, false),
        ("tasks", true),
        ("failed", true),
        ("of time", true),
        ("mean", true),
        ("p50", true),
        ("p95", true),
        ("max", true),
    ];
    columns.retain(|(name, _)| *name != "failed" || of.groups.iter().any(|group| group.failed > 0));
    let has_failed = columns.len() == 8;
    let mut table = Table::new(format!("By {}", of.field), &columns);
    for group in &of.groups {
        let mut row = vec![group.value.clone(), count(group.tasks)];
        if has_failed {
            row.push(count(group.failed));
        }
        row.push(percent(group.share_of_time * 100.0));
        let d = &group.duration;
        match d.is_empty() {
            true => row.extend(vec![NONE.to_owned(); 4]),
            false => row.extend([d.mean, d.p50, d.p95, d.max].map(seconds)),
        }
        table.rows.push(row);
    }
    table.after = (of.not_listed > 0).then(|| format!("{} more are not listed", of.not_listed));
    table
}

fn gauge(of: Option<&Gauge>, show: fn(f64) -> String) -> [String; 2] {
    match of {
        Some(gauge) => [show(gauge.mean), show(gauge.max)],
        None => [NONE.to_owned(), NONE.to_owned()],
    }
}

fn nodes(of: &Analysis) -> Table {
    let columns = [
        ("node", false),
        ("backend", false),
        ("updates", true),
        ("CPU mean", true),
        ("max", true),
        ("memory mean", true),
        ("max", true),
        ("GPU mean", true),
        ("max", true),
    ];
    let mut table = Table::new("Nodes", &columns);
    for node in &of.resources.nodes {
        let backend = node.backend.clone().unwrap_or_else(|| NONE.to_owned());
        let mut row = vec![node.node.clone(), backend, count(node.updates)];
        for of in [&node.cpu_percent, &node.memory_percent, &node.gpu_percent] {
            row.extend(gauge(of.as_ref(), percent));
        }
        table.rows.push(row);
    }
    let more = of.resources.not_listed;
    table.after = (more > 0).then(|| format!("{more} more nodes and GPUs are not listed"));
    table
}

fn traffic(of: &Analysis) -> Table {
    let columns = [
        ("node", false),
        ("disk read", true),
        ("per second", true),
        ("disk write", true),
        ("per second", true),
        ("sent", true),
        ("per second", true),
        ("received", true),
        ("per second", true),
    ];
    let mut table = Table::new("Disk and network", &columns);
    let flow = |of: Option<&Flow>| match of {
        Some(flow) => [bytes(flow.total_bytes), bytes(flow.mean_per_second)],
        None => [NONE.to_owned(), NONE.to_owned()],
    };
    for node in &of.resources.nodes {
        let flows = [&node.disk_read, &node.disk_write, &node.net_sent, &node.net_recv];
        if flows.iter().all(|flow| flow.is_none()) {
            continue;
        }
        let mut row = vec![node.node.clone()];
        row.extend(flows.into_iter().flat_map(|of| flow(of.as_ref())));
        table.rows.push(row);
    }
    table
}

fn gpus(of: &Analysis) -> Table {
    let columns = [
        ("node", false),
        ("GPU", false),
        ("updates", true),
        ("use mean", true),
        ("max", true),
        ("idle", true),
        ("memory mean", true),
        ("max", true),
    ];
    let mut table = Table::new("GPUs", &columns);
    for gpu in &of.resources.gpus {
        let mut row = vec![gpu.node.clone(), gpu.gpu.clone(), count(gpu.updates)];
        row.extend(gauge(gpu.gpu_percent.as_ref(), percent));
        row.push(gpu.idle_share.map_or_else(|| NONE.to_owned(), |share| percent(share * 100.0)));
        row.extend(gauge(gpu.memory_used_bytes.as_ref(), bytes));
        table.rows.push(row);
    }
    let idle = of.resources.gpu_idle_share.filter(|_| !table.rows.is_empty());
    table.after = idle.map(|share| format!("idle below 5 %: {} of all", percent(share * 100.0)));
    table
}

pub(super) fn stragglers(of: &Analysis) -> Table {
    let columns = [
        ("task", false),
        ("name", false),
        ("node", false),
        ("started at", true),
        ("took", true),
        ("median", true),
        ("times", true),
        ("delayed the end by", true),
    ];
    let mut table = Table::new("Stragglers", &columns);
    let found = &of.stragglers;
    for task in &found.tasks {
        table.rows.push(vec![
            task.id.clone(),
            task.name.clone(),
            task.node.clone().unwrap_or_else(|| NONE.to_owned()),
            format!("+{}", seconds(task.started_at_seconds)),
            seconds(task.seconds),
            seconds(task.median_seconds),
            if task.times_median > 0.0 { number(task.times_median) } else { NONE.to_owned() },
            seconds(task.delay_seconds),
        ]);
    }
    table.after = Some(format!(
        "{} in all, {} beyond their medians; without them the last task would have ended {} earlier",
        count(found.count),
        seconds(found.excess_seconds),
        seconds(found.delay_seconds)
    ));
    table
}

pub(super) fn failures(of: &Analysis) -> Table {
    let columns = [
        ("error", false),
        ("count", true),
        ("first at", true),
        ("tasks", false),
        ("message of one", false),
    ];
    let mut table = Table::new("Failures", &columns);
    for group in &of.failures {
        let first = group.first_at_seconds.map(|at| format!("+{}", seconds(at)));
        let named = group.tasks.len() as u64;
        let more = if group.count > named { ", …" } else { "" };
        table.rows.push(vec![
            group.error_type.clone(),
            count(group.count),
            first.unwrap_or_else(|| NONE.to_owned()),
            format!("{}{more}", group.tasks.join(", ")),
            group.message.clone().unwrap_or_else(|| NONE.to_owned()),
        ]);
    }
    table
}

fn open_tasks(of: &Analysis) -> Table {
    let columns =
        [("task", false), ("name", false), ("node", false), ("state", false), ("for", true)];
    let title = if of.session.state == "ended" { "Unfinished tasks" } else { "Open tasks" };
    let mut table = Table::new(title, &columns);
    for task in &of.open_tasks {
        table.rows.push(vec![
            task.id.clone(),
            task.name.clone(),
            task.node.clone().unwrap_or_else(|| NONE.to_owned()),
            task.status.name().to_owned(),
            seconds(task.for_seconds),
        ]);
    }
    let more = (of.tasks.running + of.tasks.waiting).saturating_sub(table.rows.len() as u64);
    table.after = (more > 0).then(|| format!("{} more are not listed", count(more)));
    table
}

fn fields(of: &Analysis) -> Table {
    let columns = [
        ("event", false),
        ("field", false),
        ("count", true),
        ("min", true),
        ("mean", true),
        ("max", true),
        ("last", true),
    ];
    let mut table = Table::new("Numbers of events", &columns);
    for field in &of.fields {
        let mut row = vec![field.event.clone(), field.field.clone(), count(field.count)];
        row.extend([field.min, field.mean, field.max, field.last].map(number));
        table.rows.push(row);
    }
    table
}

pub(super) fn events(of: &Analysis) -> Table {
    let mut table = Table::new("Events", &[("event", false), ("count", true)]);
    for event in &of.events {
        table.rows.push(vec![event.name.clone(), count(event.count)]);
    }
    table
}

pub(super) fn counters(of: &Analysis) -> Table {
    let columns = [("counter", false), ("says", true), ("counted from tasks", true), ("", false)];
    let mut table = Table::new("Counters", &columns);
    for check in &of.counters {
        let verdict = if check.agrees { "agrees" } else { "differs" };
        table.rows.push(vec![
            check.name.to_owned(),
            number(check.counter),
            number(check.counted),
            verdict.to_owned(),
        ]);
    }
    table
}

/// Sessions beside each other: a row for each, since ids are long.
pub(super) fn comparison(of: &Comparison) -> Table {
    let mut columns = vec![("session", false)];
    columns.extend(of.figures.iter().map(|figure| (figure.name, true)));
    let mut table = Table::new("Sessions compared", &columns);
    for (nth, session) in of.sessions.iter().enumerate() {
        let mut row = vec![session.clone()];
        row.extend(of.figures.iter().map(|figure| {
            let part = figure.changes.get(nth).copied().flatten().filter(|_| nth > 0);
            match part {
                Some(part) => format!("{} ({})", figure.shown(nth), change(part)),
                None => figure.shown(nth),
            }
        }));
        table.rows.push(row);
    }
    table.after = Some("changes are from the first".into());
    table
}
