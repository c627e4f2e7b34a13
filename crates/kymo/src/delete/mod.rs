//! `kymo delete`: records that are to go for good.
//!
//! A server is asked what would go, then, if that is what was meant, to let it go. Nothing is deleted
//! without either somebody at a terminal who says yes, or `--yes`.

mod shown;

use std::io::{BufRead, IsTerminal, stdin};

use serde_json::{Map, Value, json};

use crate::cli::OutputFormat;
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::output;
use crate::source::ServerArgs;
use crate::times::moment;
use crate::units::count;

const PATH: &str = "/api/delete";

const EXAMPLES: &str = "\
Examples:
  kymo delete --where '{ span.user.id = \"ada\" }' --dry-run            what would go
  kymo delete --where '{ span.user.id = \"ada\" }' --whole-traces       and all else of these traces
  kymo delete --where \"\\\"log.user.id\\\" = 'ada'\" --signal logs        SQL, as behind WHERE
  kymo delete --where \"\\\"label.user\\\" = 'ada'\" --signal metrics      whole series
  kymo delete --where \"name = 'login'\" --signal traces --end 2026-01-01 --yes --redact
  kymo delete --list                                                  who deleted what
  kymo delete --status 019a94f0c51b7d1e2f30                           how far one is

Records are hidden at once. They leave blocks and journal in the background: state \"done\" means that
no file has them any more.";

/// Delete records for good
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which records: a filter of TraceQL, or a condition of SQL
    #[arg(long = "where", value_name = "CONDITION", required_unless_present_any = ["list", "status"])]
    condition: Option<String>,
    /// What the condition is written in: traceql, sql [default: TraceQL if it begins with a brace]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// What it is about: traces, logs, metrics, all [default for TraceQL: traces]
    #[arg(long, value_name = "SIGNAL")]
    signal: Option<String>,
    /// Only records from this time on: 2026-01-02T03:04:05Z, 2026-01-02, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = moment)]
    start: Option<i64>,
    /// Only records before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    end: Option<i64>,
    /// Delete traces as a whole of which a record matches
    #[arg(long)]
    whole_traces: bool,
    /// Allow a condition that means everything
    #[arg(long)]
    all: bool,
    /// Keep only a hash of the condition in the audit, if it names somebody
    #[arg(long)]
    redact: bool,
    /// Show what would go, and delete nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Delete without asking
    #[arg(long)]
    yes: bool,
    /// List deletions, the latest first
    #[arg(long, conflicts_with_all = ["condition", "status"])]
    list: bool,
    /// Show how far a deletion is
    #[arg(long, value_name = "ID", conflicts_with = "condition")]
    status: Option<String>,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    #[command(flatten)]
    server: ServerArgs,
}

impl Args {
    fn is_json(&self) -> bool {
        self.format == OutputFormat::Json
    }

    /// What is asked for, as the API takes it.
    fn document(&self, condition: &str, dry_run: bool) -> Value {
        let mut document = Map::new();
        let mut add = |key: &str, value: Value| document.insert(key.to_owned(), value);
        add("where", json!(condition));
        add("dry_run", json!(dry_run));
        for (key, text) in [("language", &self.language), ("signal", &self.signal)] {
            if let Some(text) = text {
                add(key, json!(text));
            }
        }
        for (key, nanos) in [("start", self.start), ("end", self.end)] {
            if let Some(nanos) = nanos {
                add(key, json!(crate::units::time(nanos)));
            }
        }
        for (key, is_set) in
            [("whole_traces", self.whole_traces), ("all", self.all), ("redact", self.redact)]
        {
            if is_set {
                add(key, json!(true));
            }
        }
        Value::Object(document)
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let client = args.server.client()?;
    if args.list {
        let all: Value = client::json(client.get(PATH, "application/json")?)?;
        match args.is_json() {
            true => output::json(&all)?,
            false => output::text(&shown::list(&all))?,
        }
        return Ok(true);
    }
    if let Some(id) = &args.status {
        let path = format!("{PATH}/{}", client::segment(id));
        let deletion: Value = client::json(client.get(&path, "application/json")?)?;
        show(args, &deletion)?;
        return Ok(true);
    }
    match &args.condition {
        Some(condition) => delete(args, &client, condition),
        None => Err(Failure::Usage("expected --where, --list or --status".to_owned())),
    }
}

fn delete(args: &Args, client: &Client, condition: &str) -> Result<bool, Failure> {
    if args.dry_run || !args.yes {
        let preview = ask(client, &args.document(condition, true))?;
        if args.dry_run {
            match args.is_json() {
                true => output::json(&preview)?,
                false => output::text(&shown::preview(&preview))?,
            }
            return Ok(true);
        }
        if !is_confirmed(args, client, &preview)? {
            output::say("nothing was deleted");
            return Ok(false);
        }
    }
    show(args, &ask(client, &args.document(condition, false))?)?;
    Ok(true)
}

fn ask(client: &Client, document: &Value) -> Result<Value, Failure> {
    client::json(client.send_json("POST", PATH, document)?)
}

fn show(args: &Args, deletion: &Value) -> Result<(), Failure> {
    match args.is_json() {
        true => output::json(deletion),
        false => output::text(&shown::deletion(deletion)),
    }
}

/// Shows what would go, and asks whether that is meant.
fn is_confirmed(args: &Args, client: &Client, preview: &Value) -> Result<bool, Failure> {
    if !stdin().is_terminal() {
        return Err(Failure::Usage(
            "nobody can be asked here: look with --dry-run first, then say --yes".to_owned(),
        ));
    }
    let records = preview["records"].as_u64().unwrap_or(0);
    if preview["everything"] == true && !args.all {
        return Err(Failure::Usage(
            "the condition means everything that there is: say --all if that is meant".to_owned(),
        ));
    }
    output::say(shown::preview(preview).trim_end());
    let (tenant, server) = (client.tenant(), client.name());
    output::say(&format!(
        "delete {} records of tenant {tenant} on {server} for good? type yes:",
        count(records)
    ));
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    read.map_err(|source| Failure::Io { act: "read", what: "stdin".to_owned(), source })?;
    Ok(line.trim() == "yes")
}
