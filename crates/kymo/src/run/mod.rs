//! `kymo run`: any command as a session.
//!
//! ```text
//!             ┌─ TRACEPARENT, OTEL_… ─> the command and all that it starts
//!  Session ───┤                          │ OTLP          │ output        │ /proc
//!             │                          ▼               ▼               ▼
//!             │                       receiver         lines           watch
//!             │                          │               │               │
//!             └──────────────────────────┴───────────────┴───────────────┴──> file, server
//! ```
//!
//! What the command does comes first, as in `kymo ci exec`: output, signals and status are its own,
//! and whatever fails here becomes a warning. Nothing that is told of it makes it wait.
//!
//! | module | what is there |
//! |---|---|
//! | `destination` | where it all goes: a file, a server, both |
//! | `variables` | what the command finds in its environment |
//! | `receiver` | what instrumented programs below it send |
//! | `forward` | that, on to a server |
//! | `lines` | output as log records |
//! | `watch` | what its processes use |
//! | `instruments` | that, as metrics |
//! | `orphans` | processes whose parents are gone |
//! | `outcome` | the session's span, and the last line |

mod destination;
mod forward;
mod instruments;
mod limits;
mod lines;
mod orphans;
mod outcome;
mod receiver;
mod variables;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kymo_ci::command::{Outcome, Output, run_watched};
use kymo_ci::environment::Environment;
use kymo_ci::redact::Redactor;
use kymo_service::export::Protocol;
use kymo_session::limits::MIN_POLL_EVERY;
use kymo_session::{KeyValue, Session};

use self::destination::Destination;
use self::lines::Lines;
use self::orphans::Orphans;
use self::outcome::Ending;
use self::receiver::{Receiver, Sink};
use self::watch::Watch;
use crate::output;

const EXAMPLES: &str = "\
Without a server, a file is written: ./<name>.kymo.jsonl. With one (--endpoint, KYMO_OTLP_ENDPOINT
or OTEL_EXPORTER_OTLP_ENDPOINT), it is sent there, and to a file only if --file asks for it.

  kymo run -- python train.py
  kymo run --name nightly --output --tag team=ml -- make all
  kymo run --endpoint http://localhost:4317 -- ./simulate
  kymo report nightly.kymo.jsonl

The status is that of the command. docs/sessions/run.md has the rest.";

/// Run a command as a session: its resources, its output, and what it sends itself, in one trace
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the session [default: that of the program]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Keep output as log records; it still goes where it went, but no longer to a terminal
    #[arg(long)]
    output: bool,
    /// How often node and processes are looked at, 0.1s or more [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = poll_interval)]
    poll: Option<Duration>,
    /// Server to send to, such as http://localhost:4317
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// How to talk to it: grpc, http/protobuf or http/json
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    protocol: Option<Protocol>,
    /// File to write, also if there is a server; one that is there gets a number added
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// An attribute of everything that is recorded; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = tag)]
    tag: Vec<(String, String)>,
    /// Take out of the command line what matches this regular expression too; may be repeated
    #[arg(long, value_name = "REGEX")]
    redact: Vec<String>,
    /// Take nothing out of the command line
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,
    /// Say nothing at the end
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

fn protocol(word: &str) -> Result<Protocol, String> {
    Protocol::of(word).ok_or_else(|| "expected grpc, http/protobuf or http/json".to_owned())
}

/// `5s`, `500ms`, `0.1s`, or a number of seconds.
fn poll_interval(text: &str) -> Result<Duration, String> {
    let seconds = || text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let decimal = || Duration::try_from_secs_f64(seconds()?).ok();
    let interval = kymo_yaml::amounts::duration(text).or_else(decimal);
    match interval {
        Some(interval) if interval >= MIN_POLL_EVERY => Ok(interval),
        Some(_) => Err(format!("expected {} s or more", MIN_POLL_EVERY.as_secs_f64())),
        None => Err("expected a duration such as 5s, 0.5s or 1m".to_owned()),
    }
}

fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Does it. The status is the command's.
pub(crate) fn run(args: &Args) -> ExitCode {
    let began = Instant::now();
    let environment = Environment::of_process();
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = args.name.clone().unwrap_or_else(|| program(&words).to_owned());
    let destination = Destination::choose(args, &name, &environment);
    let session = match Session::start(destination.options(args, &name)) {
        Ok(session) => Some(session),
        Err(error) => {
            output::warning(&format!("the command is run, but not recorded: {error}"));
            None
        }
    };
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    let Some(session) = session else {
        let outcome = run_watched(&mut command, &Output::Only, |_| ());
        outcome::complain(&outcome);
        return ExitCode::from(outcome.code);
    };
    let recording = Recording::start(args, session, &destination, &environment, &words);
    variables::set(&mut command, &recording.session, recording.address(), &environment);
    let outcome = recording.run(&mut command);
    outcome::complain(&outcome);
    let (session, ending) = recording.end(&outcome);
    if !args.quiet {
        outcome::last_line(&session, &outcome, &destination, ending, began.elapsed());
    }
    // Dropped, it would wait once more for what did not end in time.
    std::mem::forget(session);
    ExitCode::from(outcome.code)
}

/// The program's name without its directory.
fn program(words: &[String]) -> &str {
    let program = words.first().map_or("", String::as_str);
    let name = program.rsplit('/').next().unwrap_or(program);
    if name.is_empty() { "command" } else { name }
}

/// Everything that goes on beside the command.
struct Recording {
    session: Session,
    sink: Sink,
    receiver: Option<Receiver>,
    watch: Watch,
    lines: Option<Arc<Lines>>,
    of_command: Vec<KeyValue>,
}

impl Recording {
    fn start(
        args: &Args,
        session: Session,
        destination: &Destination,
        environment: &Environment,
        words: &[String],
    ) -> Self {
        let redactor = match args.no_redact {
            true => Ok(Redactor::none()),
            false => Redactor::new(environment, &args.redact),
        };
        // What cannot be checked for secrets is not kept.
        let arguments = redactor.map(|redactor| redactor.arguments(words));
        let arguments = arguments.unwrap_or_else(|why| {
            output::warning(&format!("the command line is not recorded: {why}"));
            Vec::new()
        });
        let of_command = outcome::of_command(&arguments, program(words));
        session.set_attributes(of_command.clone());
        let is_kept = session.checkpoint_path().is_some();
        let sink = Sink::new(is_kept.then(|| session.clone()), destination.export());
        let receiver = match Receiver::start(&sink) {
            Ok(receiver) => Some(receiver),
            Err(error) => {
                output::warning(&format!(
                    "what the command sends by itself is not recorded: cannot listen: {error}"
                ));
                None
            }
        };
        let every = args.poll.unwrap_or(limits::POLL_EVERY);
        let watch = Watch::new(session.clone(), every);
        let lines = args.output.then(|| Arc::new(Lines::new(session.clone())));
        Self { session, sink, receiver, watch, lines, of_command }
    }

    /// Where programs below the command send to.
    fn address(&self) -> Option<std::net::SocketAddr> {
        self.receiver.as_ref().map(Receiver::address)
    }

    fn run(&self, command: &mut Command) -> Outcome {
        let heard = match &self.lines {
            Some(lines) => Output::Heard(lines.clone()),
            None => Output::Only,
        };
        let orphans = Orphans::adopt();
        let outcome = run_watched(command, &heard, |pid| {
            orphans.reap_all_but(pid);
            self.watch.begin(pid);
            // The span is written when it has ended; this says what runs if it never does.
            outcome::started(&self.session, pid, &self.of_command);
        });
        orphans.end();
        outcome
    }

    /// Waits for the last words of everything.
    fn end(self, outcome: &Outcome) -> (Session, Ending) {
        // What one part takes too long for, the next lacks.
        let latest = Instant::now() + limits::STRAGGLERS + limits::END_TIMEOUT;
        self.sink.hurry(latest);
        let left_out = self.receiver.map_or(0, Receiver::end);
        let mut attributes = outcome::of_end(outcome);
        attributes.extend(outcome::of_use(self.watch.end().as_ref(), outcome));
        if let Some(lines) = &self.lines {
            lines.end();
            let left_out = i64::try_from(lines.left_out()).unwrap_or(i64::MAX);
            attributes.push(KeyValue::new("output.lines_left_out", left_out));
        }
        self.session.set_attributes(attributes);
        if let Some(why) = outcome::failure(outcome) {
            self.session.fail(why);
        }
        // The file first: a server that is gone may take all the time there is.
        let until = latest.min(Instant::now() + limits::END_TIMEOUT);
        self.sink.hurry(until);
        let has_ended = self.session.end(until.saturating_duration_since(Instant::now()));
        let is_sent_on = self.sink.end(until);
        let ending = Ending::of(&self.session, has_ended, left_out, is_sent_on);
        (self.session, ending)
    }
}
