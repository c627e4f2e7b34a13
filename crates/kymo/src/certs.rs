//! `kymo certs`: a small authority for a first set-up with mutual TLS.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use kymo_edge::certs::{self, CertsError, NewAuthority, Purpose};
use kymo_edge::limits::CERTIFICATE_DAYS;

use crate::failure::Failure;
use crate::output;
use crate::table::{Align, Table};
use crate::units::date;

const EXAMPLES: &str = "\
Examples:
  kymo certs new certs --name hub.example --client runner-1      an authority, a server, a client
  kymo certs client certs runner-2                               another client
  kymo certs revoke certs runner-1                               refused within seconds
  kymo certs server certs                                        the server's, swapped while it runs
  kymo serve --tls-certificate certs/server.pem --tls-key certs/server.key \\
    --tls-client-ca certs/ca.pem --tls-revoked certs/crl.pem";

/// Make certificates for a first set-up with mutual TLS
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make an authority with a certificate for the server, and for clients
    New(NewArgs),
    /// Make a certificate for another client
    Client(ClientArgs),
    /// Revoke the certificates of a client
    Revoke(RevokeArgs),
    /// Make another certificate for the server, in the place of the old one
    Server(ServerArgs),
    /// List what was issued
    List {
        /// The directory
        directory: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
struct NewArgs {
    /// Where to put everything; made if it is not there
    directory: PathBuf,
    /// A name or address of the server, beside localhost; several by repeating
    #[arg(long = "name", value_name = "NAME")]
    servers: Vec<String>,
    /// A client that gets a certificate; several by repeating
    #[arg(long = "client", value_name = "NAME")]
    clients: Vec<String>,
    /// How long certificates last
    #[arg(long, value_name = "DAYS", default_value_t = CERTIFICATE_DAYS)]
    days: u32,
    /// Replace what is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct ClientArgs {
    /// The directory of the authority
    directory: PathBuf,
    /// The client
    name: String,
    /// How long its certificate lasts
    #[arg(long, value_name = "DAYS", default_value_t = CERTIFICATE_DAYS)]
    days: u32,
    /// Replace what is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The directory of the authority
    directory: PathBuf,
    /// The client
    name: String,
}

#[derive(Debug, clap::Args)]
struct ServerArgs {
    /// The directory of the authority
    directory: PathBuf,
    /// Names of the server, instead of those it has; several by repeating
    #[arg(long = "name", value_name = "NAME")]
    servers: Vec<String>,
    /// How long it lasts
    #[arg(long, value_name = "DAYS", default_value_t = CERTIFICATE_DAYS)]
    days: u32,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    match &args.command {
        Command::New(args) => {
            let wanted = NewAuthority {
                server_names: args.servers.clone(),
                client_names: args.clients.clone(),
                valid_days: args.days,
                overwrites: args.force,
            };
            written(&certs::new_authority(&args.directory, &wanted).map_err(failed)?)?;
            output::note(&next(&args.directory));
        }
        Command::Client(args) => {
            let made = certs::add_client(&args.directory, &args.name, args.days, args.force);
            written(&made.map_err(failed)?)?;
        }
        Command::Revoke(args) => {
            let revoked = certs::revoke(&args.directory, &args.name).map_err(failed)?;
            let (count, list) = (revoked.serials.len(), revoked.list.display());
            output::text(&format!("revoked {count} of {}; the list is {list}\n", args.name))?;
        }
        Command::Server(args) => {
            let made = certs::renew_server(&args.directory, &args.servers, args.days);
            written(&made.map_err(failed)?)?;
        }
        Command::List { directory } => list(directory)?,
    }
    Ok(true)
}

fn failed(error: CertsError) -> Failure {
    Failure::Other(error.to_string())
}

fn written(files: &[PathBuf]) -> Result<(), Failure> {
    let lines: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
    output::text(&lines)
}

/// What to do with them.
fn next(directory: &Path) -> String {
    let place = directory.display();
    format!(
        "serve with --tls-certificate {place}/server.pem --tls-key {place}/server.key \
         --tls-client-ca {place}/ca.pem --tls-revoked {place}/crl.pem; clients trust {place}/ca.pem; \
         keep {place}/ca.key where nobody else reads it"
    )
}

fn list(directory: &Path) -> Result<(), Failure> {
    let left = ["KIND", "NAMES", "SERIAL", "EXPIRES", "REVOKED"];
    let mut table = Table::new(&left.map(|heading| (heading, Align::Left)));
    for issued in certs::list(directory).map_err(failed)? {
        let day = |unix_secs: i64| date(u64::try_from(unix_secs).unwrap_or(0));
        table.row(vec![
            purpose(issued.purpose).to_owned(),
            issued.names.join(","),
            issued.serial,
            day(issued.not_after_seconds),
            issued.revoked_seconds.map_or_else(String::new, day),
        ]);
    }
    output::text(&table.to_string())
}

const fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Server => "server",
        Purpose::Client => "client",
    }
}
