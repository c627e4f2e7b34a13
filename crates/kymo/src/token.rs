//! `kymo token`: tokens of a server, made, listed and revoked.
//!
//! A running server is asked over its API. With `--data` the directory of one that does not run is
//! changed: that makes the first token.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use kymo_identity::{NewToken, Role, Tenants, TokenBook, TokenRecord, hash_password};
use kymo_journal::OsDisk;
use kymo_server::access::read_tokens;
use kymo_store::settings::{Change, SERVER, Setting};
use kymo_store::{Options, Store, owner};
use serde::Deserialize;
use serde_json::json;

use crate::cli::OutputFormat;
use crate::client;
use crate::failure::Failure;
use crate::output;
use crate::source::ServerArgs;
use crate::table::{Align, Table};
use crate::units::date;

const EXAMPLES: &str = "\
Examples:
  kymo token new admin --role admin --data ./kymo-data     the first one, before the server starts
  kymo token new ci --role write --for-tenant ci --expires 90d
  kymo token list
  kymo token revoke k3vq7m2xw5ba
  kymo token hash-password                                 a password's hash for the configuration

A token is shown once. Clients send it as Authorization: Bearer TOKEN; these commands and all others
that ask a server take it from KYMO_TOKEN.";

/// Make, list and revoke tokens
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token, which is shown once
    New(NewArgs),
    /// List tokens, without what would let somebody in
    List(ListArgs),
    /// Revoke a token, effective at once
    Revoke(RevokeArgs),
    /// Read a password from the terminal or stdin and print its hash, for users in the configuration
    HashPassword,
}

#[derive(Debug, clap::Args)]
struct PlaceArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Data directory of a server that does not run
    #[arg(long, value_name = "DIR", conflicts_with = "url", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
    /// Where the blocks of --data are, if elsewhere: a directory or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL", requires = "data")]
    store: Option<String>,
}

#[derive(Debug, clap::Args)]
struct NewArgs {
    /// What it is for
    name: String,
    /// What its owner may do: write, read, admin; several by repeating
    #[arg(long = "role", value_name = "ROLE", required = true, value_parser = role)]
    roles: Vec<Role>,
    /// Tenants that it is for; all if none is named
    #[arg(long = "for-tenant", value_name = "TENANT")]
    tenants: Vec<String>,
    /// How long it is valid, such as 90d; for ever if nothing is said
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires: Option<Duration>,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// Which one: its id, as kymo token list shows it
    id: String,
    #[command(flatten)]
    place: PlaceArgs,
}

/// A token as a server tells of it.
#[derive(Debug, Deserialize, serde::Serialize)]
struct Listed {
    id: String,
    name: String,
    roles: BTreeSet<Role>,
    tenants: Tenants,
    created_unix_secs: u64,
    expires_unix_secs: Option<u64>,
    ending: String,
}

impl From<&TokenRecord> for Listed {
    fn from(record: &TokenRecord) -> Self {
        Self {
            id: record.id.clone(),
            name: record.name.clone(),
            roles: record.roles.clone(),
            tenants: record.tenants.clone(),
            created_unix_secs: record.created_unix_secs,
            expires_unix_secs: record.expires_unix_secs,
            ending: record.ending.clone(),
        }
    }
}

fn role(text: &str) -> Result<Role, String> {
    Role::of(text).ok_or_else(|| "expected write, read or admin".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    kymo_yaml::amounts::duration(text).ok_or_else(|| "expected a duration such as 90d".to_owned())
}

fn now_unix_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    match &args.command {
        Command::New(args) => new(args)?,
        Command::List(args) => list(args)?,
        Command::Revoke(args) => revoke(args)?,
        Command::HashPassword => hash()?,
    }
    Ok(true)
}

fn new(args: &NewArgs) -> Result<(), Failure> {
    let expires_unix_secs =
        args.expires.map(|expires| now_unix_secs().saturating_add(expires.as_secs()));
    let tenants = match args.tenants.is_empty() {
        true => Tenants::All,
        false => Tenants::from(args.tenants.clone()),
    };
    let roles: BTreeSet<Role> = args.roles.iter().copied().collect();
    let (text, record) = match &args.place.data {
        Some(data) => {
            let asked = NewToken { name: args.name.clone(), roles, tenants, expires_unix_secs };
            change(data, args.place.store.as_deref(), |book| {
                let made = book.make(asked, now_unix_secs());
                let (text, record) = made.map_err(|error| Failure::Usage(error.to_string()))?;
                Ok((text.reveal().to_owned(), Listed::from(&record)))
            })?
        }
        None => {
            #[derive(Deserialize)]
            struct Made {
                token: String,
                record: Listed,
            }
            let asked = json!({
                "name": args.name, "roles": roles, "tenants": tenants,
                "expires_unix_secs": expires_unix_secs,
            });
            let client = args.place.server.client()?;
            let made: Made = client::json(client.send_json("POST", "/api/tokens", &asked)?)?;
            (made.token, made.record)
        }
    };
    match args.format {
        OutputFormat::Json => output::json(&json!({ "token": text, "record": record })),
        OutputFormat::Table => {
            output::text(&format!("{text}\n"))?;
            output::note(&format!(
                "this is the only time it is shown; kymo token revoke {} ends it",
                record.id
            ));
            Ok(())
        }
    }
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let tokens: Vec<Listed> = match &args.place.data {
        Some(data) => {
            let store = open(data, args.place.store.as_deref())?;
            let (_, book) = book_of(&store)?;
            book.list().into_iter().map(Listed::from).collect()
        }
        None => {
            #[derive(Deserialize)]
            struct All {
                tokens: Vec<Listed>,
            }
            let client = args.place.server.client()?;
            let all: All = client::json(client.get("/api/tokens", "application/json")?)?;
            all.tokens
        }
    };
    if args.format == OutputFormat::Json {
        return output::json(&json!({ "tokens": tokens }));
    }
    let left = ["ID", "NAME", "ROLES", "TENANTS", "MADE", "EXPIRES", "ENDS WITH"];
    let mut table = Table::new(&left.map(|heading| (heading, Align::Left)));
    for token in tokens {
        let roles: Vec<String> = token.roles.iter().map(ToString::to_string).collect();
        let expires = token.expires_unix_secs.map_or("never".to_owned(), date);
        table.row(vec![
            token.id,
            crate::units::printable(&token.name),
            roles.join(","),
            token.tenants.to_string(),
            date(token.created_unix_secs),
            expires,
            format!("…{}", token.ending),
        ]);
    }
    output::text(&table.to_string())
}

fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    let name = match &args.place.data {
        Some(data) => change(data, args.place.store.as_deref(), |book| {
            let revoked = book.revoke(&args.id);
            let missing = || Failure::Other(format!("there is no token of the id {:?}", args.id));
            Ok(revoked.ok_or_else(missing)?.name)
        })?,
        None => {
            #[derive(Deserialize)]
            struct Revoked {
                revoked: Listed,
            }
            let client = args.place.server.client()?;
            let path = format!("/api/tokens/{}", client::segment(&args.id));
            let revoked: Revoked = client::json(client.send_json("DELETE", &path, &json!({}))?)?;
            revoked.revoked.name
        }
    };
    output::text(&format!("revoked {} ({})\n", args.id, crate::units::printable(&name)))
}

fn hash() -> Result<(), Failure> {
    let password = crate::terminal::read_secret("Password: ")?;
    let hash = hash_password(&password).map_err(|error| Failure::Usage(error.to_string()))?;
    output::text(&format!("{hash}\n"))
}

/// Changes the tokens of a directory.
fn change<T>(
    data: &Path,
    url: Option<&str>,
    change: impl FnOnce(&mut TokenBook) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let store = open(data, url)?;
    let (version, mut book) = book_of(&store)?;
    let made = change(&mut book)?;
    let document = book.to_json().map_err(|error| Failure::Other(error.to_string()))?;
    match store.set(SERVER, Setting::Tokens, version, Some(document.into()))? {
        Change::Done(_) => Ok(made),
        Change::Conflict(_) => {
            Err(Failure::Other("somebody else changed the tokens meanwhile; try again".to_owned()))
        }
    }
}

fn book_of(store: &Store) -> Result<(u64, TokenBook), Failure> {
    let set = store.setting(SERVER, Setting::Tokens)?;
    let version = set.as_ref().map_or(0, |set| set.version);
    let book = read_tokens(set.as_ref().map(|set| &set.body[..])).map_err(Failure::Other)?;
    Ok((version, book))
}

fn open(data: &Path, url: Option<&str>) -> Result<Store, Failure> {
    let disk = Arc::new(OsDisk);
    let node = owner::recorded(&*disk, data)?;
    let defaults = Options::default();
    let options = Options { node: node.unwrap_or_else(|| defaults.node.clone()), ..defaults };
    Store::open_dir(disk, data, url, kymo_journal::Options::default(), options).map_err(|error| {
        match error {
            kymo_store::StoreError::Journal(kymo_journal::Error::InUse { .. }) => Failure::Other(
                "a server runs on this directory: ask it instead, with --url and KYMO_TOKEN"
                    .to_owned(),
            ),
            error => error.into(),
        }
    })
}
