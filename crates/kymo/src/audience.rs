//! `kymo audience`: who is recorded.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::cli::OutputFormat;
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::output;
use crate::source::ServerArgs;
use crate::table::{Align, Facts, Table};
use crate::units::{date, printable};

const FLAGS: &str = "/api/audience/flags";

const EXAMPLES: &str = "\
Examples:
  kymo audience create flag_ot_traces --attribute user.id       from now on nobody is recorded
  kymo audience set flag_ot_traces --mode selected --user ada   but one
  kymo audience set flag_ot_traces --percentage 10              and one in ten
  kymo audience set flag_ot_traces --mode everybody
  kymo audience audit                                           who changed what";

/// Decide who is recorded
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a flag; it starts as nobody
    Create(FlagArgs),
    /// Change what is named of a flag
    Set(FlagArgs),
    /// List all flags
    List(ShowArgs),
    /// Show one flag
    Show(KeyArgs),
    /// Remove a flag, so that it keeps nobody out any more
    Delete(KeyArgs),
    /// List the last changes
    Audit(ShowArgs),
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, clap::Args)]
struct KeyArgs {
    /// The flag
    key: String,
    #[command(flatten)]
    shown: ShowArgs,
}

#[derive(Debug, clap::Args)]
struct FlagArgs {
    /// The flag
    key: String,
    /// Who is recorded: nobody, everybody, selected
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// A user that is selected, instead of those that are; several by repeating
    #[arg(long = "user", value_name = "USER")]
    users: Vec<String>,
    /// A user that is selected beside those that are
    #[arg(long = "add-user", value_name = "USER")]
    add_users: Vec<String>,
    /// A user that is selected no more
    #[arg(long = "remove-user", value_name = "USER")]
    remove_users: Vec<String>,
    /// The share of users that is selected, 0 to 100
    #[arg(long, value_name = "PERCENT")]
    percentage: Option<f64>,
    /// What names of selected users match; '' for none
    #[arg(long, value_name = "REGEX")]
    regex: Option<String>,
    /// An attribute that names the user; several by repeating
    #[arg(long = "attribute", value_name = "NAME")]
    attributes: Vec<String>,
    /// Whose records are kept if the user is not known: nobody, everybody
    #[arg(long, value_name = "WHO")]
    unknown: Option<String>,
    /// Which records the flag is about: a condition of TraceQL; '' for all
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// A signal that the flag is about: traces, metrics, logs; several by repeating
    #[arg(long = "signal", value_name = "SIGNAL")]
    signals: Vec<String>,
    /// Whether it decides anything
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    shown: ShowArgs,
}

impl FlagArgs {
    /// What was said, as the API takes it.
    fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        let mut add = |key: &str, value: Option<Value>| {
            document.extend(value.map(|value| (key.to_owned(), value)));
        };
        let several = |values: &[String]| (!values.is_empty()).then(|| json!(values));
        // An empty text takes away what was said.
        let or_null = |text: &Option<String>| {
            text.as_ref().map(|text| if text.is_empty() { Value::Null } else { json!(text) })
        };
        add("mode", self.mode.as_ref().map(|mode| json!(mode)));
        add("users", several(&self.users));
        add("add_users", several(&self.add_users));
        add("remove_users", several(&self.remove_users));
        add("percentage", self.percentage.map(|percentage| json!(percentage)));
        add("regex", or_null(&self.regex));
        add("attributes", several(&self.attributes));
        add("unknown", self.unknown.as_ref().map(|unknown| json!(unknown)));
        add("where", or_null(&self.condition));
        add("signals", several(&self.signals));
        add("enabled", self.enabled.map(|enabled| json!(enabled)));
        add("description", self.description.as_ref().map(|text| json!(text)));
        document
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    match &args.command {
        Command::Create(args) => {
            let client = args.shown.server.client()?;
            let mut document = args.document();
            document.insert("key".to_owned(), json!(args.key));
            show(&args.shown, client.send_json("POST", FLAGS, &Value::Object(document))?)?;
        }
        Command::Set(args) => {
            let client = args.shown.server.client()?;
            let document = Value::Object(args.document());
            show(&args.shown, client.send_json("PATCH", &path(&args.key), &document)?)?;
        }
        Command::Show(args) => {
            let client = args.shown.server.client()?;
            show(&args.shown, client.get(&path(&args.key), "application/json")?)?;
        }
        Command::Delete(args) => {
            let client = args.shown.server.client()?;
            client.send_json("DELETE", &path(&args.key), &json!({}))?;
            match args.shown.format {
                OutputFormat::Json => output::json(&json!({ "deleted": args.key }))?,
                OutputFormat::Table => output::text(&format!("deleted {}\n", args.key))?,
            }
        }
        Command::List(args) => list(args, &args.server.client()?)?,
        Command::Audit(args) => audit(args, &args.server.client()?)?,
    }
    Ok(true)
}

fn path(key: &str) -> String {
    format!("{FLAGS}/{}", client::segment(key))
}

fn show(args: &ShowArgs, response: reqwest::blocking::Response) -> Result<(), Failure> {
    let flag: Value = client::json(response)?;
    match args.format {
        OutputFormat::Json => output::json(&flag),
        OutputFormat::Table => output::text(&facts(&flag).to_string()),
    }
}

/// A flag for people, without what is not set.
fn facts(flag: &Value) -> Facts {
    let mut facts = Facts::default();
    for key in [
        "key",
        "description",
        "enabled",
        "mode",
        "users",
        "percentage",
        "regex",
        "unknown",
        "attributes",
        "signals",
        "where",
    ] {
        let value = match &flag[key] {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Array(all) => {
                all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        if !value.is_empty() {
            facts.add(key, printable(&value));
        }
    }
    let at = date(flag["updated_at_millis"].as_u64().unwrap_or(0) / 1000);
    let by = printable(flag["updated_by"].as_str().unwrap_or_default());
    facts.add("changed", format!("{at} by {by}"));
    facts
}

fn list(args: &ShowArgs, client: &Client) -> Result<(), Failure> {
    let all: Value = client::json(client.get(FLAGS, "application/json")?)?;
    if args.format == OutputFormat::Json {
        return output::json(&all);
    }
    let mut table = Table::new(&[
        ("KEY", Align::Left),
        ("MODE", Align::Left),
        ("USERS", Align::Right),
        ("PERCENT", Align::Right),
        ("REGEX", Align::Left),
        ("UNKNOWN", Align::Left),
        ("ENABLED", Align::Left),
        ("BY", Align::Left),
    ]);
    for flag in all["flags"].as_array().into_iter().flatten() {
        let text = |key: &str| printable(flag[key].as_str().unwrap_or_default());
        table.row(vec![
            text("key"),
            text("mode"),
            flag["users"].as_array().map_or(0, Vec::len).to_string(),
            flag["percentage"].to_string(),
            text("regex"),
            text("unknown"),
            flag["enabled"].to_string(),
            text("updated_by"),
        ]);
    }
    output::text(&table.to_string())
}

fn audit(args: &ShowArgs, client: &Client) -> Result<(), Failure> {
    let all: Value = client::json(client.get("/api/audience/audit", "application/json")?)?;
    if args.format == OutputFormat::Json {
        return output::json(&all);
    }
    let left = ["TIME", "BY", "ACTION", "KEY", "CHANGE"];
    let mut table = Table::new(&left.map(|heading| (heading, Align::Left)));
    for entry in all["audit"].as_array().into_iter().flatten() {
        let text = |key: &str| printable(entry[key].as_str().unwrap_or_default());
        table.row(vec![
            date(entry["at_millis"].as_u64().unwrap_or(0) / 1000),
            text("by"),
            text("action"),
            text("key"),
            printable(&changes(entry)),
        ]);
    }
    output::text(&table.to_string())
}

/// What an entry of the audit says of a flag: what it is now, and how many users came and went.
fn changes(entry: &Value) -> String {
    let count = |of: &Value| {
        let named = of["users"].as_array().map_or(0, Vec::len) as u64;
        named + of["users_left_out"].as_u64().unwrap_or(0)
    };
    let mut parts = Vec::new();
    for (name, value) in entry["after"].as_object().into_iter().flatten() {
        let is_said = match value {
            // Of a new flag, what it does not have is of no interest.
            Value::Null => !entry["before"].is_null(),
            Value::String(text) => !text.is_empty() || !entry["before"].is_null(),
            _ => true,
        };
        if is_said && !name.starts_with("users") {
            parts.push(format!("{name}={value}").replace('"', ""));
        }
    }
    let (added, removed) = (count(&entry["after"]), count(&entry["before"]));
    if added > 0 {
        parts.push(format!("users +{added}"));
    }
    if removed > 0 {
        parts.push(format!("users -{removed}"));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_the_audit_tells_what_changed() {
        let update = json!({
            "action": "update",
            "before": {"mode": "nobody", "regex": "x", "users": ["bob"]},
            "after": {"mode": "selected", "regex": null, "users": ["ada"], "users_left_out": 2},
        });
        assert_eq!(changes(&update), "mode=selected regex=null users +3 users -1");
        let create =
            json!({"after": {"mode": "nobody", "regex": null, "description": "", "users": []}});
        assert_eq!(changes(&create), "mode=nobody");
        assert_eq!(changes(&json!({"before": {"users": ["ada"]}})), "users -1");
    }

    #[test]
    fn a_flag_is_shown_without_what_is_not_set() {
        let flag = json!({
            "key": "f", "mode": "selected", "users": ["ada", "b\u{7}ob"], "percentage": 10.0,
            "regex": null, "description": "", "updated_at_millis": 0, "updated_by": "eve",
        });
        let expected = "key         f\nmode        selected\nusers       ada, b\\u{7}ob\n\
                        percentage  10.0\nchanged     1970-01-01T00:00:00 by eve\n";
        assert_eq!(facts(&flag).to_string(), expected);
    }
}
