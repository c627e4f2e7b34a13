//! A small authority of one's own, for a first set-up with mutual TLS: what `kymo certs` does.
//!
//! | file | what is in it |
//! |---|---|
//! | `ca.pem`, `ca.key` | the authority: who trusts `ca.pem` trusts all below. The key is needed here only |
//! | `server.pem`, `server.key` | the server's certificate |
//! | `client-NAME.pem`, `client-NAME.key` | a client's, whose subject is `CN=NAME` |
//! | `crl.pem` | those that are revoked; it is there from the beginning, so that it can be configured |
//! | `issued.json` | everything that was issued: revoking needs serial numbers |
//!
//! Keys are ECDSA on P-256, readable for their owner alone. Nothing is overwritten unless that is
//! asked for. Files appear whole or not at all; what is issued is registered before it appears, so
//! that there is nothing that cannot be revoked. Two calls on one directory wait for each other.
//!
//! This is no service: no renewal by itself, no protocol. Who has an authority uses that.

mod authority;
mod files;
mod names;
mod register;

use std::path::{Path, PathBuf};

use thiserror::Error;
use time::{Duration, OffsetDateTime};

pub use self::names::default_server_names;
pub use self::register::{Issued, Purpose};

use self::authority::{Authority, Leaf};
use self::files::{Directory, Output};
use self::register::Register;
use crate::limits::{AUTHORITY_DAYS, CERTIFICATE_DAYS};

const AUTHORITY: &str = "ca";
const SERVER: &str = "server";
const REVOKED: &str = "crl.pem";
const REGISTER: &str = "issued.json";

/// Why certificates were not made.
#[derive(Debug, Error)]
pub enum CertsError {
    /// A file is there already.
    #[error("{path} is there already; expected a new directory, or --force to replace it", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: std::io::Error,
    },
    /// There is no authority.
    #[error("{directory} has no authority; `kymo certs new {directory}` makes one", directory = directory.display())]
    NoAuthority {
        /// The directory.
        directory: PathBuf,
    },
    /// What is there was not made by this program, or is damaged.
    #[error("{path} was not made by `kymo certs` or is damaged: {why}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A name cannot be in a certificate.
    #[error("{name:?} cannot be in a certificate: expected {expected}")]
    Name {
        /// The name.
        name: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Nobody has this name.
    #[error("no client {name:?} has a certificate that could be revoked; those that have: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Names that could be meant.
        known: String,
    },
    /// A certificate would not last a day.
    #[error("a certificate of {days} days cannot be made: expected 1 to {most}")]
    Days {
        /// What was asked for.
        days: u32,
        /// The most there can be.
        most: u32,
    },
    /// What an authority signs now would be good for nobody.
    #[error(
        "the authority has ended, on {ended}: make another one with `kymo certs new`, in another directory or with --force, and give its ca.pem to everybody"
    )]
    Ended {
        /// The day.
        ended: String,
    },
    /// Cryptography failed.
    #[error("cannot make a certificate: {0}")]
    Crypto(String),
}

/// What a new authority begins with.
#[derive(Debug, Clone)]
pub struct NewAuthority {
    /// Names and addresses of the server, beside those of this machine that everybody has
    /// (`localhost`, `127.0.0.1`, `::1`). None means the name of this machine.
    pub server_names: Vec<String>,
    /// Clients that get certificates at once.
    pub client_names: Vec<String>,
    /// How long certificates of the server and of clients last.
    pub valid_days: u32,
    /// Whether files that are there are replaced.
    pub overwrites: bool,
}

impl Default for NewAuthority {
    fn default() -> Self {
        Self {
            server_names: Vec::new(),
            client_names: Vec::new(),
            valid_days: CERTIFICATE_DAYS,
            overwrites: false,
        }
    }
}

/// Makes an authority, a server's certificate and clients' certificates, and says which files these
/// are.
pub fn new_authority(directory: &Path, wanted: &NewAuthority) -> Result<Vec<PathBuf>, CertsError> {
    let server_names = names::of_server(&wanted.server_names)?;
    names::of_clients(&wanted.client_names)?;
    let place = Directory::create(directory)?;
    let now = OffsetDateTime::now_utc();
    let authority = Authority::new(now)?;
    let mut register = Register::default();
    let mut outputs = authority.outputs(AUTHORITY);
    let server = Leaf::server(&server_names);
    outputs.extend(issue(&authority, &mut register, server, SERVER, wanted.valid_days, now)?);
    for name in &wanted.client_names {
        let (leaf, file) = (Leaf::client(name), client_file(name));
        outputs.extend(issue(&authority, &mut register, leaf, &file, wanted.valid_days, now)?);
    }
    outputs.push(revocations(&authority, &mut register, now)?);
    // The register is the first to appear.
    outputs.insert(0, register.output(REGISTER)?);
    place.write(&outputs, wanted.overwrites)
}

/// Makes a certificate for another client. If it has one already, that stays good: `revoke` ends it.
pub fn add_client(
    directory: &Path,
    name: &str,
    valid_days: u32,
    overwrites: bool,
) -> Result<Vec<PathBuf>, CertsError> {
    names::of_clients(&[name])?;
    let (place, authority, mut register) = open(directory)?;
    let now = OffsetDateTime::now_utc();
    let (leaf, file) = (Leaf::client(name), client_file(name));
    let outputs = issue(&authority, &mut register, leaf, &file, valid_days, now)?;
    place.are_free(&outputs, overwrites)?;
    place.write(&[register.output(REGISTER)?], true)?;
    place.write(&outputs, overwrites)
}

/// Makes another certificate for the server and puts it where the old one is; a running server loads
/// it within a second or two. Without names it has those of the last one.
pub fn renew_server(
    directory: &Path,
    server_names: &[String],
    valid_days: u32,
) -> Result<Vec<PathBuf>, CertsError> {
    let (place, authority, mut register) = open(directory)?;
    let server_names = match register.last_server() {
        Some(last) if server_names.is_empty() => last.names.clone(),
        _ => names::of_server(server_names)?,
    };
    let now = OffsetDateTime::now_utc();
    let leaf = Leaf::server(&server_names);
    let outputs = issue(&authority, &mut register, leaf, SERVER, valid_days, now)?;
    place.write(&[register.output(REGISTER)?], true)?;
    place.write(&outputs, true)
}

/// What was revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The list of all that are revoked, written again.
    pub list: PathBuf,
    /// Serial numbers that are new on it.
    pub serials: Vec<String>,
}

/// Revokes all certificates of a client and writes the list again. A running server that has the
/// list configured refuses them within a second or two.
pub fn revoke(directory: &Path, name: &str) -> Result<Revocation, CertsError> {
    let (place, authority, mut register) = open(directory)?;
    let now = OffsetDateTime::now_utc();
    let serials = register.revoke(name, now.unix_timestamp());
    if serials.is_empty() {
        return Err(CertsError::Unknown { name: name.to_owned(), known: register.revocable() });
    }
    let list = revocations(&authority, &mut register, now)?;
    place.write(&[register.output(REGISTER)?, list], true)?;
    Ok(Revocation { list: place.path(REVOKED), serials })
}

/// Everything that was issued, oldest first.
pub fn list(directory: &Path) -> Result<Vec<Issued>, CertsError> {
    let place = Directory::open(directory)?;
    Ok(Register::read(&place, REGISTER)?.issued)
}

/// What all that change an authority need.
fn open(directory: &Path) -> Result<(Directory, Authority, Register), CertsError> {
    let place = Directory::open(directory)?;
    let authority = Authority::read(&place, AUTHORITY)?;
    let register = Register::read(&place, REGISTER)?;
    Ok((place, authority, register))
}

/// A certificate and its key, which are on the register now.
fn issue(
    authority: &Authority,
    register: &mut Register,
    leaf: Leaf<'_>,
    file: &str,
    valid_days: u32,
    now: OffsetDateTime,
) -> Result<Vec<Output>, CertsError> {
    if valid_days == 0 || valid_days > AUTHORITY_DAYS {
        return Err(CertsError::Days { days: valid_days, most: AUTHORITY_DAYS });
    }
    let (issued, outputs) =
        authority.issue(leaf, file, now, now + Duration::days(valid_days.into()))?;
    register.issued.push(issued);
    Ok(outputs)
}

/// The next list of revoked certificates.
fn revocations(
    authority: &Authority,
    register: &mut Register,
    now: OffsetDateTime,
) -> Result<Output, CertsError> {
    register.list_number += 1;
    authority.revocations(register, REVOKED, now)
}

fn client_file(name: &str) -> String {
    format!("client-{name}")
}
