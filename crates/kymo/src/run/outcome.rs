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

/// What it used, with all that it started. Without looks at its processes, only what the kernel
/// counted for those that were waited for.
pub(super) fn of_use(used: Option<&Used>, outcome: &Outcome) -> Vec<KeyValue> {
    let count = |name: &'static str, count: u64| {
        KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX))
    };
    let tree = used.map(|used| &used.tree);
    // What was waited for is counted in microseconds; what is looked up, in hundredths of a second.
    let most =
        |looked_up: Option<f64>, waited: f64| looked_up.map_or(waited, |one| one.max(waited));
    let user_seconds = most(tree.map(|tree| tree.cpu_user_secs), outcome.usage.user_seconds);
    let system_seconds = most(tree.map(|tree| tree.cpu_system_secs), outcome.usage.system_seconds);
    let mut attributes = vec![
        KeyValue::new("process.cpu_user_seconds", user_seconds),
        KeyValue::new("process.cpu_system_seconds", system_seconds),
    ];
    let elapsed = outcome.end_nanos.saturating_sub(outcome.start_nanos) as f64 / 1e9;
    if elapsed > 0.0 {
        let busy = (user_seconds + system_seconds) / elapsed;
        attributes.push(KeyValue::new("process.cores_busy", busy));
    }
    // If the kernel does not tell, a look at a single process does.
    let is_single = |used: &&Used| used.most_processes == 1 && used.tree.peak_resident_bytes > 0;
    let seen = used.filter(is_single).map(|used| used.tree.peak_resident_bytes);
    let resident = outcome.usage.max_resident_bytes.or(seen);
    attributes.extend(resident.map(|bytes| count("process.max_resident_bytes", bytes)));
    let Some(used) = used else { return attributes };
    attributes.extend([
        count("process.tree_peak_resident_bytes", used.tree.peak_resident_bytes),
        count("process.tree_most_processes", used.most_processes as u64),
        count("process.disk_read_bytes", used.tree.read_bytes),
        count("process.disk_write_bytes", used.tree.written_bytes),
        count("process.net_recv_bytes", used.received_bytes),
        count("process.net_sent_bytes", used.sent_bytes),
    ]);
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

/// What became of all that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    /// Whether the file has all of it, if there is one.
    is_all_written: bool,
    /// Whether the server has, if there is one.
    is_all_sent: bool,
}

impl Ending {
    /// Asks a session that was told to end, and says what is lost. `has_ended` is what it said;
    /// `left_out` are requests of the command that it never got, `is_sent_on` whether a server did.
    pub(super) fn of(session: &Session, has_ended: bool, left_out: u64, is_sent_on: bool) -> Self {
        if left_out > 0 {
            tracing::warn!("requests of the command that are not in the file: {left_out}");
        }
        if !session.has_finished() {
            // It is not asked for more: it would answer only when the disk does.
            tracing::warn!("not all is in the file: it took too long to write");
            return Self { is_all_written: false, is_all_sent: false };
        }
        let stats = session.stats();
        if stats.dropped > 0 {
            tracing::warn!("events, lines and requests that had no room: {}", stats.dropped);
        }
        let is_all_told = stats.dropped == 0;
        // A file that is lost is one reason not to have ended well, and none not to have sent all.
        let is_session_sent = has_ended || stats.checkpoint_error.is_some();
        let is_any_lost = stats.export.is_some_and(|counts| counts.lost() > 0);
        Self {
            is_all_written: is_all_told && left_out == 0,
            is_all_sent: is_all_told && is_session_sent && is_sent_on && !is_any_lost,
        }
    }
}

/// Where it went, on one line.
pub(super) fn last_line(
    session: &Session,
    outcome: &Outcome,
    destination: &Destination,
    ending: Ending,
    elapsed: Duration,
) {
    let with_rest = |place: String, is_all: bool| match is_all {
        true => place,
        false => format!("{place} (not all of it)"),
    };
    // One that is still writing has its file.
    let is_lost = session.has_finished() && session.stats().checkpoint_error.is_some();
    let file = session.checkpoint_path().filter(|_| !is_lost);
    let file = file.map(|path| with_rest(path.display().to_string(), ending.is_all_written));
    let server = destination.server().map(|server| with_rest(server, ending.is_all_sent));
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

#[cfg(test)]
mod tests {
    use kymo_ci::command::Usage;
    use kymo_session::{Checkpoint, SessionOptions, WhenFull};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn session(checkpoint: Checkpoint) -> Session {
        let mut options = SessionOptions::new("test");
        options.checkpoint = checkpoint;
        options.when_full = WhenFull::Drop;
        options.poll_every = None;
        Session::start(options).unwrap()
    }

    #[test]
    fn a_file_that_is_lost_does_not_say_that_a_server_lacks_something() {
        let session = session(Checkpoint::File("/proc/no/such/file".into()));
        let has_ended = session.end(LONG);
        assert!(!has_ended);
        assert!(Ending::of(&session, has_ended, 0, true).is_all_sent);
        assert!(!Ending::of(&session, has_ended, 0, false).is_all_sent);
    }

    #[test]
    fn what_had_no_room_or_was_left_out_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let session = session(Checkpoint::File(place.path().join("a.jsonl")));
        session.add_request(kymo_wire::Signal::Logs, Vec::new());
        let still_open = Ending::of(&session, false, 0, true);
        assert_eq!(still_open, Ending { is_all_written: false, is_all_sent: false });
        let has_ended = session.end(LONG);
        let whole = Ending { is_all_written: true, is_all_sent: true };
        assert_eq!(Ending::of(&session, has_ended, 0, true), whole);
        let left_out = Ending { is_all_written: false, is_all_sent: true };
        assert_eq!(Ending::of(&session, has_ended, 3, true), left_out);
        // After the end there is no room either.
        session.set_attributes(Vec::new());
        let dropped = Ending { is_all_written: false, is_all_sent: false };
        assert_eq!(Ending::of(&session, has_ended, 0, true), dropped);
    }

    #[test]
    fn without_looks_only_what_the_kernel_counted_is_told() {
        let outcome = Outcome {
            start_nanos: 0,
            end_nanos: 2_000_000_000,
            code: 0,
            signal: None,
            not_started: None,
            usage: Usage { user_seconds: 1.0, max_resident_bytes: Some(7), ..Usage::default() },
            process: Some(1),
            warning: None,
        };
        let text = |used: Option<&Used>| -> Vec<String> {
            let attributes = of_use(used, &outcome);
            attributes.iter().map(|one| format!("{}={}", one.key, one.value)).collect()
        };
        let counted = [
            "process.cpu_user_seconds=1",
            "process.cpu_system_seconds=0",
            "process.cores_busy=0.5",
            "process.max_resident_bytes=7",
        ];
        assert_eq!(text(None), counted);
        let mut used = Used::default();
        used.received_bytes = 5;
        let looked = text(Some(&used));
        assert_eq!(looked[..4], counted);
        assert!(looked.contains(&"process.net_recv_bytes=5".to_owned()), "{looked:?}");
    }
}
