//! `kymo trace`: one trace as a tree.
//!
//! ```text
//!  server ── GET /tempo/api/v2/traces/ID ──┐
//!                                          ├──> OTLP protobuf ──> spans ──> tree ──> draw
//!  directory ── kymo_engine ───────────────┘                 └──> OTLP/JSON
//! ```
//!
//! `beside` shows what belongs to it: log records, exceptions, exemplars, hosts, GPUs.

mod beside;
mod draw;
mod id;
mod spans;
#[cfg(test)]
mod tests;
mod tree;

use std::io::{self, BufWriter, Read, Write};

use bytes::Bytes;
use clap::ValueEnum;
use kymo_wire::WireError;

use crate::client::{Client, broken};
use crate::failure::Failure;
use crate::source::{Directory, Source, SourceArgs};
use crate::terminal::{self, Paint};
use crate::{output, units};
use draw::Look;

/// Bytes of a trace that are taken: more than a server can hold of one.
const MAX_TRACE_BYTES: u64 = 2 << 30;

const EXAMPLES: &str = "\
Reading the tree:
  ! error: …                  the span failed
  ~ parent … not received     a span between this one and the root never arrived
  ~ starts … before its parent: clocks differ
  [137]                       a level too deep to be drawn; its number

Examples:
  kymo trace 5b8efff798038103d269b633813fc60c
  kymo trace 5b8efff798038103d269b633813fc60c --attributes
  kymo trace 5b8efff798038103d269b633813fc60c --with logs,exceptions,host,gpu
  kymo trace 5b8efff798038103d269b633813fc60c --format json --data ./kymo-data > trace.json";

/// Show a trace as a tree, with times and errors
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The trace: 1 to 32 hexadecimal digits
    #[arg(value_name = "ID")]
    id: String,
    /// Show the attributes of each span
    #[arg(long)]
    attributes: bool,
    /// Show what belongs to it as well: logs, exceptions, exemplars, host, gpu
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = beside::part)]
    with: Vec<String>,
    #[command(flatten)]
    source: SourceArgs,
    /// How the trace is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A tree for people
    #[default]
    Tree,
    /// OTLP/JSON
    Json,
}

/// Finds a trace and shows it.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let id = id::parse(&args.id)?;
    let source = args.source.open()?;
    let body = match &source {
        Source::Server(client) => ask(client, &id)?,
        Source::Directory(directory) => look_up(directory, &id)?,
    };
    let found = match args.with.is_empty() {
        true => None,
        false => Some(beside::ask(&source, &id, &args.with)?),
    };
    match args.format {
        Format::Json => write_json(&body, found)?,
        Format::Tree => {
            write_tree(&id, &body, args.attributes)?;
            if let Some(found) = found {
                let columns = terminal::columns().unwrap_or(terminal::PIPE_COLUMNS);
                output::text(&beside::draw(found, &args.with, columns, Paint::stdout())?)?;
            }
        }
    }
    Ok(true)
}

/// A trace, whole; none if there is none.
pub(crate) fn find(source: &Source, id: &[u8; 16]) -> Result<Option<Bytes>, Failure> {
    match source {
        Source::Server(client) => match ask(client, id) {
            Err(Failure::Status { status: 404, .. }) => Ok(None),
            found => found.map(Some),
        },
        Source::Directory(directory) => {
            let Directory { engine, runtime, tenants, .. } = &**directory;
            let found = runtime.block_on(engine.trace(tenants, *id))?;
            match found {
                Some(trace) if trace.damaged_blocks > 0 => look_up(directory, id).map(Some),
                found => Ok(found.map(|trace| trace.body.into())),
            }
        }
    }
}

/// Asks for the second version of Tempo's answer, which says whether something is missing.
fn ask(client: &Client, id: &[u8; 16]) -> Result<Bytes, Failure> {
    let path = format!("/tempo/api/v2/traces/{}", id::hex(id));
    let response = client.get(&path, "application/protobuf")?;
    let mut body = Vec::new();
    let read = response.take(MAX_TRACE_BYTES + 1).read_to_end(&mut body);
    read.map_err(|error| broken(Some(&error)))?;
    if body.len() as u64 > MAX_TRACE_BYTES {
        let most = units::bytes(MAX_TRACE_BYTES);
        return Err(Failure::Other(format!(
            "the trace has more than {most}: ask for parts in SQL"
        )));
    }
    let body = Bytes::from(body);
    let Response { trace, missing } = Response::read(&body).map_err(unreadable)?;
    match missing {
        Some(missing) if trace.is_empty() => Err(perhaps_missing(id, &missing)),
        None if trace.is_empty() => Err(not_found(id, client.tenant(), &client.name())),
        Some(missing) => {
            output::warning(&missing);
            Ok(body.slice_ref(trace))
        }
        None => Ok(body.slice_ref(trace)),
    }
}

/// Tempo's `TraceByIDResponse`.
struct Response<'a> {
    /// A `TracesData`.
    trace: &'a [u8],
    /// What the answer lacks, if it does.
    missing: Option<String>,
}

impl<'a> Response<'a> {
    fn read(body: &'a [u8]) -> Result<Self, WireError> {
        /// `trace` = 1 and `message` = 4 are bytes, `status` = 3 is a number: 1 is partial.
        const TRACE: u32 = 1 << 3 | 2;
        const STATUS: u32 = 3 << 3;
        const MESSAGE: u32 = 4 << 3 | 2;
        let (mut trace, mut message, mut status) = (&[][..], &[][..], 0);
        let mut reader = kymo_wire::Reader::new(body);
        while let Some(tag) = reader.tag()? {
            match tag {
                TRACE => trace = reader.bytes()?,
                STATUS => status = reader.varint()?,
                MESSAGE => message = reader.bytes()?,
                _ => reader.skip(tag)?,
            }
        }
        let missing = match (status, message) {
            (0, _) => None,
            (_, []) => Some("spans may be missing".to_owned()),
            (_, message) => Some(String::from_utf8_lossy(message).into_owned()),
        };
        Ok(Self { trace, missing })
    }
}

fn look_up(directory: &Directory, id: &[u8; 16]) -> Result<Bytes, Failure> {
    let Directory { engine, runtime, tenants, path } = directory;
    match runtime.block_on(engine.trace(tenants, *id))? {
        Some(trace) if trace.damaged_blocks > 0 => {
            let damaged = blocks(trace.damaged_blocks);
            let missing = format!("{damaged} could not be read; spans may be missing");
            if trace.spans == 0 {
                return Err(perhaps_missing(id, &missing));
            }
            output::warning(&missing);
            Ok(trace.body.into())
        }
        Some(trace) => Ok(trace.body.into()),
        None => Err(not_found(id, &tenants.to_string(), &path.display().to_string())),
    }
}

fn blocks(count: usize) -> String {
    if count == 1 { "1 damaged block".to_owned() } else { format!("{count} damaged blocks") }
}

/// No span of the trace was found, but not everything could be looked at.
fn perhaps_missing(id: &[u8; 16], missing: &str) -> Failure {
    let id = id::hex(id);
    let hint = "kymo store check says what is damaged";
    Failure::Other(format!("there is no trace {id} in what is readable: {missing}; {hint}"))
}

fn not_found(id: &[u8; 16], tenant: &str, place: &str) -> Failure {
    let (id, tenant) = (id::hex(id), units::printable(tenant));
    let hint = "check the id, or name another tenant with --tenant";
    Failure::Other(format!("there is no trace {id} of tenant {tenant} in {place}: {hint}"))
}

/// OTLP/JSON; if something else was found, one object of both.
fn write_json(body: &[u8], found: Option<serde_json::Value>) -> Result<(), Failure> {
    let mut json = Vec::new();
    if found.is_some() {
        json.extend_from_slice(b"{\"trace\":");
    }
    kymo_wire::json::encode(kymo_wire::Signal::Traces, body, &mut json).map_err(unreadable)?;
    if let Some(found) = found {
        json.extend_from_slice(b",\"with\":");
        json.extend_from_slice(found.to_string().as_bytes());
        json.push(b'}');
    }
    json.push(b'\n');
    let mut out = io::stdout().lock();
    output::until_closed(out.write_all(&json).and_then(|()| out.flush())).map(|_| ())
}

fn write_tree(id: &[u8; 16], body: &[u8], attributes: bool) -> Result<(), Failure> {
    let spans = spans::read(body, attributes).map_err(unreadable)?;
    let columns = terminal::columns().unwrap_or(terminal::PIPE_COLUMNS);
    let look = Look { columns, paint: Paint::stdout(), attributes };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    draw::draw(id, &spans, look, |line| {
        written = writeln!(out, "{line}");
        written.is_ok()
    });
    output::until_closed(written.and_then(|()| out.flush())).map(|_| ())
}

fn unreadable(error: WireError) -> Failure {
    Failure::Other(format!("the answer is not a trace: {error}"))
}
