//! `kymo top`: what hosts, GPUs and sessions do, and what a server takes in, as it changes.
//!
//! ```text
//!  /metrics ──────────────> ingest ──┐
//!  PromQL, TraceQL ──> section ──────┼─> page ─┬─> screen: a terminal, drawn again and again
//!  (hosts, gpus, sessions)           │         └─> text or lines of JSON
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `section` | tables whose columns are queries: hosts, GPUs, sessions |
//! | `ingest` | what the server itself counts |
//! | `page` | all of it, as text and as JSON |
//! | `screen` | the terminal: keys, drawing, putting it back in order |

mod ingest;
mod page;
mod screen;
mod section;

use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::source::{ServerArgs, Source};
use ingest::Counted;
use kymo_yaml::amounts;
use page::Page;
use screen::{Key, Screen};

/// The shortest time between two pages: a server has other things to do.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// How long counters are watched before a first page that is to have rates: they need two looks.
const FIRST_LOOK: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Hosts and GPUs are those whose metrics the server has: its own, and those of other kymo serve,
node-exporter and dcgm-exporter. Keys: q ends, space looks again at once.

Examples:
  kymo top
  kymo top --url http://ci.example.org:3200 --interval 5s
  kymo top --once                                  one page, for a pipe or a report
  kymo top --format json | jq .hosts               a line of JSON for each page";

/// Watch hosts, GPUs, sessions and what the server takes in
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Time between two pages
    #[arg(long, value_name = "DURATION", value_parser = interval, default_value = "2s")]
    interval: Duration,
    /// Show one page and end
    #[arg(long)]
    once: bool,
    /// How a page is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for people
    #[default]
    Table,
    /// A line of JSON for each page
    Json,
}

fn interval(text: &str) -> Result<Duration, String> {
    let duration = amounts::duration(text).filter(|duration| *duration >= MIN_INTERVAL);
    duration.ok_or_else(|| "expected 200ms or more, as in 500ms, 2s or 1m".to_owned())
}

/// Shows pages until somebody has seen enough.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let source = args.server.open()?;
    let interrupt = Interrupt::listen().map_err(|source| Failure::Io {
        act: "listen to",
        what: "signals".into(),
        source,
    })?;
    let before = Counted::read(&source)?;
    let is_screen = !args.once && args.format == Format::Table && screen::is_there();
    match is_screen {
        true => draw(args, &source, before, &interrupt)?,
        false => write(args, &source, before, &interrupt)?,
    }
    Ok(true)
}

/// Writes pages one after the other, or one.
fn write(
    args: &Args,
    source: &Source,
    mut before: Option<Counted>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    interrupt.wait(FIRST_LOOK);
    while !interrupt.is_wanted() {
        let page = Page::look(source, &mut before)?;
        let text = match args.format {
            Format::Table => page.text(None),
            Format::Json => output::json_line(&page)?,
        };
        if !output::text_until_closed(&text)? || args.once {
            break;
        }
        interrupt.wait(args.interval);
    }
    Ok(())
}

/// Draws pages over each other until a key ends it.
fn draw(
    args: &Args,
    source: &Source,
    mut before: Option<Counted>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let mut screen = Screen::open()?;
    let mut wait = MIN_INTERVAL;
    loop {
        let key = screen.key_within(wait)?;
        if key == Some(Key::End) || interrupt.is_wanted() {
            return Ok(());
        }
        if key == Some(Key::Other) {
            continue;
        }
        let began = Instant::now();
        // A server that is started again is looked at again.
        let shown = match Page::look(source, &mut before) {
            Ok(page) => page.text(Some(screen.size())),
            Err(failure) => format!("{failure}\n"),
        };
        screen.draw(&shown)?;
        wait = args.interval.saturating_sub(began.elapsed()).max(MIN_INTERVAL);
    }
}
