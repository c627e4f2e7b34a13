//! How the command went: attributes of the session's span, and one line for people.

use std::time::Duration;

use kymo_ci::command::Outcome;
use kymo_session::{Array, Event, EventName, KeyValue, Session, StringValue, Value};

use super::destination::Destination;
use super::limits::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};
use super::watch::Used;
use crate::output;
use crate::units::{nanos, printable};

/// What is known before it runs. `arguments` are without secrets.
pub(super) fn of_command(arguments: &[String], program: &str) -> Vec<KeyValue> {
    let shown = arguments.iter().take(MAX_ARGUMENTS).map(|argument| {
        let end = argument.floor_char_boundary(MAX_ARGUMENT_BYTES);
        StringValue::from(argument[..end].to_owned())
    });
    let arguments = Value::Array(Array::String(shown.collect()));
    let mut attributes = vec![
        KeyValue::new("process.command_args", arguments),
        KeyValue::new("process.executable.name", program.to_owned()),
    ];
    if let Ok(directory) = std::env::current_dir() {
        let directory = directory.to_string_lossy().into_owned();
        attributes.push(KeyValue::new("process.working_directory", directory));
    }
    attributes
}

/// Says that it runs.
pub(super) fn started(session: &Session, pid: u32, of_command: &[KeyValue]) {
    let pid = KeyValue::new("process.pid", i64::from(pid));
    session.set_attributes(vec![pid.clone()]);
    let mut event = Event::new(EventName::Custom("kymo.ProcessStarted".into()));
    event.attributes = of_command.to_vec();
    event.attributes.push(pid);
    session.emit(event);
}

/// How it ended.
pub(super) fn of_end(outcome: &Outcome) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new("process.exit.code", i64::from(outcome.code))];
    attributes
        .extend(outcome.signal.map(|signal| KeyValue::new("process.signal", i64::from(signal))));
    attributes
}

/// What it used, with all that it started.
pub(super) fn of_use(used: &Used, outcome: &Outcome) -> Vec<KeyValue> {
    let count = |name: &'static str, count: u64| {
        KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX))
    };
    let tree = &used.tree;
    // What was waited for is counted in microseconds; what is looked up, in hundredths of a second.
    let user_seconds = tree.cpu_user_secs.max(outcome.usage.user_seconds);
    let system_seconds = tree.cpu_system_secs.max(outcome.usage.system_seconds);
    let mut attributes = vec![
        KeyValue::new("process.cpu_user_seconds", user_seconds),
        KeyValue::new("process.cpu_system_seconds", system_seconds),
        count("process.tree_peak_resident_bytes", tree.peak_resident_bytes),
        count("process.tree_most_processes", used.most_processes as u64),
        count("process.disk_read_bytes", tree.read_bytes),
        count("process.disk_write_bytes", tree.written_bytes),
        count("process.net_recv_bytes", used.received_bytes),
        count("process.net_sent_bytes", used.sent_bytes),
    ];
    // If the kernel does not tell, a look at a single process does.
    let is_single = used.most_processes == 1 && tree.peak_resident_bytes > 0;
    let seen = is_single.then_some(tree.peak_resident_bytes);
    let most = outcome.usage.max_resident_bytes.or(seen);
    attributes.extend(most.map(|most| count("process.max_resident_bytes", most)));
    let elapsed = outcome.end_nanos.saturating_sub(outcome.start_nanos) as f64 / 1e9;
    if elapsed > 0.0 {
        let busy = (user_seconds + system_seconds) / elapsed;
        attributes.push(KeyValue::new("process.cores_busy", busy));
    }
    if let Some((percent, scope)) = used.mean_gpu_percent() {
        attributes.push(KeyValue::new("process.gpu_percent", percent));
        attributes.push(KeyValue::new("process.gpu_scope", scope));
    }
    attributes.extend(
        used.most_gpu_memory_bytes.map(|bytes| count("process.gpu_memory_max_bytes", bytes)),
    );
    attributes
}

/// Why the session's span is an error; none if all went well.
pub(super) fn failure(outcome: &Outcome) -> Option<String> {
    match (&outcome.not_started, outcome.signal, outcome.code) {
        (Some(why), _, _) => Some(why.clone()),
        (None, Some(signal), _) => Some(format!("ended by signal {signal}")),
        (None, None, 0) => None,
        (None, None, code) => Some(format!("exit status {code}")),
    }
}

/// Says what went wrong with running it.
pub(super) fn complain(outcome: &Outcome) {
    if let Some(why) = &outcome.not_started {
        output::error(why);
    }
    if let Some(warning) = &outcome.warning {
        output::warning(warning);
    }
}

/// Where it went, on one line. `is_all_sent` is what the end of the recording said.
pub(super) fn last_line(
    session: &Session,
    outcome: &Outcome,
    destination: &Destination,
    is_all_sent: bool,
    elapsed: Duration,
) {
    let stats = session.stats();
    let file = session.checkpoint_path().filter(|_| stats.checkpoint_error.is_none());
    let file = file.map(|path| path.display().to_string());
    let is_lost = !is_all_sent || stats.export.is_some_and(|counts| counts.lost() > 0);
    let server = destination.server().map(|server| match is_lost {
        true => format!("{server} (not all of it)"),
        false => server,
    });
    let places: Vec<String> = file.into_iter().chain(server).collect();
    let place = if places.is_empty() { "not recorded".to_owned() } else { places.join(", ") };
    let how = match outcome.signal {
        Some(signal) => format!("signal {signal}"),
        None => format!("exit {}", outcome.code),
    };
    let elapsed = nanos(i128::try_from(elapsed.as_nanos()).unwrap_or(i128::MAX));
    let trace = session.trace_id();
    output::say(&format!("kymo: {} · trace {trace} · {elapsed} · {how}", printable(&place)));
}
