//! `kymo report`: what a session did.
//!
//! ```text
//!  files ── files::Walk ───────────────┐
//!                                      ├──> kymo_report::Recording ──> sessions ──> figures ──> page
//!  server, directory ── sql::Answer ───┘
//! ```
//!
//! What is asked for is a file if there is one of that name, else the id of a session of a server or
//! of a data directory.

mod ask;
mod choose;
mod read;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use kymo_report::render::{html, json, markdown, text};
use kymo_report::{Analysis, Session, compare};

use crate::failure::Failure;
use crate::files::{FORMATS_HELP, ReadArgs};
use crate::source::SourceArgs;
use crate::terminal::{self, Paint};
use crate::{output, units};

const EXAMPLES: &str = "\
What is a session: everything with the same resource attribute session_id. Its tasks are spans and
events that have task_id. A trace without either is taken for a session if it has one root: the spans
below that are its tasks. docs/sessions/report.md defines every figure.

Examples:
  kymo report train.6ffa6904.kymo.jsonl                        counts, times, waits, use, stragglers
  kymo report train.6ffa6904.kymo.jsonl --format html          a page to show around
  kymo report monday.kymo.jsonl tuesday.kymo.jsonl             two sessions, compared
  kymo report train.6ffa6904 --url http://kymo.example:3200    a session of a server
  kymo report train.6ffa6904 --data ./kymo-data                without a server, or beside one
  kymo report run.telemetry.jsonl --format json | jq '.sessions[0].duration.p95'";

/// Say how a session went: counts, times, waits, use of nodes and GPUs, stragglers, failures
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{FORMATS_HELP}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// Files to read, - for stdin; or ids of sessions that a server or a directory has
    #[arg(required = true, value_name = "FILE|SESSION")]
    what: Vec<PathBuf>,
    /// Only this session of the files; may be repeated
    #[arg(long = "session", value_name = "ID")]
    sessions: Vec<String>,
    /// Only tasks of this type; may be repeated
    #[arg(long = "task-type", value_name = "TYPE")]
    task_types: Vec<String>,
    /// Only tasks of this executable; may be repeated
    #[arg(long = "executable", value_name = "NAME")]
    executables: Vec<String>,
    /// How the report is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// File to write to, - for stdout [default: stdout; <session>.html for html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Columns of the text [default: those of the terminal]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=1000))]
    width: Option<u16>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    reading: ReadArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables and charts for a terminal
    #[default]
    Text,
    /// For issues and pull requests
    Markdown,
    /// For programs
    Json,
    /// One page for a browser that needs nothing else
    Html,
}

/// Reports; false if something could not be read.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let (files, ids): (Vec<PathBuf>, Vec<PathBuf>) =
        args.what.iter().cloned().partition(|what| is_file(what));
    let mut sessions = Vec::new();
    let mut is_well = true;
    if !files.is_empty() {
        let read = read::files(&files, args.reading.options())?;
        is_well = read.faults == 0;
        sessions = choose::sessions(read, &args.sessions)?;
    } else if !args.sessions.is_empty() {
        let hint = "--session chooses one of several in a file; name the session itself instead";
        return Err(Failure::Usage(hint.into()));
    }
    if !ids.is_empty() {
        sessions.extend(ask::sessions(&args.source, &ids)?);
    }
    choose::tasks(&mut sessions, &args.task_types, &args.executables)?;
    let analyses: Vec<Analysis> = sessions.iter().map(Analysis::of).collect();
    write(args, &sessions, &analyses)?;
    Ok(is_well)
}

/// Whether a file is meant: it is there, or it ends like one and shall be said to be missing. A slash
/// alone says nothing, ids have them too.
fn is_file(what: &Path) -> bool {
    let ends_like_one = what.extension().is_some_and(|ending| {
        ["json", "jsonl", "pb", "binpb"].iter().any(|known| ending.eq_ignore_ascii_case(known))
    });
    // Neither a pipe nor a directory is a file, but its path is no id.
    let is_path = what.components().count() > 1 && what.exists();
    crate::files::is_stdin(what) || ends_like_one || is_path || what.is_file()
}

fn write(args: &Args, sessions: &[Session], analyses: &[Analysis]) -> Result<(), Failure> {
    let comparison = compare(analyses);
    let comparison = comparison.as_ref();
    let is_stdout = args.output.as_deref().is_none_or(crate::files::is_stdin);
    let page = match args.format {
        Format::Text => {
            let columns = args.width.map(usize::from).or_else(terminal::columns);
            let look = text::Look {
                columns: columns.unwrap_or(terminal::PIPE_COLUMNS),
                colours: is_stdout && Paint::stdout().is_on(),
            };
            text::render(analyses, comparison, look)
        }
        Format::Markdown => markdown::render(analyses, comparison),
        Format::Json => json::render(analyses, comparison),
        Format::Html => html::render(analyses, comparison),
    };
    let path = match (&args.output, args.format) {
        (Some(path), _) if !crate::files::is_stdin(path) => path.clone(),
        (None, Format::Html) => page_name(sessions),
        _ => return output::text(&page),
    };
    std::fs::write(&path, &page).map_err(|error| Failure::io("write", &path, error))?;
    let size = units::bytes(page.len() as u64);
    output::note(&format!("wrote {} ({size})", path.display()));
    Ok(())
}

/// `<session>.html`, or `sessions.html` for several. What has a meaning in paths is replaced.
fn page_name(sessions: &[Session]) -> PathBuf {
    let id = match sessions {
        [only] => &*only.id,
        _ => "sessions",
    };
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = id.chars().take(100).map(safe).collect();
    PathBuf::from(format!("{}.html", name.trim_start_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_alone_does_not_make_a_file() {
        let place = tempfile::tempdir().unwrap();
        let there = place.path().join("recorded");
        std::fs::write(&there, "").unwrap();
        for file in [&*there, place.path(), Path::new("-"), Path::new("no/such/run.kymo.jsonl")] {
            assert!(is_file(file), "{}", file.display());
        }
        for id in ["train.6ffa6904", "team/train.6ffa6904", "a/b/c"] {
            assert!(!is_file(Path::new(id)), "{id}");
        }
    }
}
